"""A relay before a TCP server that keeps every byte of each connection, both ways. Knows nothing of HTTP."""

from contextlib import suppress
from typing import Self

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.from_thread import start_blocking_portal

GONE = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)


class Connection:
    def __init__(self) -> None:
        self.sent = bytearray()
        self.answered = bytearray()


class Relay:
    """Listens on a free port of the loopback interface and passes everything on, until the end of its block."""

    def __init__(self, upstream: int) -> None:
        self._upstream = upstream
        self._portal = start_blocking_portal()
        self.port = 0
        self.connections: list[Connection] = []

    def __enter__(self) -> Self:
        self._serving, self.port = self._portal.__enter__().start_task(self._serve)
        return self

    def __exit__(self, *_: object) -> None:
        self._serving.cancel()
        self._portal.__exit__(None, None, None)

    async def _serve(self, *, task_status: anyio.abc.TaskStatus[int]) -> None:
        async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
            task_status.started(listener.extra(SocketAttribute.local_port))  # noqa: S610 - anyio's, not Django's
            await listener.serve(self._pass_on)

    async def _pass_on(self, client: SocketStream) -> None:
        kept = Connection()
        async with client:
            with suppress(*GONE):  # nobody listens there: the client sees its end
                async with (
                    await anyio.connect_tcp("127.0.0.1", self._upstream) as server,
                    anyio.create_task_group() as group,
                ):
                    self.connections.append(kept)
                    group.start_soon(_copy, client, server, kept.sent)
                    group.start_soon(_copy, server, client, kept.answered)


async def _copy(source: SocketStream, target: SocketStream, kept: bytearray) -> None:
    with suppress(*GONE):  # either side has cut it
        async for piece in source:
            kept += piece
            await target.send(piece)
    with suppress(*GONE):
        await target.send_eof()
