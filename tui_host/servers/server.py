"""A configured server, kept connected by one task for as long as it is wanted.

The task makes one `Connection` after the other: another way where the failure of the first told of one, a new one where the session was
lost, and a try after a pause where a server went away: after 1, 2, 4 … 30 s, ten times. A server that never was ready is not tried
again, so that a wrong command does not loop; save behind a URL that refuses connections, since the server may only be starting.

Light to import, for the first frame: only `run` needs the SDK.
"""

from __future__ import annotations

import asyncio
import math
import signal
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_host.errors import ServerError, TuiHostError
from tui_host.servers.catalog import ServerStatus, State, Tool, describe

if TYPE_CHECKING:
    from tui_host.guard.child_process import Process
    from tui_host.servers.connection import Connection, Way
    from tui_host.servers.wire import Shared
    from tui_host.settings.schema import ServerSpec

RETRY_SECONDS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0, 30.0, 30.0)
STEADY_SECONDS = 30.0
"""How long a connection has to last for the tries to be counted anew."""
SESSION_LOST = "the server no longer knew the session; a new one was made"


class Server:
    """A configured server. `run` is its task; the other methods return at once.

    Attributes:
        spec: As configured; a changed entry holds from the next connection on.
        is_wanted: The server should be connected.
        is_removed: The server is no longer configured, so nothing connects it again.
        connection: The current connection, None if there is none.
        started: Monotonic seconds of the last connection's start, None before the first.
        waited_in_vain: The connection that did not become ready while a turn waited for it.
        tools_off: Tools that are switched off.
        is_instructing: The server's instructions go to the model.
    """

    def __init__(self, spec: ServerSpec, shared: Shared) -> None:
        self.spec = spec
        self.is_wanted = spec.enabled
        self.is_removed = False
        self.connection: Connection | None = None
        self.started: float | None = None
        self.waited_in_vain: Connection | None = None
        self.tools_off: frozenset[str] = frozenset()
        self.is_instructing = spec.instructions
        self._shared = shared
        self._wake = asyncio.Event()
        self._early: Process | None = None
        self._former: Connection | None = None
        self._way: Way | None = None
        self._subscriptions: dict[str, int] = {}
        self._notices: tuple[str, ...] = ()
        self._changes: tuple[str, ...] = ()
        self._is_restarting = False
        self._tries = 0
        self._retry_at: float | None = None
        self._was_ready = False
        self._is_told = False
        self._status = ServerStatus(
            name=spec.name,
            state="connecting" if spec.enabled else "disabled",
            detail="starting" if spec.enabled else "",
            transport=spec.transport,
            command=describe(spec),
            since_mono_ns=time.monotonic_ns(),
        )

    # What others see.

    @property
    def state(self) -> State:
        """The current state; cheaper than `status`, because it is read often."""
        if self.connection is None:
            return self._status.state
        if self._is_restarting:
            return "connecting"
        return "lost" if self._is_tried_again(self.connection.state) else self.connection.state

    @property
    def status(self) -> ServerStatus:
        """The current status: the connection's, or what the last one left, with what only this server knows."""
        status = self._status if self.connection is None else self.connection.status
        if self._is_tried_again(status.state):
            status = replace(status, state="lost", detail=self._words_of_try())
        if self.connection is not None and self._is_restarting:
            status = replace(status, state="connecting", detail="ending the connection before")
        own = (*self._notices, *self._changes)
        return replace(status, notices=(*own, *status.notices)) if own else status

    @property
    def offered(self) -> tuple[Tool, ...]:
        """The tools to offer to a model: without a problem and switched on, and the resource reader."""
        if self.connection is None or self.state != "ready":
            return ()
        return tuple(tool for tool in self.connection.offered if tool.name not in self.tools_off)

    @property
    def is_connecting(self) -> bool:
        return self.is_wanted and self.state == "connecting"

    @property
    def is_listed(self) -> bool:
        """Whether the current connection has read all of its lists."""
        return self.connection is not None and self.connection.lists.is_read

    def ready_connection(self) -> Connection:
        """Return the connection; raises ServerError if it is not ready."""
        if self.connection is None or self.state != "ready":
            what = f"the server is not connected: {self.status.detail or self.status.state}"
            raise ServerError(what, self.spec.name, "reconnect it", sent=False)
        return self.connection

    def approved_connection(self, tool: str, fingerprint: str) -> Connection:
        """Return the connection for an approved call, provided that the tool is on and its definition has not changed."""
        name = self.spec.name
        if tool in self.tools_off:
            what = f"{tool} has been switched off; nothing was sent"
            raise ServerError(what, name, "o in f3 switches it on", sent=False)
        connection = self.ready_connection()
        offered = next((candidate for candidate in connection.offered if candidate.name == tool), None)
        if offered is None:
            raise ServerError(f"the server no longer has a tool {tool}; nothing was sent", name, sent=False)
        if offered.fingerprint != fingerprint:
            what = f"the definition of {tool} has changed since the call was approved; nothing was sent"
            raise ServerError(what, name, sent=False)
        return connection

    def is_replacing(self, connection: Connection) -> bool:
        """Whether a connection that lost its session is being replaced by a new one."""
        return self.is_wanted and (self.connection in {None, connection} or self.state == "connecting")

    def _is_tried_again(self, state: State) -> bool:
        """Whether a server that went away is waiting for a try, or the try is under way or about to be counted."""
        return self._tries > 0 and state in {"connecting", "failed", "lost"}

    def _words_of_try(self) -> str:
        reason = self._status.detail
        if self._shared.for_command:
            return reason
        count = f"try {self._tries} of {len(RETRY_SECONDS)}"
        if self._retry_at is None:
            return f"{reason}; {count} is under way"
        return f"{reason}; {count} in {max(1, math.ceil(self._retry_at - time.monotonic()))} s"

    # What the person wants.

    def reconnect(self) -> None:
        """End the current connection, if any, and make a new one; tries count anew."""
        self.is_wanted = True
        self.waited_in_vain = None
        self._is_restarting = self.connection is not None
        self._disconnect()
        if self.connection is None:
            self._set("connecting", "starting")
        self._wake.set()
        self._shared.changed()

    def stop(self) -> None:
        """Disconnect, and stay disconnected."""
        self.is_wanted = self._is_restarting = False
        if self._early is not None:
            self._early.signal_group(signal.SIGKILL)  # the pool waits for the process to end
            self._early = None
        if self.connection is None and self._status.state == "lost":
            self._set("stopped", "")
        self._disconnect()
        self._wake.set()
        self._shared.changed()

    def take(self, spec: ServerSpec) -> None:
        """Take a changed configuration: connect or disconnect as it says. A switch that was used meanwhile is no change."""
        is_as_before = replace(self.spec, enabled=spec.enabled) == spec and self.is_wanted == spec.enabled
        self.spec, self.is_instructing = spec, spec.instructions
        self._status = replace(self._status, transport=spec.transport, command=describe(spec))
        if not is_as_before:
            (self.reconnect if spec.enabled else self.stop)()

    def switch_tool(self, tool: str, *, is_on: bool) -> None:
        """Offer a tool to models, or no longer, from the next request on."""
        self.tools_off = self.tools_off - {tool} if is_on else self.tools_off | {tool}
        self._shared.changed()

    def switch_instructions(self, *, is_on: bool) -> None:
        """Send the instructions to models, or no longer, from the next turn on."""
        self.is_instructing = is_on
        self._shared.changed()

    def tell_changes(self, changes: tuple[str, ...]) -> None:
        """Say in the notices how the catalog differs from the one of the last connection."""
        self._changes = changes
        self._shared.changed()

    def decline_all(self) -> None:
        """Decline the open questions, and every further question until the server is connected again."""
        if self.connection is not None:
            self.connection.requests.decline_all()

    def start_early(self) -> Process | None:
        """Start the program of a stdio server before its connection, so that it loads while the SDK is imported.

        A program that cannot be started is left to the connection, which reports why.
        """
        from tui_host.guard.child_process import Process
        from tui_host.servers.server_endpoint import resolve_endpoint

        if self.is_wanted and self.spec.transport == "stdio":
            with suppress(TuiHostError):
                command = resolve_endpoint(self.spec, self._shared.environment).command
                if command is not None:
                    self._early = Process.start(command)
                    self._shared.guard.add(self._early.pid)
        return self._early

    def _disconnect(self) -> None:
        self._tries, self._retry_at = 0, None
        for connection in (self.connection, self._former):
            if connection is not None:
                connection.stop()

    # The task.

    async def run(self) -> None:
        """Keep the server connected while it is wanted. Never raises for a fault of the server."""
        import anyio

        # A connection whose session was lost may outlive the next one's start: in a task of its own it waits for its last answers.
        async with anyio.create_task_group() as group:
            while not (self._shared.is_stopping or self.is_removed):
                self._wake.clear()
                if not self.is_wanted:
                    await self._wake.wait()
                    continue
                connection = self._begin()
                group.start_soon(connection.run)
                await connection.settled.wait()
                if connection.ready_since is not None and self._is_told:
                    self._is_told = False
                    self._shared.turned(self.spec.name, "back", "")
                await connection.replaceable.wait()
                self._take_over(connection)
                self._decide(connection)
                self._shared.changed()
                if self._retry_at is not None:
                    with anyio.move_on_after(self._retry_at - time.monotonic()):
                        await self._wake.wait()

    def _begin(self) -> Connection:
        from tui_host.servers.connection import Connection

        (way, self._way), (early, self._early) = (self._way, None), (self._early, None)
        self.connection = Connection(self.spec, self._shared, way, subscriptions=self._subscriptions, early=early)
        self.started = time.monotonic()
        self._retry_at = None
        self._shared.changed()
        return self.connection

    def _take_over(self, connection: Connection) -> None:
        """Keep what a connection leaves."""
        self.connection = None
        self._status = connection.status
        self._former = connection  # if its session was lost, it still waits for answers
        if connection.ready_since is not None:
            self._was_ready = True
            if time.monotonic() - connection.ready_since >= STEADY_SECONDS:
                self._tries = 0

    def _decide(self, connection: Connection) -> None:
        """Decide what comes after a connection: the next one at once, a try after a pause, or nothing."""
        self._way = connection.other_way
        if self.is_wanted and (self._is_restarting or self._way is not None or connection.gate.is_session_lost):
            self._is_restarting = False
            if connection.gate.is_session_lost:
                self._notices = (SESSION_LOST,)
            return
        is_gone = connection.state in {"lost", "failed"}
        may_come_back = self._was_ready or (connection.gate.is_refused and not self._shared.for_command)
        if self.is_wanted and is_gone and may_come_back and self._tries < len(RETRY_SECONDS):
            self._plan_try(connection.gate.retry_seconds)
        else:
            self._give_up()

    def _plan_try(self, asked_seconds: float) -> None:
        self._retry_at = time.monotonic() + max(RETRY_SECONDS[self._tries], asked_seconds)
        self._tries += 1
        self._status = replace(self._status, state="lost")
        if not self._is_told:
            self._is_told = True
            self._shared.turned(self.spec.name, "lost", self.status.detail)

    def _give_up(self) -> None:
        tries, status = self._tries, self._status
        if self.is_wanted and status.state in {"lost", "failed"}:
            words = f"{status.detail}; gave up after {tries} tries" if tries else status.detail
            self._status = replace(status, state="failed", detail=words)
            if tries:
                self._shared.turned(self.spec.name, "given up", words)
        self.is_wanted = self._is_told = False
        self._tries, self._retry_at = 0, None

    def _set(self, state: State, detail: str) -> None:
        self._status = replace(self._status, state=state, detail=detail, since_mono_ns=time.monotonic_ns())
