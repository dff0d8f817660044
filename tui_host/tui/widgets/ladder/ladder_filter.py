"""Filters the list: by values at once, by displayed text as time allows."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row import Row
from tui_host.capture.ladder.row_filter import RowTest

BUDGET = 0.008
"""Seconds in one tick for checking displayed texts, and as many for making them."""
_AT_ONCE = 16
"""Rows between two looks at the clock, and rows whose texts are made next."""
_SHARE = 20.0
"""How many times the duration of the last check of all values passes before the next one."""


class Filtering:
    """Filters rows that arrive and change. Displayed text is checked for new rows first, then from newest to oldest.

    Args:
        shown: Returns the displayed text of a row; None while unknown.
        clock: Seconds.

    Attributes:
        text: The filter, empty for none.
        is_stale: Whether rows have changed since their values were checked.
    """

    def __init__(self, shown: Callable[[Row], str | None], clock: Callable[[], float] = time.perf_counter) -> None:
        self.text = ""
        self.is_stale = False
        self._shown = shown
        self._clock = clock
        self._due = 0.0
        self._by_value = array("q")
        self._by_look: set[int] = set()
        self._left: deque[int] = deque()
        self._unknown: dict[int, None] = {}
        self._test: tuple[int, RowTest] | None = None

    @property
    def is_due(self) -> bool:
        """Whether to check the values again now."""
        return self.is_stale and self._clock() >= self._due

    @property
    def is_looking(self) -> bool:
        """Whether more existing rows may match."""
        return bool(self._left or self._unknown)

    @property
    def wanted(self) -> Sequence[int]:
        """Rows whose displayed text is needed next."""
        return list(islice(self._unknown, _AT_ONCE))

    def begin(self, ladder: Ladder, text: str, taken: int, first: Iterable[int]) -> Sequence[int]:
        """Set another filter.

        Args:
            ladder: The ladder with the rows.
            text: The filter.
            taken: The number of rows to filter.
            first: The visible rows, checked before this returns.

        Returns:
            The matching rows, as far as known.
        """
        self.text = text
        self._by_look.clear()
        self._unknown.clear()
        self._test = None
        self.sift(ladder, taken)
        self._left = deque(first)
        self.look(ladder)
        self._left = deque(range(taken - 1, -1, -1) if text else ())
        return self._kept(taken)

    def came(self, changed: Iterable[int], new: Iterable[int]) -> None:
        """Record which rows have changed or are new."""
        if self.text:
            self._left.extendleft(new)
            self._left.extendleft(changed)
            self.is_stale = True

    def sift(self, ladder: Ladder, taken: int) -> Sequence[int]:
        """Return the matching rows after checking all values again."""
        began = self._clock()
        matches = ladder.filter(self.text) if self.text else array("q")
        self._by_value = matches[: bisect_left(matches, taken)]
        self.is_stale = False
        ended = self._clock()
        self._due = ended + _SHARE * (ended - began)
        return self._kept(taken)

    def _kept(self, taken: int) -> Sequence[int]:
        if not self.text:
            return range(taken)
        return sorted({*self._by_value, *self._by_look}) if self._by_look else self._by_value

    def look(self, ladder: Ladder) -> Sequence[int]:
        """Check the displayed text of more rows for a limited time; return new matches."""
        if not self.is_looking:
            return []
        test = self._test_of(ladder)
        if test.is_of_values:
            self._left.clear()
            return []
        gained: list[int] = []
        until = self._clock() + BUDGET
        for number in self.wanted:
            self._look_at(ladder.rows[number], test, gained)
        for count in range(1, len(self._left) + 1):
            number = self._left.popleft()
            if test.may_fit(number) and (number in self._by_look or not self._has_value(number)):
                self._look_at(ladder.rows[number], test, gained)
            if count % _AT_ONCE == 0 and self._clock() >= until:
                break
        return sorted(gained)

    def _look_at(self, row: Row, test: RowTest, gained: list[int]) -> None:
        shown = self._shown(row)
        if shown is None:
            self._unknown[row.number] = None
            return
        self._unknown.pop(row.number, None)
        if test.fits(row.number, shown):
            if row.number not in self._by_look and not self._has_value(row.number):
                self._by_look.add(row.number)
                gained.append(row.number)
        elif row.number in self._by_look:
            self._by_look.discard(row.number)
            self.is_stale = True

    def _has_value(self, number: int) -> bool:
        place = bisect_left(self._by_value, number)
        return place < len(self._by_value) and self._by_value[place] == number

    def _test_of(self, ladder: Ladder) -> RowTest:
        if self._test is None or self._test[0] != ladder.revision:
            self._test = ladder.revision, ladder.row_test(self.text)
        return self._test[1]
