"""Which lines the ladder has: the rows that a filter keeps, in order, with a heading above each group."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from tui_host.capture.rows import Row


def _order(line: int) -> int:
    return 2 * line + 1 if line >= 0 else -2 * line - 2


def _belongs(row: Row, home: Row) -> bool:
    """Whether a row goes on with a group; what a server says by itself in the middle of a turn stays where it happened."""
    if row.capture != home.capture:
        return False
    by_itself = row.turn == 0 and not (row.kind == "frame" and row.outward and row.rpc_id)
    return by_itself or (row.turn, row.step) == (home.turn, home.step)


class LadderIndex:
    """Lines as an array of row numbers; a heading is the number of the row below it, negative (less one).

    Attributes:
        kept: How many rows there are lines for.
        widest_peer: Characters of the longest server's name.
    """

    def __init__(self) -> None:
        self._lines = array("q")
        self._homes = array("q")
        self._last_home: Row | None = None
        self._home: int | None = None
        self._counts: dict[tuple[str, int], list[int]] = {}
        self.kept = 0
        self.widest_peer = 0

    def __len__(self) -> int:
        return len(self._lines)

    def row_at(self, line: int) -> int:
        """The row on a line; that below it, for a heading."""
        number = self._lines[line]
        return number if number >= 0 else -number - 1

    def is_heading(self, line: int) -> bool:
        """Whether a line is a heading."""
        return self._lines[line] < 0

    def line_of(self, number: int) -> int | None:
        """The line that shows a row; None if there is none."""
        line = bisect_left(self._lines, _order(number), key=_order)
        return line if line < len(self._lines) and self._lines[line] == number else None

    def line_near(self, number: int) -> int | None:
        """The line of a row, or of the nearest one before or after it; None if there are no lines."""
        if not self._lines:
            return None
        line = min(bisect_left(self._lines, _order(number), key=_order), len(self._lines) - 1)
        return line + 1 if self._lines[line] < 0 else line

    def home_of(self, number: int) -> int:
        """The row that a row's group begins with."""
        return self._homes[number]

    def counts(self, home: Row) -> tuple[int, int]:
        """Rows in the LLM lane and in the MCP lane of the turn that a group belongs to, filtered or not."""
        llm, mcp = self._counts.get((home.capture, home.turn), (0, 0))
        return llm, mcp

    def count(self, rows: Sequence[Row], seconds: float = 60.0) -> int:
        """Find the groups of the rows that came since the last call, and count them, for at most so long.

        Returns:
            How many rows are counted by now.
        """
        until = time.perf_counter() + seconds
        for number in range(len(self._homes), len(rows)):
            row = rows[number]
            if self._last_home is None or not _belongs(row, self._last_home):
                self._last_home = row
            home = self._last_home
            self._homes.append(home.number)
            counts = self._counts.setdefault((home.capture, home.turn), [0, 0])
            if row.lane != "host":
                counts[row.lane == "mcp"] += 1
            if row.lane == "mcp":
                self.widest_peer = max(self.widest_peer, len(row.peer))
            if number % 64 == 63 and time.perf_counter() >= until:
                break
        return len(self._homes)

    def clear(self) -> None:
        """Have no lines; what was counted stays."""
        self._lines = array("q")
        self._home = None
        self.kept = 0

    def extend(self, numbers: Iterable[int]) -> None:
        """Put rows at the end, which were counted."""
        for number in numbers:
            home = self._homes[number]
            if home != self._home:
                self._home = home
                self._lines.append(-number - 1)
            self._lines.append(number)
            self.kept += 1
