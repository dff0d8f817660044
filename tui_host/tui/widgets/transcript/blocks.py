"""Texts and finished lines as one flat list of blocks, laid out where they are seen, steady around an anchor."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from time import perf_counter
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style

from tui_host.tui.markdown.cutter import Cutter, SourcePiece
from tui_host.tui.markdown.drawing import draw_piece
from tui_host.tui.markdown.heights import Heights
from tui_host.tui.markdown.page import NO_INKS, PLAIN, DrawnLine, Inks, MarkdownPage
from tui_host.tui.widgets.lines.selection import Letters, Spot, whole_line

KEPT = 2_000
"""Laid out pieces that are kept; more are laid out again when they are seen again."""
END = 1 << 60
"""Beyond every line of a block, and every place in an item."""
AT_ONCE = 0.008
"""Seconds of the screen's thread in which texts are cut; what is left comes later."""
PATIENCE = 2.0
"""Seconds that may be spent on reading a text to its end when it is copied."""


@dataclass(slots=True, eq=False)
class Block:
    """Lines that are laid out at once: a piece of a text, finished lines, or a whole item before it is seen."""

    item: int
    part: ItemPart | None = None
    piece: SourcePiece | None = None
    start: int = 0  # where it begins in the source
    lines: Sequence[DrawnLine] | None = None  # None until it is seen

    @property
    def key(self) -> tuple[int, int, int]:
        """What stays while blocks come before it; blocks are ordered by it."""
        return self.item, -1 if self.part is None else self.part.rank, self.start


class BlockRow(NamedTuple):
    """A line of a block; rows that are equal look alike."""

    item: int
    rank: int  # of the part
    line: DrawnLine | None  # None until it is laid out


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
    is_cut: bool = False
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
        if self.source != new.source or self.is_final is not new.is_final:
            if self.is_final or not new.source.startswith(self.source):
                return False
            self.is_cut = False
        self.source, self.is_final, self.edge, self.style = new.source, new.is_final, new.edge, new.style
        return True

    def cut(self, item: int, until: float) -> None:
        """Cut more of the text into blocks as long as there is time; the last ones are its open end."""
        if self.is_cut:
            return
        if self.source is None:
            self.blocks, self.is_cut = [Block(item, self, lines=self.lines)], True
            return
        del self.blocks[self._closed :]
        while (pieces := self._cutter.step(self.source, final=self.is_final)) is not None:
            self.blocks += [Block(item, self, piece, piece.start) for piece in pieces]
            if perf_counter() >= until:
                break
        self.is_cut, self._closed = pieces is None, len(self.blocks)
        if self.is_cut:
            self.blocks += [Block(item, self, piece, piece.start) for piece in self._cutter.rest(self.source)]
        else:
            self.blocks.append(Block(item, self, start=self._cutter.position))

    def drawn(self, piece: SourcePiece, width: int, inks: Inks) -> MarkdownPage:
        """Lay out a piece of the text."""
        page = MarkdownPage(width, inks, self.edge)
        if self.is_plain:
            page.say(piece.source.expandtabs(4), self.style)
        else:
            draw_piece(page, piece)
        return page


class Blocks:
    """Items as blocks.

    Attributes:
        blocks: All blocks in order; an item that was not seen yet is one of them.
        heights: Their lines, exact where they are laid out, else estimated.
        anchor: A block and a line of it, which stays where it is whatever becomes of the others.
    """

    def __init__(
        self,
        parts: Callable[[int, int, Inks], Sequence[ItemPart]],
        estimate: Callable[[int, int], int],
        source: Callable[[int], str],
        count: Callable[[], int] = lambda: 1,
    ) -> None:
        """Take what makes an item's parts, estimates its lines (both for a width), returns it as text, and counts the items."""
        self._make, self._estimate, self._source, self._count = parts, estimate, source, count
        self.blocks: list[Block] = []
        self.heights = Heights()
        self.anchor = (0, 0)
        self.width = 0
        self.inks = NO_INKS
        self._parts: dict[int, Sequence[ItemPart]] = {}  # of the items that were seen
        self._drawn: list[Block] = []

    # What comes.

    def fit(self, width: int, inks: Inks) -> None:
        """Lay everything out anew, for another width or other colours, around the same place of the text at the anchor."""
        place, inside = self.anchor
        key = self.blocks[place].key if self.blocks else (0, 0, 0)
        self.width, self.inks, self.heights = width, inks, Heights()
        self._parts.clear()
        self._drawn.clear()
        self.blocks = [*map(Block, range(self._count()))]
        self.heights.splice(0, 0, [self._height(block) for block in self.blocks])
        self.anchor = key[0], 0
        self._open(key[0], perf_counter() + PATIENCE)
        self.anchor = max(0, bisect_right(self.blocks, key, key=attrgetter("key")) - 1), inside

    def update(self, number: int, until: float) -> None:
        """Take a new item at the end, or a new state of one; of one that was not seen only the estimate."""
        first, last = self.span(number)
        if first == last:
            self._splice(first, last, [Block(number)])
            self._open(first, until)
        elif number not in self._parts:
            self.heights.put(first, self._height(self.blocks[first]))
        else:
            before = {part.rank: part for part in self._parts[number]}
            self._parts[number] = [
                old if (old := before.get(part.rank)) is not None and old.goes_on(part) else part
                for part in self._make(number, self.width, self.inks)
            ]
            self._cut(number, until)
            if bool(before) is not bool(self._parts[number]) and number + 1 in self._parts:
                self.update(number + 1, until)  # whether there is a gap depends on what stands above

    def _cut(self, number: int, until: float) -> None:
        """Cut the texts of an item, and put its blocks in the place of those that stood for it."""
        for part in self._parts[number]:
            part.cut(number, until)
        # An item without lines has a block too.
        blocks = [block for part in self._parts[number] for block in part.blocks] or [Block(number, lines=())]
        first, last = self.span(number)
        pairs = zip(self.blocks[first:last], blocks, strict=False)
        same = next((place for place, (old, new) in enumerate(pairs) if old is not new), min(last - first, len(blocks)))
        self._splice(first + same, last, blocks[same:])

    def _splice(self, start: int, end: int, blocks: Sequence[Block]) -> None:
        place, inside = self.anchor
        first = self.heights.start(start)
        line = self.heights.start(place) + inside
        self.blocks[start:end] = blocks
        self.heights.splice(start, end, [self._height(block) for block in blocks])
        if place >= end:
            self.anchor = (place + len(blocks) - (end - start), inside)
        elif place >= start:  # the same line of what is in its place
            self.anchor = self.heights.find(max(first, min(line, self.heights.start(start + len(blocks)) - 1)))

    def _height(self, block: Block) -> int:
        if block.lines is not None:
            return len(block.lines)
        if block.part is None:
            return self._estimate(block.item, self.width)
        if block.piece is None:
            return estimate((block.part.source or "")[block.start :], self.width)
        return estimate(block.piece.source, self.width) + block.piece.gap

    # What is laid out.

    def settle(self, above: int, below: int, until: float) -> bool:
        """Lay out the blocks around the anchor, for so many lines above and below; whether time sufficed."""
        if len(self._drawn) > KEPT:
            for block in self._drawn[: -KEPT // 2]:
                block.lines = None
            del self._drawn[: -KEPT // 2]
        self._open(self.anchor[0], until)
        place, inside = self.anchor
        self._draw(place)
        inside = min(inside, max(0, self.heights[place] - 1))
        self.anchor = (place, inside)
        covered, place = self.heights[place] - inside, place + 1
        while covered < below and place < len(self.blocks) and perf_counter() < until:
            self._open(place, until)
            self._draw(place)
            covered, place = covered + self.heights[place], place + 1
        covered, place = inside, self.anchor[0] - 1
        while covered < above and place >= 0 and perf_counter() < until:
            place += self._open(place, until)
            self._draw(place)
            covered, place = covered + self.heights[place], place - 1
        return perf_counter() < until  # else a part of the last one may have been left out

    def _open(self, place: int, until: float) -> int:
        """Make its blocks of an item that was not seen, or of a text that is not cut to its end; return how many more."""
        block, count = self.blocks[place], len(self.blocks)
        if block.item not in self._parts:
            self._parts[block.item] = self._make(block.item, self.width, self.inks)
        elif block.part is None or block.part.is_cut or block.piece is not None:
            return 0
        self._cut(block.item, until)
        return len(self.blocks) - count

    def _draw(self, place: int) -> None:
        block = self.blocks[place]
        if block.lines is None and block.part is not None and block.piece is not None:
            block.lines = block.part.drawn(block.piece, self.width, self.inks).lines
            self._drawn.append(block)
            if len(block.lines) != self.heights[place]:
                self.heights.put(place, len(block.lines))

    # What is asked.

    def rows(self, top: int, count: int) -> list[BlockRow]:
        """Return some lines from one on."""
        rows: list[BlockRow] = []
        place, inside = self.heights.find(top)
        for block in self.blocks[place : place + 2 * count]:  # some have no lines
            item, rank, _ = block.key
            lines = block.lines or [None] * min(self.heights[place], inside + count)
            rows += [BlockRow(item, rank, line) for line in lines[inside : inside + count]]
            if len(rows) >= count:
                break
            place, inside = place + 1, 0
        return rows[:count]

    def span(self, number: int) -> tuple[int, int]:
        """Return the first block of an item, and the first behind it."""
        first = bisect_left(self.blocks, number, key=attrgetter("item"))
        return first, bisect_left(self.blocks, number + 1, first, key=attrgetter("item"))

    def lines_of(self, number: int) -> tuple[int, int]:
        """Return the first line of an item, and the first behind it."""
        first, last = self.span(number)
        return self.heights.start(first), self.heights.start(last)

    def source_line(self, number: int, rank: int, offset: int) -> int:
        """Return the first line of the block with a character of an item's text."""
        place = max(0, bisect_right(self.blocks, (number, rank, offset), key=attrgetter("key")) - 1)
        piece = self.blocks[place].piece
        return self.heights.start(place) + (piece is not None and piece.gap)

    # What is selected.

    def letters(self, line: int) -> Sequence[Letters]:
        place, inside = self.heights.find(line)
        block = self.blocks[place]
        drawn = block.lines[inside] if block.lines is not None and inside < len(block.lines) else None
        if drawn is None or block.part is None or block.lines is None:
            return (Letters(0, "", block.key, (0,)),)
        if block.part.source is None and drawn.strip.text.strip():
            return whole_line(block.key, inside)
        if drawn.runs:
            return [Letters(x, text, block.key, range(at, at + len(text) + 1)) for x, at, text in drawn.runs]
        return (Letters(0, "", block.key, (END if inside else 0,)),)  # behind the text that stands above, or before it

    def copied(self, first: Spot, last: Spot) -> tuple[str, str]:
        """Return whole items and whole blocks as their source, parts of blocks as they are drawn, unwrapped."""
        texts: list[str] = []
        for number in range(first[0], min(last[0], self.blocks[-1].item) + 1):
            if first[0] < number < last[0]:
                texts.append(self._source(number))
                continue
            if number not in self._parts:
                self._open(self.span(number)[0], perf_counter() + PATIENCE)
            touched = [
                part for part in self._parts[number] if first < (number, part.rank, END) and (number, part.rank) < last
            ]
            if any(part.stands_for_item for part in touched):
                texts.append(self._source(number))
            else:
                texts += [self._copied_text(part, number, first, last) for part in touched if part.source is not None]
        return "selection", "\n\n".join(filter(None, texts))

    def _copied_text(self, part: ItemPart, number: int, first: Spot, last: Spot) -> str:
        part.cut(number, perf_counter() + PATIENCE)
        copied = ""
        pairs = zip(part.blocks, [*part.blocks[1:], None], strict=False)
        touched = [pair for pair in pairs if first < (*pair[0].key, END) and pair[0].key < last]
        for block, following in touched:
            text = (part.source or "")[block.start : following and following.start]
            if block.piece is not None and block.key in {first[:3], last[:3]}:
                drawn = "\n".join(part.drawn(block.piece, self.width, self.inks).rows)
                start = first[3] if block.key == first[:3] else 0
                stop = last[3] if block.key == last[:3] else len(drawn)
                # A block of code alone is copied without its fence.
                is_code = len(touched) == 1 and text.lstrip().startswith(("```", "~~~"))
                if start or stop < len(drawn) or is_code:
                    has_gap = following is not None and following.piece is not None and following.piece.gap
                    text = drawn[start:stop] and drawn[start:stop] + ("\n\n" if has_gap else "\n")
            copied += text
        return copied.rstrip("\n")


def estimate(text: str, width: int) -> int:
    """Estimate the lines of a text at a width, at least one, without wrapping."""
    if not text:
        return 1
    cells = len(text) if text.isascii() else int(len(text) * 1.5)
    return 1 + text.rstrip("\n").count("\n") + cells // max(1, width)
