"""The line above the ladder, and where the filter is typed."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input
from typing_extensions import override

from tui_host.tui.glyphs import UNICODE, Glyphs
from tui_host.tui.widgets.key_order import KeysInOrder
from tui_host.tui.widgets.ladder.ladder_title import Heading, heading_text


class LadderHeader(Widget):
    """The line, drawn."""

    DEFAULT_CSS = """
    LadderHeader { height: 1; background: $panel; color: $text-muted; }
    """

    def __init__(self, *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._heading = Heading()

    def show(self, heading: Heading) -> None:
        """Say something else; paints only if it is."""
        if heading != self._heading:
            self._heading = heading
            self.refresh()

    @property
    def text(self) -> str:
        """What it says, for whoever reads it aloud."""
        return heading_text(self._heading, self.size.width, self._glyphs)

    @override
    def render(self) -> Text:
        return Text(self.text, no_wrap=True, end="")


class FilterInput(KeysInOrder, Input):
    """Where the filter is typed. `enter` goes back to the rows, `escape` takes the filter away."""

    DEFAULT_CSS = """
    FilterInput { display: none; }
    FilterInput.-open { display: block; }
    """

    class Left(Message):
        """The person is done; `cleared` if the filter is to go."""

        def __init__(self, *, cleared: bool) -> None:
            super().__init__()
            self.cleared = cleared

    def __init__(self) -> None:
        super().__init__(
            placeholder="words, or tool: method: id: dir: kind: status:", compact=True, select_on_focus=False
        )

    def open(self, text: str) -> None:
        """Let the person type."""
        self.disabled = False
        self.add_class("-open")
        self.value = text
        self.focus()

    def close(self) -> None:
        """Be out of the way, and out of the focus chain."""
        self.remove_class("-open")
        self.disabled = True

    def key_escape(self, event: events.Key) -> None:
        """Leave without a filter."""
        event.stop()
        self.value = ""
        self.post_message(self.Left(cleared=True))

    def key_enter(self, event: events.Key) -> None:
        """Leave with it."""
        event.stop()
        event.prevent_default()
        self.post_message(self.Left(cleared=False))

    def key_down(self, event: events.Key) -> None:
        """Go to the rows with it."""
        event.stop()
        self.post_message(self.Left(cleared=False))
