"""The field for a search on a page."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.message import Message
from textual.widgets import Input

from tui_host.tui.widgets.key_order import KeysInOrder


class SearchInput(KeysInOrder, Input):
    """The field, which is there while a text is typed. `enter` searches, `escape` and an empty text end the search.

    Args:
        last: The text searched before, which `up` brings back.
    """

    @dataclass
    class Asked(Message):
        """Posted to search for a text, or to end the search with an empty text."""

        text: str

    def __init__(self, last: str) -> None:
        super().__init__(placeholder="search this page", compact=True, select_on_focus=False)
        self._last = last

    def key_enter(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        self.post_message(self.Asked(self.value))

    def key_escape(self, event: events.Key) -> None:
        event.stop()
        self.post_message(self.Asked(""))

    def key_up(self, event: events.Key) -> None:
        event.stop()
        self.value = self._last
        self.cursor_position = len(self.value)

    def on_input_changed(self, message: Input.Changed) -> None:
        message.stop()
