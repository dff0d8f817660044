"""A server's slot in the pool, and the state shared by all slots. Separate from the pool because the late supervisor needs both."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui_host.guard.guard_client import Guard
from tui_host.servers.catalog import ServerStatus, State, describe

if TYPE_CHECKING:
    from tui_host.capture.recorder import Recorder
    from tui_host.guard.child_process import Process
    from tui_host.servers.connection import Connection
    from tui_host.settings.schema import ServerSpec


@dataclass(slots=True, kw_only=True)
class Shared:
    """State shared by all connections of a pool.

    Attributes:
        recorder: Records the traffic.
        environment: Resolves references.
        guard: Is told every process.
        changed: Called after every status change.
        is_stopping: No new connection is made.
    """

    recorder: Recorder
    environment: Mapping[str, str]
    guard: Guard
    changed: Callable[[], None]
    is_stopping: bool = False


class Slot:
    """A server's slot in the pool.

    Attributes:
        spec: As configured.
        is_wanted: The server should be connected.
        is_restarting: Connect again after the current connection's end.
        connection: The current connection, None if there is none.
        wake: Set when a wish has changed.
        early: The server's process, if started before its connection; else None.
        started: Monotonic seconds of the last connection's start, None before the first.
        waited_in_vain: The connection that a turn has waited for in vain.
    """

    def __init__(self, spec: ServerSpec) -> None:
        self.spec = spec
        self.is_wanted = spec.enabled
        self.is_restarting = False
        self.connection: Connection | None = None
        self.wake = asyncio.Event()
        self.early: Process | None = None
        self.started: float | None = None
        self.waited_in_vain: Connection | None = None
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
        if self.connection is not None and self.is_restarting:
            status = replace(status, state=self.state, detail="ending the connection before")
        return replace(status, notices=(self._notice, *status.notices)) if self._notice else status

    @property
    def state(self) -> State:
        """The current state alone, which is asked for often."""
        if self.connection is None:
            return self._status.state
        return "connecting" if self.is_restarting else self.connection.state

    def end(self, status: ServerStatus) -> None:
        """Keep the last status of an ended connection."""
        self.connection = None
        self._status = status

    def set_notice(self, notice: str) -> None:
        """Set a notice for the connections to come."""
        self._notice = notice

    def mark_connecting(self) -> None:
        """Show that a connection is about to be made."""
        if self.connection is None:
            self._status = replace(
                self._status, state="connecting", detail="starting", since_mono_ns=time.monotonic_ns()
            )
