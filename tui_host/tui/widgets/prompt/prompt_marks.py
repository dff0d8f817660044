"""Marks in the prompt that stand for pastes and attachments, unique in the text."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult
from typing_extensions import override

if TYPE_CHECKING:
    from textual.geometry import Region
    from textual.strip import Strip

    from tui_host.chat.attachments import Attached

FOLDED_CHARACTERS = 20_000
"""Characters of a paste above which a mark stands for it: the editor is slow with more."""
FOLDED_LINES = 25
"""Lines of a paste above which a mark stands for it: what was written before and after is lost from sight."""
OPENED = 200_000
"""Characters above which a paste is not opened: the editor would hold everything up."""


class Marks:
    """The marks of a prompt, each on one line, with the text of a paste or what was attached behind it."""

    def __init__(self) -> None:
        self.values: dict[str, str | Attached] = {}

    @property
    def pastes(self) -> list[str]:
        return [mark for mark, value in self.values.items() if isinstance(value, str)]

    def add(self, words: str, value: str | Attached, beside: str) -> str:
        """Return an unused mark for a value, its former mark if possible; it is like nothing in the text beside."""
        for mark, present in self.values.items():
            if present == value and mark not in beside:
                return mark
        mark, number = f"[{words}]", 1
        while mark in self.values or mark in beside:
            number += 1
            mark = f"[{words}, {number}]"
        self.values[mark] = value
        return mark

    def within(self, text: str) -> list[re.Match[str]]:
        marks = [re.escape(mark) for mark in self.values if mark in text]
        return list(re.finditer("|".join(marks), text)) if marks else []

    def fold(self, text: str, beside: str) -> str:
        """Return a paste, or the mark for one that is large or could be taken for a mark."""
        lines = text.count("\n") + (not text.endswith("\n"))
        if len(text) <= FOLDED_CHARACTERS and lines <= FOLDED_LINES and not self.within(text):
            return text
        from tui_host.llm.outline import size_words

        size = size_words(len(text.encode(errors="replace"))).replace(".0 ", " ")
        return self.add(f"pasted: {lines:,} line{'s' * (lines != 1)}, {size}", text, beside)

    def whole(self, text: str) -> str:
        """Unfold all pastes of a text; text inside pastes is never taken for marks."""
        for place in reversed(self.within(text)):
            value = self.values[place[0]]
            if isinstance(value, str):
                text = f"{text[: place.start()]}{value}{text[place.end() :]}"
        return text

    def attached(self, text: str) -> list[Attached]:
        """Return what the marks of a text attach, in order, without repeats."""
        values = [self.values[mark] for mark in dict.fromkeys(place[0] for place in self.within(text))]
        return [value for value in values if not isinstance(value, str)]


class MarkedField(TextArea):
    """A text field with marks."""

    def __init__(self, placeholder: str, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id, placeholder=Content(placeholder), highlight_cursor_line=False)
        self.marks = Marks()
        self.cursor_blink = False  # a blinking cursor repaints for ever

    @contextmanager
    def one_step(self) -> Generator[None]:
        """Let `ctrl+z` take back an edit alone."""
        self.history.checkpoint()
        yield
        self.history.checkpoint()

    @override
    def edit(self, edit: Edit) -> EditResult:
        """Edit the text; marks are deleted whole, and never edited inside."""

        def outside(place: tuple[int, int], *, after: bool) -> tuple[int, int]:
            row, column = place
            for mark in self._marks_of(row):
                if mark.start() < column < mark.end():
                    return row, mark.end() if after else mark.start()
            return place

        first, last = outside(edit.top, after=edit.top == edit.bottom), outside(edit.bottom, after=True)
        return super().edit(Edit(edit.text, first, last, edit.maintain_selection_offset))

    @override
    def render_lines(self, crop: Region) -> list[Strip]:
        # The real cursor stands at the caret too where only the layout has changed: input methods write there.
        if self.has_focus:
            self.app.cursor_position = self.cursor_screen_offset  # pyright: ignore[reportUnknownMemberType] - of any app
        return super().render_lines(crop)

    def _marks_of(self, row: int) -> list[re.Match[str]]:
        # ctrl+k names a line below the last
        return self.marks.within(self.document[row]) if row < self.document.line_count else []

    @override
    def undo(self) -> None:
        """Undo, after moving the caret off lines that may vanish: Textual looks for the caret too early."""
        if self.history.undo_stack:
            self.move_cursor((0, 0))
            super().undo()

    @override
    def redo(self) -> None:
        if self.history.redo_stack:
            self.move_cursor((0, 0))
            super().redo()

    def action_clear_all(self) -> None:
        """Delete the whole text; `ctrl+z` restores it."""
        if self.text:
            with self.one_step():
                self.clear()
            self.notify("Cleared. ctrl+z brings it back.", markup=False, timeout=3)

    def action_open_paste(self) -> None:
        """Put the text of a paste, the last before the caret, in the place of its mark."""
        rows = range(self.document.line_count)
        places = [(row, mark) for row in rows for mark in self._marks_of(row) if mark[0] in self.marks.pastes]
        before = [(row, mark) for row, mark in places if (row, mark.start()) <= self.cursor_location]
        for row, mark in before[-1:] or places[:1]:
            text = self.marks.whole(mark[0])
            if len(text) > OPENED or self.marks.within(text):
                self.notify("This paste is too large to open here. All of it will be sent.", markup=False)
                return
            with self.one_step():
                self.replace(text, (row, mark.start()), (row, mark.end()), maintain_selection_offset=False)

    def insert_at_caret(self, text: str) -> None:
        result = self.replace(text, *self.selection, maintain_selection_offset=False)
        self.move_cursor(result.end_location)

    def whole_text(self) -> str:
        return self.marks.whole(self.text)

    @property
    def attached(self) -> Sequence[Attached]:
        return self.marks.attached(self.text)

    @property
    def before_caret(self) -> str:
        row, column = self.cursor_location
        return self.document[row][:column]

    def put_for(self, word: str, text: str) -> None:
        """Replace a word before the caret, or insert at the caret."""
        row, column = self.cursor_location
        start = column - len(word) if self.before_caret.endswith(word) else column
        with self.one_step():
            result = self.replace(text, (row, start), (row, column), maintain_selection_offset=False)
            self.move_cursor(result.end_location)
        self.focus()
