"""Assigns rows to sections: each step of a turn, and what connections did outside turns."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field

from tui_host.capture.ladder.row import Row, RowTable
from tui_host.capture.record import lasted


@dataclass(slots=True, eq=False)
class Sections:
    """Assigns each row to a section, which is named by its first row."""

    has_turns: bool = False
    homes: array[int] = field(default_factory=lambda: array("q"))  # the section of each row
    turns: dict[int, int] = field(default_factory=dict[int, int])  # the turn of each section; 0 for connections
    starts: set[int] = field(default_factory=set[int])  # the sections of connections before the first turn
    _clocks: set[str] = field(default_factory=set[str])  # on which a turn has begun
    # The first row of each turn that has a time.
    _begun: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    _steps: dict[tuple[str, int, int], int] = field(default_factory=dict[tuple[str, int, int], int])
    _of_turn: Row | None = None  # the last row of a turn, as times go

    def turn_of(self, number: int) -> int:
        """Return the turn whose heading is above a row; 0 for connections."""
        return self.turns[self.homes[number]]

    def began(self, row: Row) -> int:
        """Return the row from which a row's time counts: the first of its turn, outside turns of its section."""
        home = self.homes[row.number]
        return self._begun.get((row.clock, self.turns[home]), home) if self.turns[home] else home

    def take(self, rows: RowTable, partner: Callable[[int], int | None]) -> None:
        """Assign new rows to sections; `partner` returns the other half of a row."""
        for number in range(len(self.homes), len(rows)):
            row, half = rows[number], partner(number)
            if row.turn:
                home = self._steps.setdefault((row.clock, row.turn, row.step), number)
                if row.mono_ns is not None:
                    self._begun.setdefault((row.clock, row.turn), number)
                if self._of_turn is None or not _is_before(row, self._of_turn):
                    self._of_turn = row
            elif half is not None and half < number:
                home = self.homes[half]  # an answer stands with what it answers
            else:
                home = self._of_connection(row, rows)
            self.homes.append(home)
            if home == number:
                self.turns[home] = row.turn
            if home == number and row.turn:
                self._clocks.add(row.clock)
                self.has_turns = True
            elif home == number and row.clock not in self._clocks:
                self.starts.add(home)

    def move(self, number: int, step: tuple[str, int, int]) -> None:
        """Move a row into a step of a turn, named by clock, turn and step, if that step has a section."""
        if number < len(self.homes) and step[1]:
            self.homes[number] = self._steps.get(step, self.homes[number])

    def _of_connection(self, row: Row, rows: RowTable) -> int:
        """Return the section of a row outside turns; the row itself for a new one."""
        is_asked_for = row.method == "tools/call" and not row.answer  # by a model, in another capture
        last = rows[next(reversed(self.turns))] if self.turns else None
        if last is None or last.clock != row.clock or (self.turns[last.number] and is_asked_for):
            return row.number
        if _is_before(row, last):
            earlier = (rows[number] for number in reversed(self.turns) if not (self.turns[number] and is_asked_for))
            same = [candidate for candidate in earlier if candidate.clock == row.clock]
            return next((candidate for candidate in same if not _is_before(row, candidate)), same[-1]).number
        if self.turns[last.number] == 0 or self._of_turn is None:
            return last.number
        # A turn is running as long as the model has not answered, or has asked for calls. Its first rows are not the
        # model's, its last ones are; the latest may have grown since.
        latest = rows[self._of_turn.number]
        is_answer = latest.lane == "llm" and latest.kind != "request"
        since = lasted(row.mono_ns, latest.end_mono_ns)
        is_open = bool(latest.calls) or latest.state == "open" or (since is not None and since >= 0)
        return row.number if is_answer and not is_open else last.number


def _is_before(row: Row, other: Row) -> bool:
    """Whether a row is known to be earlier than `other`."""
    since = lasted(other.mono_ns, row.mono_ns)
    return since is not None and since < 0
