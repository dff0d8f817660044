"""Which rows of the ladder stand under one heading: a turn's step, or the connections before, between and after turns.

A heading stands once: what belongs to no turn does not cut a turn's step in two. While a turn runs, what the host does on
its connections (listings, pings) joins the connections before it; what a server says by itself stays where it happened.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from tui_host.capture.ladder.row import Row


class Sections:
    """Gives each row, in the order in which they came, the row that its section begins with."""

    def __init__(self) -> None:
        self._last: Row | None = None  # the row that the latest section begins with
        self._steps: dict[tuple[str, int, int], int] = {}
        self._connections: dict[str, int] = {}
        self._model: int | None = None  # the last row of the LLM lane

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
            if row.lane == "llm":
                self._model = row.number
        elif partner is not None and partner < row.number:
            return homes[partner]  # an answer stands with what it answers
        else:
            home = self._of_connection(row, rows)
        if home == row.number:
            self._last = row
        return home

    def _of_connection(self, row: Row, rows: Sequence[Row]) -> int:
        last = self._last if self._last is not None and self._last.clock == row.clock else None
        if last is not None and (last.turn == 0 or not row.outward):
            return last.number
        if last is None or row.clock not in self._connections or not self._is_at_work(row, rows):
            self._connections[row.clock] = row.number
        return self._connections[row.clock]

    def _is_at_work(self, row: Row, rows: Sequence[Row]) -> bool:
        """Whether a turn runs when a row comes: the model has not answered yet, or has asked for calls."""
        if self._model is None:
            return True  # the turn's first rows are not the model's
        model = rows[self._model]
        if model.kind == "request":
            return True
        return bool(model.calls) or model.state == "open" or model.end_mono_ns >= row.mono_ns
