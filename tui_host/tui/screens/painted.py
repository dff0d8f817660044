"""A screen that paints little, and first what a person is at."""

from __future__ import annotations

from textual import messages
from textual.screen import Screen

from tui_host.tui import textual_private


class PaintedScreen(Screen[None]):
    """A screen of which much changes at once: it paints where something changed, and nowhere else."""

    def __init__(self) -> None:
        super().__init__()
        textual_private.paint_exactly(self)

    def on_update(self, event: messages.Update) -> None:
        """Paint what has the focus at once, so that no key waits for what pours in; all else comes at the screen's pace."""
        if event.widget is self.focused:
            textual_private.paint_now(self, event.widget)
