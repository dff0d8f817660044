"""A sheet as a tree of entries that can be opened: parts of a request, events of an exchange, an answer."""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, zip_longest
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len

from tui_host.answers.sheet import BodyPlace, Sheet, SheetLine
from tui_host.capture.visible import line
from tui_host.tui.text_width import clip, fill, padded
from tui_host.tui.widgets.lines.json_lines import Piece, looks_like_json
from tui_host.tui.widgets.lines.selection import Letters, Spot, whole_line
from tui_host.tui.widgets.pages.text_page import BACK, NARROWEST, START, LineItem, LineKey, Match, TextPage, matches

MOST_ROWS = 2000  # largest number of lines to show of an opened entry; as a page of its own it has all
_LABEL, _LABEL_ROOM = 400, 18  # longest label; cells below which columns give way to it
_LESSER = ("requests", "bytes", "tools", "money", "tokens")  # columns in the order in which they do, until two are left
BY_SIZE = "by size"  # stands among the flipped paths, which begin with `/`, while a tree is sorted


class _Branch(NamedTuple):
    """A visible entry: the lines of its label, and below them, where it is open, those of its text."""

    entry: SheetLine
    keys: tuple[str, ...]  # its own behind those of the entries above
    is_open: bool
    label: Sequence[str]
    body: TextPage | None
    indent: str
    height: int = 0

    @property
    def words(self) -> str:
        return self.indent + "  ".join((self.entry.label, *self.entry.figures, self.entry.mark)).rstrip()


class TreePage:
    """A sheet as one list of lines that is made in slices of time; open texts stand below their entries.

    The caller keeps the flipped paths over a rebuild: of entries that a person opened, or closed where they were open.
    """

    has_cursor = True

    def __init__(self, sheet: Sheet, flipped: set[str]) -> None:
        self.sheet = sheet
        self.flipped = flipped
        self.left = START, START  # as of a `TextPage`
        self._columns = [cell_len(head) for head in sheet.heads]  # cells of the figures
        self._marks = 0  # cells of the marks
        entries = [*sheet.lines]
        for entry in entries:
            self._columns = [*map(max, zip_longest(self._columns, map(cell_len, entry.figures), fillvalue=0))]
            self._marks = max(self._marks, cell_len(entry.mark) + bool(entry.mark))
            entries += entry.children  # which come after it
        self._notes: list[str] = []
        self._branches: list[_Branch] = []
        self._firsts = [0]  # the lines where they begin, and where the last one ends

    @property
    def source(self) -> tuple[str, str]:
        return self.sheet.what, "\n".join(branch.words for branch in self._branches)

    def fit(self, width: int) -> None:
        self._width = max(NARROWEST, width)
        sheet, is_sorted = self.sheet, BY_SIZE in self.flipped
        order = "sorted by size, the largest first; b: in order" if is_sorted else ""
        notes = filter(None, (order, sheet.what, *sheet.notes, "" if sheet.lines else sheet.empty))
        self._notes = [note[start:end] for note in notes for start, end in fill(note, self._width)]
        self._shown, self._mark_room = dict(enumerate(self._columns)), min(self._marks, self._width // 3)
        for head in _LESSER:
            room = self._width - sum(self._shown.values()) - len(self._shown) - self._mark_room
            if head in sheet.heads and len(self._shown) > 2 and room < _LABEL_ROOM:
                del self._shown[sheet.heads.index(head)]
        if sheet.heads:
            heads = dict(enumerate(sheet.heads))
            words = "".join(f" {heads.get(at, ''):>{cells}}" for at, cells in self._shown.items())
            self._notes.append(clip(f"{words + ' ' * self._mark_room:>{self._width}}", self._width))
        self._branches, self._firsts = [], [len(self._notes)]
        self._coming = iter(self._sorted(sheet.lines))

    def grow(self, seconds: float) -> int | None:
        until, before = time.perf_counter() + seconds, len(self)
        for entry in self._coming:
            for branch in self._made(entry, ()):
                self._branches.append(branch)
                self._firsts.append(len(self) + branch.height)
            if time.perf_counter() >= until:
                break
        return before if len(self) > before else None

    def _made(self, entry: SheetLine, above: tuple[str, ...]) -> Iterator[_Branch]:
        """Make the lines of an entry and of those that are open below."""
        keys, body = (*above, entry.key), None
        is_open = entry.opens and entry.opened != (f"/{'/'.join(keys)}" in self.flipped)
        if is_open and entry.text is not None:
            body = _text_page(entry)
            body.fit(self._width - min(2 * len(keys) + 2, self._width // 3))
            while len(body) <= MOST_ROWS and body.grow(0.001) is not None:
                pass
        branch, text = _Branch(entry, keys, is_open, (), body, "  " * len(above)), line(entry.label, _LABEL)
        wraps = (entry.is_wrapped and not is_open) or not (entry.figures or entry.mark)
        room = max(8, self._room(branch)[0] - 2) if wraps else cell_len(text)
        label = [text[start:end] for start, end in fill(text, room)]
        height = len(label) + (0 if body is None else min(len(body), MOST_ROWS + 1))
        yield branch._replace(label=label, height=height)
        for child in self._sorted(entry.children) if is_open else ():
            yield from self._made(child, keys)

    def _sorted(self, entries: Sequence[SheetLine]) -> Sequence[SheetLine]:
        if BY_SIZE not in self.flipped:
            return entries
        numbers = ((value for value in entry.values.values() if isinstance(value, int | float)) for entry in entries)
        sizes = [next(values, -1.0) for values in numbers]  # lines without a number are the smallest
        return [entries[at] for at in sorted(range(len(entries)), key=sizes.__getitem__, reverse=True)]

    # What stands on a line.

    def __len__(self) -> int:
        return self._firsts[-1]

    def _at(self, number: int) -> tuple[int, _Branch, int] | None:
        """Return the number of the entry on a line, the entry, and the line of its text, below 0 in the label; None for a note."""
        at = bisect_right(self._firsts, number) - 1
        if not 0 <= at < len(self._branches):
            return None
        branch = self._branches[at]
        return at, branch, number - self._firsts[at] - len(branch.label)

    def key(self, number: int) -> LineKey:
        if (found := self._at(number)) is None:
            return START
        at, branch, inside = found
        return LineKey(at, branch.keys, -1 if branch.body is None or inside < 0 else branch.body.key(inside).place)

    def line_of(self, key: LineKey) -> int:
        """Return the line of an entry, above which others may have come; of one that has gone, that of its number."""
        place = min(key.place, len(self._branches) - 1)
        if place < 0:
            return 0
        if key.path not in {(), self._branches[place].keys}:  # seldom: a sheet is made anew at each change
            place = next((at for at, branch in enumerate(self._branches) if branch.keys == key.path), place)
        branch = self._branches[place]
        if key.inside < 0 or branch.body is None:
            return self._firsts[place]
        return self._firsts[place] + len(branch.label) + min(branch.body.line_of(LineKey(key.inside)), MOST_ROWS)

    def item(self, number: int) -> LineItem | None:
        if (found := self._at(number)) is None:
            return None
        at, branch, inside = found
        entry, keys, body = branch.entry, branch.keys, branch.body
        inner = body.item(inside) if body is not None and inside >= 0 else None
        if inner is not None:
            lines, first = inner.lines, number - inside
            lines = range(first + lines.start, first + min(lines.stop, MOST_ROWS))
            return replace(inner, lines=lines, target=entry.target, keys=keys)
        text = entry.text
        return LineItem(
            lines=range(self._firsts[at], self._firsts[at + 1]),
            copy=lambda: (line(entry.label, _LABEL), entry.label if text is None else text()),
            # What stands in no body as it is shown.
            place=entry.place
            or (text and (lambda: BodyPlace("", text().encode("utf-8", "surrogatepass"), is_decoded=True))),
            target=entry.target,
            keys=keys,
        )

    def opened(self, number: int) -> int | TextPage | None:
        if (found := self._at(number)) is None or not found[1].entry.opens:
            return None
        at, branch, inside = found
        if branch.body is not None and inside >= 0:  # the text has all of the view then
            page, key = _text_page(branch.entry, BACK), branch.body.key(min(inside, MOST_ROWS - 1))
            page.left = START if page.has_cursor else key, key
            return page
        return self._flip(at)

    def _flip(self, at: int) -> int:
        """Open or close an entry, and return its line."""
        _, keys, *_ = branch = self._branches[at]
        further = range(at + 1, len(self._branches))
        end = next((place for place in further if len(self._branches[place].keys) <= len(keys)), further.stop)
        self.flipped ^= {f"/{'/'.join(keys)}"}
        self._branches[at:end] = self._made(branch.entry, keys[:-1])
        self._firsts = [*accumulate((branch.height for branch in self._branches), initial=len(self._notes))]
        return self._firsts[at]

    # Searching and selecting.

    def places(
        self, pattern: re.Pattern[str], entries: Sequence[SheetLine] | None = None, above: tuple[str, ...] = ()
    ) -> Iterator[Match]:
        """Yield the places in the text of each entry, else its label, then those in the entries below."""
        for entry in self.sheet.lines if entries is None else entries:
            keys = *above, entry.key
            places = [] if entry.text is None else list(matches(entry.text(), pattern, keys))
            yield from places or ([Match(-1, -1, keys)] if pattern.search(entry.label) else [])
            yield from self.places(pattern, entry.children, keys)

    def reveal(self, match: Match) -> int:
        at, depth = -1, len(match.keys)
        for end in range(1, depth + 1):
            shown = (place for place, branch in enumerate(self._branches) if branch.keys == match.keys[:end])
            if (at := next(shown, -1)) < 0:
                return 0
            if not self._branches[at].is_open and (match.start >= 0 or end < depth):
                self._flip(at)
        return self.line_of(LineKey(at, match.keys, match.start))

    def letters(self, line: int) -> Sequence[Letters]:
        if (found := self._at(line)) is None:
            return whole_line((-1 if line < len(self._notes) else len(self._branches),), line)
        at, branch, inside = found
        if branch.body is None or inside < 0:
            return whole_line((at,), -1)
        places = branch.body.letters(inside)[0].places
        last = places[-1] if inside < MOST_ROWS else len(branch.body.text)
        return (Letters(0, "", (at,), (places[0], last), is_whole=True),)

    def copied(self, first: Spot, last: Spot) -> tuple[str, str]:
        texts: list[str] = []
        for at in range(max(0, first[0]), min(last[0] + 1, len(self._branches))):
            body, start = self._branches[at].body, first[1] if at == first[0] else -1
            if start < 0:
                texts.append(self._branches[at].words)
            if body is not None and (end := last[1] if at == last[0] else len(body.text)) > 0:
                texts.append(body.text[max(0, start) : end].rstrip())
        return f"part of {self.sheet.what}", "\n".join(texts)

    def pieces(self, number: int) -> Sequence[Piece]:
        if (found := self._at(number)) is None:
            return [(self._notes[number], "note")]
        _, branch, inside = found
        entry, body = branch.entry, branch.body
        if body is not None and inside >= 0:
            pad = (" " * (self._width - body.width), "")
            return [pad, *(body.pieces(inside) if inside < MOST_ROWS else [("enter: all of it", "note")])]
        head = f"{branch.indent}{'▸▾'[branch.is_open] if entry.opens else ' '} "
        if inside > -len(branch.label):
            return [(" " * (len(head) + 2), ""), (branch.label[inside], entry.style)]
        room, right = self._room(branch)
        label = clip(branch.label[0], room)
        left = max(0, room - cell_len(label))
        has_room = left >= 8 and len(branch.label) == 1
        note = f"  {entry.note}" if entry.note and has_room else ""
        if not right and not note:
            left = 0
        return [(head, "fold"), (label, entry.style), (padded(note, left), "note"), *right]

    def _room(self, branch: _Branch) -> tuple[int, list[Piece]]:
        """Return the cells for a label, and what stands behind it."""
        entry, room = branch.entry, self._width - len(branch.indent) - 2
        right: list[Piece] = []
        if entry.figures or entry.mark:
            figures = (*entry.figures, *("",) * len(self._columns))
            right.append(("".join(f" {figures[at]:>{cells}}" for at, cells in self._shown.items()), "figure"))
            style = "note" if entry.mark.endswith("never called") else "new"  # what did not happen is no news
            right.append((padded(f" {entry.mark}", self._mark_room), style))
        left = room - sum(cell_len(text) for text, _ in right)
        return (left, right) if left >= 8 or not right else (room, [])


Page: TypeAlias = TextPage | TreePage
"""Lines that a view draws, made in slices of time for a width."""


def _text_page(entry: SheetLine, note: str = "") -> TextPage:
    """Return the text of an entry as a page."""
    text, what = entry.text() if entry.text is not None else "", line(entry.label, _LABEL)
    form = entry.form or ("json" if looks_like_json(text) else "plain")
    notes = (f"{what} · {note}",) if note else ()
    return TextPage(what, text, form=form, notes=notes, place=entry.place)
