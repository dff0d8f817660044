"""Filters the list in slices: by values, then by shown texts and bodies, from the newest row to the oldest."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row_filter import Reading, Term, Test, Verdict, needs_values, read_filter, row_test

BUDGET = 0.008
"""Seconds in one slice for testing rows, and as many for describing rows."""
_AT_ONCE = 16
"""Rows described next, and rows between two looks at the clock while texts are read."""
_AHEAD = 128
"""Rows whose bodies are read together."""
_BLOCK = 256
"""Rows between two looks at the clock while values are tested."""


class TextReader(Protocol):
    """Reads the texts of rows in steps."""

    def read(self, term: Term, number: int) -> int | None:
        """Return what a term asks of a row, as a `TermReader`."""
        ...

    def begin(self, ladder: Ladder, reading: Reading) -> None:
        """Prepare for another filter."""

    def forget(self, number: int) -> None:
        """Forget a row that has changed."""

    def expect(self, numbers: Sequence[int]) -> None:
        """Read what is quickly read of the next rows."""

    @property
    def is_reading(self) -> bool:
        """Whether the body that was asked for last is being read."""
        ...

    def advance(self, seconds: float) -> bool:
        """Continue reading that body; whether it is done."""
        ...


@dataclass(frozen=True, slots=True)
class FilterChanges:
    """Rows that match now, in order, and rows that no longer match."""

    gained: list[int]
    lost: list[int]


class Filtering:
    """Filters rows that arrive and change.

    Args:
        texts: Reads shown texts and bodies.
        clock: Seconds.
    """

    def __init__(self, texts: TextReader, clock: Callable[[], float] = time.perf_counter) -> None:
        self.text = ""  # the filter, empty for none
        self.reading: Reading = Reading(None)  # the filter as read
        self._texts = texts
        self._clock = clock
        self._kept = bytearray()  # 1 for each matching row
        self._first: deque[int] = deque()  # visible, changed and new rows
        self._ahead = 0  # rows below this number have not been tested
        self._pending: deque[int] = deque()  # rows that values do not decide
        self._unknown: dict[int, None] = {}  # rows whose description is not known yet
        self._expected: dict[int, None] = {}  # rows whose bodies are read together
        self._tests: tuple[int, Test, Test] | None = None

    @property
    def is_on(self) -> bool:
        """Whether there is a condition: an unfinished term is none."""
        return self.reading.query is not None

    @property
    def is_looking(self) -> bool:
        """Whether more existing rows may match."""
        return bool(self._ahead or self._first or self._pending or self._unknown)

    @property
    def can_go_on(self) -> bool:
        """Whether another slice may find rows without waiting for descriptions."""
        return bool(self._ahead or self._first or self._pending)

    @property
    def wanted(self) -> Sequence[int]:
        """Rows whose description is needed next."""
        return list(islice(self._unknown, _AT_ONCE))

    def rename(self, text: str) -> bool:
        """Take another text with the same condition, such as a blank or an unfinished term more; whether there is one."""
        reading = read_filter(text)
        if reading.query != self.reading.query or not (text and self.text):
            return False
        self.text, self.reading = text, reading
        return True

    def begin(self, ladder: Ladder, text: str, taken: int, first: Iterable[int]) -> Sequence[int]:
        """Set another filter.

        Args:
            ladder: The ladder with the rows.
            text: The filter.
            taken: The number of rows to filter.
            first: The visible rows, tested before others.

        Returns:
            The matching rows, as far as known.
        """
        self.text, self.reading = text, read_filter(text)
        self._tests = None
        self._first.clear()
        self._pending.clear()
        self._unknown.clear()
        self._expected.clear()
        self._ahead = 0
        if not self.is_on:
            return range(taken)
        self._texts.begin(ladder, self.reading)
        self._kept = bytearray(taken)
        self._first.extend(first)
        self._ahead = taken
        return self.look(ladder).gained

    def came(self, changed: Iterable[int], new: range) -> None:
        """Record which rows have changed or are new."""
        if not self.is_on:
            return
        self._kept.extend(bytes(len(new)))
        for number in changed:
            self._texts.forget(number)
            self._first.append(number)
        self._first.extend(new)

    def look(self, ladder: Ladder) -> FilterChanges:
        """Test more rows for a limited time."""
        changes = FilterChanges([], [])
        if not self.is_looking:
            return changes
        by_value, by_text = self._tests_of(ladder)
        until = self._clock() + BUDGET
        for number in self.wanted:
            self._settle(number, by_text(number), changes)
        self._read(self._first, by_text, until, changes)
        if self._first:
            return changes
        if self._ahead and needs_values(self.reading.query):
            self._look_at_values(by_value, until - BUDGET / 2, changes)  # the other half reads what is pending so far
        else:
            self._pending.extend(range(self._ahead - 1, -1, -1))
            self._ahead = 0
        self._read(self._pending, by_text, until, changes)
        changes.gained.sort()
        return changes

    def _look_at_values(self, by_value: Test, until: float, changes: FilterChanges) -> None:
        kept, pending, gained = self._kept, self._pending, changes.gained
        while self._ahead:
            low = max(0, self._ahead - _BLOCK)
            for number in range(self._ahead - 1, low - 1, -1):
                verdict = by_value(number)
                if verdict is None:
                    pending.append(number)
                elif verdict and not kept[number]:
                    kept[number] = 1
                    gained.append(number)
            self._ahead = low
            if self._clock() >= until:
                return

    def _read(self, rows: deque[int], by_text: Test, until: float, changes: FilterChanges) -> None:
        """Test the next rows by their texts, as many as there is time for."""
        for count in range(len(rows)):
            if count and count % _AT_ONCE == 0 and self._clock() >= until:
                return
            number = rows[0]
            if number not in self._expected:
                self._expected = dict.fromkeys(islice(rows, _AHEAD))
                self._texts.expect([*self._expected])
            while (verdict := by_text(number)) is None and self._texts.is_reading:
                if not self._texts.advance(until - self._clock()):
                    return
            rows.popleft()
            self._settle(number, verdict, changes)

    def _settle(self, number: int, verdict: Verdict, changes: FilterChanges) -> None:
        if verdict is None:  # a description is to come
            self._unknown[number] = None
            return
        self._unknown.pop(number, None)
        if verdict != bool(self._kept[number]):
            (changes.gained if verdict else changes.lost).append(number)
            self._kept[number] = verdict

    def _tests_of(self, ladder: Ladder) -> tuple[Test, Test]:
        if self._tests is None or self._tests[0] != ladder.revision:
            query = self.reading.query
            self._tests = ladder.revision, row_test(query, ladder, None), row_test(query, ladder, self._texts.read)
        return self._tests[1:]
