"""A sheet as a tree of entries that can be opened: parts of a request, events of an exchange, an answer."""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len

from tui_host.answers.sheet import Sheet, SheetLine
from tui_host.capture.visible import line
from tui_host.tui.text_width import clip, fill, padded
from tui_host.tui.widgets.lines.json_lines import Piece, looks_like_json
from tui_host.tui.widgets.lines.selection import Letters, Spot, whole_line
from tui_host.tui.widgets.pages.json_values import joined
from tui_host.tui.widgets.pages.text_page import BACK, Below, LineItem, Match, TextPage, matches

MOST_ROWS = 2000
"""Largest number of lines to show of an opened entry; as a page of its own it has all."""
_LABEL = 400
_BY_SIZE = "by size"
"""Stands among the flipped paths, which begin with `/`, while a tree is sorted."""
_FIRST, _FURTHER = -1, -2


class _Branch(NamedTuple):
    """A visible entry."""

    entry: SheetLine
    keys: tuple[str, ...]  # its own behind those of the entries above
    is_open: bool
    body: TextPage | None  # the text below an open entry

    @property
    def path(self) -> str:
        return f"/{'/'.join(self.keys)}"

    @property
    def indent(self) -> str:
        return "  " * (len(self.keys) - 1)

    @property
    def words(self) -> str:
        return self.indent + "  ".join((self.entry.label, *self.entry.figures, self.entry.mark)).rstrip()


class _TreeLine(NamedTuple):
    branch: _Branch
    inside: int  # a line of the body, or of the label: `_FIRST` or `_FURTHER`
    label: str = ""


class TreePage:
    """A sheet as one list of lines that is made in slices of time; open texts stand below their entries.

    The caller keeps the flipped paths over a rebuild: of entries that a person opened, or closed where they were open.
    """

    has_cursor = True

    def __init__(self, sheet: Sheet, flipped: set[str]) -> None:
        self._sheet = sheet
        self._flipped = flipped
        self._columns = [cell_len(head) for head in sheet.heads]  # cells of the figures
        self._marks = 0  # cells of the marks
        self._measure(sheet.lines)
        self._lines: list[_TreeLine] = []
        self._firsts: list[int] = []  # the numbers in `_lines` where entries begin

    @property
    def source(self) -> tuple[str, str]:
        return self._sheet.what, "\n".join(self._lines[first].branch.words for first in self._firsts)

    # Making lines.

    def _measure(self, entries: Sequence[SheetLine]) -> None:
        for entry in entries:
            self._columns += [0] * (len(entry.figures) - len(self._columns))
            for column, figure in enumerate(entry.figures):
                self._columns[column] = max(self._columns[column], cell_len(figure))
            self._marks = max(self._marks, cell_len(entry.mark))
            self._measure(entry.children)

    def fit(self, width: int) -> None:
        self._width = max(8, width)
        order = "sorted by size, the largest first; b: in order" if self._is_by_size else ""
        above = order, self._sheet.what, *self._sheet.notes, "" if self._sheet.lines else self._sheet.empty
        self._notes: list[Sequence[Piece]] = [
            [(note[start:end], "note")] for note in filter(None, above) for start, end in fill(note, self._width)
        ]
        if self._sheet.heads:
            heads = (f" {head:>{width}}" for head, width in zip(self._sheet.heads, self._columns, strict=False))
            words = f"{''.join(heads)}{' ' * (self._marks + bool(self._marks))}"
            self._notes.append([(clip(f"{words:>{self._width}}", self._width), "note")])
        self._lines, self._firsts = [], []
        self._coming = iter(self._sorted(self._sheet.lines))

    def grow(self, seconds: float) -> int | None:
        until, before = time.perf_counter() + seconds, len(self)
        for entry in self._coming:
            for line_made in self._lines_of(entry, ()):
                if line_made.inside == _FIRST:
                    self._firsts.append(len(self._lines))
                self._lines.append(line_made)
            if time.perf_counter() >= until:
                break
        return before if len(self) > before else None

    def _lines_of(self, entry: SheetLine, above: tuple[str, ...]) -> Iterator[_TreeLine]:
        """Make the lines of an entry and of what is open below."""
        keys, body = (*above, entry.key), None
        is_open = entry.opens and entry.opened != (f"/{'/'.join(keys)}" in self._flipped)
        if is_open and entry.text is not None:
            body = _text_page(entry)
            body.fit(self._width - self._body_indent(len(above)))
            while len(body) <= MOST_ROWS and body.grow(0.001) is not None:
                pass
        branch = _Branch(entry, keys, is_open, body)
        label = line(entry.label, _LABEL)
        wraps = (entry.is_wrapped and not is_open) or not (entry.figures or entry.mark)
        room = max(8, self._room(branch)[0] - 2) if wraps else cell_len(label)
        for number, (start, end) in enumerate(fill(label, room)):
            yield _TreeLine(branch, _FURTHER if number else _FIRST, label[start:end])
        for inside in range(0 if body is None else min(len(body), MOST_ROWS + 1)):
            yield _TreeLine(branch, inside)
        for child in self._sorted(entry.children) if is_open else ():
            yield from self._lines_of(child, keys)

    @property
    def _is_by_size(self) -> bool:
        return _BY_SIZE in self._flipped

    def sort_by_size(self) -> None:
        """Sort the entries of each level by their first figure, or put them in order again; `fit` makes the lines."""
        self._flipped ^= {_BY_SIZE}

    def _sorted(self, entries: Sequence[SheetLine]) -> Sequence[SheetLine]:
        def size(entry: SheetLine) -> float:  # lines without a number are the smallest
            return next((value for value in entry.values.values() if isinstance(value, int | float)), -1.0)

        return sorted(entries, key=size, reverse=True) if self._is_by_size else entries

    # What stands on a line.

    def __len__(self) -> int:
        return len(self._notes) + len(self._lines)

    def _at(self, number: int) -> _TreeLine | None:
        """Return what is on a line; None for a note."""
        number -= len(self._notes)
        return self._lines[number] if 0 <= number < len(self._lines) else None

    def key(self, number: int) -> int:
        number -= len(self._notes)
        return bisect_right(self._firsts, number) - 1 if 0 <= number < len(self._lines) else -1

    def line_of(self, key: int) -> int:
        return 0 if key < 0 or not self._firsts else len(self._notes) + self._firsts[min(key, len(self._firsts) - 1)]

    def path(self, key: int) -> tuple[str, ...]:
        return self._lines[self._firsts[key]].branch.keys if 0 <= key < len(self._firsts) else ()

    def key_at(self, path: tuple[str, ...], key: int) -> int:
        """Return the key of the entry at a path; the given one if it has gone."""
        if self.path(key) == path:  # nearly always: a sheet is made anew at each change
            return key
        return next((number for number in range(len(self._firsts)) if self.path(number) == path), key)

    def item(self, number: int) -> LineItem | None:
        if (at := self._at(number)) is None:
            return None
        (entry, keys, _, body), key = at.branch, self.key(number)
        text, place = entry.text, entry.place
        inner = body.item(at.inside) if body is not None and at.inside >= 0 else None
        if inner is not None:
            lines, first = inner.lines, number - at.inside
            lines = range(first + lines.start, first + min(lines.stop, MOST_ROWS))
            return replace(inner, lines=lines, target=entry.target, keys=keys)

        def data() -> bytes:
            if place is not None:
                return place().data
            return b"" if text is None else text().encode("utf-8", "surrogatepass")

        return LineItem(
            lines=range(self.line_of(key), len(self) if key + 1 == len(self._firsts) else self.line_of(key + 1)),
            copy=lambda: (line(entry.label, _LABEL), entry.label if text is None else text()),
            data=None if text is None else data,
            path=lambda: "" if place is None else place().path,
            target=entry.target,
            keys=keys,
        )

    def opened(self, number: int) -> int | Below | None:
        at = self._at(number)
        if at is None or not at.branch.entry.opens:
            return None
        if at.branch.body is not None and at.inside >= 0:  # the text has all of the view then
            return Below(_text_page(at.branch.entry, BACK), at.branch.body.key(min(at.inside, MOST_ROWS - 1)))
        return self._flip(self.key(number))

    def _flip(self, key: int) -> int:
        """Open or close an entry, and return its line."""
        start = end = self._firsts[key]
        branch = self._lines[start].branch
        while end < len(self._lines) and (
            self._lines[end].branch is branch or len(self._lines[end].branch.keys) > len(branch.keys)
        ):
            end += 1
        self._flipped ^= {branch.path}
        self._lines[start:end] = self._lines_of(branch.entry, branch.keys[:-1])
        self._firsts = [number for number, made in enumerate(self._lines) if made.inside == _FIRST]
        return self.line_of(key)

    # Searching and selecting.

    def places(self, pattern: re.Pattern[str]) -> Iterator[Match]:
        return _places_in(self._sheet.lines, pattern)

    def reveal(self, match: Match) -> int:
        key, depth = 0, len(match.keys)
        for end in range(1, depth + 1):
            branches = ((at, self._lines[first].branch) for at, first in enumerate(self._firsts))
            key, branch = next((pair for pair in branches if pair[1].keys == match.keys[:end]), (-1, None))
            if branch is None:
                return 0
            if not branch.is_open and (match.start >= 0 or end < depth):
                self._flip(key)
        first = self.line_of(key)
        body = self._lines[self._firsts[key]].branch.body
        if match.start < 0 or body is None:
            return first
        while (at := self._at(first)) is not None and at.inside < 0:
            first += 1  # behind the label
        return first + min(body.reveal(match), MOST_ROWS)

    def letters(self, line: int) -> Sequence[Letters]:
        if (at := self._at(line)) is None:
            line -= len(self._notes)
            return whole_line((-1,), line) if line < 0 else whole_line((len(self._firsts),), 0)
        place, body = 0, at.branch.body
        if body is not None and at.inside >= 0:
            place = 1 + (body.key(at.inside) if at.inside < MOST_ROWS else len(body.text))
        return whole_line((self.key(line),), place)

    def copied(self, first: Spot, last: Spot) -> tuple[str, str]:
        texts: list[str] = []
        for key in range(max(0, first[0]), min(last[0] + 1, len(self._firsts))):
            branch = self._lines[self._firsts[key]].branch
            if first <= (key, 0) < last:
                texts.append(branch.words)
            if branch.body is not None and last > (key, 1):
                body, end = branch.body, -1
                start = max(0, first[1] - 1) if key == first[0] else 0
                if key == last[0]:
                    end = body.key(body.line_of(last[1] - 2) + 1)
                texts.append((body.text[start:end] if end >= 0 else body.text[start:]).rstrip())
        return f"part of {self._sheet.what}", "\n".join(texts)

    # Drawing.

    def pieces(self, number: int) -> Sequence[Piece]:
        at = self._at(number)
        if at is None:
            return self._notes[number]
        entry, body = at.branch.entry, at.branch.body
        if body is not None and at.inside >= 0:
            pad = (" " * self._body_indent(len(at.branch.keys) - 1), "")
            return [pad, *(body.pieces(at.inside) if at.inside < MOST_ROWS else [("enter: all of it", "note")])]
        head = f"{at.branch.indent}{'▸▾'[at.branch.is_open] if entry.opens else ' '} "
        if at.inside == _FURTHER:
            return [(" " * (len(head) + 2), ""), (at.label, entry.style)]
        room, right = self._room(at.branch)
        label = clip(at.label, room)
        left = max(0, room - cell_len(label))
        has_room = left >= 8 and at.label == line(entry.label, _LABEL)  # beside a label of one line
        note = f"  {entry.note}" if entry.note and has_room else ""
        if not right and not note:
            left = 0
        return [(head, "fold"), (label, entry.style), (padded(note, left), "note"), *right]

    def _body_indent(self, depth: int) -> int:
        return min(2 * depth + 4, self._width // 3)

    def _room(self, branch: _Branch) -> tuple[int, list[Piece]]:
        """Return the cells for a label, and what stands behind it."""
        entry, room = branch.entry, self._width - len(branch.indent) - 2
        right: list[Piece] = []
        if entry.figures or entry.mark:
            figures = (*entry.figures, *("",) * len(self._columns))
            right.append(("".join(f" {figures[at]:>{width}}" for at, width in enumerate(self._columns)), "figure"))
            style = "note" if entry.mark.endswith("never called") else "new"  # what did not happen is no news
            right.append((padded(f" {entry.mark}", self._marks + 1) if self._marks else "", style))
        left = room - sum(cell_len(text) for text, _ in right)
        return (left, right) if left >= 8 or not right else (room, [])


Page: TypeAlias = TextPage | TreePage
"""Lines that a view draws, made in slices of time for a width."""


def _text_page(entry: SheetLine, note: str = "") -> TextPage:
    """Return the text of an entry as a page."""
    text, what, place_of = entry.text() if entry.text is not None else "", line(entry.label, _LABEL), entry.place

    def outer(inner: str) -> str:
        place = None if place_of is None else place_of()
        return inner if place is None else joined(place.path, inner, is_string=place.is_decoded)

    form = entry.form or ("json" if looks_like_json(text) else "plain")
    notes = (f"{what} · {note}",) if note else ()
    return TextPage(what, text, form=form, notes=notes, outer=None if place_of is None else outer)


def _places_in(entries: Sequence[SheetLine], pattern: re.Pattern[str], above: tuple[str, ...] = ()) -> Iterator[Match]:
    """Yield the places in the text of each entry, else its label, then those in the entries below."""
    for entry in entries:
        keys = *above, entry.key
        places = [] if entry.text is None else list(matches(entry.text(), pattern, keys))
        yield from places or ([Match(-1, -1, keys)] if pattern.search(entry.label) else [])
        yield from _places_in(entry.children, pattern, keys)
