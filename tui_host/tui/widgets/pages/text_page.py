"""A text of any length, wrapped to a width: raw bytes, plain text, headers, or indented JSON that folds."""

from __future__ import annotations

import re
import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import NamedTuple

from rich.cells import cell_len
from typing_extensions import override

from tui_host.answers.bodies import hex_text, is_text
from tui_host.answers.sheet import BodyPlace, Form
from tui_host.capture.json.reading import read_json
from tui_host.capture.json.values import Value, decoded, key_end, key_step, value_at
from tui_host.capture.visible import decode, visible
from tui_host.tui.text_width import clip, fill, fitting
from tui_host.tui.widgets.lines.json_lines import Piece, highlight, json_lines, looks_like_json, plain_lines
from tui_host.tui.widgets.lines.selection import Letters, Spot

_AT_ONCE = 64  # rows made between two looks at the clock: some 0.1 ms
NARROWEST = 8  # cells of the narrowest line
_LEVELS = 85
"""Depths that are told apart, so that a byte holds one and what a row is: the beginning of a value, its closing mark, or more."""
_MORE = 2 * _LEVELS  # added to the depth of a row that goes on with the one above; `_LEVELS` to that of a closing mark
_SEARCHED = 1 << 16  # characters that are searched at once: a millisecond or less
_MOST_HEX_BYTES = 1 << 16
_MOST_READ = 500_000
"""Characters of a text that is read to learn whether it is JSON; a longer one is judged by its beginning."""
_PICTURE = re.compile("([\u2400-\u2421]+|⟨[^⟩]{1,12}⟩)")
BACK = "escape: back"  # stands above a page that was opened in place of another one


class Match(NamedTuple):
    """A place of a searched text."""

    start: int  # the first character; below 0 in the label of an entry
    end: int  # one past the last
    keys: tuple[str, ...] = ()  # of the entry that it stands in and those above, outermost first; empty in a text


def matches(text: str, pattern: re.Pattern[str], keys: tuple[str, ...] = ()) -> Iterator[Match]:
    """Yield the places of a pattern in a text."""
    done = 0
    for place in range(0, len(text), _SEARCHED):  # in pieces, between which other threads get their turn
        end = place + _SEARCHED
        for match in pattern.finditer(text, max(place, done), end + len(pattern.pattern)):
            if match.start() < end:
                yield Match(*match.span(), keys)
                done = match.end()


class LineKey(NamedTuple):
    """What stands on a line, whatever the width, and whatever has come above or is folded."""

    place: int  # where it begins in a text, or the number of its entry; below 0 for a note
    path: tuple[str, ...] = ()  # the keys of its entry and of those above, outermost first
    inside: int = -1  # where it begins in the text of its entry; below 0 for the label


START = LineKey(-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineItem:
    """What is current on a line of a page."""

    lines: range  # all lines that it covers
    copy: Callable[[], tuple[str, str]]  # returns a word for it, and its text
    place: Callable[[], BodyPlace] | None = None  # returns its bytes as they are in the body, and its path there
    target: tuple[str, int] | None = None  # the row that it leads to, by capture and number of its first record
    keys: tuple[str, ...] = ()  # of the entries that lead to it


class TextPage:
    """A wrapped text, made in slices: the first screen is ready at once.

    A row is a stretch of the text that fits the width. All rows are kept; those that no fold hides are the lines, below
    the notes. Lines of JSON have a cursor: containers fold, strings open as what they hold. The form `raw` breaks at LF
    alone, and shows it; `json` breaks where a reader wants it; `plain` breaks at LF, and does not show it; `headers` is
    the same with names before a colon.
    """

    def __init__(
        self,
        what: str,  # what the text is («LLM 3 request»)
        text: str,  # all of it, as it came; it becomes visible when it is drawn
        *,
        form: Form = "raw",
        notes: Sequence[str] = (),  # above the text
        place: Callable[[], BodyPlace] | None = None,  # returns where it stands in the body
    ) -> None:
        self.text = text
        self.source = what, text  # a word for the whole text, and the text, for copying
        self.has_cursor = form == "json"
        self._form: Form = form
        self._notes = tuple(filter(None, notes))
        self._place = place
        self.left = START, START  # the keys of the line on top and of the cursor where it was left, or is to open
        self.folds: set[int] = set()  # the places where lines of folded containers begin

    def fit(self, width: int) -> None:
        """Begin to make the lines for a width."""
        self.width = max(NARROWEST, width)
        self._head = [note[start:end] for note in self._notes for start, end in fill(note, self.width)]
        self._starts, self._ends = array("q"), array("q")
        self._depths = bytearray()
        self._coming = self._wrap()
        self._arrange()

    def _wrap(self) -> Iterator[tuple[int, int, int]]:
        """Yield start, end and depth of each row."""
        text, is_json = self.text, self._form == "json"  # in JSON a blank may be drawn behind a key
        is_raw = self._form == "raw"
        fit = partial(fitting, at_words=not is_raw)  # the bytes of a raw line are counted, words are read
        for start, end, deep in json_lines(text) if is_json else plain_lines(text, with_ends=is_raw):
            depth = min(deep, _LEVELS - 1)
            place = fit(text, start, end, self.width - self._indent(depth) - is_json)
            yield start, place, depth + _LEVELS * (is_json and text[start] in "}]")
            room = self.width - self._indent(depth + _MORE)
            while place < end:
                begun, place = place, fit(text, place, end, room)
                yield begun, place, depth + _MORE

    def _indent(self, depth: int) -> int:
        """Return the cells before a row; rows that go on with the one above stand further to the right."""
        cells = 2 * (depth % _LEVELS + (depth >= _MORE))
        return min(cells, self.width // 2) if depth < _MORE or self._form in {"json", "headers"} else 0

    def grow(self, seconds: float) -> int | None:
        """Make more lines for a limited time; returns the first line that changed, None once all are made."""
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
        self._hidden: dict[int, int] = {}  # the row of each fold, and the one behind its last
        self._visible: Sequence[int] = range(len(self._starts))  # the rows that have a line
        if not self.folds:
            return
        visible_rows, row = array("q"), 0
        for place in sorted(self.folds):
            first = bisect_left(self._starts, place)
            is_row = row <= first < len(self._starts) and self._starts[first] == place
            if is_row and value_at(self.text, place).kind == "container":
                visible_rows.extend(range(row, first + 1))
                row = self._hidden[first] = self._value(first)[1] + 1
        visible_rows.extend(range(row, len(self._starts)))
        self._visible = visible_rows

    def __len__(self) -> int:
        return len(self._head) + len(self._visible)

    def _row_at(self, line: int) -> int:
        """Return the row on a line; below 0 for a note, and beyond the end."""
        line -= len(self._head)
        return self._visible[line] if 0 <= line < len(self._visible) else -1

    def _line_at(self, row: int) -> int:
        return len(self._head) + max(0, bisect_right(self._visible, row) - 1)

    def key(self, number: int) -> LineKey:
        row = self._row_at(number)
        return LineKey(self._starts[row] if row >= 0 else -1)

    def line_of(self, key: LineKey) -> int:
        """Return the line of a key, or the nearest line that is made."""
        return 0 if key.place < 0 else self._line_at(bisect_right(self._starts, key.place) - 1)

    def places(self, pattern: re.Pattern[str]) -> Iterator[Match]:
        """Yield the places of a pattern."""
        return matches(self.text, pattern)

    def reveal(self, match: Match) -> int:
        """Open what hides a place, and return its line, or the nearest one that is made."""
        row = bisect_right(self._starts, match.start) - 1
        self.folds -= {self._starts[first] for first, end in self._hidden.items() if first <= row < end}
        self._arrange()
        return self._line_at(row)

    # Drawing and selecting.

    def _drawn(self, row: int) -> tuple[str, list[int]]:
        """Return a row as it is drawn, and the place of each character that stands there."""
        start, end = self._starts[row], self._ends[row]
        shown, places = visible(self.text[start:end], newlines=False), [*range(start, end)]
        if len(shown) != end - start:  # a character may be drawn as several
            places = [start + at for at, letter in enumerate(self.text[start:end]) for _ in visible(letter)]
            places = (places + [end] * len(shown))[: len(shown)]
        if self._form == "json" and self._depths[row] < _MORE and (after := key_end(shown, 0, len(shown))):
            blank = " " * (shown[after : after + 1] not in {" ", ""})
            shown = f"{shown[:after]}{blank}{shown[after:]}"
            places[after:after] = places[after : after + len(blank)]
        return shown, places

    def pieces(self, number: int) -> Sequence[Piece]:
        """Draw a line as visible pieces."""
        row = self._row_at(number)
        if row < 0:
            return [(self._head[number], "note")]
        depth = self._depths[row]
        indent = self._indent(depth)
        shown = self._drawn(row)[0] if self._form == "raw" else self._drawn(row)[0].rstrip(" ")
        pieces: list[Piece] = [(" " * indent, "")]
        if row in self._hidden:
            # A folded container is its beginning, in words how much it holds, and its end.
            starts, (value, _), end, room = self._starts, self._value(row), self._hidden[row], self.width - indent
            is_closed = value.end == starts[end - 1] + 1
            size = len(self.text[value.start : value.end].encode("utf-8", "surrogatepass"))
            count, opening = self._depths.count(depth + 1, row, end), self.text[value.start]
            what = f"{'member' if opening == '{' else 'element'}{'s' * (count != 1)}"
            note = f" … {count:,} {what}, {size:,} bytes{' ' if is_closed else ', not closed'}"
            key = visible(self.text[starts[row] : value.start], newlines=False).rstrip(" ")
            tail = self.text[starts[end - 1] : self._ends[end - 1]] * is_closed
            head = clip(f"{key} {opening}".lstrip(" "), max(1, room // 2 - len(tail)))
            note = clip(note, room - len(tail) - cell_len(head))
            return [*pieces, *highlight(head), (note, "note"), (tail, "mark")]
        if self._form == "json" and depth < _MORE:
            return [*pieces, *highlight(shown)]
        name, colon, value = shown.partition(": ")
        if self._form == "headers" and colon and depth < _MORE:
            pieces, shown = [*pieces, (name, "key"), (colon, "")], value
        style = "string" if self._form == "json" else ""
        if shown.isascii():
            return [*pieces, (shown, style)]
        # The pictures of controls have a style of their own.
        parts = enumerate(_PICTURE.split(shown))
        return [*pieces, *((part, "control" if at % 2 else style) for at, part in parts if part)]

    def letters(self, line: int) -> Sequence[Letters]:
        """Return the characters of a line; a note and a folded container have none."""
        row = self._row_at(line)
        if row < 0 or row in self._hidden:
            return (Letters(0, "", (), (max(0, self.key(line).place),)),)
        shown, places = self._drawn(row)
        indent = self._indent(self._depths[row]) + self.has_cursor  # the cursor stands before the text
        return (Letters(indent, shown, (), [*places, self._ends[row]]),)

    def copied(self, first: Spot, last: Spot) -> tuple[str, str]:
        """Return the text between two places, and what it is."""
        return f"part of {self.source[0]}", self.text[first[0] : last[0]]

    # Values of JSON.

    def _first_at(self, line: int) -> int:
        """Return the row where the value of a line begins, for a closing mark that of the opening one; -1 without a value."""
        row = self._row_at(line)
        if self._form != "json" or row < 0:
            return -1
        while self._depths[row] >= _MORE and row:
            row -= 1
        if self._depths[row] >= _LEVELS:
            row = max(0, self._depths.rfind(self._depths[row] - _LEVELS, 0, row))
        return row if self._depths[row] < _LEVELS - 1 else -1

    def _value(self, first: int) -> tuple[Value, int]:
        """Return the value that begins in a row, as far as rows are made, and its last row or that of a comma behind it."""
        value = value_at(self.text, self._starts[first])
        if value.kind == "container":
            closing = self._depths.find(self._depths[first] + _LEVELS, first)
            value = value._replace(end=self._ends[-1] if closing < 0 else self._starts[closing] + 1)
        last = bisect_right(self._starts, max(value.start, value.end - 1)) - 1
        while last + 1 < len(self._depths) and self._depths[last + 1] >= _MORE:
            last += 1
        return value, last

    def _path(self, row: int) -> str:
        steps: list[str] = []
        while depth := self._depths[row]:
            parent = max(0, self._depths.rfind(depth - 1, 0, row))
            if end := key_end(self.text, self._starts[row], len(self.text)):
                steps.append(key_step(self.text[self._starts[row] : end].rstrip(" \t\r\n:")))
            else:
                steps.append(f"[{self._depths.count(depth, parent, row)}]")
            row = parent
        inner = "".join(reversed(steps)).removeprefix(".")
        outer = BodyPlace("", b"", is_decoded=False) if self._place is None else self._place()
        if outer.is_decoded:  # a string that holds JSON
            return f"{outer.path} | fromjson | .{inner}".removesuffix(" | .")
        return f"{outer.path}{'.' * bool(outer.path and inner and not inner.startswith('['))}{inner}" or "."

    def item(self, number: int) -> LineItem | None:
        """Return the value of a line; None for the whole text."""
        first = self._first_at(number)
        if first < 0:
            return None
        value, last = self._value(first)
        path, is_all, cut = partial(self._path, first), not self._depths[first], slice(value.start, value.end)
        return LineItem(
            lines=range(self._line_at(first), self._line_at(last) + 1),
            copy=lambda: self.source if is_all else (path(), self.text[cut]),
            place=lambda: BodyPlace(path(), self.text[cut].encode("utf-8", "surrogatepass"), is_decoded=False),
        )

    def opened(self, number: int) -> int | TextPage | None:
        """Open or close what stands on a line: returns its line, or a page of its own; None if nothing opens."""
        first = self._first_at(number)
        value = self._value(first)[0] if first >= 0 else None
        if value is None or value.kind == "other":
            return None
        if value.kind == "container":
            self.folds ^= {self._starts[first]}
            self._arrange()
            return self._line_at(first)
        text, path, is_json = decoded(self.text[value.start : value.end]), self._path(first), False
        with suppress(ValueError):
            is_json = looks_like_json(text) and (len(text) >= _MOST_READ or isinstance(read_json(text), dict | list))
        note = f"{path}: {'JSON in a string' if is_json else f'text of {len(text):,} characters'} · {BACK}"
        place = partial(BodyPlace, path, b"", is_decoded=True)
        return TextPage(path, text, form="json" if is_json else "plain", notes=(note,), place=place)


class BytesPage(TextPage):
    """Bytes as text, or with offsets, hex and text, as is what is no text."""

    def __init__(self, what: str, data: bytes, *, is_hex: bool = False) -> None:
        self.is_hex = is_hex or not is_text(data)
        self.data = data
        limit = f"the first {_MOST_HEX_BYTES:,} bytes" if self.is_hex and len(data) > _MOST_HEX_BYTES else ""
        notes = f"{what}: {len(data):,} bytes · r: {'back' if self.is_hex else 'in hex'} · {BACK}", limit
        super().__init__(what, decode(data), form="plain" if self.is_hex else "raw", notes=notes)

    @override
    def fit(self, width: int) -> None:
        if self.is_hex:
            by = next((by for by, cells in ((16, 75), (8, 43)) if width >= cells), 4)
            self.text = hex_text(self.data, _MOST_HEX_BYTES, by)
            self.source = self.source[0], self.text
        super().fit(width)
