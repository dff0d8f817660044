"""What an item of the transcript is made of: lines that are made at once, and documents that are drawn as they are seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui_host.tui.markdown.document import Budget, Document
from tui_host.tui.markdown.markdown_styles import Inks


class Part(Protocol):
    """Some lines of an item.

    Attributes:
        rank: Its place among the item's parts, whichever of them are there.
    """

    rank: int

    @property
    def height(self) -> int:
        """How many lines."""
        ...

    @property
    def done(self) -> bool:
        """Whether `advance` has nothing left to do."""
        ...

    def line(self, number: int) -> Strip:
        """One of them."""
        ...

    def advance(self, budget: Budget) -> None:
        """Work on, as long as there is time."""
        ...

    def settle(self, line: int, above: int, below: int, budget: Budget) -> int:
        """Make the lines around one, so that their heights are right; where that one is now."""
        ...

    def take_dirty(self) -> int:
        """The first line that looks different since this was last asked; the height if none."""
        ...


class Fixed:
    """Lines that are there."""

    done = True

    def __init__(self, lines: Sequence[Sequence[Segment]], rank: int = 0) -> None:
        self.rank = rank
        self._lines = [Strip(line) for line in lines]
        self._fresh = True

    @property
    def height(self) -> int:
        """How many."""
        return len(self._lines)

    def line(self, number: int) -> Strip:
        """One of them."""
        return self._lines[number]

    def advance(self, budget: Budget) -> None:
        """Nothing is left to do."""

    def settle(self, line: int, above: int, below: int, budget: Budget) -> int:  # noqa: ARG002 - Part's
        """They stay where they are."""
        return line

    def take_dirty(self) -> int:
        """All of them the first time."""
        fresh, self._fresh = self._fresh, False
        return 0 if fresh else self.height

    def same_as(self, other: Fixed) -> bool:
        """Whether another one has the same lines."""
        return self._lines == other._lines


class Flow:
    """A document behind a left rule or indentation that it cannot leave."""

    def __init__(
        self, document: Document, edge: Segment, width: int, inks: Inks, *, rank: int = 0, style: Style | None = None
    ) -> None:
        self.document = document
        self.rank = rank
        self._edge = edge
        self._style = style
        document.fit(max(1, width - self.indent), inks)

    @property
    def indent(self) -> int:
        """Cells before the document's own."""
        return cell_len(self._edge.text)

    @property
    def height(self) -> int:
        """How many lines, as far as is known."""
        return self.document.height

    @property
    def done(self) -> bool:
        """Whether it is cut to its end."""
        return self.document.done

    def line(self, number: int) -> Strip:
        """One line behind its edge."""
        strip = self.document.line(number).strip
        if self._style is not None:
            strip = strip.apply_style(self._style)
        return Strip([self._edge, *strip], strip.cell_length + self.indent)

    def advance(self, budget: Budget) -> None:
        """Cut on."""
        self.document.advance(budget)

    def settle(self, line: int, above: int, below: int, budget: Budget) -> int:
        """Draw what is near."""
        return self.document.settle(line, above, below, budget)

    def take_dirty(self) -> int:
        """The document's."""
        return self.document.take_dirty()
