"""One server's place in the pool, and what all of them share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui_host.guard.guard_client import Guard
from tui_host.servers.catalog import ServerStatus, State
from tui_host.servers.spec_words import describe

if TYPE_CHECKING:
    from tui_host.capture.recorder import Recorder
    from tui_host.guard.child_process import Process
    from tui_host.servers.connection import Connection
    from tui_host.settings.schema import ServerSpec


@dataclass(slots=True, kw_only=True)
class Shared:
    """What the connections of one pool share.

    Attributes:
        recorder: Keeps what moves.
        environment: What references are resolved from.
        guard: Learns of every process.
        changed: Called when any status has changed.
        is_stopping: No connection is made any more.
    """

    recorder: Recorder
    environment: Mapping[str, str]
    guard: Guard
    changed: Callable[[], None]
    is_stopping: bool = False


class Slot:
    """One server's place in the pool.

    Attributes:
        spec: As configured.
        is_wanted: It should be connected.
        is_again: It should be connected again after this connection's end.
        connection: The connection that lives now, None if there is none.
        wake: Set when what is wanted has changed.
        early: The server's process, started before there is a connection to take it; None otherwise.
        started: Monotonic seconds at which the last connection was begun, None before the first.
        left_behind: The connection that a turn has waited for in vain: no other one does.
    """

    def __init__(self, spec: ServerSpec) -> None:
        self.spec = spec
        self.is_wanted = spec.enabled
        self.is_again = False
        self.connection: Connection | None = None
        self.wake = asyncio.Event()
        self.early: Process | None = None
        self.started: float | None = None
        self.left_behind: Connection | None = None
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
        """What is known now."""
        status = self._status if self.connection is None else self.connection.status
        if self.connection is not None and self.is_again:
            status = replace(status, state=self.state, detail="ending the connection before")
        return replace(status, notices=(self._notice, *status.notices)) if self._notice else status

    @property
    def state(self) -> State:
        """How it stands, without what else is known: this is asked often."""
        if self.connection is None:
            return self._status.state
        return "connecting" if self.is_again else self.connection.state

    def finished(self, status: ServerStatus) -> None:
        """The connection has ended; its last status stays."""
        self.connection = None
        self._status = status

    def tell(self, notice: str) -> None:
        """Say something about the connections to come."""
        self._notice = notice

    def expect(self) -> None:
        """A connection is about to be made."""
        if self.connection is None:
            self._status = replace(
                self._status, state="connecting", detail="starting", since_mono_ns=time.monotonic_ns()
            )
