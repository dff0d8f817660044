"""The two fields of the approval: the arguments to edit, and the reason for a rejection."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.message import Message
from textual.widgets import TextArea
from typing_extensions import override

from tui_host.capture.visible import visible
from tui_host.tui.widgets.key_order import KeysInOrder


class Field(KeysInOrder, TextArea):
    """A text field: `enter` takes the text, `ctrl+j` breaks the line if allowed, `escape` leaves."""

    DEFAULT_CSS = """
    Field {
        display: none;
        height: auto;
        max-height: 8;
        padding: 0 1;
        border: round $border;
        background: $surface;
        scrollbar-size: 1 1;
        &.-open { display: block; }
        &:focus { border: round $border; }
    }
    """

    @dataclass
    class Taken(Message):
        """The text is to be used."""

        text: str

    class Left(Message):
        """The text is to be dropped."""

    def __init__(self, *, lines: bool, id: str) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id, highlight_cursor_line=False)
        self.cursor_blink = False
        self._several = lines

    @override
    async def on_key(self, event: events.Key) -> None:
        """Take, leave, break the line."""
        if event.key == "enter":
            self.post_message(self.Taken(self.text))
        elif event.key == "escape":
            self.post_message(self.Left())
        elif event.key in {"ctrl+j", "shift+enter", "shift+\r"}:
            if self._several:
                self.insert("\n")
        else:
            return
        event.stop()
        event.prevent_default()

    async def on_paste(self, event: events.Paste) -> None:
        """Insert a paste as visible text; nothing is submitted."""
        event.stop()
        event.prevent_default()
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        result = self.replace(visible(text if self._several else text.replace("\n", " ")), *self.selection)
        self.move_cursor(result.end_location)

    @property
    def is_open(self) -> bool:
        """Whether the field is on the screen."""
        return self.has_class("-open")

    def open(self, text: str) -> None:
        """Show the field with a text, and focus the field."""
        self.load_text(text)
        self.add_class("-open")
        self.move_cursor(self.document.end)
        self.focus()

    def close(self) -> None:
        """Hide the field."""
        self.remove_class("-open")

    @override
    def action_copy(self) -> None:
        """Copy the selection, if any."""
        if self.selected_text:
            super().action_copy()
