"""When a server that went away is tried again: after 1, 2, 4 … 30 s, ten times."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_host.servers.connection import Connection

RETRY_SECONDS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0, 30.0, 30.0)
STEADY_SECONDS = 30.0
"""How long a connection has to last for the tries to be counted anew."""


class Reconnection:
    """The tries to reach a server again.

    Args:
        for_command: A command runs, which does not last: a server that never was ready is not tried again, and no words name tries to come.

    Attributes:
        tries: Number of tries begun or planned since the server went away, 0 while it has not.
        is_told: The person was told that the server went away, and not yet that it is back.
    """

    def __init__(self, *, for_command: bool = False) -> None:
        self._for_command = for_command
        self.tries = 0
        self.is_told = False
        self._at: float | None = None
        self._reason = ""
        self._was_ready = False

    @property
    def words(self) -> str:
        """Why the server is lost, and when it is tried again."""
        if self._for_command:
            return self._reason
        count = f"try {self.tries} of {len(RETRY_SECONDS)}"
        if self._at is None:
            return f"{self._reason}; {count} is under way"
        return f"{self._reason}; {count} in {max(1, math.ceil(self._at - time.monotonic()))} s"

    def ended(self, connection: Connection) -> None:
        """Note that a connection has ended, for whatever reason."""
        if connection.ready_since is not None:
            self._was_ready = True
            if time.monotonic() - connection.ready_since >= STEADY_SECONDS:
                self.tries = 0

    def plan(self, connection: Connection, reason: str) -> float | None:
        """Plan a try after the end of a connection: if the server was ever ready, or if its URL refuses connections.

        A server that never was ready is not tried again, so that a wrong command does not loop.

        Returns:
            Seconds to wait before the try; None if there is none.
        """
        is_refused = connection.is_refused and not self._for_command
        may_come_back = connection.state in {"lost", "failed"} and (self._was_ready or is_refused)
        if not may_come_back or self.tries >= len(RETRY_SECONDS):
            return None
        delay = RETRY_SECONDS[self.tries]
        self.tries += 1
        self._at, self._reason = time.monotonic() + delay, reason
        return delay

    def begin(self) -> None:
        """Note that the planned try begins."""
        self._at = None

    def reset(self) -> None:
        """Forget the tries so far: the person asks for a connection, or for none."""
        self.tries, self._at = 0, None
