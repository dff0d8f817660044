"""Transports for the SDK's `Client`: capture below, the repair step between, bounds on everything.

Each is an async context manager that yields the SDK's stream pair. `Wire` is what the owner of a connection sees of it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage

from tui_host.capture.context import current_place
from tui_host.capture.http import Observer
from tui_host.capture.httpx2_tap import RecordingTransport
from tui_host.capture.process import Command, Process, ending
from tui_host.capture.record import Place
from tui_host.capture.stdio import LINE_LIMIT, LineTap, StdioChild
from tui_host.capture.stdio_tap import StdioTap
from tui_host.errors import JSON, ServerError
from tui_host.servers.endpoint import Endpoint
from tui_host.servers.flight import canonical, check_frame, current_flight
from tui_host.servers.guard import Guard
from tui_host.servers.http_gate import STREAM_SECONDS, HttpGate
from tui_host.servers.repair import Inbox, Repair
from tui_host.servers.structure import is_object

if TYPE_CHECKING:
    from tui_host.capture.recorder import Recorder

CONNECT_SECONDS = 30.0
START_SECONDS = 30.0
"""How long a program may take to tell its URL."""
_REPLIES_WAITING = 64


@dataclass(slots=True, kw_only=True)
class Wire:
    """One connection's wire as its owner sees it.

    Attributes:
        server: The server's configured name.
        connection: The connection's id in the capture.
        recorder: Keeps what moves.
        guard: Learns of every process.
        repair: What its messages pass.
        changed: Called when something visible changed.
        lost: Called once when the wire has come to its end, whoever ended it.
        tap: The tap on the pipes, None for a remote server.
        child: The server's process, or the program that serves it over HTTP; None for a remote one.
        gate: The HTTP client's gate, None on stdio.
        cause: Why it ended, empty while it has not.
        is_left: It ends because we leave.
        refused: Answers to the server's own requests that found no room.
    """

    server: str
    connection: str
    recorder: Recorder
    guard: Guard
    repair: Repair
    changed: Callable[[], None]
    lost: Callable[[], None]
    tap: StdioTap | None = None
    child: StdioChild | None = None
    gate: HttpGate | None = None
    cause: str = ""
    is_left: bool = False
    refused: int = 0

    def end(self, cause: str) -> None:
        """The wire has ended; the first cause is the one that counts."""
        if not self.cause:
            self.cause = cause
            self.lost()
            self.changed()


@dataclass(slots=True)
class WriteStream:
    """The stream that the SDK writes to: `send` runs in the caller's context, where the call and its place are known."""

    wire: Wire
    sink: Callable[[SessionMessage, bytes], Awaitable[None]]
    is_open: bool = True

    async def send(self, item: SessionMessage, /) -> None:
        """Compare what is about to be sent with what was decided, and send it.

        Raises:
            ServerError: It differs; nothing was sent.
            anyio.ClosedResourceError: The connection is over.
        """
        if not self.is_open or self.wire.cause:
            raise anyio.ClosedResourceError
        flight = current_flight.get()
        try:
            data = canonical(item.message.model_dump(by_alias=True, mode="json", exclude_unset=True))
            check_frame(data, flight)
        except ServerError as error:
            if flight is not None:
                flight.refusal = error.what
            raise
        except ValueError as error:
            raise ServerError(f"this cannot be written as JSON: {error}") from error
        self.wire.repair.sending(item.message, flight)
        await self.sink(item, data)

    async def aclose(self) -> None:
        """Let nothing more be sent."""
        self.is_open = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


@dataclass(slots=True)
class _Bridge:
    """The SDK's side of a wire: messages pass the repair step and wait here for the SDK."""

    wire: Wire
    write: WriteStream
    inbox: Inbox
    to_session: MemoryObjectSendStream[SessionMessage | Exception]
    read: MemoryObjectReceiveStream[SessionMessage | Exception]
    to_answer: MemoryObjectSendStream[JSONRPCMessage]
    answers: MemoryObjectReceiveStream[JSONRPCMessage] = field(repr=False)

    def take(self, message: JSONRPCMessage) -> None:
        """A message came."""
        onward, reply = self.wire.repair.received(message)
        if onward is not None:
            self.inbox.put(onward)
        if reply is not None:
            try:
                self.to_answer.send_nowait(reply)
            except anyio.WouldBlock:
                self.wire.refused += 1

    async def forward(self) -> None:
        """Hand what waits to the SDK; its end is the end of the connection for everybody who waits for an answer."""
        is_listening = True
        async with self.to_session:
            while (message := await self.inbox.get()) is not None:
                if is_listening:
                    try:
                        await self.to_session.send(SessionMessage(message))
                    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                        is_listening = False  # go on taking: whoever fills the inbox must not wait

    async def answer(self) -> None:
        """Send our own answers, one after the other."""
        async for message in self.answers:
            try:
                await self.write.send(SessionMessage(message))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return

    def over(self, cause: str) -> None:
        """Nothing more will come."""
        self.wire.end(cause)
        self.inbox.close()


@asynccontextmanager
async def _bridge(wire: Wire, sink: Callable[[SessionMessage, bytes], Awaitable[None]]) -> AsyncGenerator[_Bridge]:
    to_session, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_answer, answers = anyio.create_memory_object_stream[JSONRPCMessage](_REPLIES_WAITING)
    bridge = _Bridge(wire, WriteStream(wire, sink), Inbox(wire.repair.counts), to_session, read, to_answer, answers)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(bridge.forward)
            group.start_soon(bridge.answer)
            yield bridge
            group.cancel_scope.cancel()
    finally:
        for stream in (to_session, read, to_answer, answers):
            stream.close()


@asynccontextmanager
async def _running(
    command: Command, wire: Wire, tap: LineTap, early: Process | None = None
) -> AsyncGenerator[StdioChild]:
    """A process from start to end; leaving takes at most 5 seconds and leaves nobody of its group."""
    process = early or Process.start(command)
    wire.guard.add(process.pid)
    child = wire.child = StdioChild(process, tap, wire.changed)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(child.run)
            try:
                yield child
            finally:
                await child.stop()
                group.cancel_scope.cancel()
    finally:
        process.kill()
        child.close()
        wire.guard.remove(process.pid)


@asynccontextmanager
async def stdio_transport(
    command: Command, wire: Wire, early: Process | None = None
) -> AsyncGenerator[TransportStreams]:
    """A server started here, on its pipes.

    Args:
        command: What to start.
        wire: What is told of it.
        early: Its process, where that runs already.

    Raises:
        ServerError: It cannot be started.
    """
    tap = wire.tap = StdioTap(wire.recorder, peer=wire.server, connection=wire.connection)
    async with _running(command, wire, tap, early) as child:

        async def sink(_: SessionMessage, data: bytes) -> None:
            await child.send(data + b"\n", current_place.get())

        async with _bridge(wire, sink) as bridge, anyio.create_task_group() as group:
            group.start_soon(_feed_lines, child, bridge)
            try:
                yield bridge.read, bridge.write
            finally:
                group.cancel_scope.cancel()


async def _feed_lines(child: StdioChild, bridge: _Bridge) -> None:
    async for lines in child.lines:
        for line in lines:
            message = bridge.wire.repair.read(line)
            if message is not None:
                bridge.take(message)
        await bridge.inbox.has_room()
    bridge.over(child.fault or await _cause_of_end(child))


async def _cause_of_end(child: StdioChild) -> str:
    """Why the output ended: mostly its process has too, a moment later."""
    await child.process.wait(1.0)
    code = child.process.exit_code
    return "closed its standard output" if code is None else ending(code)


@asynccontextmanager
async def http_transport(
    endpoint: Endpoint, wire: Wire, kind: Literal["http", "sse"], *, read_seconds: float | None
) -> AsyncGenerator[TransportStreams]:
    """A server behind a URL, over streamable HTTP or the older HTTP with SSE.

    Args:
        endpoint: Where it is.
        wire: What is told of it.
        kind: Which of the two.
        read_seconds: How long an answer's bytes may pause; None for ever.

    Raises:
        ServerError: The program that should tell the URL did not.
    """
    async with _address(endpoint, wire) as url:
        observer = Observer(wire.recorder, wire="mcp", peer=wire.server, connection=wire.connection)
        gate = wire.gate = HttpGate(
            RecordingTransport(observer, httpx2.AsyncHTTPTransport()), streaming_post=kind == "http"
        )
        # Compressed answers could grow beyond bounds where the SDK unpacks them.
        headers = {"User-Agent": "tui-host", **endpoint.headers, "Accept-Encoding": "identity"}

        def client(
            headers: Mapping[str, str] | None = headers,
            timeout: httpx2.Timeout | None = None,
            auth: httpx2.Auth | None = None,
        ) -> httpx2.AsyncClient:
            del timeout, auth  # of the SDK's SSE client; ours hold for both transports
            limit = httpx2.Timeout(CONNECT_SECONDS, read=read_seconds)
            return httpx2.AsyncClient(transport=gate, headers=headers, timeout=limit)

        if kind == "http":
            async with (
                client() as http,
                streamable_http_client(url, http_client=http, max_sse_event_size=LINE_LIMIT) as (read, write),
                _over_sdk(wire, read, write.send) as streams,
            ):
                yield streams
        else:
            async with (
                sse_client(url, headers, CONNECT_SECONDS, STREAM_SECONDS, httpx_client_factory=client) as (read, write),
                _over_sdk(wire, read, write.send) as streams,
            ):
                yield streams


@asynccontextmanager
async def _over_sdk(
    wire: Wire,
    read: AsyncIterable[SessionMessage | Exception],
    send: Callable[[SessionMessage], Awaitable[None]],
) -> AsyncGenerator[TransportStreams]:
    """The SDK's own transport with our repair step over it."""

    async def sink(item: SessionMessage, _: bytes) -> None:
        await send(item)

    async def feed() -> None:
        async for item in read:
            if isinstance(item, Exception):
                wire.repair.counts.malformed += 1
                wire.changed()
                continue
            bridge.take(item.message)
            await bridge.inbox.has_room()
        bridge.over((wire.gate.cut if wire.gate is not None else "") or "closed the connection")

    async with _bridge(wire, sink) as bridge, anyio.create_task_group() as group:
        group.start_soon(feed)
        try:
            yield bridge.read, bridge.write
        finally:
            group.cancel_scope.cancel()


@asynccontextmanager
async def _address(endpoint: Endpoint, wire: Wire) -> AsyncGenerator[str]:
    """The server's URL; where a program tells it, it runs as long as the connection."""
    if endpoint.command is None:
        yield endpoint.url
        return
    async with _running(endpoint.command, wire, _LauncherTap(wire)) as child:
        line = b""
        with anyio.move_on_after(START_SECONDS):
            async for lines in child.lines:
                line = lines[0]
                break
        url = _told_url(line)
        if url is None:
            raise ServerError("its program told no URL", wire.server, "look at its standard error")
        async with anyio.create_task_group() as group:
            group.start_soon(_watch, child, wire)
            try:
                yield url
            finally:
                group.cancel_scope.cancel()


async def _watch(child: StdioChild, wire: Wire) -> None:
    async for _ in child.lines:
        pass
    wire.end(await _cause_of_end(child))


def _told_url(line: bytes) -> str | None:
    try:
        value: JSON = json.loads(line)
    except ValueError:
        return None
    url = value.get("url") if is_object(value) else None
    return url if isinstance(url, str) else None


class _LauncherTap:
    """The tap on a program whose standard output is no protocol: only its standard error is recorded."""

    def __init__(self, wire: Wire) -> None:
        self._tap = StdioTap(wire.recorder, peer=wire.server, connection=wire.connection)

    def out(self, line: bytes, place: Place) -> None:
        """Nothing is written to it."""

    def into(self, line: bytes, fault: str | None) -> bool:
        """Its one line is for us; all others are nobody's."""
        return fault is None and line.startswith(b"{")

    def junk(self, block: bytes, lines: int) -> None:
        """Nobody's."""

    def error(self, line: bytes, fault: str | None) -> None:
        """Recorded as every server's."""
        self._tap.error(line, fault)
