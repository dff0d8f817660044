"""Pieces of a Markdown source; each is drawn once per width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePiece:
    """A block of Markdown, or a part of a long block.

    Attributes:
        kind: `markdown` is drawn as it reads; `fence` are lines of code, `table` the head and some rows, `text` no Markdown.
        begins: Whether this is the first piece of its block: a fence then shows its language, a table its head.
        ordinal: The number of the first item, for a list continued from the piece before; otherwise None.
        columns: The column widths that a table's first rows need; empty if the piece is the whole table.
        start: Where its source begins in the whole one; of a table that goes on, as if its head stood right before it.
    """

    kind: Literal["markdown", "fence", "table", "text"]
    source: str  # the piece's source; for a fence only the code, for a table always with its head
    gap: bool = False  # whether an empty line comes before the piece
    begins: bool = True
    info: str = ""  # the text after a fence's opening mark
    ordinal: int | None = None
    columns: tuple[tuple[int, int], ...] = ()
    start: int = 0
    opening: str = ""  # the first line of the fence

    def written(self, *, is_last: bool) -> str:
        """Return the piece as Markdown: a fence with its marks, `is_last` with the closing one, a table with its head."""
        if self.kind == "table" and not self.begins:
            return self.source.split("\n", 2)[2].rstrip("\n")
        if self.kind != "fence":
            return self.source if self.kind == "text" else self.source.rstrip("\n")
        mark = self.opening[: len(self.opening) - len(self.opening.lstrip(self.opening[:1]))]
        return "\n".join([*[self.opening] * self.begins, self.source, *[mark] * is_last])

    def estimate(self, width: int) -> int:
        """Estimate the number of lines."""
        return int(self.gap) + estimate(self.source, width)


def estimate(text: str, width: int) -> int:
    """Estimate the lines of a text at a width, at least one, without wrapping."""
    if not text:
        return 1
    cells = len(text) if text.isascii() else int(len(text) * 1.5)
    return 1 + text.count("\n") + cells // max(1, width)
