"""Completion of commands and file names above the prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.strip import Strip
from typing_extensions import override

from tui_host.capture.visible import visible
from tui_host.tui.glyphs import UNICODE, Glyphs
from tui_host.tui.markdown.wrap import clip
from tui_host.tui.widgets.lines.line_view import LineView

MOST = 6
"""Lines that are shown at once; the others scroll."""


class Completion(LineView, can_focus=False):
    """Names with a few words of help. The prompt keeps the focus and moves the choice."""

    HAS_CURSOR = True
    COMPONENT_CLASSES: ClassVar[set[str]] = {"completion--help"}
    DEFAULT_CSS = """
    Completion {
        display: none;
        height: auto;
        max-height: 6;
        overflow-y: auto;
        scrollbar-gutter: stable;
        background: $panel;
        & > .line-view--cursor { background: $primary 30%; }
        & > .completion--help { color: $text-muted; }
    }
    """

    def __init__(self, on_chosen: Callable[[], None], *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self._on_chosen = on_chosen
        self._glyphs = glyphs
        self._pairs: list[tuple[str, str]] = []
        self._sign = "/"

    @property
    def is_open(self) -> bool:
        """Whether there are suggestions."""
        return bool(self._pairs)

    @property
    def chosen(self) -> str:
        """The chosen name; empty without suggestions."""
        return self._pairs[self.cursor or 0][0] if self._pairs else ""

    def offer(self, pairs: Sequence[tuple[str, str]], sign: str) -> None:
        """Show suggestions behind their sign; the first is chosen."""
        if (list(pairs), sign) == (self._pairs, self._sign):
            return
        self._pairs, self._sign = list(pairs), sign
        self.display = bool(pairs)
        self.styles.height = min(MOST, len(self._pairs))
        self.cursor = 0 if pairs else None
        self.redraw()
        self.scroll_to(y=0, animate=False)

    def close(self) -> None:
        """Show nothing."""
        self.offer((), self._sign)

    @override
    def line_count(self) -> int:
        return len(self._pairs)

    @override
    def draw(self, number: int) -> Strip:
        name, words = self._pairs[number]
        mark = ">" if number == self.cursor else " "
        widest = min(24, max(cell_len(suggestion) for suggestion, _ in self._pairs))
        left = f"{mark} {self._sign}{clip(visible(name, newlines=False), 40, self._glyphs.more)}".ljust(widest + 5)
        style = self.get_component_rich_style("completion--help")
        muted = Style(color=style.color)
        return Strip(
            [
                Segment(left, Style.null()),
                Segment(clip(words, self.view_width - cell_len(left), self._glyphs.more), muted),
            ]
        )

    @override
    def watch_cursor(self, old: int | None, new: int | None) -> None:
        for number in (old, new):
            if number is not None:
                self.changed(number)

    @override
    def on_click(self, event: events.Click) -> None:
        """Accept the clicked suggestion."""
        event.stop()
        number = event.y - self.gutter.top + self.top
        if 0 <= number < len(self._pairs):
            self.cursor = number
            self._on_chosen()
