"""A tree of entries that can be opened: parts of a request, events of an exchange, the sheet of an answer."""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain
from typing import TYPE_CHECKING

from rich.cells import cell_len
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.tui.text_width import clip, fill, padded
from tui_host.tui.widgets.lines.json_lines import Piece, looks_like_json
from tui_host.tui.widgets.lines.selection import Letters, Selectable, Spot, whole_line
from tui_host.tui.widgets.pages.detail_page import NOT_YET, Below, Match, Page, matches
from tui_host.tui.widgets.pages.json_page import BACK, BytesPage, JsonPage, joined
from tui_host.tui.widgets.pages.text_page import TextPage, wrapped

if TYPE_CHECKING:
    from tui_host.answers.sheet import BodyPlace, Sheet, SheetLine

MOST_ROWS = 2000
"""Largest number of lines to show of an opened entry; as a page of its own it has all."""
_LABEL = 400
_BY_SIZE = "by size"
"""Stands among the flipped paths, which begin with `/`, while a tree is sorted."""
_FIGURE = re.compile(r"[~+]?(-?[\d,.]+) ?(\S*)")
_UNITS = {"µs": 1e-6, "ms": 1e-3, "min": 60.0, "h": 3600.0, "kB": 1e3, "MB": 1e6, "GB": 1e9}


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
    def words(self) -> str:
        entry = self.entry
        return "  " * self.depth + "  ".join((entry.label, *entry.figures, entry.mark)).rstrip()


class TreePage(Page, Selectable):
    """A tree of entries, some with open texts below, made in slices of time.

    Args:
        what: What the tree shows, as text.
        entries: The top entries; may be an iterator that makes them, and yields None where an entry takes longer.
        flipped: Paths of entries that a person opened, or closed where they were open from the start; kept by the caller
            over a rebuild.
        failed: A failure to show above everything else.
        notes: Lines to show above the tree, the program's own text.
        empty: The text to show without entries.
        is_sheet: Whether labels without figures go on below their line, also those of entries that open.
    """

    has_cursor = True

    def __init__(
        self,
        what: str,
        entries: Iterable[SheetLine | None],
        *,
        flipped: set[str],
        failed: str = "",
        notes: Sequence[str] = (),
        empty: str = "nothing",
        is_sheet: bool = False,
    ) -> None:
        self._what = what
        self._entries = iter(entries)
        self._all: list[SheetLine] = []
        self._is_whole = False
        self._flipped = flipped
        self._above = [(failed, "failed")] if failed else []
        self._above += [(note, "note") for note in notes if note]
        self._empty = empty
        self._is_sheet = is_sheet
        self._notes: list[Piece] = []
        self._width = 0
        self._shown: list[_Shown] = []
        self._starts = [0]  # the first line of each entry, and of what comes behind
        self._bodies: dict[str, TextPage] = {}
        self._growing: set[int] = set()  # the entries whose texts are not whole
        self._columns: list[int] = []
        self._marks = 0

    @classmethod
    def of(cls, sheet: Sheet, flipped: set[str]) -> TreePage:
        """Return the sheet of an answer as a page."""
        notes = [sheet.what, *sheet.notes]
        return cls(sheet.what, sheet.lines, flipped=flipped, notes=notes, empty=sheet.empty, is_sheet=True)

    @property
    @override
    def source(self) -> tuple[str, str]:
        return self._what, "\n".join(shown.words for shown in self._shown)

    @override
    def fit(self, width: int) -> None:
        self._width = max(8, width)
        self._bodies.clear()
        self._growing.clear()
        sorted_words = [("sorted by size, the largest first; b: in order", "note")] if self.is_by_size else []
        notes = [*sorted_words, *self._above, *([(self._empty, "note")] if self._is_whole and not self._shown else [])]
        self._notes = [(part, style) for note, style in notes for part in wrapped(note, self._width)]
        self._count()

    def _count(self) -> None:
        """Assign lines to entries again."""
        self._growing.clear()
        heights = [self._height(owner, shown) for owner, shown in enumerate(self._shown)]
        self._starts = list(accumulate(heights, initial=0))

    def _height(self, owner: int, shown: _Shown) -> int:
        height = len(self._labels(shown)) if self._wraps(shown) else 1
        if shown.is_open and shown.entry.text is not None:
            body = self._body(shown)
            if body.advance(0.0) and len(body) <= MOST_ROWS:
                self._growing.add(owner)
            height += min(len(body), MOST_ROWS + 1)
        return height

    @override
    def advance(self, seconds: float) -> bool:
        until = time.perf_counter() + seconds
        before = len(self)
        for owner in tuple(self._growing):
            body = self._body(self._shown[owner])
            while len(body) <= MOST_ROWS and time.perf_counter() < until and body.advance(0.001):
                pass
        if self._growing:
            self._count()
        while not self._is_whole:
            entry = next(self._entries, self)
            if entry is self:
                self._is_whole = True
                self._append(self._walk(self._all if self.is_by_size else (), "", 0))
                if not self._shown:
                    self.fit(self._width)
            elif entry is not None and not isinstance(entry, TreePage):
                self._all.append(entry)
                if not self.is_by_size:
                    self._append(self._walk([entry], "", 0))
            if time.perf_counter() >= until:
                break
        return len(self) != before or bool(self._growing) or not self._is_whole

    def _append(self, entries: Iterable[_Shown]) -> None:
        for shown in entries:
            self._measure(shown.entry)
            self._shown.append(shown)
            self._starts.append(self._starts[-1] + self._height(len(self._shown) - 1, shown))

    def _measure(self, entry: SheetLine) -> None:
        for column, figure in enumerate(entry.figures):
            if column == len(self._columns):
                self._columns.append(0)
            self._columns[column] = max(self._columns[column], 1 + cell_len(figure) if figure else 0)
        self._marks = max(self._marks, cell_len(entry.mark))

    def _walk(self, entries: Sequence[SheetLine], above: str, depth: int) -> Iterator[_Shown]:
        if self.is_by_size:
            entries = sorted(entries, key=lambda entry: _size_of(entry.figures), reverse=True)
        for entry in entries:
            path = f"{above}/{entry.key}"
            is_open = entry.opened != (path in self._flipped)
            yield _Shown(above, entry, depth, is_open)
            if is_open:
                yield from self._walk(entry.children, path, depth + 1)

    @property
    def is_by_size(self) -> bool:
        """Whether the entries of each level stand by size, the largest first."""
        return _BY_SIZE in self._flipped

    def sort_by_size(self) -> None:
        """Sort the entries of each level by their first figure, or put them in order again; `fit` makes the lines."""
        self._flipped ^= {_BY_SIZE}
        self._entries, self._all = chain(self._all, self._entries), []
        self._shown, self._starts, self._is_whole = [], [0], False

    # What stands on a line.

    @override
    def __len__(self) -> int:
        return len(self._notes) + self._starts[-1]

    def _at(self, number: int) -> tuple[_Shown | None, int]:
        """Return the entry on a line, and the line in its open text, below 0 for its label; None for a note."""
        owner = self.place_of(number)
        if owner < 0:
            return None, 0
        shown = self._shown[owner]
        inside = number - len(self._notes) - self._starts[owner]
        return shown, inside - (len(self._labels(shown)) if self._wraps(shown) else 1)

    @override
    def place_of(self, number: int) -> int:
        number -= len(self._notes)
        return bisect_right(self._starts, number) - 1 if 0 <= number < self._starts[-1] else -1

    @override
    def line_at(self, place: int) -> int:
        if place < 0:
            return 0
        return min(len(self._notes) + self._starts[min(place, len(self._shown))], max(0, len(self) - 1))

    def _body(self, shown: _Shown) -> TextPage:
        """Return the lines below an open entry, the first ones made at once."""
        body = self._bodies.get(shown.path)
        if body is None:
            body = self._bodies[shown.path] = _text_page(shown.entry)
            body.fit(self._width - self._body_indent(shown.depth))
        return body

    def _body_indent(self, depth: int) -> int:
        return min(2 * depth + 4, self._width // 3)

    @override
    def opened(self, number: int) -> int | Below | None:
        shown, inside = self._at(number)
        if shown is None or not shown.entry.opens:
            return None
        if inside >= 0:  # in the text below the entry, which has all of the view then
            return Below(_text_page(shown.entry, BACK), self._body(shown).place_of(min(inside, MOST_ROWS - 1)))
        owner = self.place_of(number)
        self._flip(owner)
        return self.line_at(owner)

    def _flip(self, owner: int) -> None:
        shown = self._shown[owner]
        self._flipped ^= {shown.path}
        end = owner + 1
        while end < len(self._shown) and self._shown[end].depth > shown.depth:
            end += 1
        self._shown[owner:end] = self._walk([shown.entry], shown.above, shown.depth)
        for below in self._shown[owner : len(self._shown)]:
            if below.depth <= shown.depth and below is not self._shown[owner]:
                break
            self._measure(below.entry)
        self._count()

    @override
    def bytes_at(self, number: int) -> Page | None:
        shown, inside = self._at(number)
        if shown is None or shown.entry.text is None:
            return None
        if inside >= 0 and (page := self._body(shown).bytes_at(inside)) is not None:
            return page
        data = (
            shown.entry.text().encode("utf-8", "surrogatepass")
            if shown.entry.place is None
            else shown.entry.place().data
        )
        return BytesPage(line(shown.entry.label, _LABEL), data)

    @override
    def path(self, number: int) -> str:
        shown, inside = self._at(number)
        if shown is None:
            return ""
        if inside >= 0 and (inner := self._body(shown).path(inside)):
            return inner
        return "" if shown.entry.place is None else shown.entry.place().path

    @override
    def target(self, number: int) -> tuple[str, int] | None:
        shown, _ = self._at(number)
        return None if shown is None else shown.entry.target

    def entry_of(self, number: int) -> tuple[str, str] | None:
        """Return the label and text of the entry on a line, for copying."""
        shown, _ = self._at(number)
        if shown is None:
            return None
        entry = shown.entry
        return entry.label, entry.label if entry.text is None else entry.text()

    def path_of(self, number: int) -> tuple[str, ...]:
        """Return the keys that lead to the entry on a line; empty without one."""
        owner = self.place_of(number)
        if owner < 0:
            return ()
        keys, depth = [self._shown[owner].entry.key], self._shown[owner].depth
        while depth:
            owner -= 1
            if self._shown[owner].depth < depth:
                keys.insert(0, self._shown[owner].entry.key)
                depth -= 1
        return tuple(keys)

    # Searching and selecting.

    @override
    def places(self, pattern: re.Pattern[str]) -> Iterator[Match | None]:
        at = 0
        while at < len(self._all) or not self._is_whole:
            if at < len(self._all):
                yield from _places_in(self._all[at], pattern)
                at += 1
            yield None if self._is_whole or at < len(self._all) else NOT_YET

    @override
    def reveal(self, match: Match) -> int:
        owner = 0
        for path in match.path:
            owner = next((at for at, shown in enumerate(self._shown) if shown.path == path), -1)
            if owner < 0:
                return 0
            if not self._shown[owner].is_open and (match.start >= 0 or path != match.path[-1]):
                self._flip(owner)
        if match.start < 0:
            return self.line_at(owner)
        body = self._body(self._shown[owner])
        while len(body) <= MOST_ROWS and body.place_of(len(body) - 1) < match.start and body.advance(0.001):
            pass
        self._count()
        first = self._starts[owner + 1] - min(len(body), MOST_ROWS + 1)
        return len(self._notes) + first + min(body.reveal(match), MOST_ROWS)

    @property
    @override
    def selectable(self) -> Selectable:
        return self

    @override
    def letters(self, line: int) -> Sequence[Letters]:
        owner, place = self._spot(line)
        return whole_line((owner,), place)

    def _spot(self, number: int) -> tuple[int, int]:
        """Return the entry of a line, and one more than the place inside its text; independent of the width."""
        shown, inside = self._at(number)
        if shown is None:
            number -= len(self._notes)
            return (-1, number) if number < 0 else (len(self._shown), 0)
        if inside < 0:
            return self.place_of(number), 0
        body = self._body(shown)
        return self.place_of(number), 1 + (body.place_of(inside) if inside < MOST_ROWS else len(body.text))

    @override
    def copied(self, first: Spot, last: Spot) -> tuple[str, str]:
        lines: list[str] = []
        for owner in range(max(0, first[0]), min(last[0] + 1, len(self._shown))):
            shown = self._shown[owner]
            if first <= (owner, 0) < last:
                lines.append(shown.words)
            if shown.is_open and shown.entry.text is not None and last > (owner, 1):
                body = self._body(shown)
                start = first[1] - 1 if owner == first[0] and first[1] else 0
                end = body.end_of(last[1] - 2) if owner == last[0] else len(body.text)
                lines.append(body.text[start:end].removesuffix("\n"))
        return f"part of {self._what}", "\n".join(lines)

    # Drawing.

    @override
    def draw(self, number: int) -> Sequence[Piece]:
        shown, inside = self._at(number)
        if shown is None:
            return [self._notes[number]]
        if inside < 0:
            return self._labels(shown)[inside] if self._wraps(shown) else self._line(shown)
        pad = [(" " * self._body_indent(shown.depth), "")]
        if inside >= MOST_ROWS:
            return [*pad, ("enter: all of it", "note")]
        return [*pad, *self._body(shown).draw(inside)]

    def _wraps(self, shown: _Shown) -> bool:
        """Whether the label goes on below its line."""
        entry = shown.entry
        if entry.is_wrapped:
            return not (shown.is_open and entry.figures)
        return not (entry.figures or entry.mark or (entry.opens and not self._is_sheet))

    def _line(self, shown: _Shown) -> list[Piece]:
        entry = shown.entry
        head, room, right = self._head(shown)
        words = clip(line(entry.label, _LABEL), room)
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

    def _labels(self, shown: _Shown) -> list[list[Piece]]:
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


def _text_page(entry: SheetLine, note: str = "") -> TextPage:
    """Return the text of an entry as a page."""
    text = entry.text() if entry.text is not None else ""
    form = entry.form or ("json" if looks_like_json(text) else "plain")
    what = line(entry.label, _LABEL)
    notes = (f"{what} · {note}",) if note else ()
    if form != "json":
        return TextPage(what, text, form=form, notes=notes)
    return JsonPage(what, text, notes=notes, outer=None if entry.place is None else partial(_inside, entry.place))


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


def _size_of(figures: Sequence[str]) -> float:
    """Return the first figure of a line as a number; lines without one are the smallest."""
    match = _FIGURE.match(figures[0].strip()) if figures else None
    if match is None:
        return -1.0
    try:
        return float(match[1].replace(",", "")) * _UNITS.get(match[2], 1.0)
    except ValueError:
        return -1.0
