"""What the servers of a pool share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui_host.guard.guard_client import Guard
from tui_host.servers.catalog import Turning

if TYPE_CHECKING:
    from tui_host.capture.recorder import Recorder
    from tui_host.servers.server_questions import Answering


@dataclass(slots=True, kw_only=True)
class Shared:
    """What the servers of a pool share.

    Attributes:
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
