"""JSON as text that folds: containers close to a line, strings open as what they hold, values show their bytes."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple

from rich.cells import cell_len
from typing_extensions import override

from tui_host.answers.bodies import hex_text
from tui_host.capture.json.reading import read_json
from tui_host.capture.json.spans import spans
from tui_host.capture.visible import decode, visible
from tui_host.tui.text_width import clip
from tui_host.tui.widgets.lines.json_lines import Piece, highlight, key_end, looks_like_json
from tui_host.tui.widgets.pages.detail_page import Below, Match, Page
from tui_host.tui.widgets.pages.text_page import DEEPEST, Row, TextPage

_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_OTHER = re.compile(r"[^\s,\]}]*")
_SPACE = re.compile(r"\s*")
_MOST_READ = 1_000_000
"""Characters of a string that are read; of a longer one the rest is in its bytes."""
_MOST_HEX = 1 << 16
_DECODER = json.JSONDecoder(strict=False)
_CUT = 12
"""Characters of the longest escape, a pair of surrogates."""
BACK = "escape: back"
"""Stands above a page that was opened in place of another one."""


class JsonPage(TextPage):
    """Indented JSON with folds. All rows are kept as in every text; those that a fold hides have no line.

    Args:
        what: What the text is.
        text: All of it.
        notes: Notes to show above the text.
        outer: Makes a path in the body that the text comes from of one in the text; None if the text is the body.
    """

    has_cursor = True

    def __init__(
        self, what: str, text: str, *, notes: Sequence[str] = (), outer: Callable[[str], str] | None = None
    ) -> None:
        super().__init__(what, text, form="json", notes=notes)
        self._outer = outer
        self.folds: set[int] = set()  # the places where lines of folded containers begin
        self._hidden: dict[int, int] = {}  # the row of each fold, and the one behind its last
        self._runs = [(0, 0)]  # lines from which on rows stand below each other, with the first row

    @property
    @override
    def grows_below(self) -> bool:
        return not self.folds

    @override
    def keep(self, before: Page) -> None:
        if isinstance(before, JsonPage):
            self.folds = before.folds

    @override
    def fit(self, width: int) -> None:
        super().fit(width)
        self._arrange()

    @override
    def advance(self, seconds: float) -> bool:
        has_grown = super().advance(seconds)
        if has_grown and self.folds:
            self._arrange()
        return has_grown

    @override
    def __len__(self) -> int:
        line, row = self._runs[-1]
        return len(self._head) + line + len(self._starts) - row

    # Rows and lines.

    def _arrange(self) -> None:
        """Assign lines to the rows that are not hidden. What is folded in one text is no container in another."""
        self._hidden, self._runs = {}, [(0, 0)]
        line = row = 0
        for place in sorted(self.folds):
            first = bisect_left(self._starts, place)
            if first < row or first >= len(self._starts) or self._starts[first] != place:
                continue
            if value_at(self._text, place).kind == "container":
                line += first + 1 - row
                row = self._end(first)
                self._hidden[first] = row
                self._runs.append((line, row))

    def _end(self, first: int) -> int:
        """Return the row behind a container, as far as rows are made."""
        closing = self._depths.find(self._depths[first], first + 1)
        return closing + 1 if closing >= 0 else len(self._starts)

    @override
    def _row_at(self, line: int) -> int:
        line -= len(self._head)
        begins, row = self._runs[max(0, bisect_right(self._runs, line, key=lambda run: run[0]) - 1)]
        return row + line - begins

    @override
    def _line_of(self, row: int) -> int:
        number = bisect_right(self._runs, row, key=lambda run: run[1])
        begins, first = self._runs[number - 1]
        line = begins + row - first
        return len(self._head) + (min(line, self._runs[number][0] - 1) if number < len(self._runs) else line)

    @override
    def row(self, number: int) -> Row | None:
        return None if self._row_at(number) in self._hidden else super().row(number)

    @override
    def reveal(self, match: Match) -> int:
        row = bisect_right(self._starts, match.start) - 1
        self.folds -= {self._starts[first] for first, end in self._hidden.items() if first <= row < end}
        self._arrange()
        return super().reveal(match)

    @override
    def draw(self, number: int) -> Sequence[Piece]:
        row = self._row_at(number)
        return self._folded(row) if row in self._hidden else super().draw(number)

    def _folded(self, first: int) -> Sequence[Piece]:
        """Draw a folded container: its beginning, in words how much it holds, and its end."""
        last, indent = self._hidden[first] - 1, self._row(first)[2]
        is_closed = last > first and self._depths[last] == self._depths[first]
        value = value_at(self._text, self._starts[first])
        text = self._text[value.start : self._starts[last] + 1 if is_closed else self._ends[last]]
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        count = self._count(first + 1, last + 1, self._depths[first] + 1)
        what = "member" if text.startswith("{") else "element"
        note = f" … {count:,} {what}{'' if count == 1 else 's'}, {size:,} bytes{' ' if is_closed else ', not closed'}"
        key = visible(self._text[self._starts[first] : value.start], newlines=False).rstrip(" ")
        head = f"{key}{' ' if key else ''}{text[:1]}"
        room = self._width - indent
        tail = clip(
            visible(self._text[self._starts[last] : self._ends[last]] if is_closed else "", newlines=False), room
        )
        note = clip(note, max(0, room - cell_len(tail) - min(12, cell_len(head))))
        head = clip(head, max(0, room - cell_len(tail) - cell_len(note)))
        return [(" " * indent, ""), *highlight(head), (note, "note"), (tail, "mark")]

    # Values.

    def _first(self, row: int) -> int:
        """Return the row where the line of a row begins; for a closing mark that of the opening one."""
        while self._depths[row] > DEEPEST and row:
            row -= 1
        if self._text[self._starts[row] : self._starts[row] + 1] in {"}", "]"}:
            row = self._last(self._depths[row], row)
        return row

    def _last(self, depth: int, row: int) -> int:
        return max(0, self._depths.rfind(depth, 0, row))

    def _count(self, first: int, end: int, depth: int) -> int:
        """Count the values of a depth that begin in rows. A closing mark is behind a row that is deeper."""
        closing = sum(self._depths.count(bytes((deeper, depth)), first, end) for deeper in (depth + 1, 254 - depth))
        return self._depths.count(depth, first, end) - closing

    def _value(self, number: int) -> tuple[int, Value] | None:
        """Return the row where the value on a line begins, and the value; None without one."""
        row = self._row_at(number)
        if number < len(self._head) or row >= len(self._starts):
            return None
        first = self._first(row)
        return (first, value_at(self._text, self._starts[first])) if self._depths[first] < DEEPEST else None

    @override
    def opened(self, number: int) -> int | Below | None:
        standing = self._value(number)
        if standing is None or standing[1].kind == "other":
            return None
        first, value = standing
        if value.kind == "container":
            self.folds ^= {self._starts[first]}
            self._arrange()
            return self._line_of(first)
        literal = self._text[value.start : value.end]
        is_long = first + 1 < len(self._starts) and self._depths[first + 1] > DEEPEST
        if not (is_long or "\\" in literal or holds_json(literal[1:-1])):
            return None
        text, path = decoded(literal), self._path(first)
        cut_words = f"cut after {_MOST_READ:,} characters; r: its bytes" if len(literal) > _MOST_READ else ""
        what = "JSON in a string" if holds_json(text) else f"text of {len(text):,} characters"
        notes = (f"{path}: {what} · {BACK}", cut_words)
        if holds_json(text):
            return Below(JsonPage(path, text, notes=notes, outer=partial(joined, path, is_string=True)))
        return Below(TextPage(path, text, form="plain", notes=notes))

    @override
    def bytes_at(self, number: int) -> Page | None:
        if (standing := self._value(number)) is None:
            return None
        first, value = standing
        end = value.end
        if value.kind == "container":
            last = self._end(first) - 1
            end = self._starts[last] + 1 if self._depths[last] == self._depths[first] else self._ends[last]
        return BytesPage(self._path(first), self._text[value.start : end].encode("utf-8", "surrogatepass"))

    @override
    def path(self, number: int) -> str:
        row = self._row_at(number)
        return self._path(self._first(row)) if len(self._head) <= number and row < len(self._starts) else ""

    def _path(self, row: int) -> str:
        steps: list[str] = []
        if self._depths[row] >= DEEPEST:
            return ""
        while True:
            start, depth = self._starts[row], self._depths[row]
            parent = self._last(depth - 1, row) if depth else -1
            if (end := key_end(self._text, start, len(self._text))) and depth:
                steps.append(key_step(self._text[start:end].rstrip(" \t\r\n:")))
            elif depth:
                steps.append(f"[{self._count(parent + 1, row, depth)}]")
            if parent < 0:
                inner = "".join(reversed(steps)).removeprefix(".")
                return (inner or ".") if self._outer is None else self._outer(inner)
            row = parent


class BytesPage(TextPage):
    """Bytes as text; or with offsets, hex and text.

    Args:
        what: What the bytes are.
        data: The bytes.
        is_hex: Whether to show them in hex, as is what is no text in UTF-8.
    """

    def __init__(self, what: str, data: bytes, *, is_hex: bool = False) -> None:
        self.is_hex = is_hex or not is_utf8(data)
        again = f"r: {'back' if self.is_hex else 'in hex'}"
        limit = f"the first {_MOST_HEX:,} bytes" if self.is_hex and len(data) > _MOST_HEX else ""
        notes = (f"{what}: {len(data):,} bytes · {again} · {BACK}", limit)
        super().__init__(what, decode(data), form="plain" if self.is_hex else "raw", notes=notes)
        self._data = data

    @override
    def fit(self, width: int) -> None:
        if self.is_hex:
            by = next((by for by, cells in ((16, 75), (8, 43)) if width >= cells), 4)
            self._text = hex_text(self._data, _MOST_HEX, by)
        super().fit(width)

    @override
    def bytes_at(self, number: int) -> Page | None:
        return None if self.is_hex else BytesPage(self._what, self._data, is_hex=True)


class Value(NamedTuple):
    """A value on a line, as a range of the text; the end of a container is not known."""

    kind: Literal["container", "string", "other"]
    start: int
    end: int


def value_at(text: str, place: int) -> Value:
    """Return the value on the line that begins at a place."""
    start = key_end(text, place, len(text)) or place
    space = _SPACE.match(text, start)
    start = space.end() if space else start
    if text[start : start + 1] == '"':
        match = _STRING.match(text, start)
        return Value("string", start, match.end() if match else len(text))
    if text[start : start + 1] in {"{", "["}:
        inside = _SPACE.match(text, start + 1)
        end = inside.end() if inside else start + 1
        is_empty = text[end : end + 1] in {"}", "]"}
        return Value("other" if is_empty else "container", start, end + 1)
    match = _OTHER.match(text, start)
    return Value("other", start, max(start + 1, match.end() if match else start))


def path_at(body: bytes, place: int) -> str:
    """Return the path of the outermost value that begins at a place in JSON, else of the innermost around it."""
    path, start, end = "", 0, len(body)
    while (start < place or not path) and (node := spans(body[start:end], depth=1)) is not None:
        steps = [(key_step(json.dumps(key, ensure_ascii=False)), child) for key, child in node.members]
        steps += [(f"[{number}]", child) for number, child in enumerate(node.elements)]
        inside = next(((step, child) for step, child in steps if child.start <= place - start < child.end), None)
        if inside is None:
            break
        path += inside[0]
        start, end = start + inside[1].start, start + inside[1].end
    return path.removeprefix(".")


def decoded(literal: str) -> str:
    """Return what a JSON string says; of a long one, or one that is cut off, what there is."""
    is_whole = len(literal) <= _MOST_READ and len(literal) > 1 and literal.endswith('"')
    inside = literal[1:-1] if is_whole else literal[1 : _MOST_READ + 1]
    for size in range(len(inside), max(-1, len(inside) - _CUT), -1):
        try:
            return str(_DECODER.decode(f'"{inside[:size]}"'))
        except ValueError:
            continue
    return inside


def holds_json(text: str) -> bool:
    """Whether a text is an object or a list; a long one is judged by its beginning."""
    if not looks_like_json(text):
        return False
    try:
        return len(text) >= _MOST_READ // 2 or isinstance(read_json(text), dict | list)
    except ValueError:
        return False


def key_step(key: str) -> str:
    """Return a key as a step of a path: `.name`, or `["a b"]` where that is no identifier."""
    return f".{key[1:-1]}" if key[1:-1].isidentifier() else f"[{key}]"


def joined(outer: str, inner: str, *, is_string: bool) -> str:
    """Continue a path inside a value; inside of a string that holds JSON as `jq` writes paths."""
    if is_string:
        return f"{outer} | fromjson | .{inner}" if inner else f"{outer} | fromjson"
    return f"{outer}{'.' * bool(outer and inner and not inner.startswith('['))}{inner}"


def is_utf8(data: bytes) -> bool:
    """Whether bytes are text in UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
