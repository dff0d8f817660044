"""A text of any length, wrapped to a width: raw bytes, plain text, headers, or indented JSON that folds."""

from __future__ import annotations

import re
import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice

from typing_extensions import override

from tui_host.answers.bodies import hex_text
from tui_host.answers.sheet import Form
from tui_host.capture.visible import decode, visible
from tui_host.tui.text_width import clip, fill, fitting, fitting_words
from tui_host.tui.widgets.lines.json_lines import (
    JsonLine,
    Piece,
    highlight,
    json_lines,
    key_end,
    plain_lines,
    raw_lines,
)
from tui_host.tui.widgets.lines.selection import Letters, Spot
from tui_host.tui.widgets.pages.detail_page import Below, LineItem, Match, Page, matches
from tui_host.tui.widgets.pages.json_values import Value, decoded, holds_json, joined, key_step, value_at

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
_MOST_HEX_BYTES = 1 << 16
_PICTURE = re.compile("([\u2400-\u2421]+|⟨[^⟩]{1,12}⟩)")
BACK = "escape: back"
"""Stands above a page that was opened in place of another one."""


class TextPage(Page):
    """A wrapped text, made in slices: the first screen is ready at once.

    A row is a stretch of the text that fits the width. All rows are kept; those that no fold hides are the lines, below
    the notes. Lines of JSON have a cursor: containers fold, strings open as what they hold.

    Args:
        what: What the text is («request body»).
        text: All of it, as it came; it becomes visible when it is drawn.
        form: `raw` breaks at LF alone, and shows it; `json` breaks where a reader wants it; `plain` breaks at LF, and
            does not show it; `headers` is the same with names before a colon.
        notes: Notes to show above the text.
        outer: Makes a path in the body that the text comes from of one in the text; None if the text is the body.
    """

    def __init__(
        self,
        what: str,
        text: str,
        *,
        form: Form = "raw",
        notes: Sequence[str] = (),
        outer: Callable[[str], str] | None = None,
    ) -> None:
        self.text = text
        self.has_cursor = form == "json"
        self._what = what
        self._form: Form = form
        self._notes = tuple(note for note in notes if note)
        self._outer = outer
        self._width = 0
        self._head: list[str] = []
        self._starts = array("q")
        self._ends = array("q")
        self._depths = bytearray()  # 255 less the depth where a row goes on with the one above
        self._coming: Iterator[tuple[int, int, int]] = iter(())
        self.folds: set[int] = set()  # the places where lines of folded containers begin
        self._hidden: dict[int, int] = {}  # the row of each fold, and the one behind its last
        self._visible: Sequence[int] = ()  # the rows that have a line

    @property
    @override
    def source(self) -> tuple[str, str]:
        return self._what, self.text

    @override
    def keep(self, before: Page) -> None:
        if isinstance(before, TextPage):
            self.folds = before.folds

    # Rows.

    @override
    def fit(self, width: int) -> None:
        self._width = max(NARROWEST, width)
        self._head = [note[start:end] for note in self._notes for start, end in fill(note, self._width)]
        self._starts, self._ends, self._depths = array("q"), array("q"), bytearray()
        self._coming = self._wrap()
        self._arrange()

    def _wrap(self) -> Iterator[tuple[int, int, int]]:
        """Yield start, end and depth of each row."""
        text, width, is_json = self.text, self._width, self._form == "json"
        fit = fitting if self._form == "raw" else fitting_words  # the bytes of a raw line are counted, words are read
        for start, end, deep in _BREAKERS[self._form](text):
            depth = min(deep, DEEPEST)
            room = width - self._indent(depth)
            if (
                is_json
                and end - start >= room
                and (after := key_end(text, start, end))
                and text[after : after + 1] != " "
            ):
                room -= 1  # the blank that is drawn behind a key's colon
            place = fit(text, start, end, room)
            yield start, place, depth
            room = width - self._indent(255 - depth)
            while place < end:
                begun, place = place, fit(text, place, end, room)
                yield begun, place, 255 - depth

    def _indent(self, depth: int) -> int:
        """Return the cells before a row; rows that go on with the one above stand further to the right."""
        if depth <= DEEPEST:
            return min(2 * depth, self._width // 2)
        return min(2 * (256 - depth), self._width // 2) if self._form in {"json", "headers"} else 0

    @override
    def grow(self, seconds: float) -> int | None:
        until, before, made = time.perf_counter() + seconds, len(self), len(self._starts)
        is_whole = False
        while not is_whole and (made == len(self._starts) or time.perf_counter() < until):
            rows = list(islice(self._coming, _AT_ONCE))
            for start, end, depth in rows:
                self._starts.append(start)
                self._ends.append(end)
                self._depths.append(depth)
            is_whole = len(rows) < _AT_ONCE
        if len(self._starts) == made:
            return None
        self._arrange()
        return 0 if self.folds else before

    def _arrange(self) -> None:
        """Find the rows that no fold hides. What is folded in one text is no container in another."""
        self._hidden, self._visible = {}, range(len(self._starts))
        if not self.folds:
            return
        visible_rows, row = array("q"), 0
        for place in sorted(self.folds):
            first = bisect_left(self._starts, place)
            is_row = row <= first < len(self._starts) and self._starts[first] == place
            if is_row and value_at(self.text, place).kind == "container":
                visible_rows.extend(range(row, first + 1))
                row = self._hidden[first] = self._last(first) + 1
        visible_rows.extend(range(row, len(self._starts)))
        self._visible = visible_rows

    # Lines.

    @override
    def __len__(self) -> int:
        return len(self._head) + len(self._visible)

    def _row_at(self, line: int) -> int:
        """Return the row on a line; below 0 for a note, and beyond the end."""
        line -= len(self._head)
        return self._visible[line] if 0 <= line < len(self._visible) else -1

    def _line_at(self, row: int) -> int:
        return len(self._head) + max(0, bisect_right(self._visible, row) - 1)

    @override
    def key(self, number: int) -> int:
        row = self._row_at(number)
        return self._starts[row] if row >= 0 else -1

    @override
    def line_of(self, key: int) -> int:
        return 0 if key < 0 else self._line_at(bisect_right(self._starts, key) - 1)

    @override
    def places(self, pattern: re.Pattern[str]) -> Iterator[Match | None]:
        return matches(self.text, pattern)

    @override
    def reveal(self, match: Match) -> int:
        row = bisect_right(self._starts, match.start) - 1
        self.folds -= {self._starts[first] for first, end in self._hidden.items() if first <= row < end}
        self._arrange()
        return self._line_at(row)

    # Drawing and selecting.

    def _shown(self, row: int) -> tuple[str, int]:
        """Return the text of a row with the blank behind a key, and where the blank is, else 0."""
        shown = visible(self.text[self._starts[row] : self._ends[row]], newlines=False)
        after = key_end(shown, 0, len(shown)) if self._form == "json" and self._depths[row] <= DEEPEST else 0
        if after and shown[after : after + 1] not in {" ", ""}:
            return f"{shown[:after]} {shown[after:]}", after
        return shown, 0

    @override
    def pieces(self, number: int) -> Sequence[Piece]:
        row = self._row_at(number)
        if row < 0:
            return [(self._head[number], "note")]
        depth = self._depths[row]
        before = [(" " * indent, "")] if (indent := self._indent(depth)) else []
        if row in self._hidden:
            return [*before, *self._folded(row, self._width - indent)]
        shown, _ = self._shown(row)
        if self._form != "raw":
            shown = shown.rstrip(" ")
        if self._form == "json":
            return [*before, *(highlight(shown) if depth <= DEEPEST else _with_pictures(shown, "string"))]
        name, colon, value = shown.partition(": ")
        if self._form == "headers" and colon and depth <= DEEPEST:
            return [(name, "key"), (colon, ""), *_with_pictures(value)]
        return [*before, *_with_pictures(shown)]

    def _folded(self, first: int, room: int) -> Sequence[Piece]:
        """Draw a folded container: its beginning, in words how much it holds, and its end."""
        value, last = self._value(first), self._last(first)
        is_closed = value.end == self._starts[last] + 1
        size = len(self.text[value.start : value.end].encode("utf-8", "surrogatepass"))
        count, opening = self._count(first + 1, last + 1, self._depths[first] + 1), self.text[value.start]
        what = "member" if opening == "{" else "element"
        note = f" … {count:,} {what}{'' if count == 1 else 's'}, {size:,} bytes{' ' if is_closed else ', not closed'}"
        key = visible(self.text[self._starts[first] : value.start], newlines=False).rstrip(" ")
        head = f"{key} {opening}" if key else opening
        tail = visible(self.text[self._starts[last] : self._ends[last]] if is_closed else "", newlines=False)
        note = clip(note, max(0, room - len(tail) - min(12, len(head))))
        head = clip(head, max(0, room - len(tail) - len(note)))
        return [*highlight(head), (note, "note"), (clip(tail, room), "mark")]

    @override
    def letters(self, line: int) -> Sequence[Letters]:
        row = self._row_at(line)
        if row < 0 or row in self._hidden:
            return (Letters(0, "", (), (max(0, self.key(line)),)),)
        text, blank = self._shown(row)
        start, end = self._starts[row], self._ends[row]
        places = list(range(start, end))
        if len(text) != end - start + bool(blank):  # a character may be drawn as several
            places = [start + at for at, letter in enumerate(self.text[start:end]) for _ in visible(letter)]
            places = (places + [end] * len(text))[: len(text) - bool(blank)]
        if blank:
            places.insert(blank, places[blank])
        indent = self._indent(self._depths[row]) + self.has_cursor  # the cursor stands before the text
        return (Letters(indent, text, (), [*places, end]),)

    @override
    def copied(self, first: Spot, last: Spot) -> tuple[str, str]:
        return f"part of {self._what}", self.text[first[0] : last[0]]

    # Values of JSON.

    def _first(self, row: int) -> int:
        """Return the row where the line of a row begins; for a closing mark that of the opening one."""
        while self._depths[row] > DEEPEST and row:
            row -= 1
        return self._above(self._depths[row], row) if self.text[self._starts[row]] in "}]" else row

    def _above(self, depth: int, row: int) -> int:
        """Return the nearest row of a depth above a row."""
        return max(0, self._depths.rfind(depth, 0, row))

    def _last(self, first: int) -> int:
        """Return the last row of a container, as far as rows are made."""
        closing = self._depths.find(self._depths[first], first + 1)
        return closing if closing >= 0 else len(self._starts) - 1

    def _count(self, first: int, end: int, depth: int) -> int:
        """Count the values of a depth that begin in rows."""
        # Depths are counted as bytes, since there may be a million rows. A closing mark is behind a row that is deeper.
        closing = sum(self._depths.count(bytes((deeper, depth)), first, end) for deeper in (depth + 1, 254 - depth))
        return self._depths.count(depth, first, end) - closing

    def _value(self, first: int) -> Value:
        """Return the value that begins in a row."""
        value = value_at(self.text, self._starts[first])
        if value.kind != "container":
            return value
        last = self._last(first)
        is_closed = last > first and self._depths[last] == self._depths[first]
        return value._replace(end=self._starts[last] + 1 if is_closed else self._ends[last])

    def _path(self, row: int) -> str:
        steps: list[str] = []
        while depth := self._depths[row]:
            parent = self._above(depth - 1, row)
            if end := key_end(self.text, self._starts[row], len(self.text)):
                steps.append(key_step(self.text[self._starts[row] : end].rstrip(" \t\r\n:")))
            else:
                steps.append(f"[{self._count(parent + 1, row, depth)}]")
            row = parent
        inner = "".join(reversed(steps)).removeprefix(".")
        return (inner or ".") if self._outer is None else self._outer(inner)

    @override
    def item(self, number: int) -> LineItem | None:
        row = self._row_at(number)
        if self._form != "json" or row < 0 or self._depths[first := self._first(row)] >= DEEPEST:
            return None
        _, start, end = self._value(first)
        path, is_all = partial(self._path, first), not self._depths[first]
        last = bisect_right(self._starts, max(start, end - 1)) - 1
        while last + 1 < len(self._depths) and self._depths[last + 1] > DEEPEST:
            last += 1  # a comma that has no room beside the value
        return LineItem(
            lines=range(self._line_at(first), self._line_at(last) + 1),
            copy=lambda: self.source if is_all else (path(), self.text[start:end]),
            data=lambda: self.text[start:end].encode("utf-8", "surrogatepass"),
            path=path,
        )

    @override
    def opened(self, number: int) -> int | Below | None:
        row = self._row_at(number)
        if self._form != "json" or row < 0 or self._depths[first := self._first(row)] >= DEEPEST:
            return None
        value = self._value(first)
        if value.kind == "container":
            self.folds ^= {self._starts[first]}
            self._arrange()
            return self._line_at(first)
        if value.kind != "string":
            return None
        text, path = decoded(self.text[value.start : value.end]), self._path(first)
        if holds_json(text):
            outer = partial(joined, path, is_string=True)
            return Below(TextPage(path, text, form="json", notes=(f"{path}: JSON in a string · {BACK}",), outer=outer))
        return Below(TextPage(path, text, form="plain", notes=(f"{path}: text of {len(text):,} characters · {BACK}",)))


class BytesPage(TextPage):
    """Bytes as text; or with offsets, hex and text, as is what is no text in UTF-8."""

    def __init__(self, what: str, data: bytes, *, is_hex: bool = False) -> None:
        self.is_hex = is_hex or not is_utf8(data)
        again = f"r: {'back' if self.is_hex else 'in hex'}"
        limit = f"the first {_MOST_HEX_BYTES:,} bytes" if self.is_hex and len(data) > _MOST_HEX_BYTES else ""
        notes = (f"{what}: {len(data):,} bytes · {again} · {BACK}", limit)
        super().__init__(what, decode(data), form="plain" if self.is_hex else "raw", notes=notes)
        self.data = data

    @override
    def fit(self, width: int) -> None:
        if self.is_hex:
            by = next((by for by, cells in ((16, 75), (8, 43)) if width >= cells), 4)
            self.text = hex_text(self.data, _MOST_HEX_BYTES, by)
        super().fit(width)

    def in_hex(self) -> BytesPage:
        """Return the page of the same bytes in hex."""
        return BytesPage(self._what, self.data, is_hex=True)


def is_utf8(data: bytes) -> bool:
    """Whether bytes are text in UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _with_pictures(text: str, style: str = "") -> list[Piece]:
    """Return pieces of visible text, the pictures of controls in a style of their own."""
    if text.isascii():
        return [(text, style)]
    return [(part, "control" if at % 2 else style) for at, part in enumerate(_PICTURE.split(text)) if part]
