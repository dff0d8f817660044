"""A relay under test: before a peer that a test plays by hand, both ends raw sockets."""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.abc import ByteStream, SocketStream

from tests.kit.peer import PATIENCE, Link
from tui_host.capture.http.exchange_end import Ending, read_ending
from tui_host.capture.record import Place, Record
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.tap.exchanges import Connections, TappedExchanges
from tui_host.tap.http.relay import Relay, bound
from tui_host.tap.http.upstream import Upstream
from tui_host.tap.ring import Item
from tui_host.tap.session import TapRecorder

PLACE = Place(session="20261122-010203-abcde")


@dataclass(slots=True)
class Relaying:
    """A relay at work: its own origin, what it records, in memory, and what it told a person."""

    origin: str
    recorder: Recorder
    told: list[str]

    @property
    def port(self) -> int:
        return int(self.origin.rpartition(":")[2])

    @property
    def host(self) -> bytes:
        return self.origin.partition("://")[2].encode()

    def records(self, kind: str = "") -> list[Record]:
        return [record for record in self.recorder.since(0) if kind in {"", record.kind}]

    def body(self) -> bytes:
        return b"".join(record.data for record in self.records("chunk"))

    def ending(self) -> Ending:
        (record,) = [record for record in self.records() if record.kind in {"end", "error"}]
        return read_ending(record.data)

    async def client(self) -> SocketStream:
        return await anyio.connect_tcp("127.0.0.1", self.port)

    async def ask(self, request: bytes) -> bytes:
        async with await self.client() as stream:
            await stream.send(request)
            return await rest_of(stream)


def says(*answers: bytes, until: bytes = b"\r\n\r\n", waits: bool = False) -> Callable[[Link], Awaitable[None]]:
    """An upstream that answers once it has got certain bytes, and then ends, or waits for more first."""

    async def script(stream: Link) -> None:
        while not stream.has(until):
            await stream.receive()
        for data in answers:
            await stream.send(data)
        if waits:
            await stream.receive()

    return script


@asynccontextmanager
async def relaying(
    upstream: str,
    *,
    is_mcp: bool = False,
    allowed_origins: tuple[str, ...] = (),
    allowed_hosts: tuple[str, ...] = (),
    ca_file: Path | None = None,
    environment: dict[str, str] | None = None,
    port: int = 0,
) -> AsyncGenerator[Relaying]:
    told: list[str] = []
    recorder = TapRecorder(None, Redactor(), capture="c", kind="tap")
    exchanges = TappedExchanges(recorder, Connections(recorder, "srv" if is_mcp else "peer", is_mcp=is_mcp), PLACE)

    def report(kind: bytes, number: int, data: bytes) -> None:
        exchanges.take(Item(kind, number, time.monotonic_ns(), data))

    server = Upstream(upstream, environment or {}, ca_file)
    with bound(port, server) as listener:
        relay = Relay(
            listener,
            server,
            is_mcp=is_mcp,
            report=report,
            tell=told.append,
            allowed_origins=allowed_origins,
            allowed_hosts=allowed_hosts,
        )
        async with relay.listening():
            yield Relaying(relay.origin, recorder, told)


async def rest_of(stream: ByteStream) -> bytes:
    data = bytearray()
    with anyio.fail_after(PATIENCE):
        try:
            while True:
                data += await stream.receive()
        except anyio.EndOfStream:
            return bytes(data)


async def until_has(client: SocketStream, wanted: bytes) -> bytes:
    data = b""
    with anyio.fail_after(PATIENCE):
        while wanted not in data:
            data += await client.receive()
    return data


def request(
    host: bytes,
    *,
    target: bytes = b"/v1/chat/completions",
    body: bytes = b"{}",
    more: bytes = b"",
    kind: bytes = b"application/json",
) -> bytes:
    head = b"POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\n" % (target, host, kind)
    return head + more + b"Content-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body)


def origin_of(asked: bytes) -> bytes:
    return b"http://" + asked.partition(b"Host: ")[2].partition(b"\r\n")[0]


def answer(body: bytes = b"{}", *, status: bytes = b"200 OK", more: bytes = b"") -> bytes:
    head = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n"
    return head % (status, more, len(body)) + body
