"""Pieces of a source, each drawn once per width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A block of Markdown, or a part of a long block.

    Attributes:
        kind: `markdown` is drawn as it reads; `fence` are lines of code, `table` the head and some rows, `text` no Markdown.
        source: Its source; of a fence the code alone, of a table always with its head.
        gap: An empty line stands before it.
        begins: It is the first piece of its block: a fence names its language, a table shows its head.
        info: What a fence says after its mark.
        ordinal: The number of the first item of a list that goes on, None for a list that begins.
        columns: What a table's first rows asked for, wanted and least widths; empty where the piece is the whole table.
        start: Where its source begins in the whole one; of a table that goes on, as if its head stood right before it.
        opened: Where the first line of its fence begins in the whole source, -1 if it is none or still open to reading.
        opening: That first line.
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
