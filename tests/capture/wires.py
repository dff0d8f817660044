"""Peers for the taps: a raw HTTP server that answers as it is told, and a recorder that keeps everything in a list."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import anyio
from anyio.abc import SocketAttribute, SocketStream

from tui_host.capture.http.exchange_end import Ending, read_ending
from tui_host.capture.record import Draft, Kind, Record
from tui_host.capture.redact.redaction import Redactor


class Kept:
    """Redacts and numbers drafts, and keeps them."""

    def __init__(self, *secrets: tuple[str, str]) -> None:
        self.redactor = Redactor(secrets)
        self.drafts: list[Draft] = []
        self._exchanges = 0

    def append(self, draft: Draft) -> int:
        self.drafts.append(self.redactor.draft(draft))
        return len(self.drafts)

    def new_exchange(self) -> str:
        self._exchanges += 1
        return f"x{self._exchanges}"

    def of(self, kind: Kind) -> list[Draft]:
        return [draft for draft in self.drafts if draft.kind == kind]

    def body(self, exchange: str = "x1") -> bytes:
        return b"".join(draft.data for draft in self.of("chunk") if draft.exchange == exchange)

    def ending(self, exchange: str = "x1") -> Ending:
        (found,) = [draft for draft in self.drafts if draft.kind in {"end", "error"} and draft.exchange == exchange]
        return read_ending(found.data)

    def records(self) -> list[Record]:
        return [
            Record(capture="c", seq=seq, time_ns=seq * 1_000_000, mono_ns=seq * 1_000_000, draft=draft)
            for seq, draft in enumerate(self.drafts, 1)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the peer sends, piece by piece; then it keeps the connection, closes it, or waits for the other side to."""

    pieces: Sequence[bytes] = ()
    close: bool = False
    wait: bool = False


@dataclass(slots=True)
class Peer:
    """A running server.

    Attributes:
        requests: What it received: heads and bodies.
        closed: How many connections it has seen end.
    """

    url: str
    requests: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])
    closed: int = 0


def response(body: bytes = b"", *, status: str = "200 OK", kind: str = "application/json", more: str = "") -> Answer:
    """A whole response with its length."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return Answer(pieces=[head.encode() + body])


def chunked(
    chunks: Sequence[bytes], *, kind: str = "text/event-stream", more: str = "", close: bool = False, wait: bool = False
) -> Answer:
    """A response in chunks; one that is closed or waits has no end."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n{more}\r\n".encode()
    pieces = [f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n" for chunk in chunks]
    end = [] if close or wait else [b"0\r\n\r\n"]
    return Answer(pieces=[head, *pieces, *end], close=close, wait=wait)


def rpc(**members: object) -> bytes:
    """A JSON-RPC message."""
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


@asynccontextmanager
async def serving(*answers: Answer | Callable[[bytes], Answer]) -> AsyncGenerator[Peer]:
    """A server on loopback that gives one answer after another, the last one again and again."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port: int = listener.extra(SocketAttribute.local_port)  # noqa: S610 - not Django's
    peer = Peer(f"http://127.0.0.1:{port}/v1")
    script = list(answers)

    async def handle(stream: SocketStream) -> None:
        with suppress(
            anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError
        ):  # the client has had enough
            async with stream:
                data = b""
                while True:
                    data = await _one_request(stream, data, peer)
                    given = script.pop(0) if len(script) > 1 else script[0]
                    answer = given if isinstance(given, Answer) else given(peer.requests[-1][1])
                    for piece in answer.pieces:
                        await stream.send(piece)
                        await anyio.lowlevel.checkpoint()
                    if answer.wait:
                        await stream.receive()
                    if answer.close:
                        break
        peer.closed += 1

    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, handle)
        try:
            yield peer
        finally:
            group.cancel_scope.cancel()


async def _one_request(stream: SocketStream, data: bytes, peer: Peer) -> bytes:
    while b"\r\n\r\n" not in data:
        data += await stream.receive()
    head, _, data = data.partition(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    while len(data) < length:
        data += await stream.receive()
    peer.requests.append((head, data[:length]))
    return data[length:]
