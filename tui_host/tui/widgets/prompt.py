"""The prompt: several lines, a history, and `/commands`."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea
from typing_extensions import override

from tui_host.capture.visible import visible

MOST_LINES = 8


class Prompt(TextArea):
    """Where the person writes. `enter` sends, `ctrl+j` breaks the line, up and down at the ends go through the history."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", "Send", show=False, priority=True),
        Binding("ctrl+j,shift+enter", "line_break", "New line", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    Prompt {
        height: auto;
        min-height: 3;
        max-height: 10;
        border: round $panel;
        background: $surface;
        &:focus { border: round $primary; }
    }
    """

    class Sent(Message):
        """A message is to be sent."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Command(Message):
        """A `/name` was typed."""

        def __init__(self, name: str, arguments: str) -> None:
            super().__init__()
            self.name = name
            self.arguments = arguments

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id, soft_wrap=True, show_line_numbers=False, placeholder="Ask anything.  / commands")
        self._history: list[str] = []
        self._place = 0
        self._draft = ""

    def action_send(self) -> None:
        """Send what is written, or do what it names."""
        text = self.text.strip()
        if not text:
            return
        self._history.append(text)
        self._place = len(self._history)
        self.text = self._draft = ""
        if text.startswith("/") and "\n" not in text:
            name, _, arguments = text[1:].partition(" ")
            self.post_message(self.Command(name, arguments))
        else:
            self.post_message(self.Sent(text))

    def action_line_break(self) -> None:
        """A new line."""
        self.insert("\n")

    @override
    async def _on_paste(self, event: events.Paste) -> None:
        """A paste is text: its controls are made visible, and it sends nothing."""
        event.prevent_default()
        event.stop()
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        self.insert(visible(text))

    @override
    def action_cursor_up(self, select: bool = False) -> None:
        """The line above; at the first one, the message before."""
        if select or self.cursor_location[0] > 0 or not self._place:
            super().action_cursor_up(select)
            return
        if self._place == len(self._history):
            self._draft = self.text
        self._place -= 1
        self.text = self._history[self._place]

    @override
    def action_cursor_down(self, select: bool = False) -> None:
        """The line below; at the last one, the message after, and at the end what was being written."""
        if select or self.cursor_location[0] < self.document.line_count - 1 or self._place >= len(self._history):
            super().action_cursor_down(select)
            return
        self._place += 1
        self.text = self._draft if self._place == len(self._history) else self._history[self._place]
