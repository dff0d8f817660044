"""A tree of entries that can be opened: parts of a request, events of an exchange."""

from __future__ import annotations

import re
import time
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Literal

from rich.cells import cell_len
from typing_extensions import override

from tui_host.answers.sheet import Form, SheetLine
from tui_host.capture.visible import line
from tui_host.tui.markdown.wrap import fill
from tui_host.tui.widgets.lines.json_lines import Piece, looks_like_json
from tui_host.tui.widgets.lines.selectable import RowSelection, Selectable, Stretch
from tui_host.tui.widgets.pages.detail_page import NOT_YET, Match, Page, cut, padded, size_of
from tui_host.tui.widgets.pages.json_page import JsonFold, JsonPage
from tui_host.tui.widgets.pages.page_search import places_in
from tui_host.tui.widgets.pages.text_page import TextPage, wrapped
from tui_host.tui.widgets.pages.value_pages import bytes_page, is_utf8, joined

MOST_ROWS = 2000
"""Largest number of lines to show of an opened entry; the Raw tab shows all."""
_LABEL = 400
_BY_SIZE = "by size"
"""Stands among the flipped paths, which begin with `/`, while a tree is sorted."""


@dataclass(frozen=True, slots=True)
class _Shown:
    above: str
    entry: SheetLine
    depth: int
    is_open: bool

    @property
    def path(self) -> str:
        return f"{self.above}/{self.entry.key}"

    @property
    def wraps(self) -> bool:
        """Whether the label goes on below its line."""
        entry = self.entry
        if entry.is_wrapped:
            return not (self.is_open and entry.figures)
        return not (entry.opens or entry.figures or entry.mark)

    @property
    def has_body(self) -> bool:
        return self.is_open and self.entry.text is not None


def _brief(shown: _Shown) -> _Shown | SheetLine:
    return shown.entry if shown.depth == 0 and not shown.is_open and not shown.wraps else shown


def _whole(shown: _Shown | SheetLine) -> _Shown:
    return _Shown("", shown, 0, is_open=False) if isinstance(shown, SheetLine) else shown


def _line_of(shown: _Shown) -> str:
    entry = shown.entry
    return "  " * shown.depth + "  ".join((entry.label, *entry.figures, entry.mark)).rstrip()


class TreePage(Page):
    """A tree of entries, some with open texts below, made in slices of time.

    Args:
        what: What the tree shows, as text.
        entries: The top entries; may be an iterator that makes them, and yields None where an entry takes longer.
        flipped: Paths of entries that a person opened, or closed where they were open from the start; kept by the caller
            over a rebuild.
        failed: A failure to show above everything else.
        notes: Lines to show above the tree, the program's own text.
        empty: The text to show without entries.
    """

    def __init__(
        self,
        what: str,
        entries: Iterable[SheetLine | None],
        *,
        flipped: set[str],
        failed: str = "",
        notes: Sequence[str] = (),
        empty: str = "nothing",
    ) -> None:
        self._what = what
        self._entries = iter(entries)
        self._all: list[SheetLine] = []
        self._is_whole = False
        self._flipped = flipped
        self._above = [(failed, "failed")] if failed else []
        self._above += [(note, "note") for note in notes if note]
        self._empty = empty
        self._notes: list[Piece] = []
        self._width = 0
        self._shown: list[
            _Shown | SheetLine
        ] = []  # an entry stands for itself at the top, closed: of these there are many
        self._owners = array("l")
        self._offsets = array("l")
        self._bodies: dict[str, TextPage] = {}
        self.inside: dict[str, dict[int, JsonFold]] = {}  # what is folded in the entries' texts, by path
        self.as_bytes: dict[str, Literal["raw", "hex"]] = {}  # the entries whose bytes are shown in place of their text
        self._growing: set[str] = set()
        self._columns: list[int] = []
        self._marks = 0

    @property
    @override
    def has_cursor(self) -> bool:
        return True

    @property
    @override
    def grows_below(self) -> bool:
        return False  # columns become wider

    @property
    @override
    def source(self) -> tuple[str, str]:
        return self._what, "\n".join(_line_of(_whole(shown)) for shown in self._shown)

    @override
    def fit(self, width: int) -> None:
        self._width = max(8, width)
        self._bodies.clear()
        self._growing.clear()
        sorted_words = [("sorted by size, the largest first; b: in order", "note")] if self.is_by_size else []
        notes = [*sorted_words, *self._above, *([(self._empty, "note")] if self._is_whole and not self._shown else [])]
        self._notes = [(part, style) for note, style in notes for part in wrapped(note, self._width)]
        self._count()

    @override
    def advance(self, seconds: float) -> bool:
        until = time.perf_counter() + seconds
        before = len(self)
        if self._grow(until):
            self._count()
        while not self._is_whole:
            for entry in self._entries:
                if entry is not None:
                    self._all.append(entry)
                    if not self.is_by_size:
                        self._append(self._walk([entry], "", 0))
                break
            else:
                self._is_whole = True
                if self.is_by_size:
                    self._append(self._walk(self._all, "", 0))
                self._count()
                if not self._shown:
                    self.fit(self._width)
            if time.perf_counter() >= until:
                break
        return len(self) != before or not self._is_whole

    @property
    def is_by_size(self) -> bool:
        """Whether the entries of each level stand by size, the largest first."""
        return _BY_SIZE in self._flipped

    def sort_by_size(self) -> None:
        """Sort the entries of each level by their first figure, or put them in order again; `fit` makes the lines."""
        self._flipped ^= {_BY_SIZE}
        self._entries, self._all = chain(self._all, self._entries), []
        self._shown, self._is_whole = [], False

    def _grow(self, until: float) -> bool:
        """Continue growing open texts; whether any line was added."""
        has_grown = False
        for path in tuple(self._growing):
            body = self._bodies[path]
            while len(body) <= MOST_ROWS and time.perf_counter() < until and body.advance(0.001):
                has_grown = True
            if time.perf_counter() >= until:
                break
            self._growing.discard(path)
        return has_grown

    @override
    def __len__(self) -> int:
        return len(self._notes) + len(self._owners)

    @override
    def keep(self, before: Page) -> None:
        if isinstance(before, TreePage):
            self.inside, self.as_bytes = before.inside, before.as_bytes

    @override
    def toggle(self, number: int) -> int | None:
        body, inside, owner = self._body_at(number)
        if body is not None and (line := body.toggle(inside)) is not None:
            return self._body_changed(owner, line)
        if owner < 0 or not _whole(self._shown[owner]).entry.opens:
            return None
        self._flip(owner)
        self._count()
        return self.line_at(owner)

    @override
    def show_bytes(self, number: int) -> int | None:
        body, inside, owner = self._body_at(number)
        if body is not None and (line := body.show_bytes(inside)) is not None:
            return self._body_changed(owner, line)
        shown = _whole(self._shown[owner]) if owner >= 0 else None
        if shown is None or shown.entry.text is None:
            return None
        mode = self.as_bytes.pop(shown.path, None) if shown.is_open else None
        if mode == "hex" or not shown.is_open:
            self._flip(owner)
        if mode != "hex":
            self.as_bytes[shown.path] = "raw" if mode is None and is_utf8(_bytes_of(shown.entry)) else "hex"
        self._bodies.pop(shown.path, None)
        self._count()
        return self.line_at(owner)

    @override
    def path(self, number: int) -> str:
        body, inside, owner = self._body_at(number)
        entry = _whole(self._shown[owner]).entry if owner >= 0 else None
        inner = body.path(inside) if body is not None else ""
        if entry is None or entry.place is None:
            return inner
        place = entry.place()
        return joined(place.path, inner, is_string=place.is_decoded) if inner else place.path

    def _body_at(self, number: int) -> tuple[TextPage | None, int, int]:
        """Return the open text on a line, the line in the text, and the entry; -1 without an entry."""
        number -= len(self._notes)
        if not 0 <= number < len(self._owners):
            return None, -1, -1
        owner, offset = self._owners[number], self._offsets[number]
        is_inside = 0 < offset <= MOST_ROWS
        return self._bodies.get(_whole(self._shown[owner]).path) if is_inside else None, offset - 1, owner

    def _body_changed(self, owner: int, line: int) -> int:
        """Count the lines of an open text again; returns a line of the text as a line of the tree."""
        self._growing.add(_whole(self._shown[owner]).path)
        return self._in_body(owner, line)

    def _in_body(self, owner: int, line: int) -> int:
        """Count lines again, and return a line of an open text as a line of the tree."""
        self._count()
        shown = _whole(self._shown[owner])
        return self.line_at(owner) + self._rows_of(shown).index(1) + min(line, MOST_ROWS)

    def _flip(self, owner: int) -> None:
        shown = _whole(self._shown[owner])
        self._flipped ^= {shown.path}
        end = owner + 1
        while end < len(self._shown) and _whole(self._shown[end]).depth > shown.depth:
            end += 1
        again = list(self._walk([shown.entry], shown.above, shown.depth))
        self._shown[owner:end] = map(_brief, again)
        for entry in again:
            self._measure(entry)

    @override
    def place_of(self, number: int) -> int:
        number -= len(self._notes)
        return self._owners[number] if 0 <= number < len(self._owners) else -1

    @override
    def line_at(self, place: int) -> int:
        return 0 if place < 0 else min(len(self._notes) + bisect_left(self._owners, place), max(0, len(self) - 1))

    @override
    def places(self, pattern: re.Pattern[str]) -> Iterator[Match | None]:
        at = 0
        while at < len(self._all) or not self._is_whole:
            if at < len(self._all):
                yield from places_in(self._all[at], pattern)
                at += 1
            yield None if self._is_whole or at < len(self._all) else NOT_YET

    @override
    def reveal(self, match: Match) -> int:
        owner = 0
        for path in match.path:
            owner = next((at for at, shown in enumerate(self._shown) if _whole(shown).path == path), -1)
            if owner < 0:
                return 0
            if not _whole(self._shown[owner]).is_open and (match.start >= 0 or path != match.path[-1]):
                self.toggle(self.line_at(owner))
        if match.start < 0:
            return self.line_at(owner)
        body = self._body(_whole(self._shown[owner]))
        while len(body) <= MOST_ROWS and body.place_of(len(body) - 1) < match.start and body.advance(0.001):
            pass
        return self._in_body(owner, body.reveal(match))

    def entry_of(self, number: int) -> tuple[str, str] | None:
        """Return the label and text of the entry on a line, for copying."""
        _, _, owner = self._body_at(number)
        if owner < 0:
            return None
        entry = _whole(self._shown[owner]).entry
        return entry.label, entry.text() if entry.text is not None else entry.label

    def path_of(self, number: int) -> Sequence[str]:
        """Return the keys that lead to the entry on a line; empty without one."""
        _, _, owner = self._body_at(number)
        return () if owner < 0 else (*self._keys_above(owner), _whole(self._shown[owner]).entry.key)

    def _keys_above(self, owner: int) -> Sequence[str]:
        """Return the keys of the entries that an entry stands below, outermost first."""
        keys: list[str] = []
        depth = _whole(self._shown[owner]).depth
        for shown in map(_whole, reversed(self._shown[:owner])):
            if shown.depth < depth:
                keys.insert(0, shown.entry.key)
                depth = shown.depth
            if not depth:
                break
        return keys

    @property
    @override
    def selectable(self) -> Selectable:
        return RowSelection(self._spot, self._copied)

    def _spot(self, number: int) -> tuple[int, int]:
        """Return the entry of a line, and one more than the place inside its text; independent of the width."""
        number -= len(self._notes)
        if not 0 <= number < len(self._owners):
            return (-1, number) if number < 0 else (len(self._shown), 0)
        owner, offset = self._owners[number], self._offsets[number]
        body = self._bodies.get(_whole(self._shown[owner]).path) if offset > 0 else None
        if body is None:
            return owner, 0
        return owner, 1 + (body.place_of(offset - 1) if offset <= MOST_ROWS else len(body.text))

    def _copied(self, selected: Stretch) -> tuple[str, str]:
        (first, last) = selected
        lines: list[str] = []
        for owner in range(max(0, first[0]), min(last[0] + 1, len(self._shown))):
            shown = _whole(self._shown[owner])
            if first <= (owner, 0) < last:
                lines.append(_line_of(shown))
            body = self._bodies.get(shown.path) if shown.has_body else None
            if body is not None and last > (owner, 1):
                start = first[1] - 1 if owner == first[0] and first[1] else 0
                end = body.end_of(last[1] - 2) if owner == last[0] else len(body.text)
                lines.append(body.text[start:end].removesuffix("\n"))
        return f"part of {self._what}", "\n".join(lines)

    @override
    def draw(self, number: int) -> Sequence[Piece]:
        if number < len(self._notes):
            return [self._notes[number]]
        number -= len(self._notes)
        shown, offset = _whole(self._shown[self._owners[number]]), self._offsets[number]
        if shown.wraps and offset <= 0:
            return self._wrapped_lines(shown)[offset - 1]
        body = self._bodies.get(shown.path) if offset else None
        if body is None:
            return self._line(shown)
        pad = [(" " * self._body_indent(shown.depth), "")]
        if offset > MOST_ROWS:
            return [*pad, ("see Raw for the rest", "note")]
        return [*pad, *body.draw(offset - 1)]

    def _line(self, shown: _Shown) -> list[Piece]:
        entry = shown.entry
        head, room, right = self._head(shown)
        words = cut(line(entry.label, _LABEL), room)
        pieces: list[Piece] = [(head, "fold"), (words, entry.style)]
        left = max(0, room - cell_len(words))
        note = f"  {entry.note}" if entry.note else ""
        pieces.append((padded(note if cell_len(note) <= left else "", left), "note"))
        return [*pieces, *right]

    def _head(self, shown: _Shown) -> tuple[str, int, list[Piece]]:
        """Return what stands before a label, the cells for the label, and what stands behind."""
        entry = shown.entry
        head = f"{'  ' * shown.depth}{'▸▾'[shown.is_open] if entry.opens else ' '} "
        right = self._right(entry) if entry.figures or entry.mark else []
        room = self._width - len(head) - sum(cell_len(text) for text, _ in right)
        return (head, room, right) if room >= 8 or not right else (head, self._width - len(head), [])

    def _wrapped_lines(self, shown: _Shown) -> list[list[Piece]]:
        """Return the lines of a label that wraps, further ones indented."""
        (head, room, right), label = self._head(shown), line(shown.entry.label, _LABEL)
        style = shown.entry.style
        first, *further = [label[start:end] for start, end in fill(label, max(8, room - 2))]
        lines: list[list[Piece]] = [[(head, "fold"), (padded(first, room) if right else first, style), *right]]
        return [*lines, *([(" " * len(head) + "  ", ""), (text, style)] for text in further)]

    def _right(self, entry: SheetLine) -> list[Piece]:
        right: list[Piece] = []
        for column, width in enumerate(self._columns):
            figure = entry.figures[column] if column < len(entry.figures) else ""
            right.append((f"{figure:>{width}}", "figure"))
        if self._marks:
            right.append((" " + padded(entry.mark, self._marks), "new"))
        return right

    def _body_indent(self, depth: int) -> int:
        return min(2 * depth + 4, self._width // 3)

    def _append(self, entries: Iterable[_Shown]) -> None:
        for shown in entries:
            self._measure(shown)
            owner = len(self._shown)
            self._shown.append(_brief(shown))
            rows = self._rows_of(shown)
            self._owners.extend(repeat(owner, len(rows)))
            self._offsets.extend(rows)

    def _measure(self, shown: _Shown) -> None:
        for column, figure in enumerate(shown.entry.figures):
            if column == len(self._columns):
                self._columns.append(0)
            self._columns[column] = max(self._columns[column], 1 + cell_len(figure) if figure else 0)
        self._marks = max(self._marks, cell_len(shown.entry.mark))

    def _count(self) -> None:
        """Assign lines to entries again; quick for closed entries."""
        self._owners, self._offsets = array("l"), array("l")
        done = 0
        open_ones = [(owner, shown) for owner, shown in enumerate(self._shown) if isinstance(shown, _Shown)]
        for owner, shown in open_ones:
            rows = self._rows_of(shown)
            self._owners.extend(chain(range(done, owner), repeat(owner, len(rows))))
            self._offsets.extend(chain(repeat(0, owner - done), rows))
            done = owner + 1
        self._owners.extend(range(done, len(self._shown)))
        self._offsets.extend(repeat(0, len(self._shown) - done))

    def _rows_of(self, shown: _Shown) -> range:
        """Return the offsets of an entry's lines: those of its label end with 0, those of its open text begin with 1."""
        first = 1 - len(self._wrapped_lines(shown)) if shown.wraps else 0
        return range(first, 1 + (min(len(self._body(shown)), MOST_ROWS + 1) if shown.has_body else 0))

    def _walk(self, entries: Sequence[SheetLine], above: str, depth: int) -> Iterator[_Shown]:
        for entry in (
            sorted(entries, key=lambda entry: size_of(entry.figures), reverse=True) if self.is_by_size else entries
        ):
            path = f"{above}/{entry.key}"
            is_open = entry.opened != (path in self._flipped)
            yield _Shown(above, entry, depth, is_open)
            if is_open:
                yield from self._walk(entry.children, path, depth + 1)

    def _body(self, shown: _Shown) -> TextPage:
        """Return the lines below an open entry, the first ones made at once."""
        path, entry = shown.path, shown.entry
        body = self._bodies.get(path)
        if body is None:
            width = self._width - self._body_indent(shown.depth)
            body = self._bodies[path] = self._page(path, entry, width)
            body.fit(width)
            if body.advance(0.0):
                self._growing.add(path)
        return body

    def _page(self, path: str, entry: SheetLine, width: int) -> TextPage:
        """Return the text of an open entry as a page, or its bytes."""
        if (mode := self.as_bytes.get(path)) is not None:
            return bytes_page(entry.label, _bytes_of(entry), mode, width)
        text = entry.text() if entry.text is not None else ""
        form: Form = entry.form or ("json" if looks_like_json(text) else "plain")
        if form == "json":
            return JsonPage(entry.label, text, folds=self.inside.setdefault(path, {}))
        return TextPage(entry.label, text, form=form)


def _bytes_of(entry: SheetLine) -> bytes:
    if entry.place is not None:
        return entry.place().data
    return entry.text().encode("utf-8", "surrogatepass") if entry.text is not None else b""
