"""The field for the filter of the inspector, with completion."""

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
        """Posted when the user leaves the field; `cleared` if the filter is to be removed."""

        def __init__(self, *, cleared: bool) -> None:
            super().__init__()
            self.cleared = cleared

    def __init__(self) -> None:
        super().__init__(
            placeholder='words, server: tool: size>10k "text in a body", or, not', compact=True, select_on_focus=False
        )
        self._last = ""
        self._offers: Sequence[tuple[str, str]] = ()
        self._taken = -1
        self._values: Sequence[str] = ()

    def complete(self, ladder: Ladder | None) -> None:
        """Find what `tab` completes; not anew for a text that `tab` completed in one of several ways."""
        from tui_host.capture.ladder.row_filter import completions

        is_open = ladder is not None and self.has_class("-open")
        offers = completions(self.value, ladder) if is_open and ladder is not None else ()
        self._values = ()
        if self._taken < 0 or self.value != self._offers[self._taken][1] or len(self._offers) == 1:
            self._offers, self._taken = offers, -1
        elif self.value.endswith(":"):
            self._values = [word for word, _ in offers]

    @property
    def offered(self) -> str:
        """The completions in a line, the one that `tab` took in brackets; empty without any."""
        words = (f"[{word}]" if number == self._taken else word for number, (word, _) in enumerate(self._offers))
        then = "  ".join(("   then:", *self._values)) if self._values else ""
        return f"tab: {'  '.join(words)}{then}" if self._offers else ""

    def key_tab(self, event: events.Key) -> None:
        """Complete the last term; again: by the next completion. Without completions, leave the key to others."""
        if self._offers:
            event.stop()
            event.prevent_default()
            self._taken = (self._taken + 1) % len(self._offers)
            self.value = self._offers[self._taken][1]
            self.cursor_position = len(self.value)

    def open(self) -> None:
        """Show the field and focus it."""
        self._last = self.value or self._last
        self.disabled = False
        self.add_class("-open")
        self.value = ""
        self.focus()

    def key_up(self, event: events.Key) -> None:
        event.stop()
        self.value = self._last
        self.cursor_position = len(self.value)

    def close(self) -> None:
        """Hide the field and remove it from the focus order."""
        self.remove_class("-open")
        self.disabled = True

    def key_escape(self, event: events.Key) -> None:
        event.stop()
        self._last = self.value or self._last
        self.value = ""
        self.post_message(self.FilterLeft(cleared=True))

    def key_enter(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        self.post_message(self.FilterLeft(cleared=False))

    def key_down(self, event: events.Key) -> None:
        event.stop()
        self.post_message(self.FilterLeft(cleared=False))
