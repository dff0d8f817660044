"""A Markdown source as lines of one width: cut into pieces once, drawn where visible, redrawn at its growing end."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable
from copy import deepcopy
from typing import TypeAlias

from textual.strip import Strip

from tui_host.tui.markdown.cutter import Cutter
from tui_host.tui.markdown.heights import Heights
from tui_host.tui.markdown.line_page import DrawnLine, Inks, MarkdownPage
from tui_host.tui.markdown.markdown_blocks import SourcePiece, draw_piece, estimate
from tui_host.tui.markdown.parser import loaded

EMPTY = DrawnLine(Strip([]))
Spot: TypeAlias = tuple[int, ...]


class Budget:
    """A time limit for one turn of the event loop."""

    def __init__(self, seconds: float = 0.008, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._until = clock() + seconds

    @property
    def spent(self) -> bool:
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
        self._pieces: list[SourcePiece] = []
        self._lines: list[list[DrawnLine] | None] = []
        self._heights = Heights()
        self._tail: list[DrawnLine] = []
        self._tail_piece: SourcePiece | None = None
        self._tail_drawn = False
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
        new_pieces: list[SourcePiece] = []
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
        self._tail = [] if piece is None else self._page(piece).lines
        same = 0
        for old, new in zip(before, self._tail, strict=False):
            if old.strip != new.strip:
                break
            same += 1
        if same < max(len(before), len(self._tail)):
            self._dirty = min(self._dirty, self._heights.total + same)
        self._tail_drawn = True
        self._rest = 0

    def _page(self, piece: SourcePiece) -> MarkdownPage:
        page = MarkdownPage(self._width, self._inks)
        # A copy: what an open end seems to define must not outlive it.
        draw_piece(page, piece, deepcopy(self._cutter.references))
        return page

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
            lines = self._page(self._pieces[number]).lines
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

    def line(self, number: int) -> DrawnLine:
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

    def lines_at(self, line: int) -> tuple[int, int, list[DrawnLine]]:
        """Return the piece at a line: number, line inside the piece, and all lines of the piece."""
        total = self._heights.total
        if line >= total:
            return len(self._pieces), line - total, self._tail
        number, inside = self._heights.find(line)
        return number, inside, self.piece_lines(number)

    def piece_lines(self, number: int) -> list[DrawnLine]:
        """Return all lines of a piece."""
        self._make(number)
        return self._lines[number] or []

    def line_of(self, offset: int) -> int:
        """Return the first line of the piece with a character of the source."""
        number = max(0, bisect_right(self._pieces, offset, key=lambda piece: piece.start) - 1)
        return self._heights.start(number) + self._pieces[number].gap if self._pieces else 0

    def settled(self, spot: Spot) -> Spot:
        """Return a place as it is counted now: of what was one open end, several pieces may have become."""
        if not spot:
            return spot
        number, place = spot
        while number < len(self._pieces):
            lines = self.piece_lines(number)
            end = next((line.runs[-1].place + len(line.runs[-1].text) for line in reversed(lines) if line.runs), 0)
            if place <= end:
                break
            number, place = number + 1, place - end - 1
        return number, place

    def copied(self, begin: Spot, end: Spot | None) -> str:
        """Return what stands between two places: whole pieces as Markdown, parts of pieces as drawn, unwrapped.

        Args:
            begin: A piece and a character of its text; empty from the start.
            end: The same of the first character that is not copied; None to the end.
        """
        begin, end = self.settled(begin), None if end is None else self.settled(end)
        pieces = [*self._pieces, *([] if self._tail_piece is None else [self._tail_piece])]
        first, last = begin[0] if begin else 0, len(pieces) - 1 if end is None else min(end[0], len(pieces) - 1)
        if not any(begin) and end is None:
            return self._source if self._as_text else self._source.rstrip("\n")
        text = ""
        for number in range(first, last + 1):
            piece = pieces[number]
            follows = pieces[number + 1] if number + 1 < len(pieces) else None
            goes_on = number == len(self._pieces) or (follows is not None and not follows.begins)
            copied = piece.written(is_last=not goes_on)
            if (begin and number == first) or (end is not None and number == end[0]):
                plain = "\n".join(self._page(piece).rows)
                start = begin[1] if begin and number == first else 0
                stop = end[1] if end is not None and number == end[0] else len(plain)
                if start >= stop:
                    continue
                # A block of code alone is copied without its fence.
                is_code = first == last and copied.lstrip()[:3] in {"```", "~~~"}
                copied = plain[start:stop] if start or stop < len(plain) or is_code else copied
            text += ("\n\n" if piece.gap else "\n") * bool(text) + copied
        return text if self._as_text else text.rstrip("\n")

    def take_dirty(self) -> int:
        """Return the first line changed since the last call; the height if no line changed."""
        dirty = min(self._dirty, self.height)
        self._dirty = 1 << 60
        return dirty
