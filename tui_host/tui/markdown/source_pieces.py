"""Pieces of a Markdown source; each is drawn once per width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A block of Markdown, or a part of a long block.

    Attributes:
        kind: `markdown` is drawn as it reads; `fence` are lines of code, `table` the head and some rows, `text` no Markdown.
        source: The piece's source; for a fence only the code, for a table always with its head.
        gap: Whether an empty line comes before the piece.
        begins: Whether this is the first piece of its block: a fence then shows its language, a table its head.
        info: The text after a fence's opening mark.
        ordinal: The number of the first item, for a list continued from the piece before; otherwise None.
        columns: The column widths that a table's first rows need; empty if the piece is the whole table.
        start: Where its source begins in the whole one; of a table that goes on, as if its head stood right before it.
        opened: Where the first line of its fence begins in the whole source, -1 if it is none or still open to reading.
        opening: The first line of the fence.
    """

    kind: Literal["markdown", "fence", "table", "text"]
    source: str
    gap: bool = False
    begins: bool = True
    info: str = ""
    ordinal: int | None = None
    columns: tuple[tuple[int, int], ...] = ()
    start: int = 0
    opened: int = -1
    opening: str = ""

    @property
    def begin(self) -> int:
        """The beginning of the piece's own text in the whole source."""
        if self.kind == "table" and not self.begins:
            return self.start + self.source.find("\n", self.source.find("\n") + 1) + 1
        return self.start

    def estimate(self, width: int) -> int:
        """Estimate the number of lines."""
        return int(self.gap) + estimate(self.source, width)


def estimate(text: str, width: int) -> int:
    """Estimate the lines of a text at a width, at least one, without wrapping."""
    if not text:
        return 1
    cells = len(text) if text.isascii() else int(len(text) * 1.5)
    return 1 + text.count("\n") + cells // max(1, width)
