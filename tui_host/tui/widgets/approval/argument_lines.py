"""The arguments of a call, complete: every character is shown, and whether the end was."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from typing_extensions import override

from tui_host.tui.widgets.approval.approval_words import folded
from tui_host.tui.widgets.lines.line_view import LineView


class Arguments(LineView, can_focus=False):
    """A text folded at the width. The approval keeps the focus and moves it. Once at its end it stays there."""

    FOLLOWS = True
    DEFAULT_CSS = """
    Arguments {
        height: 1;
        background: $surface;
        border-subtitle-color: $text-muted;
        &.-framed { border: round $foreground 40%; border-subtitle-align: right; padding: 0 1; }
        &.-framed.-ascii { border: ascii $foreground 40%; }
    }
    """

    def __init__(self, on_moved: Callable[[], None]) -> None:
        super().__init__()
        self._on_moved = on_moved
        self._text = ""
        self._lines: Sequence[str] = ()
        self._folded: tuple[str, int] | None = None

    def show(self, text: str) -> None:
        """Show a text from its beginning."""
        self._text = text
        self._at_tail = False
        self._fold()
        self.scroll_to(y=0, animate=False, force=True)

    def _fold(self) -> None:
        wanted = (self._text, max(1, self.view_width or 60))
        if wanted != self._folded:  # a long text takes its time, and the approval is drawn with every key
            self._folded = wanted
            self._lines = folded(*wanted)
        self.redraw()

    @property
    def below(self) -> int:
        """Lines that are not on the screen yet, below it."""
        return max(0, len(self._lines) - self.top - self.view_height)

    @override
    def width_changed(self) -> None:
        self._fold()

    @override
    def on_resize(self) -> None:
        super().on_resize()
        self._on_moved()

    @override
    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._on_moved()

    @override
    def line_count(self) -> int:
        return len(self._lines)

    @override
    def draw(self, number: int) -> Strip:
        return Strip([Segment(self._lines[number], Style.null())])
