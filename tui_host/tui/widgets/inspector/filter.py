"""A filter over the rows of the list: a plain function in the list's thread, which publishes what matches and how far it is."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice

from tui_host.answers.row_facts import RowFacts
from tui_host.capture.ladder import row_filter
from tui_host.errors import TuiHostError
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.widgets.inspector.row_line import NAME_CELLS, WHOLE_CELLS, row_line
from tui_host.tui.widgets.inspector.words import FactsReader

_IDENTIFIER = re.compile(r"(?=.*\d).{4,}")  # a word that is looked for in bodies too, such as `GZ-7741-K` or `1042`
_OF_ONE_RECORD = {"request", "frame", "decision"}
_SMALL_BYTES = 64 << 10
_TOGETHER_ROWS = 128  # rows whose bytes are read together
_MOST_TAKEN = 1000  # rows that are taken over at once
_BLOCK_ROWS = 256  # rows between two looks at the clock while values are tested


class RowFilter:
    """Filters `count` rows, of which the visible ones come `first`, and those that arrive and change."""

    def __init__(self, facts: FactsReader, text: str = "", count: int = 0, first: Iterable[int] = ()) -> None:
        self.text = text
        self.reading = row_filter.read_filter(text)
        self.is_on = self.reading.query is not None  # an unfinished term is no condition
        self.is_stopped = False  # whether another filter is wanted
        self._facts = facts
        wanted = (term for term in row_filter.terms(self.reading.query, negated=True) if term.is_text)
        quoted = (term for term in wanted if term.field == row_filter.QUOTED or _IDENTIFIER.fullmatch(term.value))
        self._wanted = row_filter.WantedTexts(term.value for term in quoted)
        self._kept = bytearray(count)  # 1 for each matching row
        self._first = deque(first)  # visible, changed and new rows
        self._ahead = count  # rows below this number have not been tested
        self._undecided: deque[int] = deque()  # rows that values do not decide
        self._verdicts: deque[tuple[int, bool]] = deque()  # published, and not yet taken
        # The next rows, and their bytes where these are quickly read together.
        self._plain: dict[int, bytes | None] = {}
        self._shown = ""  # what the row that is tested shows
        self._read: RowFacts | None = None  # and what its body tells
        self._tests: tuple[int, row_filter.Test, row_filter.Test] | None = None

    @property
    def is_looking(self) -> bool:
        """Whether more existing rows may match."""
        return self.is_on and any((self._ahead, self._first, self._undecided, self._verdicts))

    def came(self, changed: Iterable[int], new: range) -> None:
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

    def prepare(self, source: SessionSource) -> None:
        """Make the tests for the rows as they are, in the thread that changes the tables of the ladder."""
        ladder, query = source.ladder, self.reading.query
        if self.is_on and (self._tests is None or self._tests[0] != ladder.revision):
            by_text = row_filter.row_test(query, ladder, partial(self._asked, source))
            self._tests = ladder.revision, row_filter.row_test(query, ladder), by_text

    def run(self, source: SessionSource, until: float) -> None:
        """Test rows until a time of the clock: visible and new ones, then all by their values, then by what is read."""
        if self._tests is None:
            return
        _, by_value, by_text = self._tests
        while not self.is_stopped and time.perf_counter() < until:
            rows = self._first or self._undecided
            if self._ahead and not self._first:
                block = range(max(0, self._ahead - _BLOCK_ROWS), self._ahead)
                self._ahead = block.start
                for number in reversed(block):
                    if (verdict := by_value(number)) is None:
                        self._undecided.append(number)
                    else:
                        self._settle(number, verdict)
            elif rows:
                if self._wanted.texts and rows[0] not in self._plain:
                    self._plain = dict.fromkeys(islice(rows, _TOGETHER_ROWS))
                    self._read_batch(source)
                self._shown, self._read = "", None
                self._settle(rows[0], bool(by_text(rows[0])))
                rows.popleft()
            else:
                return

    def _settle(self, number: int, verdict: bool) -> None:
        if verdict != bool(self._kept[number]):
            self._kept[number] = verdict
            self._verdicts.append((number, verdict))

    def _read_batch(self, source: SessionSource) -> None:
        """Read the bytes of small rows of one record, one query for each capture."""
        of_captures: dict[str, dict[int, int]] = {}
        for row in map(source.ladder.rows.__getitem__, self._plain):
            if row.kind in _OF_ONE_RECORD and row.size <= _SMALL_BYTES:
                of_captures.setdefault(row.capture, {})[row.seq] = row.number
        for capture, seqs in of_captures.items():
            with suppress(TuiHostError):  # the rows are then read one by one
                data = source.plain_data(capture, list(seqs))
                self._plain.update((seqs[seq], plain) for seq, plain in data.items())

    def _asked(self, source: SessionSource, term: row_filter.Term, number: int) -> int:
        """Return what a term asks of a row, as a `TermReader`."""
        row, plain = source.ladder.rows[number], self._plain.get(number)
        if term.field == row_filter.WORD:
            if not self._shown:
                pieces = row_line(source, row, self._facts.read(source, row), WHOLE_CELLS, NAME_CELLS)
                is_marked = (row.capture, row.seq) in source.row_marks.notes
                self._shown = "".join((*(text for text, _ in pieces), " marked" * is_marked)).casefold()
            if term.value in self._shown or term.value not in self._wanted.texts:
                return term.value in self._shown
        if term.field != row_filter.TOKENS and plain is not None:
            texts = self._wanted.contained(plain)
        else:
            self._read = self._read or self._facts.read(source, row, self._wanted)
            texts = self._read.texts
            if term.field == row_filter.TOKENS:
                return self._read.count
        return term.value in texts or term.value.casefold() == source.called(row).casefold()
