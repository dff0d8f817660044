"""The lines of the list: matching rows by section, with a heading above each section."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from tui_host.capture.ladder.row import UNKNOWN_TIME, Lane, RowTable
from tui_host.capture.ladder.sections import Sections
from tui_host.tui.widgets.lines.selection import Spot

SESSION = -1  # the item of the session's own heading, above all others
_WHOLE = -1  # its section, which has no rows of its own
_BLOCK_ROWS = 256  # rows between two looks at the clock


class LadderIndex:
    """Lines stand for items: a row is its number, a heading the negative number, less two, of its section.

    Sections stand in the order in which they began, a section's rows in the order of their times; a row without a time stands
    behind the row before. So a late row, such as a slow tap's, gets its line where it belongs, and not at the end.
    """

    def __init__(self, rows: RowTable, sections: Sections) -> None:
        self._rows = rows
        self._sections = sections
        self.counts = Counter[tuple[str, int, str]]()  # captured rows by clock, turn and lane, hidden ones included
        self.homes = array("q")  # the section of each row, as it is laid out
        self._times = array("q")
        self.lay_out((), folds_starts=False)

    def lay_out(self, numbers: Iterable[int], *, folds_starts: bool) -> None:
        """Make all lines anew, and forget which sections the person folded and opened."""
        self.folds_starts = folds_starts  # whether connections before the first turn are folded
        self.kept = 0  # the number of matching rows, those of folded sections included
        self._turned = set[int]()  # the sections that a person folded or opened
        self._newest_of_turns = SESSION  # the newest captured row of a turn; the session's heading without one
        self._kept = {_WHOLE: array("q")}  # the matching rows of each section, in order
        self._shown = array("q", [_WHOLE])  # the sections with matching rows, in order
        self._starts = array("q", [0])  # the lines of their headings and of the end, as far as they were counted
        self.extend(numbers)

    def __len__(self) -> int:
        return self._counted()[-1] if self.kept else 0

    def _counted(self) -> array[int]:
        for home in self._shown[len(self._starts) - 1 :]:
            self._starts.append(self._starts[-1] + 1 + (len(self._kept[home]) if self.hidden(home) is None else 0))
        return self._starts

    def item_at(self, line: int) -> int:
        place = bisect_right(self._counted(), line) - 1
        home, offset = self._shown[place], line - self._starts[place]
        return self._kept[home][offset - 1] if offset else -home - 2

    def home_of(self, item: int) -> int:
        """Return the section of a row or heading; -1 for the session's own."""
        return self.homes[item] if item >= 0 else -item - 2

    def turn_of(self, item: int) -> int:
        """Return the turn of a row or heading; 0 for connections and the whole session."""
        return self._sections.turns.get(self.home_of(item), 0)

    def line_of(self, item: int) -> int | None:
        """Return the line of a row or heading; None if hidden."""
        place = self.place(item)
        if place is None or (item >= 0 and self.hidden(self.home_of(item)) is not None):
            return None
        return self._counted()[bisect_left(self._shown, self.home_of(item))] + 1 + place

    def place(self, item: int) -> int | None:
        """Return the place of a row in its section, -1 for the heading; None if the filter does not keep it."""
        kept = self._kept.get(self.home_of(item)) if self.kept and item < len(self.homes) else None
        if kept is None or item < 0:
            return None if kept is None else -1
        place = bisect_left(kept, self.spot(item), key=self.spot)
        return place if item in kept[place : place + 1] else None

    def spot(self, item: int) -> Spot:
        """Return section, time and number: items are in this order, also when lines are added."""
        return (self.homes[item], self._times[item], item) if item >= 0 else (-item - 2, -1, -1)

    def line_at(self, spot: Spot) -> int:
        """Return the first line at or behind a spot."""
        return bisect_left(range(len(self)), spot, key=lambda line: self.spot(self.item_at(line)))

    def line_near(self, item: int) -> int | None:
        """Return the line of an item, of the heading that hides it, or else the nearest row's; None without lines."""
        line = self.line_of(item)
        if line is None and self.kept:
            line, last = max(0, self.line_at(self.spot(item)) - 1), len(self) - 1
            while line < last and self.item_at(line) < 0 and self.hidden(self.home_of(self.item_at(line))) is None:
                line += 1
        return line

    def newest_line(self, selected: int | None) -> int:
        """Return the line that following selects: the newest row of the turns, or the last line."""
        line, at = self.line_of(self._newest_of_turns), None if selected is None else self.line_of(selected)
        return line if line and (at is None or at <= line) else len(self) - 1  # no row is on the first line

    def rows(self, first: int, end: int) -> Sequence[int]:
        return [item for item in map(self.item_at, range(first, min(end, len(self)))) if item >= 0]

    def count(self, seconds: float = 60.0) -> int:
        """Add new rows for a limited time; returns how many rows were added so far."""
        until, columns = time.perf_counter() + seconds, self._rows.columns
        while (first := len(self.homes)) < len(self._rows):
            block = slice(first, min(first + _BLOCK_ROWS, len(self._rows)))
            self.homes.extend(self._sections.homes[block])
            # A column is read, since making a `Row` of each of a million rows takes ten times as long.
            for number, mono_ns in enumerate(columns["mono_ns"][block], first):
                before = self._times[-1] if number else 0
                self._times.append(before if mono_ns == UNKNOWN_TIME else max(mono_ns, 0))
                self._tally(number, 1)
            if time.perf_counter() >= until:
                break
        return len(self.homes)

    def _tally(self, number: int, count: int) -> None:
        key = self._rows.text("clock", number), self.turn_of(number), self._rows.text("lane", number)
        self.counts[key] += count * (not self._rows.columns["missing"][number] or not self._rows[number].is_absent)

    def tally(self, item: int | None, lane: Lane) -> int:
        """Return how many rows of a lane were captured in the turn or the connections of an item, or in the session."""
        if item is None or item == SESSION:
            return sum(count for key, count in self.counts.items() if key[2] == lane)
        return self.counts[self._rows.text("clock", self.home_of(item)), self.turn_of(item), lane]

    def move(self, number: int) -> bool:
        """Place a row again if its section has changed; returns whether it has."""
        home = self._sections.homes[number]
        if home == self.homes[number]:
            return False
        was_kept = self.drop(number)
        self._tally(number, -1)
        self.homes[number] = home
        self._tally(number, 1)
        if was_kept:
            self.extend([number])
        return True

    def drop(self, number: int) -> bool:
        """Remove the line of a row, and the heading of a section without rows; returns whether there was one."""
        offset, home = self.place(number), self.homes[number]
        if offset is None:
            return False
        place = bisect_left(self._shown, home)
        del self._kept[home][offset], self._starts[place + 1 :]
        if not self._kept[home]:
            del self._kept[home], self._shown[place]
        self.kept -= 1
        return True

    def extend(self, numbers: Iterable[int]) -> bool:
        """Add lines for rows that were counted; returns whether all lines that were there stay where they are."""
        is_at_end, turns, missing = True, self._rows.columns["turn"], self._rows.columns["missing"]
        for home, group in groupby(numbers, self.homes.__getitem__):
            rows = sorted(sorted(group), key=self._times.__getitem__)
            self.kept += len(rows)
            of_turns = (number for number in reversed(rows) if turns[number])
            captured = (number for number in of_turns if not missing[number] or not self._rows[number].is_absent)
            newest = next(captured, SESSION)
            self._newest_of_turns = max(newest, self._newest_of_turns)
            place, kept = bisect_left(self._shown, home), self._kept.setdefault(home, array("q"))
            is_late = bool(kept) and self.spot(kept[-1]) > self.spot(rows[0])
            is_at_end &= place >= len(self._shown) - 1 and not is_late
            if not kept:
                self._shown.insert(place, home)
            del self._starts[place + 1 :]
            if not is_late:
                kept.extend(rows)
            for number in rows if is_late else ():
                insort(kept, number, key=self.spot)
        return is_at_end

    def hidden(self, home: int) -> int | None:
        """Return how many rows a folded section hides; None for an open section."""
        is_folded = (home in self._turned) != (self.folds_starts and home in self._sections.starts)
        return len(self._kept.get(home, ())) if is_folded else None

    def fold(self, home: int) -> None:
        self._turned ^= {home}
        del self._starts[bisect_left(self._shown, home) + 1 :]
