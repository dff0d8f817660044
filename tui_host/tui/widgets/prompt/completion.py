"""The list of what may stand at the caret, above the prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual import events
from typing_extensions import override

from tui_host.tui.text_width import clip
from tui_host.tui.widgets.choices import Choice, ChoiceList

if TYPE_CHECKING:
    from tui_host.tui.widgets.prompt.server_offers import Offer

_LONGEST_CELLS = 40


class Completion(ChoiceList, can_focus=False):
    """A list of offers. The prompt keeps the focus and moves the choice."""

    DEFAULT_CSS = """
    Completion {
        display: none; height: auto; max-height: 6; overflow-y: auto; scrollbar-gutter: stable; background: $panel;
        & > .line-view--cursor { background: $primary 30%; }
    }
    """

    def __init__(self, take: Callable[[], None]) -> None:
        """Remember what takes the chosen offer after a click."""
        super().__init__()
        self._take = take
        self._offers: Sequence[Offer] = ()

    @property
    def chosen(self) -> Offer | None:
        """The chosen offer; None while the list is closed."""
        return self._offers[self.cursor or 0] if self._offers else None

    def offer(self, offers: Sequence[Offer]) -> None:
        """Show offers; the first is chosen, unless the same ones are shown already."""
        self._offers = offers
        choices = [Choice(words=clip(offer.words, _LONGEST_CELLS), note=offer.note) for offer in offers]
        if self._choices != choices:
            self.display = bool(offers)
            self.styles.height = len(choices)
            self.show(choices, current=0)
            self.scroll_to(y=0, animate=False)

    @override
    def on_click(self, event: events.Click) -> None:
        event.stop()
        number = event.y - self.gutter.top + self.top
        if 0 <= number < len(self._offers):
            self.cursor = number
            self._take()
