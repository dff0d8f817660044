"""The field for the filter of the list, with completion."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message
from textual.widgets import Input

from tui_host.capture.ladder.ladder import Ladder
from tui_host.tui.widgets.key_order import KeysInOrder


class FilterInput(KeysInOrder, Input):
    """The field for the filter. `enter` goes back to the rows, `escape` clears the filter."""

    DEFAULT_CSS = """
    FilterInput { display: none; }
    FilterInput.-open { display: block; }
    """

    class FilterLeft(Message):
        """Posted when the user leaves the field."""

    def __init__(self) -> None:
        placeholder = 'words, server: tool: size>10k "text in a body", or, not'
        super().__init__(placeholder=placeholder, compact=True, select_on_focus=False)
        self._last = ""  # the filter before, for `up`
        self._offers: Sequence[tuple[str, str]] = ()  # what `tab` completes: a word, and the whole text with it
        self._taken = -1

    def complete(self, ladder: Ladder | None) -> str:
        """Find what `tab` completes, and return it in a line; a completed value stays one of several, to go on to the next."""
        from tui_host.capture.ladder.row_filter import completions

        is_taken = self._taken >= 0 and self.value == self._offers[self._taken][1] and not self.value.endswith(":")
        if not is_taken:
            self._offers = completions(self.value, ladder) if ladder is not None and self.has_class("-open") else ()
            self._taken = -1
        words = (f"[{word}]" if number == self._taken else word for number, (word, _) in enumerate(self._offers))
        return f"tab: {'  '.join(words)}" if self._offers else ""

    def key_tab(self, event: events.Key) -> None:
        """Complete the last term; again: by the next completion. Without completions, leave the key to others."""
        if self._offers:
            event.stop()
            event.prevent_default()
            self._taken = (self._taken + 1) % len(self._offers)
            self._put(self._offers[self._taken][1])

    def _put(self, text: str) -> None:
        self.value = text
        self.cursor_position = len(text)

    def open(self) -> None:
        """Show the field, empty, and focus it."""
        self._last = self.value or self._last
        self.disabled = False
        self.add_class("-open")
        self.value = ""
        self.focus()

    def close(self) -> None:
        """Hide the field and remove it from the focus order."""
        self.remove_class("-open")
        self.disabled = True

    def key_up(self, event: events.Key) -> None:
        event.stop()
        self._put(self._last)

    def key_escape(self, event: events.Key) -> None:
        self._last = self.value or self._last
        self.value = ""
        self.key_enter(event)

    def key_enter(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        self.post_message(self.FilterLeft())

    key_down = key_enter
