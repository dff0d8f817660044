"""The list of what may stand at the caret, above the prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual import events
from typing_extensions import override

from tui_host.tui.text_width import clip
from tui_host.tui.widgets.choices import Choice, ChoiceList

if TYPE_CHECKING:
    from tui_host.tui.widgets.prompt.server_offers import Suggestion

_LONGEST_CELLS = 40


class Completion(ChoiceList, can_focus=False):
    """A list of suggestions. The prompt keeps the focus and moves the choice."""

    DEFAULT_CSS = """
    Completion {
        display: none; height: auto; max-height: 40%; overflow-y: auto; scrollbar-gutter: stable; background: $panel;
        & > .line-view--cursor { background: $primary 30%; }
    }
    """

    def __init__(self, take: Callable[[], None]) -> None:
        super().__init__()
        self._take = take  # takes the chosen suggestion after a click
        self.suggestions: Sequence[Suggestion] = ()  # none while the list is closed

    def suggest(self, suggestions: Sequence[Suggestion]) -> None:
        """Show suggestions; the first is chosen, unless the same ones are shown already."""
        self.suggestions = suggestions
        lines = [Choice(words=clip(shown.words, _LONGEST_CELLS), note=shown.note) for shown in suggestions]
        choices = {str(number): choice for number, choice in enumerate(lines)}
        if self._choices != lines:
            self.display = bool(suggestions)
            self.styles.height = len(choices)
            self.show(choices, "0")
            self.scroll_to(y=0, animate=False)

    @override
    def on_click(self, event: events.Click) -> None:
        event.stop()
        number = event.y - self.gutter.top + self.scroll_offset.y
        if 0 <= number < len(self.suggestions):
            self.cursor = number
            self._take()
