"""A screen of two halves: side by side where there is room, one of them where there is not."""

from __future__ import annotations

from typing import Literal, TypeAlias

from textual import events

from tui_host.tui.screens.painted import PaintedScreen

Arrangement: TypeAlias = Literal["both", "inspector", "chat"]
NEXT: dict[Arrangement, Arrangement] = {"both": "inspector", "inspector": "chat", "chat": "both"}
NARROW = 100
"""Columns below which chat and inspector take turns."""


class ArrangedScreen(PaintedScreen):
    """Chat and inspector, inspector alone, chat alone; the classes `-inspector` and `-chat` say so to the styles."""

    def __init__(self) -> None:
        super().__init__()
        self._wanted: Arrangement = "both"
        self._side: Arrangement = "chat"  # which one of the two where there is room for one
        self._is_narrow = False

    @property
    def arrangement(self) -> Arrangement:
        """What is shown: as the person wants it, or one of the two where there is room for one."""
        return self._side if self._is_narrow else self._wanted

    @property
    def shows_chat(self) -> bool:
        """Whether the chat is on the screen."""
        return self.arrangement != "inspector"

    @property
    def is_reading(self) -> bool:
        """Whether the focus is in the inspector."""
        return False

    def take_focus(self) -> None:
        """Give the focus to what the arrangement is for."""

    def on_inspector_zoom_asked(self) -> None:
        """The whole screen for the inspector, and back."""
        if self._is_narrow:
            self.next_arrangement()
            return
        self._wanted = "both" if self._wanted == "inspector" else "inspector"
        self._arrange()  # it was asked for in the inspector, which is on the screen before and after

    def next_arrangement(self) -> None:
        """Chat and inspector, inspector alone, chat alone; under 100 columns the one or the other."""
        if self._is_narrow:
            self._side = "chat" if self._side == "inspector" else "inspector"
        else:
            self._wanted = NEXT[self._wanted]
        self._arrange()
        self.take_focus()

    def on_resize(self, event: events.Resize) -> None:
        """Under 100 columns chat and inspector take turns."""
        is_narrow = event.size.width < NARROW
        if is_narrow == self._is_narrow:
            return
        if is_narrow:
            self._side = "inspector" if self._wanted == "inspector" or self.is_reading else "chat"
        elif self._wanted not in {"both", self._side}:
            self._wanted = "both"  # what was turned to while there was room for one does not go away with more room
        self._is_narrow = is_narrow
        self._arrange()

    def _arrange(self) -> None:
        arrangement = self.arrangement
        self.update_classes({f"-{alone}": alone == arrangement for alone in ("inspector", "chat")})  # one restyling
