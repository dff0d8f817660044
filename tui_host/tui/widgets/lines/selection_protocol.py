"""What selecting is about: places in a view's content, and what a view must know of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

Spot: TypeAlias = tuple[int, ...]
"""A place in a view's content that stays on its text; spots are ordered as the content is."""
Stretch: TypeAlias = tuple[Spot, Spot]
"""From one spot to before another one; empty where they are the same."""


class Selectable(Protocol):
    """What a view can select in; lines and cells are those that it shows now."""

    @property
    def is_rows(self) -> bool:
        """Whether lines are selected whole."""
        ...

    def stretch_at(self, line: int, cell: int) -> Stretch:
        """What stands at a cell; an empty stretch before a line's text and behind it."""
        ...

    def cells_in(self, line: int, selected: Stretch) -> tuple[int, int] | None:
        """Which cells of a line are selected."""
        ...

    def point_of(self, spot: Spot) -> tuple[int, int]:
        """The line and the cell of a spot."""
        ...

    def word_at(self, line: int, cell: int) -> Stretch | None:
        """The word at a cell; None where a second click is but a click."""
        ...

    def text_at(self, line: int, cell: int) -> Stretch | None:
        """The paragraph or the line at a cell."""
        ...

    def copied(self, selected: Stretch) -> tuple[str, str]:
        """What it is, in a word, and its text for the clipboard."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What is selected.

    Attributes:
        anchor: Where it began: it stays selected whatever the head does.
        head: Where it goes to.
    """

    anchor: Stretch
    head: Stretch

    @property
    def stretch(self) -> Stretch:
        """From the first to the last of it."""
        return min(self.anchor[0], self.head[0]), max(self.anchor[1], self.head[1])
