"""What is typed before there is a prompt to take it: it is kept, and comes first."""

from __future__ import annotations

from textual import events
from textual.app import App
from typing_extensions import override


class EarlyKeys(App[int]):
    """An app that loses no key of its start, those included that the terminal had before it was ours. Textual drops them."""

    def __init__(self) -> None:
        super().__init__()
        self._early: list[events.Key | events.Paste] | None = []

    @override
    async def on_event(self, event: events.Event) -> None:
        if self._early is not None and isinstance(event, events.Key | events.Paste):
            self._early.append(event)
        else:
            await super().on_event(event)

    async def on_descendant_focus(self) -> None:
        """Something can take keys. What came since waits behind this message."""
        early, self._early = self._early, None
        for event in early or ():
            await self.on_event(event)
