"""Completion of commands and file names above the prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from typing_extensions import override

from tui_host.tui.text_width import clip
from tui_host.tui.widgets.choices import Choice, ChoiceList

_LONGEST_CELLS = 40


class Completion(ChoiceList, can_focus=False):
    """A list of names with short help. The prompt keeps the focus and moves the choice."""

    DEFAULT_CSS = """
    Completion {
        display: none; height: auto; max-height: 6; overflow-y: auto; scrollbar-gutter: stable; background: $panel;
        & > .line-view--cursor { background: $primary 30%; }
    }
    """

    def __init__(self, on_chosen: Callable[[], None]) -> None:
        super().__init__()
        self._on_chosen = on_chosen
        self._names: list[str] = []

    @property
    def chosen(self) -> str:
        """The chosen name; empty while the list is closed."""
        return self._names[self.cursor or 0] if self._names else ""

    def offer(self, pairs: Sequence[tuple[str, str]], sign: str) -> None:
        """Show suggestions behind their sign; the first is chosen."""
        choices = [Choice(words=sign + clip(name, _LONGEST_CELLS), note=words) for name, words in pairs]
        if self._choices != choices:
            self._names = [name for name, _ in pairs]
            self.display = bool(pairs)
            self.styles.height = len(choices)
            self.show(choices, current=0)
            self.scroll_to(y=0, animate=False)

    @override
    def on_click(self, event: events.Click) -> None:
        event.stop()
        number = event.y - self.gutter.top + self.top
        if 0 <= number < len(self._names):
            self.cursor = number
            self._on_chosen()
