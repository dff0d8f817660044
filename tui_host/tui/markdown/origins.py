"""Finds the place in the source from which each drawn character comes.

Drawing a piece records no origins. A piece in which text is selected is drawn once more, with a `Trace`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui_host.capture.visible import visible
from tui_host.tui.markdown.source_pieces import Piece

if TYPE_CHECKING:
    from markdown_it.token import Token

Range = tuple[int, int]
"""A range of the source: first character, and one past the last."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Wrap:
    """Markup around a text: emphasis, a link, a fence.

    Attributes:
        outer: Where the opening mark begins; unique for each wrap.
        inner: The range between the marks.
        end: The place after the closing mark.
        opening, closing: The marks.
        is_code: Whether the text is code; a selected part of code is copied without the marks.
    """

    outer: int
    inner: Range
    end: int
    opening: str
    closing: str
    is_code: bool = False


@dataclass(slots=True)
class Trace:
    """A piece as drawn text, with the source range of each character.

    Attributes:
        piece: The piece.
        text: Each drawn character by its place, with a newline after each text.
        ranges: The source range of each character.
        texts: The place where each text (a paragraph, a cell, a line of code) begins.
        wraps: The markup of the piece.
        tables: The source ranges of its tables.
    """

    piece: Piece
    text: list[str] = field(default_factory=list[str])
    ranges: list[Range] = field(default_factory=list[Range])
    texts: list[int] = field(default_factory=list[int])
    wraps: list[Wrap] = field(default_factory=list[Wrap])
    tables: list[Range] = field(default_factory=list[Range])
    _lines: list[str] = field(default_factory=list[str])
    _starts: list[int] = field(default_factory=list[int])
    _cells: dict[int, int] = field(default_factory=dict[int, int])

    def __post_init__(self) -> None:
        self._lines = self.piece.source.split("\n")
        place = self.piece.start
        for line in self._lines:
            self._starts.append(place)
            place += len(line) + 1

    # Recording.

    def note(self, rows: Sequence[str], origin: Sequence[Range], *, by_line: bool) -> None:
        """Record a drawn text by rows. Without an origin its characters map to the end of the text before.

        Each row is a text of its own with `by_line`, as code is.
        """
        place = 0
        for number, row in enumerate(rows):
            if number:
                place += 1
            if by_line or not number:
                self.texts.append(len(self.text))
            for character, at in shown_characters(row):
                self.text.append(character)
                self.ranges.append(self._range(origin, place + at))
            place += len(row)
            self.text.append("\n")
            self.ranges.append(self._range(origin, place))

    def _range(self, origin: Sequence[Range], at: int) -> Range:
        if at < len(origin):
            return origin[at]
        end = self.ranges[-1][1] if self.ranges else self.piece.start
        return end, end

    def place_in(self, line: int, column: int) -> int:
        """Return the position in the whole source of a line and column of the piece."""
        return self._starts[min(line, len(self._starts) - 1)] + column

    def end_of(self, line: int) -> int:
        """Return the end of a line of the piece in the whole source."""
        line = max(0, min(line, len(self._starts) - 1))
        return self._starts[line] + len(self._lines[line])

    def offsets(self, inline: Token) -> list[int]:
        """Return the positions in the whole source of an inline token's characters and of its end."""
        places: list[int] = []
        first = (inline.map or [0, 0])[0]
        for number, text in enumerate(inline.content.split("\n"), first):
            line = self._lines[min(number, len(self._lines) - 1)]
            places.extend(self.place_in(number, max(0, line.rfind(text)) + at) for at in range(len(text) + 1))
        return places

    def cell_offsets(self, inline: Token) -> list[int]:
        """Return these positions for the cells of a table, in order. A bar inside a cell has a backslash before it."""
        number = min((inline.map or [0, 0])[0], len(self._lines) - 1)
        line, begin = self._lines[number], self._cells.get(number, 0)
        written = inline.content if line.find(inline.content, begin) >= 0 else inline.content.replace("|", "\\|")
        at = max(begin, line.find(written, begin))
        places: list[int] = []
        for character in inline.content:
            if written is not inline.content and character == "|":
                at += 1
            places.append(self.place_in(number, at))
            at += 1
        places.append(self.place_in(number, at))
        self._cells[number] = at
        return places

    def code_origin(self, code: str, first: int) -> list[Range]:
        """Return ranges for the characters of code with expanded tabs, from line `first` of the piece on."""
        ranges: list[Range] = []
        for number, text in enumerate(code.split("\n"), first):
            line = self._lines[min(number, len(self._lines) - 1)]
            start = self.place_in(number, max(0, len(line) - len(text)))
            ranges.extend(_expanded(text, start))
            ranges.append((start + len(text), start + len(text) + 1))
        return ranges

    # Looking up.

    def word_at(self, place: int) -> Range:
        """Return the word at a place, or a single non-word character."""
        first = self.texts[max(0, bisect_right(self.texts, place) - 1)]
        following = bisect_right(self.texts, place)
        end = self.texts[following] if following < len(self.texts) else len(self.text)
        text = "".join(self.text[first:end])
        for match in _WORD.finditer(text):
            if match.start() <= place - first < match.end():
                return first + match.start(), first + match.end()
        return place, min(place + 1, len(self.text))

    def text_at(self, place: int) -> Range:
        """Return the places of the paragraph, cell or line of code at a place."""
        number = bisect_right(self.texts, place)
        end = self.texts[number] if number < len(self.texts) else len(self.text)
        return (self.texts[number - 1] if number else 0), max(0, end - 1)

    def place_of(self, offset: int) -> int:
        """Return the first place with a character at or after `offset`."""
        return next((place for place, (_, end) in enumerate(self.ranges) if end > offset), max(0, len(self.text) - 1))

    def is_in_table(self, offset: int) -> bool:
        """Whether a character belongs to a table."""
        return any(start <= offset < end for start, end in self.tables)

    def wraps_at(self, offset: int) -> list[Wrap]:
        """Return the markup around a character, outermost first."""
        return sorted(
            (wrap for wrap in self.wraps if wrap.inner[0] <= offset < wrap.inner[1]), key=lambda wrap: wrap.outer
        )


def shown_characters(row: str) -> Iterable[tuple[str, int]]:
    """Yield each drawn character of a row with the number of its source character."""
    shown = visible(row, newlines=False)
    if len(shown) == len(row):
        yield from ((character, at) for at, character in enumerate(shown))
        return
    at = place = 0
    while place < len(shown):
        end = place + 1
        if shown[place] == "⟨" and not row.startswith("⟨", at):
            end = shown.find("⟩", place) + 1 or end
        yield from ((character, min(at, len(row) - 1)) for character in shown[place:end])
        place, at = end, at + 1


def _expanded(text: str, start: int) -> Iterable[Range]:
    column = 0
    for at, character in enumerate(text, start):
        cells = 4 - column % 4 if character == "\t" else 1
        yield from [(at, at + 1)] * cells
        column += cells


class Walk:
    """Walks through an inline token's content, and records the source of each drawn text."""

    def __init__(self, content: str, offsets: Sequence[int], trace: Trace) -> None:
        self.origin: list[Range] = []
        self._content = content
        self._offsets = offsets
        self._trace = trace
        self._at = 0
        self._open: list[Range] = []

    def _put(self, drawn: str, start: int, end: int) -> None:
        """Map a drawn text to a part of the content: by character if the lengths match, else as a whole."""
        offsets = self._offsets
        if end - start == len(drawn):
            self.origin.extend((offsets[at], offsets[at] + 1) for at in range(start, end))
        else:
            self.origin.extend([(offsets[start], max(offsets[start], offsets[end - 1] + 1 if end else 0))] * len(drawn))
        self._at = end

    def _find(self, text: str) -> int:
        place = self._content.find(text, self._at)
        return self._at if place < 0 else place

    def text(self, drawn: str, written: str = "") -> None:
        """Record a text; `written` is its spelling in the source, if different."""
        written = written or drawn
        start = self._find(written)
        self._put(drawn, start, min(len(self._content), start + len(written)))

    def line_break(self, drawn: str) -> None:
        """Record the end of a line."""
        start = self._find("\n")
        end = min(len(self._content), start + 1)
        self._put(drawn, start, end)

    def code(self, drawn: str, markup: str) -> None:
        """Record code between backticks."""
        outer = self._find(markup)
        inside = self._content.replace("\n", " ").find(drawn, outer + len(markup))
        inside = outer if inside < 0 else inside
        self._put(drawn, inside, min(len(self._content), inside + len(drawn)))
        end = self._find(markup) + len(markup)
        self._wrap(outer, inside, self._at, end, is_code=True)
        self._at = min(end, len(self._content))

    def opened(self, markup: str) -> None:
        """Record an opening mark."""
        outer = self._find(markup)
        self._at = outer + len(markup)
        self._open.append((outer, self._at))

    def closed(self, markup: str) -> None:
        """Record a closing mark."""
        inner = self._find(markup)
        self._at = inner + len(markup)
        self._close(inner)

    def link_closed(self, drawn: str, *, is_auto: bool) -> None:
        """Record a link's end; `drawn` is the address; empty if left out."""
        inner = self._find(">" if is_auto else "]")
        self._at = inner + 1 if is_auto else _after_label(self._content, inner)
        if drawn:
            self._put(drawn, inner, self._at)
        self._close(inner)

    def image(self, drawn: str) -> None:
        """Record an image as a whole."""
        start = self._find("![")
        label = self._content.find("](", start)
        end = _after_label(self._content, label if label >= 0 else start)
        self.origin.extend([(self._offsets[start], self._offsets[min(end, len(self._content))])] * len(drawn))
        self._at = end

    def _close(self, inner: int) -> None:
        outer, begin = self._open.pop() if self._open else (inner, inner)
        self._wrap(outer, begin, inner, self._at)

    def _wrap(self, outer: int, begin: int, inner: int, end: int, *, is_code: bool = False) -> None:
        content, offsets = self._content, self._offsets
        end = min(end, len(content))
        self._trace.wraps.append(
            Wrap(
                outer=offsets[outer],
                inner=(offsets[begin], offsets[inner]),
                end=offsets[end],
                opening=content[outer:begin],
                closing=content[inner:end],
                is_code=is_code,
            )
        )


def _after_label(content: str, at: int) -> int:
    """Return the end of the address behind a link's label; `at` is the closing bracket of the label."""
    at += 1
    mark = content[at : at + 1]
    if mark == "[":
        return (content.find("]", at) + 1) or at
    if mark != "(":
        return min(at, len(content))
    depth, place, quote = 0, at, ""
    while place < len(content):
        character = content[place]
        if character == "\\":
            place += 1
        elif quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and content[place - 1].isspace():
            quote = character
        elif character in "()":
            depth += 1 if character == "(" else -1
            if not depth:
                return place + 1
        place += 1
    return at
