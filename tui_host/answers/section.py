"""What a heading of the list stands for: the whole session, connections outside turns, or a step of a turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_host.capture.ladder.ladder import Ladder
    from tui_host.capture.ladder.row import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The subject of the pages of a heading."""

    clock: str = ""  # the clock of the turn's rows; empty for the whole session
    turn: int = 0  # the turn, from 1; 0 for the whole session, and for connections outside turns
    step: int = 0  # the step, from 1; 0 for a whole turn
    is_session: bool = False  # whether the whole session is meant

    @property
    def words(self) -> str:
        if self.is_session:
            return "the session"
        return f"turn {self.turn}" if self.turn else "connections"

    @property
    def place(self) -> str:
        """The subject with its step, for pages that are about one step of a turn."""
        return f"{self.words}, step {self.step}" if self.step else self.words

    def rows(self, ladder: Ladder) -> Iterator[Row]:
        """Yield the rows of the session, of the turn, or of no turn, in the order of the list."""
        rows, sections = ladder.rows, ladder.sections
        for number in range(len(rows)):
            if self.is_session or sections.turn_of(number) == self.turn:
                row = rows[number]
                if self.clock in {"", row.clock}:
                    yield row


def turn_section(ladder: Ladder, turn: int) -> Section | None:
    """Return the section of a turn by its number; None if there is no such turn."""
    row = next((row for row in ladder.rows if row.turn == turn), None)
    return None if row is None else Section(clock=row.clock, turn=turn)
