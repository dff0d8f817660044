"""The lines of the ladder: matching rows by section, with a heading above each section."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import groupby

from tui_host.answers.section import Section
from tui_host.capture.ladder.row import Row
from tui_host.capture.ladder.sections import Sections

SESSION = -(1 << 62)
"""The item of the session's own heading, above all others."""
_NUMBERS, _TIMES = 40, 64
"""Bits for a row's number, and for a time in nanoseconds, in a line's place."""


class LadderIndex:
    """Lines as an array of items: a row is its number, a heading the negative number, less one, of its section.

    Sections stand in the order in which they began, a section's rows in the order of their times; a row without a time stands
    behind the row before. So a late row, such as a slow tap's, gets its line where it belongs, and not at the end.
    """

    def __init__(self, sections: Sections) -> None:
        self.sections = sections  # the section of each row
        self._lines = array("q")
        self._homes = array("q")  # as they are laid out
        self._times = array("q")
        self._latest: dict[int, int] = {}  # the last time that a section's rows told
        self._of_turn = bytearray()
        self._counts: dict[tuple[str, int], list[int]] = {}
        self._turned: set[int] = set()  # the sections that a person folded or opened
        self._hidden: dict[int, list[int]] = {}  # the matching rows of each folded section
        self.kept = 0  # the number of matching rows, those of folded sections included
        self.newest_of_turns: int | None = None  # the newest captured row of a turn; None without one
        self.folds_starts = False  # whether the connections before the first turn are folded unless a person opens them

    def __len__(self) -> int:
        return len(self._lines)

    def item_at(self, line: int) -> int:
        """Return the number of the row on a line; negative for a heading."""
        return self._lines[line]

    def home_of(self, item: int) -> int:
        """Return the section of a row or heading; -1 for the session's own."""
        if item >= 0:
            return self._homes[item]
        return -1 if item == SESSION else -item - 1

    def turn_of(self, item: int) -> int:
        """Return the turn of a row or heading; 0 for connections and the whole session."""
        return 0 if item == SESSION else self.sections.turns[self.home_of(item)]

    def line_of(self, item: int) -> int | None:
        """Return the line of a row or heading; None if hidden."""
        if item >= len(self._homes):
            return None
        line = self._place(item)
        return line if line < len(self._lines) and self._lines[line] == item else None

    def spot(self, line: int) -> int:
        """Return a number that identifies a line and keeps the order of lines, also when lines are added."""
        return self._key(self._lines[line])

    def next_of(self, numbers: Iterable[int], item: int | None, step: int) -> int | None:
        """Return the next (1) or previous (-1) of some rows behind an item, round the ends; None if the filter keeps none."""
        kept = (number for number in numbers if self.line_of(number) is not None or self.hidden(number))
        places = {step * self._key(number): number for number in kept}
        here = -1 if item is None else step * self._key(item)
        return places[min((place for place in places if place > here), default=min(places))] if places else None

    def section(self, heading: int, rows: Sequence[Row]) -> Section:
        """Return what a heading stands for."""
        if heading == SESSION:
            return Section(is_session=True)
        first, turn = rows[self.home_of(heading)], self.turn_of(heading)
        return Section(clock=first.clock, turn=turn, step=first.step if turn else 0)

    def line_at(self, spot: int) -> int:
        """Return the line with such a number, or else the next line."""
        return bisect_left(self._lines, spot, key=self._key)

    def line_near(self, item: int) -> int | None:
        """Return the line of an item, of the heading that hides it, or else the nearest row's; None without lines."""
        if not self._lines or item == SESSION:
            return 0 if self._lines else None
        if (heading := self.line_of(-self.home_of(item) - 1)) is not None and self.hidden(item) is not None:
            return heading
        line = min(self._place(item), len(self._lines) - 1)
        return line + 1 if line + 1 < len(self._lines) and self._lines[line] < 0 else line

    def newest_line(self, selected: int | None) -> int:
        """Return the line that following selects: the newest row of the turns, or the last line."""
        end = len(self) - 1
        if self.newest_of_turns is None:
            return end
        line = self.line_of(self.newest_of_turns)
        at = self.line_of(selected) if selected is not None else None
        return end if line is None or (at is not None and at > line) else line

    def heading_beside(self, line: int, step: int) -> int | None:
        """Return the line of the nearest heading above (-1) or below (1) a line; None without one."""
        line += step
        while 0 <= line < len(self._lines):
            if self._lines[line] < 0:
                return line
            line += step
        return None

    def rows(self, first: int, end: int) -> Sequence[int]:
        """Return the rows of a range of lines."""
        return [item for item in self._lines[first:end] if item >= 0]

    def counts(self, clock: str, turn: int) -> tuple[int, int]:
        """Return the rows per lane in a turn, hidden rows included."""
        llm, mcp = self._counts.get((clock, turn), (0, 0))
        return llm, mcp

    @property
    def turns(self) -> Iterable[tuple[str, int]]:
        """Clock and turn of everything that has rows; turn 0 for connections."""
        return self._counts

    @property
    def all_counts(self) -> tuple[int, int]:
        """The rows per lane in all turns and outside them."""
        return sum(llm for llm, _ in self._counts.values()), sum(mcp for _, mcp in self._counts.values())

    def count(self, rows: Sequence[Row], seconds: float = 60.0) -> int:
        """Add new rows for a limited time; returns how many rows were added so far."""
        until = time.perf_counter() + seconds
        for number in range(len(self._homes), len(rows)):
            row = rows[number]
            home = self.sections.homes[number]
            self._homes.append(home)
            self._times.append(self._time(row, home))
            self._of_turn.append(row.turn > 0 and not row.is_absent)
            self._add_to_counts(row, self.sections.turns[home], 1)
            if number % 64 == 63 and time.perf_counter() >= until:
                break
        return len(self._homes)

    def _add_to_counts(self, row: Row, turn: int, number: int) -> None:
        counts = self._counts.setdefault((row.clock, turn), [0, 0])
        if row.lane != "host" and not row.is_absent:
            counts[row.lane == "mcp"] += number

    def move(self, row: Row) -> bool:
        """Place a row again if its section has changed; returns whether it has."""
        number, home = row.number, self.sections.homes[row.number]
        before = self._homes[number]
        if home == before:
            return False
        is_kept = self.drop(number)
        self._add_to_counts(row, self.sections.turns[before], -1)
        self._add_to_counts(row, self.sections.turns[home], 1)
        self._homes[number] = home
        self._of_turn[number] = row.turn > 0 and not row.is_absent
        if is_kept:
            self.extend([number])
        return True

    def drop(self, number: int) -> bool:
        """Remove the line of a row, and the heading of a section without rows; returns whether there was one."""
        home = self._homes[number]
        line, hidden = self.line_of(number), self._hidden.get(home, [])
        if line is not None:
            self._lines.pop(line)
        elif number in hidden:
            hidden.remove(number)
        else:
            return False
        self.kept -= 1
        heading = self.line_of(-home - 1)
        is_last = heading is not None and (heading + 1 == len(self) or self._lines[heading + 1] < 0)
        if heading is not None and is_last and not hidden:
            self._lines.pop(heading)
        return True

    # Folding.

    def is_folded(self, home: int) -> bool:
        """Whether only a section's heading is shown."""
        return (home in self._turned) != (self.folds_starts and home in self.sections.starts)

    def fold_anew(self, *, folds_starts: bool) -> None:
        """Forget which sections the user folded and opened; the lines must be made again."""
        self._turned.clear()
        self.folds_starts = folds_starts

    def hidden(self, item: int) -> int | None:
        """Return how many rows the folded section of an item hides; None for an open section."""
        home = self.home_of(item)
        return len(self._hidden.get(home, ())) if self.is_folded(home) else None

    def fold(self, home: int) -> None:
        """Fold an open section, or open a folded one."""
        line = self.line_of(-home - 1)
        is_folded = self.is_folded(home)
        self._turned ^= {home}
        if line is None:
            return
        if is_folded:
            rows = array("q", sorted(self._hidden.pop(home, ()), key=self._order))
            self._lines[line + 1 : line + 1] = rows
        else:
            end = bisect_left(self._lines, home + 1, key=self.home_of)
            self._hidden[home] = self._lines[line + 1 : end].tolist()
            del self._lines[line + 1 : end]

    def clear(self) -> None:
        """Remove all lines; counts and folds stay."""
        self._lines = array("q")
        self._hidden.clear()
        self.kept = 0
        self.newest_of_turns = None

    def extend(self, numbers: Iterable[int]) -> int:
        """Add lines for rows that were counted.

        Returns:
            The first line that is new or has changed.
        """
        first = len(self._lines)
        if not first:
            self._lines.append(SESSION)
        for home, rows in groupby(numbers, self._homes.__getitem__):
            first = min(first, self._add(home, list(rows)))
        if len(self._lines) == 1:
            self._lines.pop()  # a heading of nothing
        return first

    def _add(self, home: int, rows: list[int]) -> int:
        """Add rows of one section; return the first line that is new or has changed."""
        lines = self._lines
        self.kept += len(rows)
        newest = next((number for number in reversed(rows) if self._of_turn[number]), None)
        if newest is not None:
            self.newest_of_turns = max(newest, self.newest_of_turns or 0)
        if len(rows) > 1:
            rows.sort()
            rows.sort(key=self._times.__getitem__)
        place = first = len(lines)
        if place and self._key(lines[-1]) > self._order(rows[0]):
            place = first = self._place(rows[0])
        if not place or self.home_of(lines[place - 1]) != home:
            lines.insert(place, -home - 1)
            place += 1
        if self.is_folded(home):
            self._hidden.setdefault(home, []).extend(rows)
            return min(first, place - 1)
        if place == len(lines) or self._key(lines[place]) > self._order(rows[-1]):
            lines[place:place] = array("q", rows)
        else:
            for number in rows:
                lines.insert(self._place(number), number)
        return first

    def _place(self, item: int) -> int:
        return bisect_left(self._lines, self._key(item), key=self._key)

    def _time(self, row: Row, home: int) -> int:
        time_ns = self._latest.get(home, 0) if row.mono_ns is None else max(row.mono_ns, 0)
        self._latest[home] = max(self._latest.get(home, 0), time_ns)
        return time_ns

    def _order(self, number: int) -> int:
        return (self._section(self._homes[number]) | self._times[number] << _NUMBERS) + number + 1

    @staticmethod
    def _section(home: int) -> int:
        return home << (_NUMBERS + _TIMES)

    def _key(self, item: int) -> int:
        """Return the order of an item; a heading comes before its rows."""
        if item >= 0:
            return self._order(item)
        return -1 if item == SESSION else self._section(-item - 1)
