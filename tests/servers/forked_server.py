"""Servers made with the SDK, without the two seconds that the SDK takes to be imported.

`serve SOCKET` imports the SDK once, says `ready`, and forks for each server, until its input ends. `run SOCKET PROGRAM WORD…` is
the command of a server: it hands its streams to a fork, which ends with it, and ends as the fork does.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
from typing import NoReturn

LOADED = (
    "anyio._backends._asyncio",
    "mcp.server.mcpserver",
    "mcp.server.sse",
    "mcp.server.stdio",
    "rich.logging",
    "tui_host.demo.servers.math",
    "uvicorn.protocols.http.h11_impl",
)


def become(program: str, words: list[str], descriptors: list[int]) -> NoReturn:
    """Be the server at the other end's streams."""
    from importlib import import_module

    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        import_module(program).main(words)
    finally:
        os._exit(0)


def start(link: socket.socket) -> NoReturn:
    """Start the server that was asked for, and say how it ended; end it when nobody waits for it any more."""
    data, descriptors, _, _ = socket.recv_fds(link, 1 << 16, 3)
    folder, program, words = json.loads(data)
    lasts, ends = os.pipe()
    server = os.fork()
    if server == 0:
        os.close(lasts)
        link.close()
        sys.path.insert(0, folder)
        become(program, words, descriptors)
    for descriptor in (ends, *descriptors):
        os.close(descriptor)
    if lasts not in select.select([link, lasts], [], [])[0]:
        os.kill(server, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(server, 0)[1])
    link.send(bytes([code % 256]))
    os._exit(0)


def serve(path: str) -> None:
    from importlib import import_module

    for name in LOADED:
        import_module(name)
    gc.freeze()
    sys.dont_write_bytecode = True  # a program may be changed while servers run
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(100)
        print("ready", flush=True)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a waiter ended
        while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
            link, _ = listener.accept()
            with link:
                if os.fork() == 0:
                    listener.close()
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    start(link)


def hand_over(path: str, program: str, words: list[str]) -> int:
    folder, _, name = program.removesuffix(".py").rpartition("/")
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(path)
        socket.send_fds(link, [json.dumps([folder, name, words]).encode()], [0, 1, 2])
        signal.signal(signal.SIGTERM, lambda _, __: link.shutdown(socket.SHUT_WR))  # the server ends, then this process
        for descriptor in range(3):  # the fork's alone: whoever reads them sees their end
            os.close(descriptor)
        return (link.recv(1) or b"\1")[0]


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        os._exit(hand_over(sys.argv[2], sys.argv[3], sys.argv[4:]))
