"""What the screens over the main one share: a title, one body, a line of keys, and escape to leave."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from typing_extensions import override

from tui_host.tui.widgets.lines import LineView
from tui_host.tui.widgets.status import Line


class PageScreen(Screen[None]):
    """A screen that `escape` closes."""

    HEADING: ClassVar[str] = ""
    KEYS: ClassVar[str] = ""
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", show=False)]
    DEFAULT_CSS = """
    PageScreen {
        layout: vertical;
        & > #page-heading { color: $foreground; text-style: bold; background: $panel; }
        & > #page-keys { background: $panel; }
    }
    """

    @override
    def compose(self) -> ComposeResult:
        yield Line(id="page-heading")
        yield from self.body()
        yield Line(id="page-keys")

    def body(self) -> list[Widget]:
        """What stands between heading and keys."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Say what this is, and its keys."""
        self.query_one("#page-heading", Line).say(Content(self.HEADING))
        keys = f"{self.KEYS}   escape back" if self.KEYS else "escape back"
        self.query_one("#page-keys", Line).say(Content(keys))

    def action_leave(self) -> None:
        """Back to the main screen."""
        self.dismiss()


class TextView(LineView):
    """Lines of content under a cursor or without one; for lists and pages whose whole text is at hand."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._lines: list[Content] = []

    def show(self, lines: list[Content]) -> None:
        """Show these lines; nothing is painted where they are the same."""
        if lines != self._lines:
            self._lines = lines
            self.redraw()

    @override
    def line_count(self) -> int:
        return len(self._lines)

    @override
    def draw(self, number: int) -> Strip:
        return Strip(self._lines[number].render_segments(self.visual_style))


class ListView(TextView):
    """The same with a current line."""

    HAS_CURSOR = True
