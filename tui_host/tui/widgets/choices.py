"""A list to choose from, with headings between the choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.tui.text_width import clip, fill, padded
from tui_host.tui.widgets.lines.json_lines import Piece
from tui_host.tui.widgets.lines.line_view import LineView

_READ = 400
"""Characters of a text that are read for one line."""
_LEAST = 32
"""Cells of a line without which the columns before the words are left out."""
_NONE = ("",) * 8
"""In place of figures that a choice has none of."""


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
    """A list of choices with a cursor.

    Args:
        least: Number of cells that the words keep; figures at the right are left out first.
    """

    has_cursor = True

    def __init__(
        self,
        *,
        least: int = 24,
        id: str | None = None,  # noqa: A002 - Textual's name
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._least = least
        self._choices: Sequence[Choice] = ()
        self._empty = ""
        self._empty_lines: list[str] = []
        self._columns: list[int] = []
        self._words = 0
        self._laid_out = -1

    def show(self, choices: Sequence[Choice], *, empty: str = "", current: int | None = None) -> None:
        """Show choices, or a text if empty. The cursor keeps its line unless `current` is given."""
        if (choices, empty) != (self._choices, self._empty):
            self._choices, self._empty = choices, empty
            self._lay_out()
            self.redraw()
        able = [number for number, choice in enumerate(choices) if not choice.heading]
        if not able:
            self.cursor = None
        elif current is not None or self.cursor is None or self.cursor not in able:
            wanted = current if current is not None else self.cursor or 0
            self.cursor = min(able, key=lambda number: abs(number - wanted))
            self.show_line(0 if self.cursor == able[0] else self.cursor)

    def _lay_out(self) -> None:
        """Wrap the text of an empty list, and compute the columns of figures that fit."""
        self._laid_out = self.view_width
        width = max(1, self.view_width - 2)
        self._empty_lines = [self._empty[start:end] for start, end in fill(self._empty, width)] if self._empty else []
        columns: list[int] = []
        for choice in self._choices:
            columns += [0] * (len(choice.right) - len(columns))
            for place, figure in enumerate(choice.right):
                columns[place] = max(columns[place], cell_len(figure))
        left = max((cell_len(f"{choice.mark}{choice.before}") for choice in self._choices), default=0)
        room = width - left - self._least
        noted = [cell_len(line(choice.words, _READ)) for choice in self._choices if choice.note]
        self._words = max((cells for cells in noted if cells <= width // 2), default=0)
        self._columns = []
        for column in columns:
            room -= 2 + column
            if room < 0:
                break
            self._columns.append(column)

    @override
    def width_changed(self) -> None:
        self._lay_out()

    @override
    def line_count(self) -> int:
        return len(self._choices) or len(self._empty_lines)

    @override
    def draw(self, number: int) -> Strip:
        width = self.view_width - 1
        if self._laid_out != self.view_width:
            self._lay_out()  # painted before its new size was announced
        if not self._choices:
            words = self._empty_lines[number] if number < len(self._empty_lines) else ""
            return self.strip_of([(" ", ""), (words, "note")])
        choice = self._choices[number]
        if choice.heading:
            return self.strip_of([(clip(choice.words, width), "heading")])
        before = choice.before if width - cell_len(choice.before) >= _LEAST else ""
        left: list[Piece] = [
            (f" {choice.mark} " if choice.mark else " ", choice.mark_style or choice.style),
            (before, "note"),
        ]
        words = line(choice.words, _READ)
        taken = sum(cell_len(text) for text, _ in left)
        figures = "".join(
            f"  {padded(figure, column)}" if column else ""
            for figure, column in zip((*choice.right, *_NONE), self._columns, strict=False)
        )
        room = max(0, width - taken - cell_len(figures))
        shown = clip(words, room)
        if choice.note and cell_len(shown) < self._words:
            shown = padded(shown, min(room, self._words))
        left.append((shown, choice.style))
        room -= cell_len(shown)
        note = line(choice.note, _READ)
        left.append((padded(f"  {note}" if note and room > 4 else "", room), "note"))
        return self.strip_of([*left, (figures, "figure")])

    @override
    def decorate(self, number: int, strip: Strip) -> Strip:
        mark = ">" if number == self.cursor and self._choices else " "
        return super().decorate(number, Strip([Segment(mark, self.piece_style("mark")), *strip]))

    @override
    def move_cursor(self, number: int) -> None:
        choices = self._choices
        if not choices:
            return
        number = max(0, min(len(choices) - 1, number))
        step = -1 if self.cursor is not None and number < self.cursor else 1
        while 0 <= number < len(choices) and choices[number].heading:
            number += step
        if 0 <= number < len(choices):
            super().move_cursor(number)
            if all(choice.heading for choice in choices[:number]):
                self.show_line(0)
