"""A connection's wire: what a transport and the owner of a connection know of each other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.capture.connection_end import connection_end
from tui_host.errors import JSON
from tui_host.guard.guard_client import Guard

if TYPE_CHECKING:
    from tui_host.capture.recorder import Recorder
    from tui_host.capture.stdio.server_pipes import StdioChild
    from tui_host.capture.stdio.stdio_tap import StdioTap
    from tui_host.servers.outgoing_request import HttpState
    from tui_host.servers.server_questions import LoginServices


@dataclass(frozen=True, slots=True, kw_only=True)
class WireOwner:
    """What the owner of a connection does with what happens on the wire.

    Attributes:
        answer: Answers a request of the server, with the member of the response: `result` or `error`.
        lost: Called once with the reason, when the wire ends.
        refused: Called with the reason each time nothing accepts a connection at a remote server's address.
    """

    answer: Callable[[str, Mapping[str, JSON]], Awaitable[Mapping[str, JSON]]]
    heard: Callable[[str, Mapping[str, JSON]], None]
    changed: Callable[[], None]
    lost: Callable[[str], None]
    refused: Callable[[str], None]


@dataclass(slots=True, kw_only=True)
class Wire:
    """The state of a wire. Its transport sets `tap` and `child`, or `gate`; `child` alone is also a program that serves over HTTP.

    Attributes:
        connection: The connection's id in the capture.
        cause: Why the wire ended, empty while connected.
        is_left: We are disconnecting, and so the wire ends.
    """

    server: str
    connection: str
    recorder: Recorder
    guard: Guard
    owner: WireOwner
    login: LoginServices
    tap: StdioTap | None = None
    child: StdioChild | None = None
    gate: HttpState | None = None
    cause: str = ""
    is_left: bool = False
    _is_end_recorded: bool = False

    def end(self, cause: str) -> None:
        """End the wire; only the first cause counts."""
        if not self.cause:
            self.cause = cause
            self.record_end(cause)
            self.owner.lost(cause)
            self.owner.changed()

    def record_end(self, reason: str) -> None:
        """Record once how the connection ended, if it was ever used."""
        is_used = self.gate is not None or (self.tap is not None and self.tap.sent > 0)
        if is_used and not self._is_end_recorded:
            self._is_end_recorded = True
            self.recorder.append(connection_end(self.server, self.connection, reason))
