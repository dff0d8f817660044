"""Marks in the prompt that stand for pastes and attachments, unique in the text."""

from __future__ import annotations

import re
from collections.abc import Sequence
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


class Marks:
    """The marks of a prompt, each on one line, with the text of a paste or what was attached behind it."""

    def __init__(self) -> None:
        self.values: dict[str, str | Attached] = {}

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

    def pastes(self, text: str) -> list[re.Match[str]]:
        """Return the marks of a text that stand for pastes."""
        return [mark for mark in self.within(text) if isinstance(self.values[mark[0]], str)]

    def whole(self, text: str) -> str:
        """Unfold all pastes of a text; text inside pastes is never taken for marks."""
        for mark in reversed(self.pastes(text)):
            text = f"{text[: mark.start()]}{self.values[mark[0]]}{text[mark.end() :]}"
        return text

    def attached(self, text: str) -> list[Attached]:
        """Return what the marks of a text attach, in order, without repeats."""
        values = [self.values[mark] for mark in dict.fromkeys(place[0] for place in self.within(text))]
        return [value for value in values if not isinstance(value, str)]


class MarkedField(TextArea):
    """A text field with marks, which go as one."""

    def __init__(self, placeholder: str, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id, placeholder=Content(placeholder), highlight_cursor_line=False)
        self.marks = Marks()
        self.cursor_blink = False  # a blinking cursor repaints for ever

    def whole_text(self) -> str:
        """Return the text with all pastes unfolded."""
        return self.marks.whole(self.text)

    @property
    def attached(self) -> Sequence[Attached]:
        return self.marks.attached(self.text)

    def put_for(self, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
        """Put a text in the place of another one; `ctrl+z` takes it back alone."""
        self.history.checkpoint()
        result = self.replace(text, start, end, maintain_selection_offset=False)
        self.history.checkpoint()
        self.move_cursor(result.end_location)

    def put_for_word(self, word: str, text: str) -> None:
        """Replace a word before the caret, or insert at the caret."""
        row, column = self.cursor_location
        start = column - len(word) if self.before_caret.endswith(word) else column
        self.put_for((row, start), (row, column), text)
        self.focus()

    @property
    def before_caret(self) -> str:
        """The caret's line up to the caret."""
        row, column = self.cursor_location
        return self.document[row][:column]

    @override
    def edit(self, edit: Edit) -> EditResult:
        """Edit the text; marks are deleted whole, and never edited inside."""

        def outside(place: tuple[int, int], *, after: bool) -> tuple[int, int]:
            row, column = place
            for mark in self.marks.within(self.document[row]) if row < self.document.line_count else ():
                if mark.start() < column < mark.end():  # (ctrl+k names a line below the last)
                    return row, mark.end() if after else mark.start()
            return place

        first, last = outside(edit.top, after=edit.top == edit.bottom), outside(edit.bottom, after=True)
        return super().edit(Edit(edit.text, first, last, edit.maintain_selection_offset))

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

    @override
    def render_lines(self, crop: Region) -> list[Strip]:
        # The real cursor stands at the caret too where only the layout has changed: input methods write there.
        if self.has_focus:
            self.app.cursor_position = self.cursor_screen_offset  # pyright: ignore[reportUnknownMemberType] - of any app
        return super().render_lines(crop)
