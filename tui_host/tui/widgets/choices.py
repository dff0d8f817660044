"""A list to choose from, with headings between the choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.tui.text_width import clip, fill, padded
from tui_host.tui.widgets.lines.line_view import LineView

_READ = 400
"""Characters of a text that are read for one line."""
_LEAST = 32
"""Cells of a line without which the columns before the words are left out."""
_SHARE = 60
"""Per cent of a line that words keep; figures at the right are left out first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A line of a list: a choice or a heading."""

    words: str  # the text; foreign text as it came
    mark: str = ""  # a glyph in front
    style: str = ""  # the style of mark and words
    mark_style: str = ""  # the mark's own style, if different
    before: str = ""  # columns between mark and words, the program's own text, padded by the caller
    note: str = ""  # a text after the words
    right: tuple[str, ...] = ()  # figures at the right end of the line; on narrow screens the last ones are left out
    heading: bool = False  # whether the line is a heading, which cannot be chosen


class ChoiceList(LineView):
    """A list of choices with a cursor."""

    has_cursor = True

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._choices: Sequence[Choice] = ()
        self._empty = ""
        self._empty_lines: list[str] = []
        self._columns: list[int] = []  # cells of the figures that have room
        self._words = 0  # cells of the words that have a note behind them
        self._laid_out = -1

    def show(self, choices: Sequence[Choice], *, empty: str = "", current: int | None = None) -> None:
        """Show choices, or a text if empty. The cursor keeps its line unless `current` is given."""
        if (choices, empty) != (self._choices, self._empty):
            self._choices, self._empty = choices, empty
            self.width_changed()
            self.redraw()
        able = [number for number, choice in enumerate(choices) if not choice.heading]
        if not able:
            self.cursor = None
        elif current is not None or self.cursor is None or self.cursor not in able:
            wanted = current if current is not None else self.cursor or 0
            self.cursor = min(able, key=lambda number: abs(number - wanted))
            self.show_line(0 if self.cursor == able[0] else self.cursor)

    @override
    def width_changed(self) -> None:
        """Wrap the text of an empty list, and find the columns of figures that fit beside the words."""
        self._laid_out = self.view_width
        width = max(1, self.view_width - 2)
        self._empty_lines = [self._empty[start:end] for start, end in fill(self._empty, width)] if self._empty else []
        words = [(choice, cell_len(line(choice.words, _READ))) for choice in self._choices if not choice.heading]
        self._words = max((cells for choice, cells in words if choice.note and cells <= width // 2), default=0)
        left = max((cell_len(f" {choice.mark} {choice.before}") for choice, _ in words), default=0)
        room = width - left - min(max((cells for _, cells in words), default=0), width * _SHARE // 100)
        self._columns = []
        for column in zip_longest(*(choice.right for choice, _ in words), fillvalue=""):
            cells = max(map(cell_len, column))
            room -= cells + 2 if cells else 0
            if room < 0:
                break
            self._columns.append(cells)

    @override
    def line_count(self) -> int:
        return len(self._choices) or len(self._empty_lines)

    @override
    def draw(self, number: int) -> Strip:
        width = self.view_width - 1
        if self._laid_out != self.view_width:
            self.width_changed()  # painted before its new size was announced
        if not self._choices:
            words = self._empty_lines[number] if number < len(self._empty_lines) else ""
            return self.strip_of([(" ", ""), (words, "note")])
        choice = self._choices[number]
        if choice.heading:
            return self.strip_of([(clip(choice.words, width), "heading")])
        mark = f" {choice.mark} " if choice.mark else " "
        before = choice.before if width - cell_len(choice.before) >= _LEAST else ""
        columns = zip((*choice.right, *[""] * len(self._columns)), self._columns, strict=False)
        figures = "".join(f"  {padded(figure, cells)}" for figure, cells in columns if cells)
        room = max(0, width - cell_len(f"{mark}{before}{figures}"))
        words, note = clip(line(choice.words, _READ), room), line(choice.note, _READ)
        if note:
            words = padded(words, max(cell_len(words), min(room, self._words)))
        room -= cell_len(words)
        note = padded(f"  {note}" if note and room > 4 else "", room)
        pieces = (mark, choice.mark_style or choice.style), (before, "note"), (words, choice.style)
        return self.strip_of([*pieces, (note, "note"), (figures, "figure")])

    @override
    def decorate(self, number: int, strip: Strip) -> Strip:
        mark = ">" if number == self.cursor and self._choices else " "
        return super().decorate(number, Strip([Segment(mark, self.piece_style("mark")), *strip]))

    @override
    def move_cursor(self, number: int) -> None:
        able = [at for at, choice in enumerate(self._choices) if not choice.heading]
        number = max(0, min(len(self._choices) - 1, number))
        is_up = self.cursor is not None and number < self.cursor
        ahead = [at for at in able if (at <= number if is_up else at >= number)]
        if ahead:
            super().move_cursor(ahead[-1 if is_up else 0])
            if self.cursor == able[0]:
                self.show_line(0)
