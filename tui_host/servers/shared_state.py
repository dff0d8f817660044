"""The state shared by all connections of a pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.guard.guard_client import Guard
from tui_host.servers.catalog import Turning

if TYPE_CHECKING:
    from tui_host.capture.recorder import Recorder
    from tui_host.servers.server_questions import Answering


@dataclass(slots=True, kw_only=True)
class Shared:
    """State shared by all connections of a pool.

    Attributes:
        recorder: Records the traffic.
        environment: Resolves references.
        guard: Knows every running process.
        changed: Called after every status change.
        answering: Answers the requests of servers.
        turned: Called when a server went away, is back, or is tried no more: with its name and the reason.
        is_stopping: The pool is stopping; no new connection is made.
    """

    recorder: Recorder
    environment: Mapping[str, str]
    guard: Guard
    changed: Callable[[], None]
    answering: Answering
    turned: Callable[[str, Turning, str], None]
    is_stopping: bool = False
