"""A tree of entries that can be opened: parts of a request, events of an exchange, the sheet of an answer."""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.tui.text_width import clip, fill, padded
from tui_host.tui.widgets.lines.json_lines import Piece, looks_like_json
from tui_host.tui.widgets.lines.selection import Letters, Spot, whole_line
from tui_host.tui.widgets.pages.detail_page import Below, LineItem, Match, Page, matches
from tui_host.tui.widgets.pages.json_values import joined
from tui_host.tui.widgets.pages.text_page import BACK, TextPage

if TYPE_CHECKING:
    from tui_host.answers.sheet import BodyPlace, Sheet, SheetLine

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
    def depth(self) -> int:
        return len(self.keys) - 1

    @property
    def words(self) -> str:
        entry = self.entry
        return "  " * self.depth + "  ".join((entry.label, *entry.figures, entry.mark)).rstrip()


class _TreeLine(NamedTuple):
    branch: _Branch
    inside: int  # a line of the body, or of the label: `_FIRST` or `_FURTHER`
    label: str = ""


class TreePage(Page):
    """A tree of entries, some with open texts below, as one list of lines that is made in slices of time.

    Args:
        what: What the tree shows, as text.
        entries: The top entries.
        flipped: Paths of entries that a person opened, or closed where they were open from the start; kept by the caller
            over a rebuild.
        failed: A failure to show above everything else.
        notes: Lines to show above the tree, the program's own text.
        heads: What stands above the columns of figures.
        empty: The text to show without entries.
        is_sheet: Whether labels without figures go on below their line, also those of entries that open.
    """

    has_cursor = True

    def __init__(
        self,
        what: str,
        entries: Sequence[SheetLine],
        *,
        flipped: set[str],
        failed: str = "",
        notes: Sequence[str] = (),
        heads: Sequence[str] = (),
        empty: str = "nothing",
        is_sheet: bool = False,
    ) -> None:
        self._what = what
        self._entries = entries
        self._flipped = flipped
        self._above = [
            (failed, "failed"),
            *((note, "note") for note in notes),
            ("" if entries else empty, "note"),
        ]
        self._heads = heads
        self._is_sheet = is_sheet
        self._width = 0
        self._notes: list[Sequence[Piece]] = []
        self._lines: list[_TreeLine] = []
        self._firsts: list[int] = []  # the numbers in `_lines` where entries begin
        self._coming: Iterator[SheetLine] = iter(())
        self._columns = [1 + cell_len(head) for head in heads]
        self._marks = 0

    @classmethod
    def of(cls, sheet: Sheet, flipped: set[str]) -> TreePage:
        """Return the sheet of an answer as a page."""
        notes, heads = [sheet.what, *sheet.notes], sheet.heads
        return cls(sheet.what, sheet.lines, flipped=flipped, notes=notes, heads=heads, empty=sheet.empty, is_sheet=True)

    @property
    @override
    def source(self) -> tuple[str, str]:
        return self._what, "\n".join(self._lines[first].branch.words for first in self._firsts)

    # Making lines.

    @override
    def fit(self, width: int) -> None:
        self._width = max(8, width)
        words = "sorted by size, the largest first; b: in order" if self.is_by_size else ""
        above = [(note, style) for note, style in ((words, "note"), *self._above) if note]
        self._notes = [[(note[start:end], style)] for note, style in above for start, end in fill(note, self._width)]
        if self._heads and any(entry.figures for entry in self._entries):
            self._notes.append(())  # drawn with the columns as they are then
        self._lines, self._firsts = [], []
        self._coming = iter(self._sorted(self._entries))

    @override
    def grow(self, seconds: float) -> int | None:
        until, before, columns = time.perf_counter() + seconds, len(self), (*self._columns, self._marks)
        for entry in self._coming:
            for line_made in self._lines_of(entry, ()):
                if line_made.inside == _FIRST:
                    self._firsts.append(len(self._lines))
                self._lines.append(line_made)
            if time.perf_counter() >= until:
                break
        if len(self) == before:
            return None
        return before if columns == (*self._columns, self._marks) else 0

    def _lines_of(self, entry: SheetLine, above: tuple[str, ...]) -> Iterator[_TreeLine]:
        """Make the lines of an entry and of what is open below, and widen the columns for its figures."""
        keys, body = (*above, entry.key), None
        is_open = entry.opens and entry.opened != (f"/{'/'.join(keys)}" in self._flipped)
        for column, figure in enumerate(entry.figures):
            if column == len(self._columns):
                self._columns.append(0)
            self._columns[column] = max(self._columns[column], 1 + cell_len(figure) if figure else 0)
        self._marks = max(self._marks, cell_len(entry.mark))
        if is_open and entry.text is not None:
            body = _text_page(entry)
            body.fit(self._width - self._body_indent(len(above)))
            while len(body) <= MOST_ROWS and body.grow(0.001) is not None:
                pass
        branch = _Branch(entry, keys, is_open, body)
        for number, label in enumerate(self._labels(branch)):
            yield _TreeLine(branch, _FURTHER if number else _FIRST, label)
        for inside in range(0 if body is None else min(len(body), MOST_ROWS + 1)):
            yield _TreeLine(branch, inside)
        for child in self._sorted(entry.children) if is_open else ():
            yield from self._lines_of(child, keys)

    @property
    def is_by_size(self) -> bool:
        """Whether the entries of each level stand by size, the largest first."""
        return _BY_SIZE in self._flipped

    def sort_by_size(self) -> None:
        """Sort the entries of each level by their first figure, or put them in order again; `fit` makes the lines."""
        self._flipped ^= {_BY_SIZE}

    def _sorted(self, entries: Sequence[SheetLine]) -> Sequence[SheetLine]:
        return sorted(entries, key=_size_of, reverse=True) if self.is_by_size else entries

    # What stands on a line.

    @override
    def __len__(self) -> int:
        return len(self._notes) + len(self._lines)

    def _at(self, number: int) -> _TreeLine | None:
        """Return what is on a line; None for a note."""
        number -= len(self._notes)
        return self._lines[number] if 0 <= number < len(self._lines) else None

    @override
    def key(self, number: int) -> int:
        number -= len(self._notes)
        return bisect_right(self._firsts, number) - 1 if 0 <= number < len(self._lines) else -1

    @override
    def line_of(self, key: int) -> int:
        return 0 if key < 0 or not self._firsts else len(self._notes) + self._firsts[min(key, len(self._firsts) - 1)]

    @override
    def item(self, number: int) -> LineItem | None:
        if (at := self._at(number)) is None:
            return None
        (entry, keys, _, body), key = at.branch, self.key(number)
        label, text, place = line(entry.label, _LABEL), entry.text, entry.place
        inner = body.item(at.inside) if body is not None and at.inside >= 0 else None
        if inner is not None:
            start, end = (
                number - at.inside + min(inside, MOST_ROWS) for inside in (inner.lines.start, inner.lines.stop)
            )
            return replace(inner, lines=range(start, end), target=entry.target, keys=keys)
        end = len(self) if key + 1 == len(self._firsts) else self.line_of(key + 1)
        return LineItem(
            lines=range(self.line_of(key), end),
            copy=lambda: (label, entry.label if text is None else text()),
            data=(lambda: _data_of(entry)) if text is not None else None,
            path=lambda: "" if place is None else place().path,
            target=entry.target,
            keys=keys,
        )

    @override
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
            self._lines[end].branch is branch or self._lines[end].branch.depth > branch.depth
        ):
            end += 1
        self._flipped ^= {branch.path}
        self._lines[start:end] = self._lines_of(branch.entry, branch.keys[:-1])
        self._firsts = [number for number, line in enumerate(self._lines) if line.inside == _FIRST]
        return self.line_of(key)

    # Searching and selecting.

    @override
    def places(self, pattern: re.Pattern[str]) -> Iterator[Match | None]:
        for entry in self._entries:
            yield from _places_in(entry, pattern)
            yield None

    @override
    def reveal(self, match: Match) -> int:
        key = 0
        for path in match.path:
            key = next((at for at, first in enumerate(self._firsts) if self._lines[first].branch.path == path), -1)
            if key < 0:
                return 0
            if not self._lines[self._firsts[key]].branch.is_open and (match.start >= 0 or path != match.path[-1]):
                self._flip(key)
        first = self._firsts[key]
        body = self._lines[first].branch.body
        if match.start < 0 or body is None:
            return self.line_of(key)
        labels = len(self._labels(self._lines[first].branch))
        return len(self._notes) + first + labels + min(body.reveal(match), MOST_ROWS)

    @override
    def letters(self, line: int) -> Sequence[Letters]:
        if (at := self._at(line)) is None:
            line -= len(self._notes)
            return whole_line((-1,), line) if line < 0 else whole_line((len(self._firsts),), 0)
        place, body = 0, at.branch.body
        if body is not None and at.inside >= 0:
            place = 1 + (body.key(at.inside) if at.inside < MOST_ROWS else len(body.text))
        return whole_line((self.key(line),), place)

    @override
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
        return f"part of {self._what}", "\n".join(texts)

    # Drawing.

    @override
    def pieces(self, number: int) -> Sequence[Piece]:
        at = self._at(number)
        if at is None:
            return self._notes[number] or self._heads_line()
        branch = at.branch
        if branch.body is not None and at.inside >= 0:
            pad = (" " * self._body_indent(branch.depth), "")
            rows = branch.body.pieces(at.inside) if at.inside < MOST_ROWS else [("enter: all of it", "note")]
            return [pad, *rows]
        head, room, right = self._head(branch)
        if at.inside == _FURTHER:
            return [(" " * (len(head) + 2), ""), (at.label, branch.entry.style)]
        label = clip(at.label, room)
        left = max(0, room - cell_len(label))
        note = "" if self._wraps(branch) or not branch.entry.note or left < 8 else f"  {branch.entry.note}"
        if not right and not note:
            left = 0
        return [(head, "fold"), (label, branch.entry.style), (padded(note, left), "note"), *right]

    def _heads_line(self) -> Sequence[Piece]:
        heads = "".join(f"{head:>{width}}" for head, width in zip(self._heads, self._columns, strict=False))
        marks = 1 + self._marks if self._marks else 0
        return [(clip(" " * (self._width - cell_len(heads) - marks) + heads, self._width), "note")]

    def _body_indent(self, depth: int) -> int:
        return min(2 * depth + 4, self._width // 3)

    def _wraps(self, branch: _Branch) -> bool:
        """Whether the label goes on below its line."""
        entry = branch.entry
        if entry.is_wrapped:
            return not (branch.is_open and entry.figures)
        return not (entry.figures or entry.mark or (entry.opens and not self._is_sheet))

    def _labels(self, branch: _Branch) -> Sequence[str]:
        """Return the label as lines."""
        label = line(branch.entry.label, _LABEL)
        if not self._wraps(branch):
            return (label,)
        return [label[start:end] for start, end in fill(label, max(8, self._head(branch)[1] - 2))]

    def _head(self, branch: _Branch) -> tuple[str, int, list[Piece]]:
        """Return what stands before a label, the cells for the label, and what stands behind."""
        entry = branch.entry
        head = f"{'  ' * branch.depth}{'▸▾'[branch.is_open] if entry.opens else ' '} "
        right: list[Piece] = []
        if entry.figures or entry.mark:
            figures = (*entry.figures, *("",) * len(self._columns))
            right = [(f"{figures[column]:>{width}}", "figure") for column, width in enumerate(self._columns)]
            if self._marks:
                right.append((" " + padded(entry.mark, self._marks), "new"))
        room = self._width - len(head) - sum(cell_len(text) for text, _ in right)
        return (head, room, right) if room >= 8 or not right else (head, self._width - len(head), [])


def _text_page(entry: SheetLine, note: str = "") -> TextPage:
    """Return the text of an entry as a page."""
    text = entry.text() if entry.text is not None else ""
    form = entry.form or ("json" if looks_like_json(text) else "plain")
    what = line(entry.label, _LABEL)
    notes = (f"{what} · {note}",) if note else ()
    outer = None if entry.place is None else partial(_inside, entry.place)
    return TextPage(what, text, form=form, notes=notes, outer=outer)


def _data_of(entry: SheetLine) -> bytes:
    if entry.place is not None:
        return entry.place().data
    return b"" if entry.text is None else entry.text().encode("utf-8", "surrogatepass")


def _inside(place_of: Callable[[], BodyPlace], inner: str) -> str:
    place = place_of()
    return joined(place.path, inner, is_string=place.is_decoded)


def _places_in(entry: SheetLine, pattern: re.Pattern[str], above: tuple[str, ...] = ()) -> Iterator[Match | None]:
    """Yield the places in the text of an entry, else its label, then those in the entries below."""
    path = (*above, f"{above[-1] if above else ''}/{entry.key}")
    is_in_text = False
    for match in matches(entry.text(), pattern, path) if entry.text is not None else ():
        is_in_text = is_in_text or match is not None
        yield match
    if not is_in_text and pattern.search(entry.label):
        yield Match(-1, -1, path)
    for child in entry.children:
        yield from _places_in(child, pattern, path)


def _size_of(entry: SheetLine) -> float:
    """Return the first number of a line; lines without one are the smallest."""
    return next((value for value in entry.values.values() if isinstance(value, int | float)), -1.0)
