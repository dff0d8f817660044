"""The lines of the list: matching rows by section, with a heading above each section."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TypeAlias

from tui_host.answers.wires import Section
from tui_host.capture.ladder.row import FIRST_TEXTS, UNKNOWN_TIME, Row, RowTable
from tui_host.capture.ladder.sections import Sections

SESSION = -(1 << 62)
"""The item of the session's own heading, above all others."""
Spot: TypeAlias = tuple[int, ...]
"""Section, time and number of an item: items are in this order, also when lines are added."""
_BLOCK_ROWS = 256
"""Rows between two looks at the clock."""
_HOST, _MCP = FIRST_TEXTS.index("host"), FIRST_TEXTS.index("mcp")


class LadderIndex:
    """Lines stand for items: a row is its number, a heading the negative number, less one, of its section.

    Sections stand in the order in which they began, a section's rows in the order of their times; a row without a time stands
    behind the row before. So a late row, such as a slow tap's, gets its line where it belongs, and not at the end.
    """

    def __init__(self, sections: Sections) -> None:
        self.sections = sections  # the section of each row
        self.kept = 0  # the number of matching rows, those of folded sections included
        self.folds_starts = False  # whether the connections before the first turn are folded unless a person opens them
        self.counts: dict[tuple[str, int], list[int]] = {}  # the rows per lane by clock and turn, hidden rows included
        self._newest_of_turns: int | None = None  # the newest captured row of a turn
        self._of_row = array("q")  # the section of each row, as it is laid out
        self._times = array("q")
        self._latest: dict[int, int] = {}  # the last time that a section's rows told
        self._is_of_turn = bytearray()
        self._turned: set[int] = set()  # the sections that a person folded or opened
        self._homes = array("q")  # the sections with matching rows, in order
        self._kept: dict[int, array[int]] = {}  # the matching rows of each, in order
        self._starts = array("q")  # the line of the heading of each, as far as it was counted

    def __len__(self) -> int:
        if not self._homes:
            return 0
        starts = self._counted()
        return starts[-1] + 1 + self._visible(self._homes[-1])

    def _counted(self) -> array[int]:
        """Return the first line of each section, after counting those behind a change."""
        starts = self._starts
        for place in range(len(starts), len(self._homes)):
            starts.append(1 if not place else starts[-1] + 1 + self._visible(self._homes[place - 1]))
        return starts

    def _visible(self, home: int) -> int:
        return 0 if self.is_folded(home) else len(self._kept[home])

    def item_at(self, line: int) -> int:
        """Return the number of the row on a line; negative for a heading."""
        place = bisect_right(self._counted(), line) - 1
        if place < 0:
            return SESSION
        home, offset = self._homes[place], line - self._starts[place]
        return self._kept[home][offset - 1] if offset else -home - 1

    def home_of(self, item: int) -> int:
        """Return the section of a row or heading; -1 for the session's own."""
        if item >= 0:
            return self._of_row[item]
        return -1 if item == SESSION else -item - 1

    def turn_of(self, item: int) -> int:
        """Return the turn of a row or heading; 0 for connections and the whole session."""
        return 0 if item == SESSION else self.sections.turns[self.home_of(item)]

    def line_of(self, item: int) -> int | None:
        """Return the line of a row or heading; None if hidden."""
        if item == SESSION and self._homes:
            return 0
        home = self.home_of(item) if item < len(self._of_row) else -1
        if home not in self._kept or (item >= 0 and self.is_folded(home)):
            return None
        line = self._counted()[bisect_left(self._homes, home)]
        if item < 0:
            return line
        offset = self._offset(home, item)
        return line + 1 + offset if item in self._kept[home][offset : offset + 1] else None

    def _offset(self, home: int, number: int) -> int:
        return bisect_left(self._kept[home], self._order(number), key=self._order)

    def _order(self, number: int) -> tuple[int, int]:
        return self._times[number], number

    def spot(self, item: int) -> Spot:
        """Return what identifies an item and keeps the order of items."""
        return (self._of_row[item], *self._order(item)) if item >= 0 else (self.home_of(item), -1, -1)

    def line_at(self, spot: Spot) -> int:
        """Return the first line at or behind a spot."""
        return bisect_left(range(len(self)), spot, key=lambda line: self.spot(self.item_at(line)))

    def line_near(self, item: int) -> int | None:
        """Return the line of an item, of the heading that hides it, or else the nearest row's; None without lines."""
        line = self.line_of(item)
        if line is None and self._homes:
            line = max(0, self.line_at(self.spot(item)) - 1)
            if self.item_at(line) < 0 and self.hidden(self.item_at(line)) is None:
                line = min(line + 1, len(self) - 1)
        return line

    def newest_line(self, selected: int | None) -> int:
        """Return the line that following selects: the newest row of the turns, or the last line."""
        line = None if self._newest_of_turns is None else self.line_of(self._newest_of_turns)
        at = None if selected is None else self.line_of(selected)
        return len(self) - 1 if line is None or (at is not None and at > line) else line

    def next_line(self, line: int, step: int, *, is_heading: bool) -> int | None:
        """Return the nearest line above (-1) or below (1) that is a heading, or a row."""
        lines = range(line + step, len(self) if step > 0 else -1, step)
        return next((line for line in lines if (self.item_at(line) < 0) == is_heading), None)

    def next_of(self, numbers: Iterable[int], item: int | None, step: int) -> int | None:
        """Return the next (1) or previous (-1) of some rows behind an item, round the ends; None if the filter keeps none."""
        kept = sorted((number for number in numbers if self._is_kept(number)), key=self.spot, reverse=step < 0)
        here = None if item is None else self.spot(item)
        behind = (
            number for number in kept if here is None or ((self.spot(number) > here) == (step > 0) and number != item)
        )
        return next(behind, kept[0] if kept else None)

    def section(self, heading: int, rows: Sequence[Row]) -> Section:
        """Return what a heading stands for."""
        if heading == SESSION:
            return Section(is_session=True)
        first, turn = rows[self.home_of(heading)], self.turn_of(heading)
        return Section(clock=first.clock, turn=turn, step=first.step if turn else 0)

    def rows(self, first: int, end: int) -> Sequence[int]:
        """Return the rows of a range of lines."""
        items = map(self.item_at, range(first, min(end, len(self))))
        return [item for item in items if item >= 0]

    # Rows come and change.

    def count(self, rows: RowTable, seconds: float = 60.0) -> int:
        """Add new rows for a limited time; returns how many rows were added so far."""
        until = time.perf_counter() + seconds
        while (first := len(self._of_row)) < len(rows):
            block = slice(first, min(first + _BLOCK_ROWS, len(rows)))
            self._of_row.extend(self.sections.homes[block])
            columns = (rows.columns[name][block] for name in ("mono_ns", "turn", "missing"))
            # Columns are read, since making a `Row` of each of a million rows takes ten times as long.
            for number, (mono_ns, turn, missing) in enumerate(zip(*columns, strict=True), first):
                home = self._of_row[number]
                time_ns = self._latest.get(home, 0) if mono_ns == UNKNOWN_TIME else max(mono_ns, 0)
                self._latest[home] = max(self._latest.get(home, 0), time_ns)
                self._times.append(time_ns)
                is_absent = bool(missing) and rows[number].is_absent
                self._is_of_turn.append(turn > 0 and not is_absent)
                self._add_to_counts(rows, number, 0 if is_absent else 1)
            if time.perf_counter() >= until:
                break
        return len(self._of_row)

    def _add_to_counts(self, rows: RowTable, number: int, count: int) -> None:
        lane, key = (
            rows.columns["lane"][number],
            (rows.text("clock", number), self.sections.turns[self._of_row[number]]),
        )
        counts = self.counts.get(key)
        if counts is None:
            counts = self.counts[key] = [0, 0]
        if lane != _HOST:
            counts[lane == _MCP] += count

    def move(self, rows: RowTable, number: int) -> bool:
        """Place a row again if its section has changed; returns whether it has."""
        home = self.sections.homes[number]
        if home == self._of_row[number]:
            return False
        was_kept, row = self.drop(number), rows[number]
        self._add_to_counts(rows, number, 0 if row.is_absent else -1)
        self._of_row[number] = home
        self._add_to_counts(rows, number, 0 if row.is_absent else 1)
        self._is_of_turn[number] = row.turn > 0 and not row.is_absent
        if was_kept:
            self.extend([number])
        return True

    def drop(self, number: int) -> bool:
        """Remove the line of a row, and the heading of a section without rows; returns whether there was one."""
        if not self._is_kept(number):
            return False
        home = self._of_row[number]
        place = bisect_left(self._homes, home)
        del self._kept[home][self._offset(home, number)], self._starts[place:]
        if not self._kept[home]:
            del self._kept[home], self._homes[place]
        self.kept -= 1
        return True

    def _is_kept(self, number: int) -> bool:
        home = self._of_row[number]
        if home not in self._kept:
            return False
        offset = self._offset(home, number)
        return number in self._kept[home][offset : offset + 1]

    def clear(self) -> None:
        """Remove all lines; counts and folds stay."""
        self._kept.clear()
        self._homes, self._starts = array("q"), array("q")
        self.kept = 0
        self._newest_of_turns = None

    def extend(self, numbers: Iterable[int]) -> bool:
        """Add lines for rows that were counted; returns whether all lines that were there stay where they are."""
        is_at_end = True
        for home, group in groupby(numbers, self._of_row.__getitem__):
            rows = sorted(group)
            self.kept += len(rows)
            newest = next((number for number in reversed(rows) if self._is_of_turn[number]), None)
            if newest is not None:
                self._newest_of_turns = max(newest, self._newest_of_turns or 0)
            rows.sort(key=self._times.__getitem__)
            place = bisect_left(self._homes, home)
            is_at_end &= place >= len(self._homes) - 1
            if home not in self._kept:
                self._homes.insert(place, home)
                self._kept[home] = array("q")
                del self._starts[place:]
            del self._starts[place + 1 :]
            kept = self._kept[home]
            if not kept or self._order(kept[-1]) < self._order(rows[0]):
                kept.extend(rows)
                continue
            is_at_end = False
            for number in rows:
                insort(kept, number, key=self._order)
        return is_at_end

    # Folding.

    def is_folded(self, home: int) -> bool:
        """Whether only a section's heading is shown."""
        return (home in self._turned) != (self.folds_starts and home in self.sections.starts)

    def hidden(self, item: int) -> int | None:
        """Return how many rows the folded section of an item hides; None for an open section."""
        home = self.home_of(item)
        return len(self._kept.get(home, ())) if self.is_folded(home) else None

    def fold_anew(self, *, folds_starts: bool) -> None:
        """Forget which sections the user folded and opened, and fold the connections before the first turn or not."""
        self._turned.clear()
        self.folds_starts = folds_starts
        del self._starts[:]

    def fold(self, home: int) -> None:
        """Fold an open section, or open a folded one."""
        self._turned ^= {home}
        del self._starts[bisect_left(self._homes, home) :]
