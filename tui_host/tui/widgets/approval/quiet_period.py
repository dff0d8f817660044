"""The quiet period: a key decides only after a pause, and only about a painted question."""

from __future__ import annotations

from math import inf

from textual import events

from tui_host.tui.key_tables import ACTIONS

QUIET_SECONDS = 0.5
DECIDING = frozenset(("y", "a", "Y", "A", "e", "n", "r", "escape"))
MOVING = frozenset(
    ("up", "down", "left", "right", "pageup", "pagedown", "home", "end", "tab", "shift+tab", "p", "d", "ctrl+p")
) | frozenset(action.key for action in ACTIONS)
"""Keys that do their work at once, and restart the period: looking around, and what works everywhere."""


class Quiet:
    """Decides when keys may decide. Times are event times (`time.monotonic`).

    Attributes:
        armed_at: From when on; infinite while what is asked has not been painted.
    """

    def __init__(self, seconds: float = QUIET_SECONDS) -> None:
        self._seconds = seconds
        self.armed_at = inf

    def begin(self) -> None:
        """Disarm the keys until the next question is painted."""
        self.armed_at = inf

    def painted(self, now: float) -> None:
        """Start the period: the question was painted."""
        self.armed_at = now + self._seconds

    def swallow(self, event: events.Event, *, here: bool) -> bool:
        """Whether to swallow an event. Events that decide nothing restart the period.

        Args:
            event: A key, a paste, or a mouse button.
            here: The focus is in the approval itself; elsewhere keys do their own work.
        """
        key = event.key if isinstance(event, events.Key) else ""
        if here and key in DECIDING and event.time >= self.armed_at:
            return False
        if self.armed_at != inf:
            self.armed_at = max(self.armed_at, event.time + self._seconds)
        if not isinstance(event, events.Key | events.Paste):
            return False
        return here and key not in MOVING
