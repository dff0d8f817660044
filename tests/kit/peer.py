"""The HTTP peer: a real socket on loopback that answers byte for byte as a test says, and keeps what it received.

    async with peer(response(b"{}"), chunked(b"data: 1\\n\\n")) as there:   # one answer for each request, then 500
    async with peer(always=hangs(head())) as there:                        # the same answer to every request
    with peer_in_thread(response(b"{}")) as there:                         # where no event loop runs
    async with peer(connection=script) as there:                           # no HTTP at all: a connection is played by hand

An answer is bytes, pieces of them (each is written by itself), or an async function of the `Exchange`. A connection stays open
after an answer that says its own end and does not say `connection: close`. `there.url`, `there.requests`, `there.bodies`,
`there.links` (each with `received` and `ended`) tell what happened. `bodies.py` writes the bodies of models, `mcp_http.py` answers
as an MCP server.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import anyio
from anyio.abc import ByteStream, SocketAttribute, SocketStream
from anyio.from_thread import start_blocking_portal
from anyio.streams.tls import TLSStream
from typing_extensions import override

from tui_host.errors import JSON

PATIENCE = 90.0
"""Seconds within which anything that is waited for has to come; a busy machine takes some of them."""
GONE = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, ssl.SSLError)
OPEN_END = re.compile(rb"(?im)^(content-length: *\d+|transfer-encoding: *chunked)\r$")
CLOSES = re.compile(rb"(?im)^connection: *close\r$")
BODILESS = re.compile(rb"HTTP/1.1 (1\d\d|204|304) ")


@dataclass(frozen=True, slots=True)
class Request:
    head: bytes
    body: bytes

    @property
    def method(self) -> str:
        return self.head.split(b" ", 1)[0].decode()

    @property
    def path(self) -> str:
        return self.head.split(b" ", 2)[1].decode()

    @property
    def headers(self) -> Mapping[str, str]:
        lines = self.head.decode("latin-1").split("\r\n")[1:]
        return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}

    @property
    def data(self) -> bytes:
        return self.head + b"\r\n\r\n" + self.body

    @property
    def json(self) -> dict[str, JSON]:
        """The body's object; empty where there is none."""
        value: JSON = json.loads(self.body) if self.body else {}
        return value if isinstance(value, dict) else {}

    @property
    def rpc(self) -> str:
        return str(self.json.get("method", ""))


class Link(ByteStream):
    """A connection that keeps what it receives, in `received`, and how its answers begin."""

    def __init__(self, stream: ByteStream) -> None:
        self.received = bytearray()
        self.sent = bytearray()
        self.ended = False
        self.stream = stream
        self._unread = 0

    @override
    async def receive(self, max_bytes: int = 65536) -> bytes:
        data = await self.stream.receive(max_bytes)
        self.received += data
        self._unread = len(self.received)
        return data

    @override
    async def send(self, item: bytes) -> None:
        if len(self.sent) < 1 << 16:
            self.sent += item[: 1 << 16]
        await self.stream.send(item)

    @override
    async def send_eof(self) -> None:
        await self.stream.send_eof()

    @override
    async def aclose(self) -> None:
        await self.stream.aclose()

    def has(self, data: bytes) -> bool:
        return data in self.received

    def reset(self) -> None:
        """Let the connection end with a reset."""
        raw = self.stream.extra(SocketAttribute.raw_socket)  # noqa: S610 - anyio's, not Django's
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async def head(self) -> bytes:
        """Receive until a head is whole; all that has come since the last look, what is behind the head too."""
        start = self._unread
        await self._end_of_head()
        self._unread = len(self.received)
        return bytes(self.received[start:])

    async def request(self) -> Request:
        start, end = self._unread, await self._end_of_head()
        head = bytes(self.received[start : end - 4])
        length = int(Request(head, b"").headers.get("content-length", "0"))
        while len(self.received) < end + length:
            self.received += await self.stream.receive()
        self._unread = end + length
        return Request(head, bytes(self.received[end : end + length]))

    async def _end_of_head(self) -> int:
        while (found := self.received.find(b"\r\n\r\n", self._unread)) < 0:
            self.received += await self.stream.receive()
        return found + 4

    async def until_closed(self) -> None:
        try:
            while True:
                await self.receive()
        except GONE:
            return


@dataclass(frozen=True, slots=True)
class Exchange:
    request: Request
    link: Link

    async def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            await self.link.send(piece)
            await anyio.lowlevel.checkpoint()

    async def respond(self, status: str = "200 OK", body: bytes = b"", **headers: str) -> None:
        """Send a response with a length; `Mcp_Session_Id="s1"` is a header."""
        more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        await self.send(response(body, status=status, kind="", more=more))

    async def result(self, result: JSON, **headers: str) -> None:
        body = rpc(id=self.request.json.get("id"), result=result)
        await self.respond("200 OK", body, Content_Type="application/json", **headers)


Script: TypeAlias = Callable[[Exchange], Awaitable[None]]
Answer: TypeAlias = bytes | Sequence[bytes] | Script


@dataclass(slots=True, eq=False)
class Peer:
    """What listens, what it will answer next, and what came."""

    origin: str
    path: str = "/v1"
    answers: list[Answer] = field(default_factory=list[Answer])
    requests: list[Request] = field(default_factory=list[Request])
    links: list[Link] = field(default_factory=list[Link])

    @property
    def url(self) -> str:
        return self.origin + self.path

    @property
    def port(self) -> int:
        return int(self.origin.rpartition(":")[2])

    @property
    def bodies(self) -> list[bytes]:
        return [request.body for request in self.requests]

    @property
    def received(self) -> list[bytearray]:
        """What each connection has sent."""
        return [link.received for link in self.links]

    @property
    def ended(self) -> int:
        """How many connections have ended, as their own scripts saw it."""
        return sum(link.ended for link in self.links)

    def messages(self, number: int) -> list[dict[str, JSON]]:
        """What the model was told in a request of Chat Completions."""
        value: dict[str, list[dict[str, JSON]]] = json.loads(self.bodies[number])
        return value["messages"]

    def count(self, method: str) -> int:
        """How many requests had this method of HTTP or of JSON-RPC."""
        return sum(method in {request.method, request.rpc} for request in self.requests)

    async def until(self, is_so: Callable[[Peer], object]) -> None:
        """Wait for a condition, as in `until(lambda there: there.ended == 2)`."""
        await until(lambda: is_so(self))


async def until(is_so: Callable[[], object], seconds: float = PATIENCE) -> None:
    with anyio.fail_after(seconds):
        while not is_so():
            await anyio.sleep(0.002)


# What is sent.


def head(status: str = "200 OK", *, kind: str = "text/event-stream", more: str = "") -> bytes:
    """The head of a response whose body ends with the connection."""
    return f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n{more}connection: close\r\n\r\n".encode()


def response(body: bytes = b"{}", *, status: str = "200 OK", kind: str = "application/json", more: str = "") -> bytes:
    typed = f"Content-Type: {kind}\r\n" if kind else ""
    return f"HTTP/1.1 {status}\r\n{typed}Content-Length: {len(body)}\r\n{more}\r\n".encode() + body


def chunked(*chunks: bytes, kind: str = "text/event-stream", more: str = "", is_whole: bool = True) -> list[bytes]:
    """A response in chunks, each a piece of its own; without its last chunk if it is not whole."""
    begin = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n{more}\r\n".encode()
    pieces = [b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks]
    return [begin, *pieces, b"0\r\n\r\n"] if is_whole else [begin, *pieces]


def cuts(*pieces: bytes) -> Script:
    """Send these, and close the connection."""

    async def script(exchange: Exchange) -> None:
        await exchange.send(*pieces)
        await exchange.link.aclose()

    return script


def hangs(*pieces: bytes) -> Script:
    """Send these, then nothing, until the other side has gone."""

    async def script(exchange: Exchange) -> None:
        await exchange.send(*pieces)
        await exchange.link.until_closed()

    return script


def rpc(**members: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


NO_MORE = head("500 No More Answers") + b"{}"


# What listens.


@asynccontextmanager
async def peer(
    *answers: Answer,
    always: Answer = NO_MORE,
    connection: Callable[[Link], Awaitable[None]] | None = None,
    path: str = "/v1",
    tls: ssl.SSLContext | None = None,
) -> AsyncGenerator[Peer]:
    """Listen while the block runs: `answers` one after the other, then `always`; or play each connection by hand."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(SocketAttribute.local_port)  # noqa: S610 - anyio's, not Django's
    there = Peer(f"{'https' if tls else 'http'}://127.0.0.1:{port}", path, list(answers))

    async def serve(link: Link) -> None:
        is_open = True
        while is_open:
            request = await link.request()
            there.requests.append(request)
            link.sent.clear()
            await give(there.answers.pop(0) if there.answers else always, Exchange(request, link))
            is_open = _stays_open(bytes(link.sent))

    async def play(raw: SocketStream) -> None:
        link = Link(raw)
        there.links.append(link)
        async with raw:
            try:
                if tls is not None:
                    link.stream = await TLSStream.wrap(raw, ssl_context=tls, standard_compatible=False)
                await (connection or serve)(link)
            except GONE:
                pass  # the client has gone, which some scripts wait for
            finally:
                link.ended = True

    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, play)
        try:
            yield there
        finally:
            group.cancel_scope.cancel()


@contextmanager
def peer_in_thread(*answers: Answer, always: Answer = NO_MORE, path: str = "/v1") -> Generator[Peer]:
    """The same in a thread of its own."""
    listening = peer(*answers, always=always, path=path)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(listening) as there:
        yield there


async def give(answer: Answer, exchange: Exchange) -> None:
    if callable(answer):
        await answer(exchange)
    elif isinstance(answer, bytes):
        await exchange.send(answer)
    else:
        await exchange.send(*answer)


def _stays_open(sent: bytes) -> bool:
    top = sent.partition(b"\r\n\r\n")[0] + b"\r\n"
    return bool(OPEN_END.search(top) or BODILESS.match(top)) and not CLOSES.search(top)
