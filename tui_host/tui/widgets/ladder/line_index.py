"""The lines of the ladder: matching rows by section, with a heading above each section."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence

from tui_host.capture.ladder.row import Row
from tui_host.capture.record import lasted


class Sections:
    """Assigns each row to a section, named by the section's first row.

    Attributes:
        turns: The turn of each section, by the row that it begins with; 0 for the connections.
    """

    def __init__(self) -> None:
        self._begun = array("q")  # the rows that sections begin with
        self.turns: dict[int, int] = {}
        self._steps: dict[tuple[str, int, int], int] = {}
        self._of_turn: int | None = None  # the last row of a turn, as times go

    def home(self, row: Row, rows: Sequence[Row], homes: array[int], partner: int | None) -> int:
        """Return the first row of a row's section; the row itself for a new section.

        Args:
            row: The row.
            rows: All rows.
            homes: The sections of the rows before it.
            partner: The row's other half.
        """
        if row.turn:
            home = self._steps.setdefault((row.clock, row.turn, row.step), row.number)
            if self._of_turn is None or not _is_before(row, rows[self._of_turn]):
                self._of_turn = row.number
        elif partner is not None and partner < row.number:
            return homes[partner]  # an answer stands with what it answers
        else:
            home = self._of_connection(row, rows)
        if home == row.number:
            self._begun.append(home)
            self.turns[home] = row.turn
        return home

    def home_in_turn(self, row: Row) -> int | None:
        """Return the section of a turn and step found out late; None if missing."""
        return self._steps.get((row.clock, row.turn, row.step))

    def _of_connection(self, row: Row, rows: Sequence[Row]) -> int:
        last = rows[self._begun[-1]] if self._begun else None
        if last is None or last.clock != row.clock or (self.turns[last.number] and _is_asked_for(row)):
            return row.number
        if _is_before(row, last):
            earlier = (rows[number] for number in reversed(self._begun))
            may_be = (candidate for candidate in earlier if not (self.turns[candidate.number] and _is_asked_for(row)))
            same = [candidate for candidate in may_be if candidate.clock == row.clock]
            return next((candidate for candidate in same if not _is_before(row, candidate)), same[-1]).number
        return last.number if self.turns[last.number] == 0 or self._is_at_work(row, rows) else row.number

    def _is_at_work(self, row: Row, rows: Sequence[Row]) -> bool:
        """Whether a turn runs when a row comes: the model has not answered yet, or has asked for calls."""
        latest = None if self._of_turn is None else rows[self._of_turn]
        if latest is None or latest.lane != "llm" or latest.kind == "request":
            return True  # the turn's first rows are not the model's, and its last ones are
        since = lasted(row.mono_ns, latest.end_mono_ns)
        return bool(latest.calls) or latest.state == "open" or (since is not None and since >= 0)


def _is_asked_for(row: Row) -> bool:
    """Whether a row is a tool call, requested by a model."""
    return row.method == "tools/call" and not row.answer


def _is_before(row: Row, other: Row) -> bool:
    """Whether a row is known to be earlier than `other`."""
    since = lasted(other.mono_ns, row.mono_ns)
    return since is not None and since < 0


_NUMBERS, _TIMES = 40, 64
"""Bits for a row's number, and for a time in nanoseconds, in a line's place."""


def _no_partner(_: int) -> int | None:
    return None


class LadderIndex:
    """Lines as an array of row numbers; a heading is the negative number, less one, of the row below.

    Sections stand in the order in which they began, a section's rows in the order of their times; what tells none stands behind what
    came before it. So a row that is heard of late, as a tap's whose process is slow, gets its line where it belongs, and not at the end.

    Attributes:
        kept: How many rows there are lines for.
        newest_of_turns: The newest row that has a line, belongs to a turn, and stands for something that was captured; None if there
            is none.
        widest_peer: Characters of the longest server's name.
    """

    def __init__(self) -> None:
        self._lines = array("q")
        self._homes = array("q")
        self._times = array("q")
        self._latest: dict[int, int] = {}  # the last time that a section's rows told
        self._of_turn = bytearray()
        self._sections = Sections()
        self._counts: dict[tuple[str, int], list[int]] = {}
        self.kept = 0
        self.newest_of_turns: int | None = None
        self.widest_peer = 0

    def __len__(self) -> int:
        return len(self._lines)

    def row_at(self, line: int) -> int:
        """Return the row of a line; for a heading, the row below."""
        number = self._lines[line]
        return number if number >= 0 else -number - 1

    def is_heading(self, line: int) -> bool:
        """Whether a line is a heading."""
        return self._lines[line] < 0

    def line_of(self, number: int) -> int | None:
        """Return the line of a row; None if hidden."""
        if not 0 <= number < len(self._homes):
            return None
        line = self._place(number)
        return line if line < len(self._lines) and self._lines[line] == number else None

    def spot(self, line: int) -> int:
        """Return a number that stays with a line, in the order of lines."""
        return self._key(self._lines[line])

    def line_at(self, spot: int) -> int:
        """Return the line of a spot, else the next line."""
        return bisect_left(self._lines, spot, key=self._key)

    def line_near(self, number: int) -> int | None:
        """Return the line of the nearest visible row; None without lines."""
        if not self._lines:
            return None
        line = min(self._place(number), len(self._lines) - 1)
        return line + 1 if self._lines[line] < 0 else line

    def newest_line(self, selected: int | None) -> int:
        """Return the line that following selects: the newest row of the turns, or the last line."""
        end = len(self) - 1
        if self.newest_of_turns is None:
            return end
        line = self.line_of(self.newest_of_turns)
        at = self.line_of(selected) if selected is not None else None
        return end if line is None or (at is not None and at > line) else line

    def rows(self, first: int, end: int) -> Sequence[int]:
        """Return the rows of a range of lines."""
        return [self.row_at(line) for line in range(first, min(end, len(self))) if not self.is_heading(line)]

    def home_of(self, number: int) -> int:
        """Return the first row of a row's section."""
        return self._homes[number]

    def counts(self, row: Row) -> tuple[int, int]:
        """Return the rows per lane in a row's turn, hidden rows included."""
        llm, mcp = self._counts.get((row.clock, self.turn_of(row.number)), (0, 0))
        return llm, mcp

    def count(
        self, rows: Sequence[Row], seconds: float = 60.0, partner: Callable[[int], int | None] = _no_partner
    ) -> int:
        """Assign new rows to sections, and count them, for a limited time.

        Args:
            rows: All rows.
            seconds: How long.
            partner: The other half of a row.

        Returns:
            How many rows are counted by now.
        """
        until = time.perf_counter() + seconds
        for number in range(len(self._homes), len(rows)):
            row = rows[number]
            home = self._sections.home(row, rows, self._homes, partner(number))
            self._homes.append(home)
            self._times.append(self._time(row, home))
            self._of_turn.append(row.turn > 0 and not row.is_absent)
            self._add_to_counts(row, self._sections.turns[home], 1)
            if row.lane == "mcp":
                self.widest_peer = max(self.widest_peer, len(row.peer))
            if number % 64 == 63 and time.perf_counter() >= until:
                break
        return len(self._homes)

    def _add_to_counts(self, row: Row, turn: int, number: int) -> None:
        counts = self._counts.setdefault((row.clock, turn), [0, 0])
        if row.lane != "host" and not row.is_absent:
            counts[row.lane == "mcp"] += number

    def turn_of(self, number: int) -> int:
        """Return the turn of a row; 0 for connections."""
        return self._sections.turns[self._homes[number]]

    def move(self, row: Row) -> bool:
        """Move a row found to belong to a turn into its section; whether it moved."""
        number = row.number
        home = self._sections.home_in_turn(row) if row.turn else None
        if home is None or home == self._homes[number]:
            return False
        line = self.line_of(number)
        if line is not None:
            self._take_out(line)
        self._add_to_counts(row, self.turn_of(number), -1)
        self._add_to_counts(row, row.turn, 1)
        self._homes[number] = home
        self._of_turn[number] = not row.is_absent
        if line is not None:
            self.kept -= 1
            self.extend([number])
        return True

    def _take_out(self, line: int) -> None:
        """Remove a row's line, and a heading without rows."""
        lines = self._lines
        number = lines.pop(line)
        if line and lines[line - 1] == -number - 1:  # it was the first below its heading
            if line < len(lines) and lines[line] >= 0:
                lines[line - 1] = -lines[line] - 1
            else:
                lines.pop(line - 1)

    def clear(self) -> None:
        """Remove all lines; counts stay."""
        self._lines = array("q")
        self.kept = 0
        self.newest_of_turns = None

    def extend(self, numbers: Iterable[int]) -> int:
        """Add lines for counted rows.

        Returns:
            The first line that is new or another one now.
        """
        lines = self._lines
        first = len(lines)
        for number in numbers:
            place = len(lines)
            if place and self._key(lines[-1]) > self._order(number):
                place = self._place(number)
            first = min(first, place)
            if not place or self._homes[self.row_at(place - 1)] != self._homes[number]:
                lines.insert(place, -number - 1)
                place += 1
            lines.insert(place, number)
            self.kept += 1
            if self._of_turn[number]:
                self.newest_of_turns = max(number, self.newest_of_turns or 0)
        return first

    def _place(self, number: int) -> int:
        return bisect_left(self._lines, self._order(number), key=self._key)

    def _time(self, row: Row, home: int) -> int:
        """Return a row's time from 0 up, as far as known."""
        time_ns = self._latest.get(home, 0) if row.mono_ns is None else max(row.mono_ns, 0)
        self._latest[home] = max(self._latest.get(home, 0), time_ns)
        return time_ns

    def _order(self, number: int) -> int:
        return (self._section(number) | self._times[number] << _NUMBERS) + number + 1

    def _section(self, number: int) -> int:
        return self._homes[number] << (_NUMBERS + _TIMES)

    def _key(self, line: int) -> int:
        """Return the order of a line; a heading comes before its rows."""
        return self._order(line) if line >= 0 else self._section(-line - 1)
