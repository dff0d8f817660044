"""A server made with the SDK, over stdio, without the second and a half that the SDK takes to be imported.

`PROGRAM SOCKET` imports the program once, says `ready`, and forks for each connection, until its input ends. `SOCKET` alone is
the command of a server: it hands its streams to a fork, and ends with it.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from typing import NoReturn


def become(link: socket.socket, program: str) -> NoReturn:
    """Be the server at the other end's streams."""
    from importlib import import_module

    _, descriptors, _, _ = socket.recv_fds(link, 1, 3)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        import_module(program).main()
    finally:
        os._exit(0)


def serve(folder: str, program: str, path: str) -> None:
    from importlib import import_module

    sys.path.insert(0, folder)
    sys.argv[1:] = ["stdio"]
    import_module(program)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a fork ended
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        print("ready", flush=True)
        while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
            link, _ = listener.accept()
            with link:
                if os.fork() == 0:
                    listener.close()
                    become(link, program)


def hand_over(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(path)
        socket.send_fds(link, [b"!"], [0, 1, 2])
        link.recv(1)  # its end is the fork's


if __name__ == "__main__":
    if len(sys.argv) == 2:
        hand_over(sys.argv[1])
    else:
        place, _, name = sys.argv[1].removesuffix(".py").rpartition("/")
        serve(place, name, sys.argv[2])
