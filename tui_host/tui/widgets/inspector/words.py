"""What the list and its filter know of the bodies of rows. One thread reads them, each body once while it stays as it is."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from tui_host.answers.row_facts import NOTHING, RowFacts, row_facts
from tui_host.capture.ladder.row import Row
from tui_host.capture.ladder.row_filter import WantedTexts
from tui_host.errors import TuiHostError
from tui_host.tui.sources.live import SessionSource

_REMEMBERED_ROWS = 1 << 15
_PATIENCE = 20.0  # how many times the duration of the last reading passes before a growing body is read again
_SHORTEST_PAUSE_SECONDS = 0.1  # seconds between two readings of a growing body, at least


@dataclass(slots=True)
class FactsReader:
    """Reads the facts of rows in the list's thread, and keeps them; the screen's thread only asks what is known."""

    known: dict[int, RowFacts] = field(default_factory=dict[int, RowFacts])  # by the numbers of the rows
    # The row's length and links, on which they depend, and when a growing body may be read again.
    _states: dict[int, tuple[tuple[int, str], float]] = field(default_factory=dict[int, tuple[tuple[int, str], float]])

    def is_due(self, row: Row) -> bool:
        """Whether a row is to be read: a growing one not each time that it grows."""
        reading = self._states.get(row.number)
        if reading is None:
            return row.lane == "llm" and row.kind in {"request", "response"}
        state, due = reading
        return state != (row.last_seq, row.words) and (row.state != "open" or time.perf_counter() >= due)

    def read(self, source: SessionSource, row: Row, wanted: WantedTexts | None = None) -> RowFacts:
        """Read the facts of a row, those for the list once while it stays as it is. Bytes that cannot be read have none."""
        if wanted is None and not self.is_due(row):
            return self.known.get(row.number, NOTHING)
        began, state = time.perf_counter(), (row.last_seq, row.words)  # it may grow while it is read
        try:
            facts = row_facts(source, row, wanted)
        except (TuiHostError, ValueError, LookupError, RecursionError):
            facts = NOTHING
        except RuntimeError:  # the screen's thread added to a table that was being read here: another time
            return NOTHING
        if wanted is None:
            ended = time.perf_counter()
            due = ended + max(_SHORTEST_PAUSE_SECONDS, _PATIENCE * (ended - began))
            self.known[row.number], self._states[row.number] = facts, (state, due)
            if len(self.known) > _REMEMBERED_ROWS:
                oldest = next(iter(self.known))
                del self.known[oldest], self._states[oldest]
        return facts
