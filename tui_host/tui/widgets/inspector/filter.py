"""A filter over the rows of the list: a plain function in the list's thread, which publishes what matches and how far it is."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress

from tui_host.capture.ladder.row import Row
from tui_host.capture.ladder.row_filter import (
    QUOTED,
    TOKENS,
    WORD,
    Reading,
    Term,
    Test,
    WantedTexts,
    needs_values,
    read_filter,
    row_test,
    terms,
)
from tui_host.errors import TuiHostError
from tui_host.tui.widgets.inspector.row_line import shown_text
from tui_host.tui.widgets.inspector.words import FactsReader

_OF_ONE_RECORD = {"request", "frame", "decision"}
_SMALL_BYTES = 64 << 10
_TOGETHER_ROWS = 128
"""Rows whose bytes are read together."""
_MOST_TAKEN = 1000
"""Rows that are taken over at once."""
_BLOCK_ROWS = 256
"""Rows between two looks at the clock while values are tested."""


class RowFilter:
    """Filters `count` rows, of which the visible ones come `first`, and those that arrive and change."""

    def __init__(self, facts: FactsReader, text: str = "", count: int = 0, first: Iterable[int] = ()) -> None:
        self.text = text
        self.reading: Reading = read_filter(text)
        self.is_on = self.reading.query is not None  # an unfinished term is no condition
        self.is_stopped = False  # whether another filter is wanted
        self._facts = facts
        quoted = (term.value for term in terms(self.reading.query, negated=True) if term.field == QUOTED)
        self._wanted = WantedTexts(quoted)
        self._kept = bytearray(count)  # 1 for each matching row
        self._first = deque(first)  # visible, changed and new rows
        self._ahead = count  # rows below this number have not been tested
        self._undecided: deque[int] = deque()  # rows that values do not decide
        self._verdicts: deque[tuple[int, bool]] = deque()  # published, and not yet taken
        self._plain: dict[int, bytes] = {}  # the bytes of the next rows, where they are quickly read
        self._tested: tuple[Row, str] | None = None  # the row that is tested, and what it shows
        self._tests: tuple[int, Test, Test] | None = None

    @property
    def is_looking(self) -> bool:
        """Whether more existing rows may match."""
        return self.is_on and any((self._ahead, self._first, self._undecided, self._verdicts))

    def rename(self, text: str) -> bool:
        """Take another text with the same condition, such as a blank or an unfinished term more; whether it has the same."""
        reading = read_filter(text)
        if reading.query != self.reading.query or not (text and self.text):
            return False
        self.text, self.reading = text, reading
        return True

    def came(self, changed: Iterable[int], new: range) -> None:
        """Record which rows have changed or are new."""
        if self.is_on:
            self._kept.extend(bytes(len(new)))
            self._first.extend((*changed, *new))

    def take(self) -> tuple[Sequence[int], Sequence[int]]:
        """Return the rows that match now, in order, and those that no longer match; not more than a tick has time for."""
        changes: dict[int, bool] = {}
        while self._verdicts and len(changes) < _MOST_TAKEN:
            number, verdict = self._verdicts.popleft()
            if changes.pop(number, verdict) == verdict:  # else it is as before
                changes[number] = verdict
        gained = sorted(number for number, verdict in changes.items() if verdict)
        return gained, [number for number, verdict in changes.items() if not verdict]

    def prepare(self) -> None:
        """Make the tests for the rows as they are, in the thread that changes the tables of the ladder."""
        source = self._facts.source
        if self.is_on and source is not None and (self._tests is None or self._tests[0] != source.ladder.revision):
            ladder, query = source.ladder, self.reading.query
            self._tests = ladder.revision, row_test(query, ladder), row_test(query, ladder, self._asked)

    def run(self, until: float) -> None:
        """Test rows until a time of the clock: visible and new ones, then all by their values, then by what is read."""
        while self._tests is not None and not self.is_stopped and time.perf_counter() < until:
            _, by_value, by_text = self._tests
            if self._first:
                self._read(self._first, by_text, until)
            elif self._ahead:
                self._test_values(by_value)
            elif self._undecided:
                self._read(self._undecided, by_text, until)
            else:
                return

    def _test_values(self, by_value: Test) -> None:
        """Test the next rows by their values, where these may decide."""
        low = max(0, self._ahead - _BLOCK_ROWS)
        may_decide = needs_values(self.reading.query)
        for number in range(self._ahead - 1, low - 1, -1):
            verdict = by_value(number) if may_decide else None
            if verdict is None:
                self._undecided.append(number)
            else:
                self._settle(number, verdict)
        self._ahead = low

    def _read(self, rows: deque[int], by_text: Test, until: float) -> None:
        """Test the next rows by what they show and by their bodies."""
        count = min(_TOGETHER_ROWS, len(rows))
        self._read_together([rows[place] for place in range(count)])
        for _ in range(count):
            self._tested = None
            self._settle(rows[0], bool(by_text(rows[0])))
            rows.popleft()
            if self.is_stopped or time.perf_counter() >= until:
                return

    def _settle(self, number: int, verdict: bool) -> None:
        if verdict != bool(self._kept[number]):
            self._kept[number] = verdict
            self._verdicts.append((number, verdict))

    def _read_together(self, numbers: Sequence[int]) -> None:
        """Read the bytes of small rows of one record, one query for each capture."""
        self._plain.clear()
        source = self._facts.source
        if source is None or not self._wanted.texts:
            return
        of_captures: dict[str, dict[int, int]] = {}
        for row in map(source.ladder.rows.__getitem__, numbers):
            if row.kind in _OF_ONE_RECORD and row.size <= _SMALL_BYTES:
                of_captures.setdefault(row.capture, {})[row.seq] = row.number
        for capture, seqs in of_captures.items():
            with suppress(TuiHostError):  # the rows are then read one by one
                data = source.plain_data(capture, list(seqs))
                self._plain.update((seqs[seq], plain) for seq, plain in data.items())

    def _asked(self, term: Term, number: int) -> int:
        """Return what a term asks of a row, as a `TermReader`."""
        source = self._facts.source
        if source is None:
            return 0
        row, shown = self._tested or (source.ladder.rows[number], "")
        if term.field == WORD:
            shown = shown or shown_text(source, row, self._facts.read(row)).casefold()
        self._tested = row, shown
        if term.field == WORD:
            return term.value in shown
        if term.field == TOKENS:
            return self._facts.read(row, self._wanted).count
        if number in self._plain:
            texts = self._wanted.contained(self._plain[number])
        else:
            texts = self._facts.read(row, self._wanted).texts
        return term.value in texts or term.value.casefold() == source.called(row).casefold()
