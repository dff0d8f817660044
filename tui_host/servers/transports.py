"""The transport over pipes, and what both transports are made of: capture below, the repair step between, bounds on everything.

Each is an async context manager that yields the SDK's stream pair. `Wire` is what the owner of a connection sees of it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage

from tui_host.capture.conversation_context import current_place
from tui_host.capture.frames.frame_heads import Frame
from tui_host.capture.stdio.server_pipes import LineTap, StdioChild
from tui_host.capture.stdio.stdio_tap import StdioTap
from tui_host.errors import JSON, ServerError
from tui_host.guard.child_process import Command, Process, ending
from tui_host.guard.guard_client import Guard
from tui_host.servers.outgoing_request import current_flight, frame_bytes
from tui_host.servers.repair import Inbox, Repair

if TYPE_CHECKING:
    from tui_host.capture.recorder import Recorder
    from tui_host.servers.http_gate import HttpGate

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


Sink: TypeAlias = Callable[[SessionMessage, bytes, Mapping[str, JSON]], Awaitable[None]]
"""Writes a message: as the SDK made it, as bytes, and as what these bytes say."""


@dataclass(slots=True)
class WriteStream:
    """The stream that the SDK writes to: `send` runs in the caller's context, where the call and its place are known."""

    wire: Wire
    sink: Sink
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
            frame: dict[str, JSON] = item.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
            data = frame_bytes(frame, flight)
        except ServerError as error:
            if flight is not None:
                flight.refusal = error.what
            raise
        except ValueError as error:
            raise ServerError(f"this cannot be written as JSON: {error}") from error
        self.wire.repair.sending(item.message, flight)
        await self.sink(item, data, frame)

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
class Bridge:
    """The SDK's side of a wire: messages pass the repair step and wait in the inbox, where the SDK reads them."""

    wire: Wire
    write: WriteStream
    read: Inbox
    to_answer: MemoryObjectSendStream[JSONRPCMessage]
    answers: MemoryObjectReceiveStream[JSONRPCMessage] = field(repr=False)

    def take(self, line: bytes, frame: Frame) -> None:
        """A line came that is a message, or should be one."""
        message = self.wire.repair.read(line, frame.value)
        if message is not None:
            self.received(message)

    def received(self, message: JSONRPCMessage) -> None:
        """A message came."""
        onward, reply = self.wire.repair.received(message)
        if onward is not None:
            self.read.put(onward)
        if reply is not None:
            try:
                self.to_answer.send_nowait(reply)
            except anyio.WouldBlock:
                self.wire.refused += 1

    @property
    def is_full(self) -> bool:
        """No more should come for now."""
        return self.read.is_full

    async def has_room(self) -> None:
        """Wait until more may come."""
        await self.read.has_room()

    async def answer(self) -> None:
        """Send our own answers, one after the other."""
        async for message in self.answers:
            try:
                await self.write.send(SessionMessage(message))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return

    def over(self, cause: str) -> None:
        """Nothing more will come; it is the end of the connection for everybody who waits for an answer."""
        self.wire.end(cause)
        self.read.close()


@asynccontextmanager
async def bridged(wire: Wire, sink: Sink) -> AsyncGenerator[Bridge]:
    """The SDK's side of a wire, while the block feeds it; `sink` sends what the SDK has written."""
    to_answer, answers = anyio.create_memory_object_stream[JSONRPCMessage](_REPLIES_WAITING)
    bridge = Bridge(wire, WriteStream(wire, sink), Inbox(wire.repair.counts), to_answer, answers)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(bridge.answer)
            yield bridge
            group.cancel_scope.cancel()
    finally:
        bridge.read.close()
        to_answer.close()
        answers.close()


@asynccontextmanager
async def running(
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
    async with running(command, wire, tap, early) as child:

        async def sink(_: SessionMessage, data: bytes, frame: Mapping[str, JSON]) -> None:
            await child.send(data + b"\n", frame, current_place.get())

        async with bridged(wire, sink) as bridge, anyio.create_task_group() as group:
            child.listener = bridge
            group.start_soon(_until_over, child, bridge)
            try:
                yield bridge.read, bridge.write
            finally:
                group.cancel_scope.cancel()


async def _until_over(child: StdioChild, bridge: Bridge) -> None:
    await child.over.wait()
    bridge.over(child.fault or await cause_of_end(child))


async def cause_of_end(child: StdioChild) -> str:
    """Why the output ended: mostly its process has too, a moment later."""
    await child.process.wait(1.0)
    code = child.process.exit_code
    return "closed its standard output" if code is None else ending(code)
