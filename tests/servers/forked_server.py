"""The command of a server made with the SDK, without the two seconds that the SDK takes to be imported.

`forked_server.py SOCKET PROGRAM WORD…` hands its streams to a fork of the zygote of `tests/kit`, which ends with it; it ends as the fork does.
"""

import json
import os
import signal
import socket
import sys

folder, _, name = sys.argv[2].removesuffix(".py").rpartition("/")
request = {
    "path": folder,
    "module": name,
    "words": sys.argv[3:],
    "environment": dict(os.environ),
    "folder": str(os.getcwd()),  # noqa: PTH109 - `pathlib` takes as long as all the rest
}
with socket.socket(socket.AF_UNIX) as link:
    link.connect(sys.argv[1])
    socket.send_fds(link, [json.dumps(request).encode() + b"\n"], [0, 1, 2])
    signal.signal(signal.SIGTERM, lambda _, __: link.shutdown(socket.SHUT_WR))  # the server ends, then this process
    for descriptor in range(3):  # the fork's alone: whoever reads them sees their end
        os.close(descriptor)
    answer = b""
    while data := link.recv(1 << 16):
        answer += data
os._exit(json.loads(answer.splitlines()[-1])["code"] % 256)
