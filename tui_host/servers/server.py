"""A configured server, kept connected by one task for as long as it is wanted.

A server that went away is tried again after 1, 2, 4 … 30 s, ten times. One that never was ready is not, so that a wrong command
does not loop; save behind a URL that refuses connections, since the server may only be starting. Light to import: `run` needs the SDK.
"""

from __future__ import annotations

import asyncio
import math
import signal
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from tui_host.errors import ServerError, TuiHostError
from tui_host.servers.catalog import ServerStatus, State, describe

if TYPE_CHECKING:
    from tui_host.guard.child_process import Process
    from tui_host.servers.connection import Connection
    from tui_host.servers.shared_state import Shared
    from tui_host.settings.schema import ServerSpec

RETRY_SECONDS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0, 30.0, 30.0)
STEADY_SECONDS = 30.0
"""How long a connection has to last for the tries to be counted anew."""
KILL_SECONDS = 0.5
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
        changes: How the catalog differs from the one of the last connection, a line each.
    """

    def __init__(self, spec: ServerSpec, shared: Shared) -> None:
        self.spec = spec
        self.is_wanted = spec.enabled
        self.is_removed = False
        self.connection: Connection | None = None
        self.started: float | None = None
        self.waited_in_vain: Connection | None = None
        self.changes: tuple[str, ...] = ()
        self._shared = shared
        self._wake = asyncio.Event()
        self._early: Process | None = None
        self._former: Connection | None = None
        self._subscriptions: dict[str, int] = {}
        self._notice = ""
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
        """The current status."""
        status = self._status if self.connection is None else self.connection.status
        if self._is_tried_again(status.state):
            status = replace(status, state="lost", detail=self._words_of_try())
        if self.connection is not None and self._is_restarting:
            status = replace(status, state="connecting", detail="ending the connection before")
        own = (*filter(None, [self._notice]), *self.changes)
        return replace(status, notices=(*own, *status.notices)) if own else status

    def ready_connection(self) -> Connection:
        """Return the connection; raises ServerError if it is not ready."""
        if self.connection is None or self.state != "ready":
            what = f"the server is not connected: {self.status.detail or self.status.state}"
            raise ServerError(what, self.spec.name, "reconnect it", sent=False)
        return self.connection

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

    def take(self, spec: ServerSpec) -> None:
        """Take a changed configuration; the next connection uses it."""
        self.spec = spec
        self._status = replace(self._status, transport=spec.transport, command=describe(spec))

    def start_early(self) -> Process | None:
        """Start the program of a stdio server before its connection, so that it loads while the SDK is imported.

        A program that cannot be started is left to the connection, which reports why.
        """
        from tui_host.guard.child_process import Process
        from tui_host.servers.server_endpoint import resolve_endpoint

        if not self.is_wanted or self.spec.transport != "stdio":
            return None
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
                seconds = self._after(connection)
                self._shared.changed()
                if seconds:
                    with anyio.move_on_after(seconds):
                        await self._wake.wait()

    def _begin(self) -> Connection:
        from tui_host.servers.connection import Connection

        early, self._early = self._early, None
        self.connection = Connection(self.spec, self._shared, subscriptions=self._subscriptions, early=early)
        self.started = time.monotonic()
        self._retry_at = None
        self._shared.changed()
        return self.connection

    def _after(self, connection: Connection) -> float:
        """Decide what comes after a connection; returns the seconds until the next, if the server is still wanted."""
        self.connection = None
        self._status = connection.status
        self._former = connection  # if its session was lost, it still waits for answers
        if connection.ready_since is not None:
            self._was_ready = True
            if time.monotonic() - connection.ready_since >= STEADY_SECONDS:
                self._tries = 0
        match self._outcome(connection):
            case "next":
                self._is_restarting = False
                if connection.is_session_lost:
                    self._notice = SESSION_LOST
            case "tried again":
                self._plan_try(connection)
            case "over":
                self._give_up()
        return 0.0 if self._retry_at is None else self._retry_at - time.monotonic()

    def _outcome(self, connection: Connection) -> Literal["next", "tried again", "over"]:
        if self._is_restarting or (connection.is_session_lost and self.is_wanted):
            return "next"
        may_come_back = self._was_ready or (connection.is_refused and not self._shared.for_command)
        is_gone = connection.state in {"lost", "failed"}
        if self.is_wanted and is_gone and may_come_back and self._tries < len(RETRY_SECONDS):
            return "tried again"
        return "over"

    def _plan_try(self, connection: Connection) -> None:
        self._retry_at = time.monotonic() + max(RETRY_SECONDS[self._tries], connection.retry_seconds)
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
