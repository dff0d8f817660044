"""A provider over a real socket that does as it is told, byte for byte."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.abc import ByteStream, SocketAttribute, SocketStream
from anyio.streams.tls import TLSStream

from tui_host.capture.record import Record
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.settings.schema import Provider, Template


@dataclass(slots=True)
class Peer:
    """What came, and where it listens."""

    url: str
    requests: list[bytes] = field(default_factory=list[bytes])
    closed: anyio.Event = field(default_factory=anyio.Event)

    @property
    def bodies(self) -> list[bytes]:
        return [request.partition(b"\r\n\r\n")[2] for request in self.requests]


Script = Callable[[ByteStream], Awaitable[None]]


def head(status: str = "200 OK", *, kind: str = "text/event-stream", more: str = "") -> bytes:
    """The head of a response whose body ends with the connection."""
    return f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n{more}connection: close\r\n\r\n".encode()


def saying(*pieces: bytes) -> Script:
    """Sends these pieces and closes."""

    async def script(stream: ByteStream) -> None:
        for piece in pieces:
            await stream.send(piece)

    return script


@asynccontextmanager
async def peer(script: Script, tls: ssl.SSLContext | None = None) -> AsyncGenerator[Peer]:
    """Listens on the loopback interface; answers every request by the script, then closes its connection."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(SocketAttribute.local_port)  # noqa: S610 - anyio's, not Django's
    found = Peer(f"{'https' if tls else 'http'}://127.0.0.1:{port}/v1")

    async def serve(raw: SocketStream) -> None:
        async with raw:
            try:
                stream = raw if tls is None else await TLSStream.wrap(raw, ssl_context=tls, standard_compatible=False)
                found.requests.append(await _request(stream))
                await script(stream)
            except (anyio.BrokenResourceError, anyio.EndOfStream, anyio.ClosedResourceError, ssl.SSLError):
                return  # the client has gone, which some scripts wait for
            finally:
                found.closed.set()

    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        yield found
        group.cancel_scope.cancel()


async def _request(stream: ByteStream) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += await stream.receive()
    top, _, body = data.partition(b"\r\n\r\n")
    lengths = [int(line.split(b":")[1]) for line in top.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    while len(body) < sum(lengths):
        body += await stream.receive()
    return top + b"\r\n\r\n" + body


def provider_at(url: str, **more: object) -> Provider:
    """A provider at that address."""
    return Provider(name="mine", base_url=Template(text=url, literal=True), **more)  # pyright: ignore[reportArgumentType] - shorthand


def recorder() -> Recorder:
    """Keeps records in memory."""
    return Recorder(None, Redactor(), capture="c")


def body_of(records: list[Record]) -> bytes:
    """A response's body out of its chunks."""
    return b"".join(record.draft.data for record in records if record.draft.kind == "chunk")
