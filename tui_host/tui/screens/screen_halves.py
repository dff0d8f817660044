"""Which halves of the main screen are shown."""

from __future__ import annotations

from typing import Literal, TypeAlias

Arrangement: TypeAlias = Literal["both", "inspector", "chat"]
NEXT: dict[Arrangement, Arrangement] = {"both": "inspector", "inspector": "chat", "chat": "both"}
NARROW = 100
"""Width in columns below which only chat or inspector is shown."""


class Halves:
    """Which halves of the main screen are shown: chat and inspector, or one of them."""

    def __init__(self) -> None:
        self.is_narrow = False  # whether only one half has room
        self._wanted: Arrangement = "both"
        self._side: Arrangement = "chat"  # the half shown where there is room for one

    @property
    def arrangement(self) -> Arrangement:
        return self._side if self.is_narrow else self._wanted

    def advance(self) -> None:
        """Go to the next arrangement."""
        if self.is_narrow:
            self._side = "chat" if self._side == "inspector" else "inspector"
        else:
            self._wanted = NEXT[self._wanted]

    def zoom(self) -> None:
        """Give the inspector the whole screen, or only its half again."""
        self._wanted = "both" if self._wanted == "inspector" else "inspector"

    def fit(self, width: int, *, is_reading: bool) -> bool:
        """Set a new width; returns whether the screen became narrow or wide.

        Args:
            width: Columns of the screen.
            is_reading: Whether the focus is in the inspector, which stays on screen then.
        """
        is_narrow = width < NARROW
        if is_narrow == self.is_narrow:
            return False
        if is_narrow:
            self._side = "inspector" if self._wanted == "inspector" or is_reading else "chat"
        elif self._wanted not in {"both", self._side}:
            self._wanted = "both"  # more room never hides the half that was read
        self.is_narrow = is_narrow
        return True
