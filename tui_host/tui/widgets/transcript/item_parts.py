"""The parts of an item, and the blocks that they are cut into."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from time import perf_counter

from rich.segment import Segment
from rich.style import Style

from tui_host.tui.markdown.cutter import Cutter
from tui_host.tui.markdown.page import PLAIN, DrawnLine
from tui_host.tui.markdown.parser import SourcePiece


@dataclass(slots=True, eq=False)
class Block:
    """Lines that are laid out at once: a piece of a text, finished lines, or a whole item before it is seen."""

    item: int
    part: ItemPart | None = None
    piece: SourcePiece | None = None
    start: int = 0  # where it begins in the source
    lines: Sequence[DrawnLine] | None = None  # None until it is seen
    height: int = 0  # the number of lines: estimated until it is seen

    @property
    def key(self) -> tuple[int, int, int]:
        """What stays while blocks come before it; blocks are ordered by it."""
        return self.item, -1 if self.part is None else self.part.rank, self.start


@dataclass(slots=True, eq=False)
class ItemPart:
    """Lines of an item that belong together: finished ones, or those of a text, which may still grow."""

    rank: int  # the parts of one item are ordered by it
    lines: Sequence[DrawnLine] = ()  # finished lines
    source: str | None = None  # a text
    is_final: bool = True  # whether the text is whole
    is_plain: bool = False  # whether it is no Markdown
    edge: Segment | None = None  # before each line of the text
    style: Style = PLAIN  # of a text that is no Markdown
    stands_for_item: bool = False  # whether to copy of the finished lines is to copy the item
    blocks: list[Block] = field(default_factory=list[Block])
    _closed: int = 0  # the number of blocks before the open end
    _cutter: Cutter = field(init=False)

    def __post_init__(self) -> None:
        self._cutter = Cutter(is_plain=self.is_plain)
        if self.source is not None and "\r" in self.source:
            self.source = self.source.replace("\r\n", "\n").replace("\r", "\n")

    def goes_on(self, new: ItemPart) -> bool:
        """Become a newer state of this part; False where nothing of it can be kept."""
        if self.source is None or new.source is None:
            return self.source is None and new.source is None and self.lines == new.lines
        is_same = self.source == new.source and self.is_final is new.is_final
        if not is_same and (self.is_final or not new.source.startswith(self.source)):
            return False
        self.source, self.is_final, self.edge, self.style = new.source, new.is_final, new.edge, new.style
        return True

    def cut(self, item: int, until: float) -> None:
        """Cut more of the text into blocks as long as there is time; the last ones are its open end."""
        if self.source is None:
            self.blocks = self.blocks or [Block(item, self, lines=self.lines)]
            return
        del self.blocks[self._closed :]
        while (pieces := self._cutter.step(self.source, final=self.is_final)) is not None:
            self.blocks += [Block(item, self, piece, piece.start) for piece in pieces]
            if perf_counter() >= until:
                break
        self._closed = len(self.blocks)
        if pieces is not None:
            self.blocks.append(Block(item, self, start=self._cutter.position))
            return
        cutter = copy(self._cutter)  # of the open end, which may still grow
        while (pieces := cutter.step(self.source, final=True)) is not None:
            self.blocks += [Block(item, self, piece, piece.start) for piece in pieces]


def estimate(text: str, width: int) -> int:
    """Estimate the lines of a text at a width, at least one, without wrapping."""
    if not text:
        return 1
    cells = len(text) if text.isascii() else int(len(text) * 1.5)
    return 1 + text.rstrip("\n").count("\n") + cells // max(1, width)
