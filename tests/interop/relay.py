"""A relay before a TCP server that keeps every byte of each connection, both ways. Standard library alone; knows nothing of HTTP."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self


class Connection:
    def __init__(self) -> None:
        self.sent = bytearray()
        self.answered = bytearray()


class Relay:
    """Listens on a free port of the loopback interface and passes everything on, until the end of its block."""

    def __init__(self, upstream: int) -> None:
        self._upstream = upstream
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self.port: int = self._listener.getsockname()[1]
        self.connections: list[Connection] = []

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # nothing is connected to it: some systems call that an error
            self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join(5)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(5)
        for one in (one for pair in self._pairs for one in pair):
            one.close()

    def cut(self) -> None:
        """Break off the connections there are; new ones are taken all the same."""
        for one in (one for pair in self._pairs for one in pair):
            with suppress(OSError):  # the other side has cut it
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._upstream))
            except OSError:
                client.close()
                continue
            kept = Connection()
            self._pairs.append((client, server))
            self.connections.append(kept)
            for arguments in ((client, server, kept.sent), (server, client, kept.answered)):
                thread = threading.Thread(target=_copy, args=arguments, daemon=True)
                self._threads.append(thread)
                thread.start()


def _copy(source: socket.socket, target: socket.socket, kept: bytearray) -> None:
    with suppress(OSError):  # cut by either side, or by `cut`
        while piece := source.recv(1 << 16):
            kept += piece
            target.sendall(piece)
    for one, way in ((target, socket.SHUT_WR), (source, socket.SHUT_RD)):
        with suppress(OSError):  # it is gone already
            one.shutdown(way)
