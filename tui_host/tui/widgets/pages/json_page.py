"""JSON as text that folds: containers close to a line, strings open as what they hold, values show their bytes."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rich.cells import cell_len
from typing_extensions import override

from tui_host.capture.visible import visible
from tui_host.tui.widgets.lines.json_lines import Piece, highlight, key_end
from tui_host.tui.widgets.lines.selectable import Letters, Spot, Stretch
from tui_host.tui.widgets.pages.detail_page import Match, Page, cut
from tui_host.tui.widgets.pages.text_page import DEEPEST, NARROWEST, Row, TextPage, TextSelection
from tui_host.tui.widgets.pages.value_pages import (
    MOST_READ,
    Mode,
    Value,
    bytes_page,
    decoded,
    holds_json,
    joined,
    key_step,
    value_at,
)

_OF: dict[Mode, str] = {"fold": "container", "open": "string"}
_FIRST = 0.002
"""Seconds for the first lines of what was opened."""


@dataclass(slots=True)
class JsonFold:
    """A value that is shown in one line, with or without something below."""

    mode: Mode  # what is shown below
    inner: dict[int, JsonFold] = field(default_factory=dict[int, "JsonFold"])  # the folds of the JSON in a string
    page: TextPage | None = None  # what is shown below, made for the current width
    end: int = 0  # the row behind the value; 0 while it is not made
    seen: int = 0  # rows in which the end was looked for
    words: str = ""  # how much there is, once all of it is made
    value: Value | None = None  # where the value stands

    def forget(self) -> None:
        """Forget what depends on the width."""
        self.page, self.end, self.seen, self.words, self.value = None, 0, 0, "", None


class _Run(NamedTuple):
    """Visible lines from `line` on: those of a fold, or the rows from `row` on."""

    line: int
    row: int
    place: int = -1


class JsonPage(TextPage):
    """Indented JSON with folds.

    All rows are kept as in every text. What is visible are runs of them: between the rows that a fold hides, one line
    each, and the page below.

    Args:
        what: What the text is.
        text: All of it.
        notes: Notes to show above the text.
        folds: What is folded, by the place where its line begins; kept by the caller over a rebuild.
    """

    def __init__(
        self, what: str, text: str, *, notes: Sequence[str] = (), folds: dict[int, JsonFold] | None = None
    ) -> None:
        super().__init__(what, text, form="json", notes=notes)
        self.folds: dict[int, JsonFold] = {} if folds is None else folds  # the same
        self._runs = [_Run(0, 0)]

    @property
    @override
    def has_cursor(self) -> bool:
        return True

    @property
    @override
    def grows_below(self) -> bool:
        return not self.folds

    @property
    @override
    def selectable(self) -> JsonSelection:
        return JsonSelection(self)

    @override
    def keep(self, before: Page) -> None:
        if isinstance(before, JsonPage):
            self.folds = before.folds

    @override
    def fit(self, width: int) -> None:
        super().fit(width)
        for fold in self.folds.values():
            fold.forget()
        self._arrange()

    @override
    def advance(self, seconds: float) -> bool:
        until = time.perf_counter() + seconds
        before = len(self)
        has_grown = super().advance(seconds)
        for fold in self.folds.values():
            if fold.page is not None:
                has_grown |= fold.page.advance(max(0.0, until - time.perf_counter()))
        if has_grown and self.folds:
            self._arrange()
        return has_grown or len(self) != before

    @override
    def __len__(self) -> int:
        last = self._runs[-1]
        return len(self._head) + last.line + len(self._starts) - last.row

    def _arrange(self) -> None:
        runs: list[_Run] = []
        line = row = 0
        for place in sorted(self.folds):
            first = bisect_left(self._starts, place)
            if first >= len(self._starts):
                break
            fold = self.folds[place]
            kind = self._value(place).kind
            if first < row or self._starts[first] != place or _OF.get(fold.mode, kind) != kind:
                continue  # inside of a fold, or of another text
            if first > row:
                runs.append(_Run(line, row))
                line += first - row
            row = self._end(first, fold)
            if fold.page is None and fold.mode != "fold":
                self._open(place, fold)
            runs.append(_Run(line, first, place))
            line += 1 + (0 if fold.page is None else len(fold.page))
        self._runs = [*runs, _Run(line, row)]

    def _end(self, first: int, fold: JsonFold) -> int:
        """Return the row behind a folded value, as far as the rows are made."""
        if fold.end:
            return fold.end
        value = self._value(self._starts[first])
        end = made = len(self._starts)
        if value.kind == "container":
            depth, seen = bytes([self._depths[first]]), max(first + 1, fold.seen)
            closing = self._depths[seen:].tobytes().find(depth)
            if closing < 0:
                fold.seen = made
            else:
                end = fold.end = seen + closing + 1
                fold.page = None  # which showed the bytes so far
        elif (end := bisect_left(self._starts, value.end)) < made:
            fold.end = end
        return end

    def _open(self, place: int, fold: JsonFold) -> None:
        indent = self._below(place)
        text = self._text[self._value(place).start : self.value_end(place)]
        if fold.mode == "open":
            text = decoded(text)
            is_json = holds_json(text)
            fold.page = (
                JsonPage(self._what, text, folds=fold.inner) if is_json else TextPage(self._what, text, form="plain")
            )
        else:
            fold.page = bytes_page(self._what, text, fold.mode, self._width - indent)
        fold.page.fit(self._width - indent)
        fold.page.advance(_FIRST)

    # Values and where they stand.

    def _value(self, place: int) -> Value:
        fold = self.folds[place]
        fold.value = fold.value or value_at(self._text, place)
        return fold.value

    def value_end(self, place: int) -> int:
        """Return the end of a fold's value: of a container behind its closing mark, or as far as it is made."""
        value = self._value(place)
        if value.kind != "container":
            return value.end
        fold = self.folds[place]
        end = self._end(bisect_left(self._starts, place), fold)
        return self._starts[end - 1] + 1 if fold.end else self._ends[end - 1]

    def _first(self, row: int) -> int:
        """Return the row where the line of a row begins; for a closing mark that of the opening one."""
        while self._depths[row] < 0 and row:
            row -= 1
        if self._text[self._starts[row] : self._starts[row] + 1] in {"}", "]"}:
            row = self._last(self._depths[row], row)
        return row

    def _last(self, depth: int, row: int) -> int:
        return max(0, self._depths[:row].tobytes().rfind(bytes([depth])))

    def _count(self, first: int, end: int, depth: int) -> int:
        """Count the values of a depth that begin in rows. A closing mark is behind a row that is deeper."""
        rows = self._depths[first:end].tobytes()
        deeper = depth + 1
        closing = rows.count(bytes([deeper, depth])) + rows.count(bytes([255 - deeper, depth]))
        return rows.count(bytes([depth])) - closing

    def _below(self, place: int) -> int:
        """Return the indentation of what stands below a line."""
        indent = self._row(bisect_left(self._starts, place))[2] + 2
        return min(indent, self._width // 2, self._width - NARROWEST)

    # Lines.

    def at(self, number: int) -> tuple[int, int]:
        """Return the place of the fold on a line, and the line in its page or -1; without a fold -1 and the row."""
        number -= len(self._head)
        run = self._runs[bisect_right(self._runs, number, key=lambda run: run.line) - 1]
        if run.place < 0:
            return -1, run.row + number - run.line
        return run.place, number - run.line - 1

    def below(self, place: int) -> tuple[TextPage | None, int]:
        """Return the page below a fold, and its indentation."""
        fold = self.folds.get(place)
        return (None, 0) if fold is None else (fold.page, self._below(place))

    @override
    def row(self, number: int) -> Row | None:
        place, row = self.at(number)
        return self._row(row) if place < 0 and 0 <= row < len(self._starts) and number >= len(self._head) else None

    @override
    def end_of(self, place: int) -> int:
        fold, inside = self.at(self.line_at(place))
        return super().end_of(place) if fold < 0 or inside >= 0 else self.value_end(fold)

    @override
    def place_of(self, number: int) -> int:
        if number < len(self._head):
            return -1
        place, row = self.at(number)
        if place >= 0:
            return place
        return self._starts[row] if row < len(self._starts) else -1

    @override
    def line_at(self, place: int) -> int:
        if place < 0:
            return 0
        row = max(0, bisect_right(self._starts, place) - 1)
        run = self._runs[bisect_right(self._runs, row, key=lambda run: run.row) - 1]
        return len(self._head) + run.line + (row - run.row if run.place < 0 else 0)

    @override
    def reveal(self, match: Match) -> int:
        made = [place for place in self.folds if self._starts and place <= min(match.start, self._starts[-1])]
        for place in made:
            if self.folds[place].mode == "fold" and match.start < self.value_end(place):
                del self.folds[place]
        self._arrange()
        return super().reveal(match)

    @override
    def draw(self, number: int) -> Sequence[Piece]:
        if number < len(self._head):
            return super().draw(number)
        place, row = self.at(number)
        if place < 0:
            return self._draw_row(self._row(row))
        page = self.folds[place].page
        if row >= 0 and page is not None:
            return [(" " * self._below(place), ""), *page.draw(row)]
        return self._folded(place)

    def _folded(self, place: int) -> Sequence[Piece]:
        """Draw a fold: the beginning of its value, in words how much there is, and its end."""
        fold, value = self.folds[place], self._value(place)
        first, end = bisect_left(self._starts, place), self.value_end(place)
        indent = self._row(first)[2]
        room = self._width - indent
        key = visible(self._text[place : value.start], newlines=False).rstrip(" ")
        key += " " if key else ""
        start = value.start + 1 if value.kind == "container" else value.end
        head = visible(self._text[value.start : min(start, value.start + self._width)], newlines=False)
        tail = ""
        if value.kind == "container":
            last = self._end(first, fold) - 1
            tail = self._text[self._starts[last] : self._ends[last]] if fold.end else ""
            tail = cut(visible(tail, newlines=False), room)
        words = fold.words or self._words(fold, value, first, end)
        fold.words = words if fold.end else ""
        note = f"{words}{' ' if tail else ''}"
        note = cut(note, max(0, room - cell_len(tail) - min(12, cell_len(key + head))))
        room -= cell_len(tail) + cell_len(note)
        head = key + head
        if cell_len(head) > room:
            head, note = cut(head, room - 1), f"…{note}" if room > 0 else note
        return [(" " * indent, ""), *highlight(head), (note, "note"), (tail, "mark")]

    def _words(self, fold: JsonFold, value: Value, first: int, end: int) -> str:
        """Say how much a folded value holds, and what stands below."""
        if fold.mode == "open" and fold.page is not None:
            is_json, more = isinstance(fold.page, JsonPage), end - value.start > MOST_READ
            words = "JSON in a string" if is_json else f"text of {len(fold.page.text):,} characters"
            return f"  {words}{f', cut after {MOST_READ:,}; r: its bytes' if more else ''}"
        text = self._text[value.start : end]
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        shown = f", {fold.mode}" if fold.mode in {"raw", "hex"} else ""
        if value.kind == "container":
            count = self._count(first + 1, self._end(first, fold), self._depths[first] + 1)
            what = "member" if text.startswith("{") else "element"
            closed = "" if fold.end else ", not closed"
            return f" … {count:,} {what}{'' if count == 1 else 's'}, {size:,} bytes{closed}{shown}"
        return f"  {size:,} bytes{shown}"

    # Keys.

    @override
    def toggle(self, number: int) -> int | None:
        if number < len(self._head) or number >= len(self):
            return None
        place, row = self.at(number)
        if place >= 0:
            page = self.folds[place].page
            inner = page.toggle(row) if row >= 0 and page is not None else None
            if inner is None:
                del self.folds[place]
            self._arrange()
            return self.line_at(place) + (0 if inner is None else 1 + inner)
        first = self._first(row)
        place = self._starts[first]
        value = value_at(self._text, place)
        if value.kind == "other" or self._depths[first] >= DEEPEST:
            return None
        if value.kind == "string":
            text = self._text[value.start : value.end]
            is_long = first + 1 < len(self._starts) and self._depths[first + 1] < 0
            if not (is_long or "\\" in text or holds_json(text[1:-1])):
                return None
        self.folds[place] = JsonFold("fold" if value.kind == "container" else "open", value=value)
        self._arrange()
        return self.line_at(place)

    @override
    def show_bytes(self, number: int) -> int | None:
        if number < len(self._head) or number >= len(self):
            return None
        place, row = self.at(number)
        page = self.folds[place].page if place >= 0 else None
        if row >= 0 and page is not None and (inner := page.show_bytes(row)) is not None:
            self._arrange()
            return self.line_at(place) + 1 + inner
        if place < 0:
            first = self._first(row)
            place = self._starts[first]
            if self._depths[first] >= DEEPEST:
                return None
        fold = self.folds.get(place)
        if fold is None or fold.mode in {"fold", "open"}:
            self.folds[place] = JsonFold("raw", value=None if fold is None else fold.value)
        elif fold.mode == "raw":
            self.folds[place] = JsonFold("hex", value=fold.value)
        else:
            del self.folds[place]
        self._arrange()
        return self.line_at(place)

    @override
    def path(self, number: int) -> str:
        if number < len(self._head) or number >= len(self):
            return ""
        place, row = self.at(number)
        if place < 0:
            return self._path(self._first(row))
        page = self.folds[place].page
        inner = page.path(row) if row >= 0 and page is not None else ""
        outer = self._path(bisect_left(self._starts, place))
        return joined(outer, inner, is_string=True) if inner else outer

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
                return "".join(reversed(steps)).removeprefix(".") or "."
            row = parent


class JsonSelection(TextSelection):
    """Copies the original text; below a string or a value the text that stands there."""

    def __init__(self, page: JsonPage) -> None:
        super().__init__(page)
        self._json = page

    @override
    def letters(self, line: int) -> Sequence[Letters]:
        place, row = self._json.at(line)
        page, indent = self._json.below(place)
        if place < 0:
            return super().letters(line)
        if page is None or row < 0:
            return ()
        return [
            Letters(run.x + indent, run.text, [(place, *spot) for spot in run.spots])
            for run in page.selectable.letters(row)
        ]

    @override
    def spot_of(self, line: int) -> Spot:
        return (max(0, self._json.place_of(line)),)

    @override
    def copied(self, selected: Stretch) -> tuple[str, str]:
        first, last = selected
        page, _ = self._json.below(first[0])
        if page is not None and first[1:] and last[1:] and first[0] == last[0]:
            return page.selectable.copied((first[1:], last[1:]))
        end = self._json.value_end(last[0]) if last[1:] else last[0]
        return super().copied((first[:1], (end,)))
