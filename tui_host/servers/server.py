"""A configured server, kept connected by one task for as long as it is wanted.

The task makes one `McpConnection` after the other. The next follows at once if the failure told of another way, such as the older
transport, or if the session was lost. It follows after 1, 2, 4 … 30 s, ten times at most, if a server that was once ready went away, or
if its URL refuses connections, since it may only be starting. Else none follows, so that a wrong command does not loop.

Light to import, for the first frame: only `run` needs the SDK.
"""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_host.servers.catalog import ServerStatus, State, Tool, describe

if TYPE_CHECKING:
    from tui_host.servers.connection import McpConnection, Way
    from tui_host.servers.wire import Shared
    from tui_host.settings.schema import ServerSpec

RETRY_SECONDS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0, 30.0, 30.0)
STEADY_SECONDS = 30.0  # how long a connection has to last for the tries to be counted anew
SESSION_LOST = "the server no longer knew the session; a new one was made"


class Server:
    """A configured server. `run` is its task; the other methods return at once."""

    def __init__(self, spec: ServerSpec, shared: Shared) -> None:
        self.spec = spec  # a changed entry holds from the next connection on
        self.is_wanted = spec.enabled  # False also once nothing more is tried, until somebody reconnects
        self.is_removed = False  # from the configuration: nothing connects it again
        self.connection: McpConnection | None = None  # the current one, or the last
        self.waited_in_vain: McpConnection | None = None  # a turn waited for it to be ready; none will again
        self.tools_off: frozenset[str] = frozenset()
        self.is_instructing = spec.instructions  # they go to the model
        self._shared = shared
        self._wake = asyncio.Event()
        self._former: McpConnection | None = None
        self._way: Way | None = None  # of the next connection; None: as configured
        self._subscriptions: dict[str, int] = {}
        self._notices: tuple[str, ...] = ()
        self._changes: tuple[str, ...] = ()
        self._is_restarting = False
        self._tries = 0
        self._retry_at: float | None = None
        self._reason = ""  # why the server went away, while it is tried again
        self._was_ready = False
        self._is_told = False  # that it went away, so that its coming back is told too
        self._began_ns = time.monotonic_ns()

    @property
    def state(self) -> State:
        """The current state; cheaper than `status`, because it is read often."""
        if self._is_restarting:
            return "connecting"
        if self.connection is None:
            return "connecting" if self.is_wanted else "disabled"
        # While tries last it counts as lost, also during one, so that no turn waits for it.
        state = self.connection.known.state
        return "lost" if self._tries > 0 and state in {"connecting", "failed"} else state

    @property
    def status(self) -> ServerStatus:
        spec, state = self.spec, self.state
        if self.connection is None:
            status = ServerStatus(
                name=spec.name,
                state=state,
                transport=spec.transport,
                command=describe(spec),
                since_mono_ns=self._began_ns,
            )
        else:
            status = self.connection.status
        detail = status.detail
        if state == "lost" and self._tries:
            detail = self._reason
            if not self._shared.for_command:  # which ends before a try, so that a countdown would say nothing
                left = "is under way"
                if self._retry_at is not None:
                    left = f"in {max(1, math.ceil(self._retry_at - time.monotonic()))} s"
                detail = f"{detail}; try {self._tries} of {len(RETRY_SECONDS)} {left}"
        elif self._is_restarting or (self.connection is None and state == "connecting"):
            detail = "starting"
        return replace(status, state=state, detail=detail, notices=(*self._notices, *self._changes, *status.notices))

    @property
    def offered(self) -> tuple[Tool, ...]:
        if self.connection is None or self.state != "ready":
            return ()
        return tuple(tool for tool in self.connection.offered if tool.name not in self.tools_off)

    @property
    def is_listed(self) -> bool:
        return self.connection is not None and self.connection.lists.is_read

    def reconnect(self) -> None:
        self.is_wanted = self._is_restarting = True
        self.waited_in_vain = None
        self._disconnect()

    def stop(self) -> None:
        self.is_wanted = self._is_restarting = self._is_told = False
        self._disconnect()

    def _disconnect(self) -> None:
        self._tries, self._retry_at = 0, None
        for connection in (self.connection, self._former):
            if connection is not None:
                connection.stop()
        self._wake.set()
        self._shared.changed()

    def switch(self, tool: str = "", *, is_on: bool) -> None:
        """Switch a tool on or off; without a name, whether the instructions go to the model."""
        if tool:
            self.tools_off = self.tools_off - {tool} if is_on else self.tools_off | {tool}
        else:
            self.is_instructing = is_on
        self._shared.changed()

    def tell_changes(self, changes: tuple[str, ...]) -> None:
        self._changes = changes
        self._shared.changed()

    async def run(self) -> None:
        """Keep the server connected while it is wanted. Never raises for a fault of the server."""
        import anyio

        from tui_host.servers.connection import McpConnection

        # A connection whose session was lost may outlive the next one's start: in a task of its own it waits for its last answers.
        async with anyio.create_task_group() as group:
            while not (self._shared.is_stopping or self.is_removed):
                self._wake.clear()
                if not self.is_wanted:
                    await self._wake.wait()
                    continue
                self._former = self.connection  # if its session was lost, it still waits for answers
                connection = McpConnection(self.spec, self._shared, self._way, subscriptions=self._subscriptions)
                self.connection = connection
                self._is_restarting, self._retry_at = False, None
                self._shared.changed()
                group.start_soon(connection.run)
                await connection.settled.wait()  # it is ready, or has failed
                if connection.ready_since is not None and self._is_told:
                    self._is_told = False
                    self._shared.turned(self.spec.name, "back", "")
                await connection.replaceable.wait()  # it has ended, or its session is lost
                self._decide(connection)
                self._shared.changed()
                if self._retry_at is not None:
                    with anyio.move_on_after(self._retry_at - time.monotonic()):
                        await self._wake.wait()

    def _decide(self, connection: McpConnection) -> None:
        """Decide what comes after a connection: the next one at once, a try after a pause, or nothing."""
        if connection.ready_since is not None:
            self._was_ready = True
            if time.monotonic() - connection.ready_since >= STEADY_SECONDS:
                self._tries = 0
        self._way = connection.other_way
        if connection.gate.is_session_lost:
            self._notices = (SESSION_LOST,)
        if not self.is_wanted:
            self._is_told = False
            return
        if self._is_restarting or self._way is not None or connection.gate.is_session_lost:
            return
        words = connection.status.detail
        may_come_back = self._was_ready or (connection.gate.is_refused and not self._shared.for_command)
        if may_come_back and self._tries < len(RETRY_SECONDS):
            self._reason = words
            self._retry_at = time.monotonic() + max(RETRY_SECONDS[self._tries], connection.gate.retry_seconds)
            self._tries += 1
            if not self._is_told:
                self._is_told = True
                self._shared.turned(self.spec.name, "lost", self.status.detail)
            return
        if self._tries:
            words = f"{words}; gave up after {self._tries} tries"
            self._shared.turned(self.spec.name, "given up", words)
        connection.publish("failed", words)
        self.is_wanted = self._is_told = False
        self._tries, self._retry_at = 0, None
