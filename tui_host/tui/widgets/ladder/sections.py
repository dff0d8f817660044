"""Which rows of the ladder stand under one heading: a turn's step, or the connections before, between and after turns.

A heading stands once: what belongs to no turn does not cut a turn's step in two. While a turn runs, what goes on on the connections
(listings, pings, what a server says by itself) stands in the step in which it happened; when it has ended, under a heading of its own.
What is heard of late, as of a server whose host was not known before, stands in the section that had begun when it happened.
A call that no turn seems to have asked for never stands in one, whenever it came: what stands there would be taken for the turn's.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from tui_host.capture.ladder.row import Row
from tui_host.capture.record import lasted


class Sections:
    """Gives each row, in the order in which they came, the row that its section begins with.

    Attributes:
        turns: The turn of each section, by the row that it begins with; 0 for the connections.
    """

    def __init__(self) -> None:
        self._begun = array("q")  # the rows that sections begin with
        self.turns: dict[int, int] = {}
        self._steps: dict[tuple[str, int, int], int] = {}
        self._of_turn: int | None = None  # the last row of a turn, as times go

    def home(self, row: Row, rows: Sequence[Row], homes: array[int], partner: int | None) -> int:
        """The number of the row that the row's section begins with, its own for a new section.

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
        """The section of a row's turn and step, which it was not known to be of when it came; None if there is none."""
        return self._steps.get((row.clock, row.turn, row.step))

    def _of_connection(self, row: Row, rows: Sequence[Row]) -> int:
        last = rows[self._begun[-1]] if self._begun else None
        if last is None or last.clock != row.clock or (self.turns[last.number] and _is_asked_for(row)):
            return row.number
        if _is_before(row, last):
            earlier = (rows[number] for number in reversed(self._begun))
            may_be = (each for each in earlier if not (self.turns[each.number] and _is_asked_for(row)))
            same = [each for each in may_be if each.clock == row.clock]
            return next((each for each in same if not _is_before(row, each)), same[-1]).number
        return last.number if self.turns[last.number] == 0 or self._is_at_work(row, rows) else row.number

    def _is_at_work(self, row: Row, rows: Sequence[Row]) -> bool:
        """Whether a turn runs when a row comes: the model has not answered yet, or has asked for calls."""
        latest = None if self._of_turn is None else rows[self._of_turn]
        if latest is None or latest.lane != "llm" or latest.kind == "request":
            return True  # the turn's first rows are not the model's, and its last ones are
        since = lasted(row.mono_ns, latest.end_mono_ns)
        return bool(latest.calls) or latest.state == "open" or (since is not None and since >= 0)


def _is_asked_for(row: Row) -> bool:
    """Whether a row is something that a model asks for, and no connection's own."""
    return row.method == "tools/call" and not row.answer


def _is_before(row: Row, other: Row) -> bool:
    """Whether a row's time is known to be before another one's."""
    since = lasted(other.mono_ns, row.mono_ns)
    return since is not None and since < 0
