"""A text of any length, wrapped to a width: raw bytes or indented JSON."""

from __future__ import annotations

import re
import time
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from typing_extensions import override

from tui_host.answers.sheet import Form
from tui_host.capture.visible import visible
from tui_host.tui.text_width import fill, fitting, fitting_words
from tui_host.tui.widgets.lines.json_lines import (
    JsonLine,
    Piece,
    highlight,
    json_lines,
    key_end,
    plain_lines,
    raw_lines,
)
from tui_host.tui.widgets.lines.selection import Letters, Selectable, Spot
from tui_host.tui.widgets.pages.detail_page import Match, Page, matches, with_pictures

Row: TypeAlias = tuple[int, int, int]
"""Start, end, indentation in cells; negative (less one) where it goes on with the line above."""

_BREAKERS: dict[Form, Callable[[str], Iterator[JsonLine]]] = {
    "raw": raw_lines,
    "json": json_lines,
    "plain": plain_lines,
    "headers": plain_lines,
}
_AT_ONCE = 64
"""Rows made between two looks at the clock: some 0.1 ms."""
NARROWEST = 8
"""Cells of the narrowest line."""
DEEPEST = 120
"""Depth from which lines are all alike: their depths are bytes."""


class TextPage(Page):
    """A wrapped text, made in slices: the first screen is ready at once.

    Args:
        what: What the text is («request body»).
        text: All of it, as it came; it becomes visible when it is drawn.
        form: `raw` breaks at LF alone, and shows it; `json` breaks where a reader wants it; `plain` breaks at LF, and
            does not show it; `headers` is the same with names before a colon.
        notes: Notes to show above the text.
    """

    def __init__(self, what: str, text: str, *, form: Form = "raw", notes: Sequence[str] = ()) -> None:
        self._what = what
        self._text = text
        self._form: Form = form
        self._notes = tuple(note for note in notes if note)
        self._width = 0
        self._head: list[str] = []
        self._starts = array("q")
        self._ends = array("q")
        self._depths = bytearray()  # 255 less the depth where a row goes on with the one above
        self._rows: Iterator[Row] = iter(())

    @property
    @override
    def grows_below(self) -> bool:
        return True

    @property
    @override
    def source(self) -> tuple[str, str]:
        return self._what, self._text

    @override
    def fit(self, width: int) -> None:
        self._width = max(NARROWEST, width)
        self._head = [line for note in self._notes for line in wrapped(note, self._width)]
        self._starts, self._ends, self._depths = array("q"), array("q"), bytearray()
        self._rows = self._fold()

    @override
    def advance(self, seconds: float) -> bool:
        until = time.perf_counter() + seconds
        before = len(self._starts)
        while True:
            rows = list(islice(self._rows, _AT_ONCE))
            for start, end, depth in rows:
                self._starts.append(start)
                self._ends.append(end)
                self._depths.append(depth if depth >= 0 else 256 + depth)
            if len(rows) < _AT_ONCE or time.perf_counter() >= until:
                return len(self._starts) > before

    @override
    def __len__(self) -> int:
        return len(self._head) + len(self._starts)

    @override
    def draw(self, number: int) -> Sequence[Piece]:
        if number < len(self._head):
            return [(self._head[number], "note")]
        return self._draw_row(self._row(self._row_at(number)))

    def _row_at(self, line: int) -> int:
        """Return the row on a line; below 0 for a note."""
        return line - len(self._head)

    def _line_of(self, row: int) -> int:
        return len(self._head) + row

    def _draw_row(self, row: Row) -> Sequence[Piece]:
        start, end, indent = row
        shown = visible(self._text[start:end], newlines=False)
        if self._form != "raw":
            shown = shown.rstrip(" ")
        if self._form != "json":
            name, colon, value = shown.partition(": ")
            if self._form == "headers" and colon and indent == 0:
                return [(name, "key"), (colon, ""), *with_pictures(value)]
            return [(" " * (-1 - indent), ""), *with_pictures(shown)] if indent < 0 else with_pictures(shown)
        if indent < 0:
            return [(" " * (-1 - indent), ""), *with_pictures(shown, "string")]
        after = key_end(shown, 0, len(shown))
        if after and shown[after : after + 1] not in {" ", ""}:
            shown = f"{shown[:after]} {shown[after:]}"
        return [(" " * indent, ""), *highlight(shown)]

    @property
    @override
    def selectable(self) -> TextSelection:
        return TextSelection(self)

    @property
    def text(self) -> str:
        return self._text

    @property
    def is_json(self) -> bool:
        return self._form == "json"

    def row(self, number: int) -> Row | None:
        """Return the range of the text on a line; None for a note."""
        row = self._row_at(number)
        return self._row(row) if 0 <= row < len(self._starts) else None

    def _row(self, row: int) -> Row:
        depth = self._depths[row]
        indent = min(2 * min(depth, 255 - depth), self._width // 2)
        return self._starts[row], self._ends[row], indent if depth <= DEEPEST else -1 - self._further(indent)

    def _further(self, indent: int) -> int:
        """Return the indentation of rows that go on with the one above."""
        return min(indent + 2, self._width // 2) if self._form in {"json", "headers"} else 0

    def end_of(self, place: int) -> int:
        """Return the end of the line with a character."""
        row = self.row(self.line_at(place))
        return len(self._text) if row is None else row[1]

    @override
    def place_of(self, number: int) -> int:
        row = self._row_at(number)
        return self._starts[row] if 0 <= row < len(self._starts) else -1

    @override
    def line_at(self, place: int) -> int:
        return 0 if place < 0 else self._line_of(max(0, bisect_right(self._starts, place) - 1))

    @override
    def places(self, pattern: re.Pattern[str]) -> Iterator[Match | None]:
        return matches(self._text, pattern)

    @override
    def reveal(self, match: Match) -> int:
        return self.line_at(match.start)

    def _fold(self) -> Iterator[Row]:
        text, width = self._text, self._width
        is_json = self._form == "json"
        fit = fitting if self._form == "raw" else fitting_words  # the bytes of a raw line are counted, words are read
        for start, end, deep in _BREAKERS[self._form](text):
            depth = min(deep, DEEPEST)
            indent = min(2 * depth, width // 2)
            room = width - indent
            if (
                is_json
                and end - start > room - 1
                and (after := key_end(text, start, end))
                and text[after : after + 1] != " "
            ):
                room -= 1  # the blank that is drawn behind a key's colon
            place = fit(text, start, end, room)
            yield start, place, depth
            room = width - self._further(indent)
            while place < end:
                begun, place = place, fit(text, place, end, room)
                yield begun, place, -1 - depth


class TextSelection(Selectable):
    """Selects characters of the original text; copies it unwrapped and without added indentation."""

    def __init__(self, page: TextPage) -> None:
        self._page = page

    @override
    def letters(self, line: int) -> Sequence[Letters]:
        row = self._page.row(line)
        if row is None:
            return (Letters(0, "", (), (max(0, self._page.place_of(line)),)),)
        start, end, indent = row
        shown = list(shown_characters(self._page.text[start:end]))
        text = "".join(character for character, _ in shown)
        places = [*(start + at for _, at in shown), end]
        if self._page.is_json and indent >= 0:
            after = key_end(text, 0, len(text))
            if after and text[after : after + 1] not in {" ", ""}:  # the blank that is drawn behind a key
                text = f"{text[:after]} {text[after:]}"
                places.insert(after, places[after])
        left = indent if indent >= 0 else -1 - indent
        return (Letters(left + self._page.has_cursor, text, (), places),)  # the cursor stands before the text

    @override
    def copied(self, first: Spot, last: Spot) -> tuple[str, str]:
        return f"part of {self._page.source[0]}", self._page.text[first[0] : last[0]]


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


def wrapped(note: str, width: int) -> list[str]:
    """Wrap a note to lines of a width in cells."""
    return [note[start:end] for start, end in fill(note, width)]
