"""A Markdown source as lines of one width: cut into pieces once, drawn where visible, redrawn at its growing end."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable
from copy import deepcopy

from textual.strip import Strip

from tui_host.tui.markdown.cutter import Cutter
from tui_host.tui.markdown.heights import Heights
from tui_host.tui.markdown.line_page import Line, Page
from tui_host.tui.markdown.markdown_blocks import draw_piece
from tui_host.tui.markdown.markdown_styles import Inks
from tui_host.tui.markdown.origins import Trace
from tui_host.tui.markdown.parser import loaded
from tui_host.tui.markdown.source_pieces import Piece, estimate

EMPTY = Line(Strip([]))
TRACES = 64
"""Number of pieces whose traces are cached: more than a screen shows."""


class Budget:
    """A time limit for one turn of the event loop."""

    def __init__(self, seconds: float = 0.008, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._until = clock() + seconds

    @property
    def spent(self) -> bool:
        """Whether the time is used up."""
        return self._clock() >= self._until


class Document:
    """The lines of one Markdown source.

    `put` sets the source and `fit` the width; `advance` and `settle` draw as long as a time budget allows. Until then
    heights are estimates, and lines not drawn yet are empty.
    """

    def __init__(self, *, plain: bool = False) -> None:
        self._plain = plain
        self._source = ""
        self._final = False
        self._width = 0
        self._inks = Inks()
        self._begin()

    def _begin(self) -> None:
        self._as_text = self._plain or not loaded()
        self._cutter = Cutter(plain=self._as_text)
        self._pieces: list[Piece] = []
        self._lines: list[list[Line] | None] = []
        self._heights = Heights()
        self._tail: list[Line] = []
        self._tail_piece: Piece | None = None
        self._tail_drawn = False
        self._traces: dict[int, tuple[Piece, int, Trace]] = {}
        self._rest = estimate(self._source, self._width) if self._source else 0
        self._dirty = 0

    # What is set.

    def put(self, source: str, *, final: bool) -> None:
        """Set the source. Only the new text is read if the old source is a prefix."""
        if "\r" in source:
            source = source.replace("\r\n", "\n").replace("\r", "\n")
        if source == self._source and final == self._final:
            return
        goes_on = source.startswith(self._source) and not (self._final and not final)
        self._source, self._final = source, final
        if goes_on:
            self._tail_drawn = False
        else:
            self._begin()

    def fit(self, width: int, inks: Inks) -> None:
        """Set width and styles without drawing; a new width turns heights into estimates."""
        if width == self._width and inks is self._inks:
            return
        if width != self._width:
            self._heights.replace(piece.estimate(width) for piece in self._pieces)
        self._width, self._inks = width, inks
        self._lines = [None] * len(self._pieces)
        self._tail_drawn = False
        self._dirty = 0

    # Working.

    @property
    def done(self) -> bool:
        """Whether everything is cut and the open end is drawn."""
        return self._tail_drawn and not self._is_outdated()

    def _is_outdated(self) -> bool:
        return self._as_text and not self._plain and loaded()

    def advance(self, budget: Budget) -> None:
        """Cut as much of the source as the budget allows, and draw its growing end."""
        if self._is_outdated():
            self._begin()
        if self._tail_drawn:
            return
        new_pieces: list[Piece] = []
        while self._cutter.step(self._source, final=self._final, pieces=new_pieces):
            for piece in new_pieces:
                self._pieces.append(piece)
                self._lines.append(None)
                self._heights.append(piece.estimate(self._width))
            if new_pieces:
                self._dirty = min(self._dirty, self._heights.start(len(self._pieces) - len(new_pieces)))
            new_pieces.clear()
            if budget.spent:
                self._rest = estimate(self._source[self._cutter.position :], self._width)
                self._tail, self._tail_piece = [], None
                return
        self._draw_tail()

    def _draw_tail(self) -> None:
        piece = self._cutter.rest(self._source)
        before = self._tail
        self._tail_piece = piece
        self._tail = [] if piece is None else self._draw(piece)
        same = 0
        for old, new in zip(before, self._tail, strict=False):
            if old.strip != new.strip:
                break
            same += 1
        if same < max(len(before), len(self._tail)):
            self._dirty = min(self._dirty, self._heights.total + same)
        self._tail_drawn = True
        self._rest = 0

    def _draw(self, piece: Piece, trace: Trace | None = None) -> list[Line]:
        page = Page(self._width, self._inks, trace=trace)
        # A copy: what an open end seems to define must not outlive it.
        draw_piece(page, piece, deepcopy(self._cutter.references))
        return page.lines

    def settle(self, line: int, above: int, below: int, budget: Budget) -> int:
        """Draw the pieces around a line, so that the heights nearby are exact.

        Returns:
            The line's new number: it stays the same line of the same piece, if that still exists.
        """
        if line < self._heights.total:
            number, inside = self._heights.find(line)
            inside = min(inside, max(0, self._make(number) - 1))
            covered = self._heights[number] - inside
        else:  # in the open end
            number, inside = len(self._pieces), line - self._heights.total
            covered = below
        after = number + 1
        while covered < below and after < len(self._pieces) and not budget.spent:
            covered += self._make(after)
            after += 1
        covered = inside
        before = number - 1
        while covered < above and before >= 0 and not budget.spent:
            covered += self._make(before)
            before -= 1
        return self._heights.start(number) + inside

    def _make(self, number: int) -> int:
        if self._lines[number] is None:
            lines = self._draw(self._pieces[number])
            self._lines[number] = lines
            if len(lines) != self._heights[number]:
                self._heights.put(number, len(lines))
                self._dirty = min(self._dirty, self._heights.start(number))
        return self._heights[number]

    # Asking.

    @property
    def height(self) -> int:
        """The number of lines, as far as known."""
        return self._heights.total + (len(self._tail) + self._rest)

    def line(self, number: int) -> Line:
        """Return a line. Draws its piece if necessary, and heights may change then."""
        total = self._heights.total
        if number >= total:
            place = number - total
            return self._tail[place] if place < len(self._tail) else EMPTY
        block, inside = self._heights.find(number)
        self._make(block)
        lines = self._lines[block] or []
        return lines[inside] if inside < len(lines) else EMPTY

    # For selecting; the number of a piece may be that of the open end.

    @property
    def source(self) -> str:
        """The source, with newlines as line ends."""
        return self._source

    @property
    def length(self) -> int:
        """Number of characters in the source."""
        return len(self._source)

    @property
    def is_text(self) -> bool:
        """Whether the source is drawn as plain text."""
        return self._as_text

    def lines_at(self, line: int) -> tuple[int, int, list[Line]]:
        """Return the piece at a line: number, line inside the piece, and all lines of the piece."""
        total = self._heights.total
        if line >= total:
            return len(self._pieces), line - total, self._tail
        number, inside = self._heights.find(line)
        self._make(number)
        return number, inside, self._lines[number] or []

    def piece_of(self, offset: int) -> int:
        """Return the number of the piece that contains a character of the source, or of the piece before it."""
        number = bisect_right(self._pieces, offset, key=lambda piece: piece.begin)
        if number == len(self._pieces) and self._tail_piece is not None and self._tail_piece.begin <= offset:
            return number
        return max(0, number - 1)

    def piece_lines(self, number: int) -> tuple[int, list[Line]]:
        """Return a piece's first line, and all lines of the piece."""
        if number >= len(self._pieces):
            return self._heights.total, self._tail
        self._make(number)
        return self._heights.start(number), self._lines[number] or []

    def trace(self, number: int) -> Trace:
        """Return the origins of a piece's characters. Draws the piece again; recent results are kept."""
        piece = self._pieces[number] if number < len(self._pieces) else self._tail_piece
        if piece is None:
            return Trace(Piece(kind="text", source="", start=len(self._source)))
        cached = self._traces.get(number)
        if cached is not None and cached[0] is piece and cached[1] == self._width:
            return cached[2]
        if len(self._traces) >= TRACES:
            self._traces.clear()
        trace = Trace(piece)
        self._draw(piece, trace)
        self._traces[number] = (piece, self._width, trace)
        return trace

    def take_dirty(self) -> int:
        """Return the first line changed since the last call; the height if no line changed."""
        dirty = min(self._dirty, self.height)
        self._dirty = 1 << 60
        return dirty
