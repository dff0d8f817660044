"""What the servers of a pool share, and a connection as its transport, its login and its requests know it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui_host.errors import JSON
from tui_host.guard.guard_client import Guard
from tui_host.servers.catalog import Turning
from tui_host.servers.outgoing_request import HttpState

if TYPE_CHECKING:
    from tui_host.capture.recorder import Recorder
    from tui_host.capture.stdio.server_pipes import StdioChild
    from tui_host.capture.stdio.stdio_tap import StdioTap
    from tui_host.servers.server_questions import Answering
    from tui_host.servers.server_status import StatusPublisher
    from tui_host.settings.schema import ServerSpec


@dataclass(slots=True, kw_only=True)
class Shared:
    """What the servers of a pool share.

    Attributes:
        changed: Called whenever anything about a server has changed.
        turned: Called when a server went away, is back, or is tried no more: with its name and the reason.
        for_command: A command runs, which does not last: a server that never was ready is not tried again, and no words name tries to come.
        handshake_only: Commands, as `identity` gives them, whose programs end at the probe for newer versions of the protocol.
    """

    recorder: Recorder
    environment: Mapping[str, str]
    guard: Guard
    answering: Answering
    changed: Callable[[], None]
    turned: Callable[[str, Turning, str], None]
    for_command: bool
    handshake_only: set[str] = field(default_factory=set[str])
    is_stopping: bool = False


class Wire(ABC):
    """The wire of a `Connection`: what its transport sets, and whom that tells of what happens.

    Attributes:
        id: The connection's id in the capture, empty until it begins.
        tap: Records the lines of a program; None over HTTP.
        child: A program's process and pipes, also of one that serves over HTTP.
        gate: What an HTTP server said; as new over stdio.
        cause: Why the wire ended, empty while connected.
        is_left: We are disconnecting, and so the wire ends.
    """

    def __init__(self, spec: ServerSpec, shared: Shared, publisher: StatusPublisher) -> None:
        self.spec = spec
        self.server = spec.name
        self.shared = shared
        self.publisher = publisher
        self.recorder = shared.recorder
        self.id = ""
        self.tap: StdioTap | None = None
        self.child: StdioChild | None = None
        self.gate = HttpState()
        self.cause = ""
        self.is_left = False

    @abstractmethod
    async def answer(self, method: str, params: Mapping[str, JSON]) -> Mapping[str, JSON]:
        """Answer a request of the server, with the member of the response: `result` or `error`."""

    @abstractmethod
    def heard(self, method: str, params: Mapping[str, JSON]) -> None:
        """Take a notification of the server."""

    @abstractmethod
    def end(self, cause: str) -> None:
        """The wire has ended, and the pending requests are about to fail; only the first cause counts."""

    @abstractmethod
    def refused(self, reason: str) -> None:
        """Nothing accepts connections at the server's address any more. Calls under way are still waited for."""

    @abstractmethod
    def waiting(self, detail: str) -> AbstractContextManager[None]:
        """Stop the time limits of the call or of connecting, and show what is waited for."""
