"""Whether the process that records gets on, as the relay sees it from outside: who is stopped, or hangs, says nothing himself.

Imported before the first byte flows.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tui_host.tap.recording.journal import Journal

PATIENCE = 10.0
"""Seconds that nothing may be kept while something waits. A database that another program holds is waited for up to 5, and then who records
tells of it himself."""
BEGINNING = 30.0
"""The same before anything was kept: a second of the processor, of which he has a tenth or less where many begin at once."""
LOOK_SECONDS = 1.0
"""How often it is looked: as often as who records wakes up by himself."""
_LATE = 5.0


class Standstill:
    """Tells when nothing has been kept for long, and once something is again. Looks at shared memory alone.

    Args:
        journal: What waits, and what was kept.
        tell: Takes a sentence for a person.
    """

    def __init__(self, journal: Journal, tell: Callable[[str], None]) -> None:
        self._journal = journal
        self._tell = tell
        self._looked_at = time.monotonic()
        self.begin_anew()

    def begin_anew(self) -> None:
        """Another process records, or is about to, and what became of the one before is told."""
        unsettled = self._journal.unsettled
        self._got_on = unsettled.kept, unsettled.whole
        self._since = time.monotonic()
        self._patience = BEGINNING
        self._is_told = False

    def look(self) -> None:
        """See how far it is."""
        journal, unsettled, now = self._journal, self._journal.unsettled, time.monotonic()
        got_on = unsettled.kept, unsettled.whole
        if now - self._looked_at > _LATE * LOOK_SECONDS:  # it was stopped itself meanwhile, and who records with it
            self._since = now
        self._looked_at = now
        is_waiting = journal.held != 0 or journal.taken + journal.left != unsettled.whole
        if unsettled.is_fault_told:
            self.begin_anew()  # who records tells how that goes on as well
        elif not is_waiting or got_on != self._got_on:
            if got_on != self._got_on:
                self._patience = PATIENCE
            self._since, self._got_on = now, got_on
            if self._is_told:
                self._is_told = False
                self._tell("recording goes on")
        elif not self._is_told and now - self._since >= self._patience:
            self._is_told = True
            self._tell(
                f"nothing is recorded for now: what records has not got on for {self._patience:.0f} seconds; "
                "everything is passed on and waits"
            )
