"""The stdio transport, and the parts shared by both transports: capture below, repair in between, limits everywhere.

Each transport is an async context manager that yields the SDK's stream pair. The owner of a connection sees a `Wire`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, JSONRPCRequest

from tui_host.capture.connection_end import connection_end
from tui_host.capture.frames.frame_heads import Frame
from tui_host.capture.record import NOWHERE, Place, current_place
from tui_host.capture.stdio.server_pipes import StdioChild
from tui_host.capture.stdio.stdio_tap import StdioTap
from tui_host.errors import JSON, ServerError
from tui_host.guard.child_process import Command, Process, ending
from tui_host.guard.guard_client import Guard
from tui_host.servers.outgoing_request import current_request, frame_bytes
from tui_host.servers.repair import Inbox, Repair

if TYPE_CHECKING:
    from tui_host.capture.recorder import Recorder
    from tui_host.servers.http_gate import HttpGate
    from tui_host.servers.login_services import LoginServices

_REPLIES_WAITING = 64


@dataclass(slots=True, kw_only=True)
class Wire:
    """A connection's wire, as seen by its owner.

    Attributes:
        server: The server's configured name.
        connection: The connection's id in the capture.
        recorder: Records the traffic.
        guard: Knows every running process.
        repair: The repair step.
        changed: Called after a visible change.
        lost: Called once, at the end of the wire.
        refused_connection: Called with the reason each time nothing accepts a connection at a remote server's address.
        tap: The tap on the pipes, None for a remote server.
        child: The server's process, or the program that serves over HTTP; None for a remote server.
        gate: The HTTP client's gate, None on stdio.
        login: What a login needs of the connection; None without logins.
        cause: Why the wire ended, empty while connected.
        is_left: We are disconnecting, and so the wire ends.
        is_end_recorded: A record says how the connection ended.
        refused: Number of the server's requests refused for lack of room.
    """

    server: str
    connection: str
    recorder: Recorder
    guard: Guard
    repair: Repair
    changed: Callable[[], None]
    lost: Callable[[], None]
    refused_connection: Callable[[str], None]
    tap: StdioTap | None = None
    child: StdioChild | None = None
    gate: HttpGate | None = None
    login: LoginServices | None = None
    cause: str = ""
    is_left: bool = False
    refused: int = 0
    is_end_recorded: bool = False

    def end(self, cause: str) -> None:
        """End the wire; only the first cause counts."""
        if not self.cause:
            self.cause = cause
            self.record_end(cause)
            self.lost()
            self.changed()

    def record_end(self, reason: str) -> None:
        """Record once how the connection ended, if it was ever used."""
        is_used = self.gate is not None or (self.tap is not None and self.tap.sent > 0)
        if is_used and not self.is_end_recorded:
            self.is_end_recorded = True
            self.recorder.append(connection_end(self.server, self.connection, reason))


Sink: TypeAlias = Callable[[SessionMessage, bytes, Mapping[str, JSON]], Awaitable[None]]
"""Writes a message, given as SDK object, as bytes, and as JSON value."""


@dataclass(slots=True)
class WriteStream:
    """The stream for the SDK's messages. `send` runs in the caller's context, which knows the call and its place."""

    wire: Wire
    sink: Sink
    is_open: bool = True

    async def send(self, item: SessionMessage, /) -> None:
        """Check a message against the approved call, and send it.

        Raises:
            ServerError: The message differs; nothing was sent.
            anyio.ClosedResourceError: The connection has ended.
        """
        if not self.is_open or self.wire.cause:
            raise anyio.ClosedResourceError
        outgoing = current_request.get()
        try:
            frame: dict[str, JSON] = item.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
            data = frame_bytes(frame, outgoing)
        except ServerError as error:
            if outgoing is not None:
                outgoing.refusal = error.what
            raise
        except ValueError as error:
            raise ServerError(f"the message cannot be written as JSON: {error}") from error
        self.wire.repair.sending(item.message, outgoing)
        await self.sink(item, data, frame)

    async def aclose(self) -> None:
        """Refuse further messages."""
        self.is_open = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, exc_type: object, exc_val: object, exc_tb: object) -> None:
        await self.aclose()


@dataclass(slots=True)
class Bridge:
    """The SDK's side of a wire: messages pass the repair step and wait in the inbox."""

    wire: Wire
    write: WriteStream
    read: Inbox
    to_answer: MemoryObjectSendStream[JSONRPCMessage]
    answers: MemoryObjectReceiveStream[JSONRPCMessage] = field(repr=False)

    def take(self, line: bytes, frame: Frame) -> None:
        """Receive a line, which should hold one message."""
        message = self.wire.repair.read(line, frame.value)
        if message is not None:
            self.received(message)

    def received(self, message: JSONRPCMessage, place: Place = NOWHERE) -> None:
        """Receive a message.

        Args:
            message: The message.
            place: The place of the exchange in whose answer the message came; nowhere if it came by itself.
        """
        onward, reply = self.wire.repair.received(message)
        if isinstance(onward, JSONRPCRequest):
            self.read.put(onward, place if place.call else self.wire.repair.only_place)
        elif onward is not None:
            self.read.put(onward)
        if reply is not None:
            try:
                self.to_answer.send_nowait(reply)
            except anyio.WouldBlock:
                self.wire.refused += 1

    @property
    def is_full(self) -> bool:
        """Whether reading should pause."""
        return self.read.is_full

    async def has_room(self) -> None:
        """Wait until more messages may come."""
        await self.read.has_room()

    async def answer(self) -> None:
        """Send our own answers, one at a time."""
        async for message in self.answers:
            try:
                await self.write.send(SessionMessage(message))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return

    def over(self, cause: str) -> None:
        """Give an error to every request that waits for an answer, and end the connection."""
        self.wire.end(cause)
        self.read.close()


@asynccontextmanager
async def bridged(wire: Wire, sink: Sink) -> AsyncGenerator[Bridge]:
    """Provide the SDK's side of a wire. The `async with` block feeds it; `sink` sends the SDK's messages."""
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
    command: Command, wire: Wire, tap: StdioTap, early: Process | None = None
) -> AsyncGenerator[StdioChild]:
    """Run a process for the duration of the block; leaving takes at most 5 seconds and ends the process's whole group."""
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
    """Start a server and connect to its pipes.

    Args:
        command: The program to start.
        wire: Receives the state of the connection.
        early: The server's process, if already running.

    Raises:
            ServerError: The program cannot be started.
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
    """Say why the output ended. Waits briefly, since the process usually ends a moment later."""
    await child.process.wait(1.0)
    code = child.process.exit_code
    return "closed its standard output" if code is None else ending(code)
