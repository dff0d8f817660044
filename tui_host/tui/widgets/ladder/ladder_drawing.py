"""How a session's lines are drawn: with the room that its servers' names need, and the words that were found for its rows."""

from __future__ import annotations

from tui_host.capture.ladder.row import Row
from tui_host.tui.glyphs import Glyphs
from tui_host.tui.widgets.ladder.ladder_lines import Columns, heading, row_line
from tui_host.tui.widgets.ladder.line_index import LadderIndex
from tui_host.tui.widgets.ladder.row_words import LadderWords
from tui_host.tui.widgets.lines.json_lines import Piece
from tui_host.tui.widgets.pages.row_source import InspectorSource

_WHOLE = 4096
"""Cells that no row fills."""
_NARROW = 60
"""Cells of the list below which a server's name has less room."""


class LadderDrawing:
    """Draws the lines of one index.

    Args:
        source: Has the rows; without it there is no line.
        index: Has the lines.
        words: What rows say that has to be looked up.
        glyphs: The marks to draw with.
    """

    def __init__(self, source: InspectorSource | None, index: LadderIndex, words: LadderWords, glyphs: Glyphs) -> None:
        self._source = source
        self._index = index
        self._words = words
        self._glyphs = glyphs
        self._peer = 6
        self._last_home: Row | None = None

    def widen(self, width: int) -> bool:
        """Give servers' names the room of the longest one, within bounds; whether they have more now."""
        before = self._peer
        self._peer = max(before, min(self._index.widest_peer, 8 if width < _NARROW else 14))
        return self._peer != before

    def line(self, number: int, width: int) -> list[Piece]:
        """A line in so many cells."""
        source = self._source
        if source is None:
            return []
        row = source.ladder.rows[self._index.row_at(number)]
        return self._heading(source, row, width) if self._index.is_heading(number) else self._row(source, row, width)

    def shown(self, row: Row) -> str | None:
        """All that a row shows where there is room for it; None while that is to be looked up yet."""
        if self._source is None or self._words.is_to_come(row):
            return None
        return "".join(text for text, _ in self._row(self._source, row, _WHOLE))

    def _heading(self, source: InspectorSource, row: Row, width: int) -> list[Piece]:
        home = self._home(source, row)
        return heading(home, self._columns(source, width), source.ladder.hosts.get(home.turn, ""))

    def _row(self, source: InspectorSource, row: Row, width: int) -> list[Piece]:
        told = self._words.told(source, row, self._home(source, row))
        return row_line(row, told, self._columns(source, width))

    def _home(self, source: InspectorSource, row: Row) -> Row:
        number = self._index.home_of(row.number)
        if self._last_home is None or self._last_home.number != number:  # a section's rows are drawn together
            self._last_home = source.ladder.rows[number]
        return self._last_home

    def _columns(self, source: InspectorSource, width: int) -> Columns:
        return Columns(width=width, peer=self._peer, glyphs=self._glyphs, mask=source.marks)
