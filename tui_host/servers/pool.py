"""All configured servers, each kept connected by its own task. Light to import; `run` imports the SDK in a thread."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from tui_host.errors import ServerError, TuiHostError
from tui_host.guard.guard_client import Guard
from tui_host.servers.catalog import Progress, ServerStatus, Tool, ToolOutput
from tui_host.servers.pool_slot import Shared, Slot

if TYPE_CHECKING:
    from tui_host.capture.record import Place
    from tui_host.capture.recorder import Recorder
    from tui_host.guard.child_process import Process
    from tui_host.servers.connection import Connection
    from tui_host.settings.schema import ServerSpec

STOP_SECONDS = 5.0
KILL_SECONDS = 0.5


class Pool:
    """The servers of a host. Use only from the event loop's thread.

    Args:
        specs: The configured servers by name, in order.
        recorder: Records the traffic.
        environment: Resolves references.
        guard: Ends the children of a killed host; the pool makes its own if None.

    Attributes:
        guard: Is told every process.
        revision: Grows with every status change.
    """

    def __init__(
        self,
        specs: Mapping[str, ServerSpec],
        recorder: Recorder,
        environment: Mapping[str, str],
        *,
        guard: Guard | None = None,
    ) -> None:
        self.guard = guard or Guard()
        self.revision = 0
        self._slots = {name: Slot(spec) for name, spec in specs.items()}
        self._shared = Shared(recorder=recorder, environment=environment, guard=self.guard, changed=self._changed)
        self._has_own_guard = guard is None
        self._is_running = False
        self._done = asyncio.Event()
        self._change = asyncio.Event()

    async def run(self) -> None:
        """Connect all enabled servers at once, and keep the wanted servers connected until `stop_all`. No server's fault raises."""
        self._is_running = True
        early: list[Process] = []
        try:
            await self._start_early(early)
            supervise = await asyncio.to_thread(_import_supervisor)
            if not self._shared.is_stopping:
                await supervise(self._shared, tuple(self._slots.values()))
        finally:
            self._is_running = False
            await self._end_early(early)
            if self._has_own_guard:
                self.guard.bye()
            self._done.set()
            self._changed()

    async def _start_early(self, started: list[Process]) -> None:
        """Start the programs of all enabled stdio servers, which load while the SDK is still being imported here.

        A program that cannot be started is left to its connection, which reports why.
        """
        from tui_host.guard.child_process import Process
        from tui_host.servers.server_endpoint import resolve_endpoint

        for slot in self._slots.values():
            if slot.is_wanted and slot.spec.transport == "stdio" and not self._shared.is_stopping:
                with suppress(TuiHostError):
                    command = resolve_endpoint(slot.spec, self._shared.environment).command
                    if command is not None:
                        slot.early = Process.start(command)
                        started.append(slot.early)
                        self.guard.add(slot.early.pid)
                await asyncio.sleep(0)  # each start blocks for some milliseconds

    async def _end_early(self, started: Sequence[Process]) -> None:
        """End the processes not taken by any connection."""
        import anyio

        with anyio.CancelScope(shield=True):
            for process in started:
                process.kill()
                await process.wait(KILL_SECONDS)
                for pipe in (process.stdin, process.stdout, process.stderr):
                    pipe.close()
                self.guard.remove(process.pid)

    def statuses(self) -> tuple[ServerStatus, ...]:
        """Return every server's status, in the order of the configuration."""
        return tuple(slot.status for slot in self._slots.values())

    def reconnect(self, name: str) -> None:
        """End the current connection, if any, and make a new connection. Returns at once."""
        slot = self._slot(name)
        slot.is_wanted = True
        slot.waited_in_vain = None
        if slot.connection is not None:
            slot.is_restarting = True
            slot.connection.stop()
        slot.mark_connecting()
        slot.wake.set()
        self._changed()

    def start(self, name: str) -> None:
        """Connect a server without a connection. Returns at once."""
        if self._slot(name).connection is None:
            self.reconnect(name)

    def stop(self, name: str) -> None:
        """Disconnect a server. Returns at once."""
        slot = self._slot(name)
        slot.is_wanted = slot.is_restarting = False
        if slot.early is not None:
            slot.early.signal_group(signal.SIGKILL)  # `run` waits for its end
            slot.early = None
        if slot.connection is not None:
            slot.connection.stop()
        slot.wake.set()
        self._changed()

    async def settled(self, timeout: float) -> tuple[str, ...]:  # noqa: ASYNC109 - it returns then, it does not fail
        """Wait until no server is connecting, at most `timeout` seconds.

        Returns:
            The names of servers still connecting.
        """
        end = time.monotonic() + timeout
        while (names := self._connecting()) and (left := end - time.monotonic()) > 0:
            await self._wait_for_change(left)
        return names

    async def settled_for_turn(self, seconds: float, wants: Callable[[str], bool] = bool) -> tuple[str, ...]:
        """Wait as a turn does: at most `seconds` from now, or from a server's start if that comes later.

        A connection that one turn has waited for in vain does not delay the next turn.

        Args:
            seconds: How long.
            wants: Whether the turn uses a server, given its name.

        Returns:
            The names of servers still connecting.
        """
        begun = time.monotonic()
        while (names := tuple(filter(wants, self._connecting()))) and (
            left := self._remaining_seconds(names, begun + seconds, seconds)
        ) > 0:
            await self._wait_for_change(left)
        for name in names:
            self._slots[name].waited_in_vain = self._slots[name].connection
        return names

    async def _wait_for_change(self, seconds: float) -> None:
        """Wait for any change, at most `seconds`."""
        self._change.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._change.wait()

    def _remaining_seconds(self, names: Sequence[str], end: float, seconds: float) -> float:
        """Return for how many seconds waiting for any of the servers still makes sense."""
        now = time.monotonic()
        left = 0.0
        for slot in (self._slots[name] for name in names):
            if slot.connection is None or slot.connection is not slot.waited_in_vain:
                started = now if slot.started is None else slot.started
                left = max(left, max(end, started + seconds) - now)
        return left

    def tools(self) -> tuple[Tool, ...]:
        """Return all tools to offer to a model: of ready servers, without a problem, and the resource readers."""
        return tuple(tool for connection in self._ready() for tool in connection.offered)

    def _ready(self) -> list[Connection]:
        states = ((slot.connection, slot.state) for slot in self._slots.values())
        return [connection for connection, state in states if connection is not None and state == "ready"]

    async def listed(self, seconds: float) -> None:
        """Wait until the resources of ready servers are listed, at most `seconds`."""
        end = time.monotonic() + seconds
        while not all(connection.is_listed for connection in self._ready()) and (left := end - time.monotonic()) > 0:
            await self._wait_for_change(left)

    async def call(
        self,
        server: str,
        tool: str,
        arguments_json: bytes,
        *,
        place: Place,
        fingerprint: str,
        on_progress: Callable[[Progress], None],
    ) -> ToolOutput:
        """Call a tool with exactly the approved arguments, if its definition has not changed since.

        Args:
            server: The server's configured name.
            tool: The tool's own name; `READ` reads a resource.
            arguments_json: The canonical bytes.
            place: Session, turn, step and call for the records.
            fingerprint: Fingerprint of the definition that was shown.
            on_progress: Called for each progress notification.

        Raises:
            ServerError: Says what happened, and whether the tool may have run.
        """
        slot = self._slot(server)
        connection = slot.connection
        if connection is None or slot.state != "ready":
            what = f"the server is not connected: {slot.status.detail or slot.status.state}"
            raise ServerError(what, server, "reconnect it", sent=False)
        offered = next((candidate for candidate in connection.offered if candidate.name == tool), None)
        if offered is None:
            raise ServerError(f"the server no longer has a tool {tool}; nothing was sent", server, sent=False)
        if offered.fingerprint != fingerprint:
            what = f"the definition of {tool} has changed since the call was approved; nothing was sent"
            raise ServerError(what, server, sent=False)
        return await connection.call(
            tool, arguments_json, place=place, seconds=slot.spec.timeout, on_progress=on_progress
        )

    async def stop_all(self) -> None:
        """End every connection at once, in under five seconds; `run` returns then."""
        self._shared.is_stopping = True
        for name in self._slots:
            self.stop(name)
        if self._is_running:
            async with asyncio.timeout(STOP_SECONDS):
                await self._done.wait()

    def _changed(self) -> None:
        self.revision += 1
        self._change.set()

    def _connecting(self) -> tuple[str, ...]:
        return tuple(name for name, slot in self._slots.items() if slot.is_wanted and slot.state == "connecting")

    def _slot(self, name: str) -> Slot:
        if name not in self._slots:
            raise ServerError(f"there is no server {name}", sent=False)
        return self._slots[name]


def _import_supervisor() -> Callable[[Shared, Sequence[Slot]], Awaitable[None]]:
    from tui_host.servers.sdk_import import put_off

    put_off()
    from tui_host.servers.supervisor import supervise_all

    return supervise_all
