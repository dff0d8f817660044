"""A server's slot in the pool. A module of its own, which the supervisor can import."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_host.errors import ServerError
from tui_host.servers.catalog import ServerStatus, State, describe
from tui_host.servers.reconnection import Reconnection

if TYPE_CHECKING:
    from tui_host.guard.child_process import Process
    from tui_host.servers.connection import Connection
    from tui_host.settings.schema import ServerSpec


class Slot:
    """A server's slot in the pool.

    Attributes:
        spec: As configured.
        is_wanted: The server should be connected.
        is_restarting: Connect again after the current connection's end.
        connection: The current connection, None if there is none.
        wake: Set when `is_wanted` or `is_restarting` has changed.
        early: The server's process, if started before its connection; else None.
        started: Monotonic seconds of the last connection's start, None before the first.
        subscriptions: Number of updates of each subscribed resource, kept from one connection to the next.
        reconnection: The tries to reach a server that went away.
        is_removed: The server is no longer configured, so nothing connects it again.
        changes: How the catalog differs from the one of the last connection, a line each.
        waited_in_vain: The connection that did not become ready while a turn waited for it.
    """

    def __init__(self, spec: ServerSpec, *, for_command: bool = False) -> None:
        self.spec = spec
        self.is_wanted = spec.enabled
        self.is_restarting = False
        self.connection: Connection | None = None
        self.wake = asyncio.Event()
        self.early: Process | None = None
        self.started: float | None = None
        self.subscriptions: dict[str, int] = {}
        self.reconnection = Reconnection(for_command=for_command)
        self.waited_in_vain: Connection | None = None
        self.is_removed = False
        self.changes: tuple[str, ...] = ()
        self._former: Connection | None = None
        self._notice = ""
        self._status = ServerStatus(
            name=spec.name,
            state="connecting" if spec.enabled else "disabled",
            detail="starting" if spec.enabled else "",
            transport=spec.transport,
            command=describe(spec),
            since_mono_ns=time.monotonic_ns(),
        )

    @property
    def status(self) -> ServerStatus:
        """The current status."""
        status = self._status if self.connection is None else self.connection.status
        if self._is_tried_again(status.state):
            status = replace(status, state="lost", detail=self.reconnection.words)
        if self.connection is not None and self.is_restarting:
            status = replace(status, state=self.state, detail="ending the connection before")
        own = (*([self._notice] if self._notice else ()), *self.changes)
        return replace(status, notices=(*own, *status.notices)) if own else status

    @property
    def state(self) -> State:
        """The current state; cheaper than `status`, because it is read often."""
        if self.connection is None:
            return self._status.state
        if self.is_restarting:
            return "connecting"
        return "lost" if self._is_tried_again(self.connection.state) else self.connection.state

    def _is_tried_again(self, state: State) -> bool:
        """Whether a server that went away is waiting for a try, or the try is under way or about to be counted."""
        return self.reconnection.tries > 0 and state in {"connecting", "failed", "lost"}

    def ready_connection(self) -> Connection:
        """Return the connection; raises ServerError if it is not ready."""
        if self.connection is None or self.state != "ready":
            what = f"the server is not connected: {self.status.detail or self.status.state}"
            raise ServerError(what, self.spec.name, "reconnect it", sent=False)
        return self.connection

    def connection_for(self, tool: str, fingerprint: str) -> Connection:
        """Return the connection for an approved call; raises ServerError if the tool's definition has changed since."""
        server, connection = self.spec.name, self.ready_connection()
        offered = next((candidate for candidate in connection.offered if candidate.name == tool), None)
        if offered is None:
            raise ServerError(f"the server no longer has a tool {tool}; nothing was sent", server, sent=False)
        if offered.fingerprint != fingerprint:
            what = f"the definition of {tool} has changed since the call was approved; nothing was sent"
            raise ServerError(what, server, sent=False)
        return connection

    def end(self, connection: Connection) -> None:
        """Store the last status of a connection, unless its session was lost: that connection still waits for answers."""
        self.connection = None
        self._status = connection.status
        self._former = connection
        self.reconnection.ended(connection)

    def lose(self, connection: Connection) -> float | None:
        """Decide whether the server of a connection that ended is tried again.

        Returns:
            Seconds to wait before; None if it is not.
        """
        status = self._status
        delay = self.reconnection.plan(connection, status.detail)
        if delay is not None:
            self._status = replace(status, state="lost")
        elif status.state in {"lost", "failed"}:
            tries = self.reconnection.tries
            words = f"{status.detail}; gave up after {tries} tries" if tries else status.detail
            self._status = replace(status, state="failed", detail=words)
            self.reconnection.reset()
        return delay

    def stop(self) -> None:
        """Disconnect. Returns at once."""
        self.reconnection.reset()
        if self.connection is None and self._status.state == "lost":
            self._status = replace(self._status, state="stopped", detail="", since_mono_ns=time.monotonic_ns())
        for connection in (self.connection, self._former):
            if connection is not None:
                connection.stop()

    def set_notice(self, notice: str) -> None:
        """Set a notice that each later connection shows."""
        self._notice = notice

    def take(self, spec: ServerSpec) -> None:
        """Take a changed configuration; the next connection uses it."""
        self.spec = spec
        self._status = replace(self._status, transport=spec.transport, command=describe(spec))

    def mark_connecting(self) -> None:
        """Show that a connection is about to be made."""
        if self.connection is None:
            self._status = replace(
                self._status, state="connecting", detail="starting", since_mono_ns=time.monotonic_ns()
            )
