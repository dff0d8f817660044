"""Texts and finished lines as one flat list of blocks, laid out where they are seen, steady around an anchor."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rich.segment import Segment
from rich.style import Style

from tui_host.tui.markdown.cutter import Cutter, SourcePiece
from tui_host.tui.markdown.drawing import draw_piece
from tui_host.tui.markdown.heights import Heights
from tui_host.tui.markdown.page import NO_INKS, PLAIN, DrawnLine, Inks, MarkdownPage
from tui_host.tui.markdown.parser import loaded
from tui_host.tui.widgets.lines.selection import Letters, Spot, whole_line

KEPT = 2_000
"""Laid out pieces that are kept; more are laid out again when they are seen again."""
END = 1 << 60
"""Beyond every line of a block, and every place in an item."""
PATIENCE = 2.0
"""Seconds that may be spent on reading a text to its end when it is copied."""


class Budget:
    """A time limit for one turn of the event loop."""

    def __init__(self, seconds: float = 0.008, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._until = clock() + seconds

    @property
    def spent(self) -> bool:
        return self._clock() >= self._until


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
    hint: str = ""  # what a key does while the item is current, beside the first line
    blocks: list[Block] = field(default_factory=list[Block])
    is_cut: bool = False
    _cutter: Cutter = field(init=False)

    def __post_init__(self) -> None:
        self.is_plain = self.is_plain or not loaded()
        self._cutter = Cutter(is_plain=self.is_plain)
        if self.source is not None and "\r" in self.source:
            self.source = self.source.replace("\r\n", "\n").replace("\r", "\n")

    def goes_on(self, new: ItemPart) -> bool:
        """Become a newer state of this part; False where nothing of it can be kept."""
        if self.source is None or new.source is None:
            return self.source is None and new.source is None and self.lines == new.lines and self.hint == new.hint
        if self.is_plain is not new.is_plain or not new.source.startswith(self.source):
            return False
        if self.source != new.source or self.is_final is not new.is_final:
            if self.is_final:
                return False
            self.is_cut = False
        self.source, self.is_final, self.edge, self.style = new.source, new.is_final, new.edge, new.style
        return True

    def cut(self, item: int, width: int, inks: Inks, budget: Budget) -> None:
        """Cut more of the text into blocks as long as there is time; the last block is its open end."""
        if self.is_cut:
            return
        if self.source is None:
            self.blocks, self.is_cut = [Block(item, self, lines=self.lines)], True
            return
        del self.blocks[-1:]
        while (pieces := self._cutter.step(self.source, final=self.is_final)) is not None:
            self.blocks += [Block(item, self, piece, piece.start) for piece in pieces]
            if budget.spent:
                break
        end = Block(item, self, start=self._cutter.position)
        if pieces is None:
            self.is_cut = True
            end.piece = self._cutter.rest(self.source)
            end.lines = () if end.piece is None else self.drawn(end.piece, width, inks).lines
        self.blocks.append(end)

    def drawn(self, piece: SourcePiece, width: int, inks: Inks) -> MarkdownPage:
        """Lay out a piece of the text."""
        page = MarkdownPage(width, inks, self.edge)
        draw_piece(page, piece, self._cutter.references, self.style)
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
    ) -> None:
        """Take what makes an item's parts, estimates its lines (both for a width), and returns it as text."""
        self._make, self._estimate, self._source = parts, estimate, source
        self.blocks: list[Block] = []
        self.heights = Heights()
        self.anchor = (0, 0)
        self.width = 0
        self.inks = NO_INKS
        self._parts: dict[int, Sequence[ItemPart]] = {}  # of the items that were seen
        self._drawn: list[Block] = []
        self._is_early = False

    # What comes.

    @property
    def is_outdated(self) -> bool:
        """Whether Markdown can be read now that could not be read before."""
        return self._is_early and loaded()

    @property
    def count(self) -> int:
        """The number of items."""
        return self.blocks[-1].item + 1 if self.blocks else 0

    def fit(self, width: int, inks: Inks, count: int) -> None:
        """Lay everything out anew, for another width or other colours: what is cut stays cut in the item at the anchor."""
        self.width, self.inks, self._is_early = width, inks, not loaded()
        place, inside = self.anchor
        number = self.blocks[place].item if self.blocks else 0
        first, last = self.span(number)
        here = self.blocks[first:last] if self.blocks else [Block(0)] * bool(count)
        self._parts = {number: self._parts[number]} if number in self._parts else {}
        self._drawn.clear()
        for block in here:
            block.lines = None
        for part in self._parts.get(number, ()):
            part.is_cut = False
        before = len(self.blocks)
        self.blocks = [*map(Block, range(number)), *here, *map(Block, range(number + 1, count))]
        self.heights.splice(0, before, [self._height(block) for block in self.blocks])
        self.anchor = (number + place - first, inside)
        if number in self._parts:
            self.update(number, Budget())

    def add(self, number: int, budget: Budget) -> None:
        """Add an item at the end."""
        self._splice(len(self.blocks), len(self.blocks), [Block(number)])
        self._open(len(self.blocks) - 1, budget)

    def update(self, number: int, budget: Budget) -> None:
        """Take a new state of an item; of one that was not seen only the estimate."""
        if number not in self._parts:
            place = self.span(number)[0]
            self.heights.put(place, self._height(self.blocks[place]))
            return
        before = {part.rank: part for part in self._parts[number]}
        self._parts[number] = [
            old if (old := before.get(part.rank)) is not None and old.goes_on(part) else part
            for part in self._make(number, self.width, self.inks)
        ]
        self._cut(number, budget)
        if bool(before) is not bool(self._parts[number]) and number + 1 in self._parts:
            self.update(number + 1, budget)  # whether there is a gap depends on what stands above

    def _cut(self, number: int, budget: Budget) -> None:
        """Cut the texts of an item, and put its blocks in the place of those that stood for it."""
        for part in self._parts[number]:
            part.cut(number, self.width, self.inks, budget)
        blocks = [block for part in self._parts[number] for block in part.blocks]
        first, last = self.span(number)
        same = 0
        for old, new in zip(self.blocks[first:last], blocks, strict=False):
            if old is not new:
                break
            same += 1
        # An item without lines has a block too.
        self._splice(first + same, last, blocks[same:] if blocks else [Block(number, lines=())])

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

    def settle(self, above: int, below: int, budget: Budget) -> bool:
        """Lay out the blocks around the anchor, for so many lines above and below; whether time sufficed."""
        if not self.blocks:
            return True
        self._open(self.anchor[0], budget)
        place, inside = self.anchor
        self._draw(place)
        inside = min(inside, max(0, self.heights[place] - 1))
        self.anchor = (place, inside)
        covered, after = self.heights[place] - inside, place + 1
        while covered < below and after < len(self.blocks) and not budget.spent:
            self._open(after, budget)
            self._draw(after)
            covered += self.heights[after]
            after += 1
        covered, before = inside, place - 1
        while covered < above and before >= 0 and not budget.spent:
            before += self._open(before, budget)
            self._draw(before)
            covered += self.heights[before]
            before -= 1
        if len(self._drawn) > KEPT:
            near = set(self.blocks[before + 1 : max(after, self.anchor[0] + 1)])
            for block in self._drawn:
                if block not in near:
                    block.lines = None
            self._drawn = [block for block in self._drawn if block in near]
        return not budget.spent  # else a part of the last one may have been left out

    def _open(self, place: int, budget: Budget) -> int:
        """Make its blocks of an item that was not seen, or of a text that is not cut to its end; return how many more."""
        block, count = self.blocks[place], len(self.blocks)
        if block.item not in self._parts:
            self._parts[block.item] = self._make(block.item, self.width, self.inks)
        elif block.part is None or block.part.is_cut or block.piece is not None:
            return 0
        self._cut(block.item, budget)
        return len(self.blocks) - count

    def _draw(self, place: int) -> None:
        block = self.blocks[place]
        if block.lines is not None or block.part is None or block.piece is None:
            return
        block.lines = block.part.drawn(block.piece, self.width, self.inks).lines
        self._drawn.append(block)
        if len(block.lines) != self.heights[place]:
            self.heights.put(place, len(block.lines))

    # What is asked.

    def at(self, line: int) -> tuple[Block, int]:
        """Return the block at a line, and the line inside the block."""
        place, inside = self.heights.find(line)
        return self.blocks[place], inside

    def line(self, line: int) -> DrawnLine | None:
        """Return a line; None until it is laid out."""
        block, inside = self.at(line)
        return block.lines[inside] if block.lines is not None and inside < len(block.lines) else None

    def span(self, number: int) -> tuple[int, int]:
        """Return the first block of an item, and the first behind it."""
        first = bisect_left(self.blocks, number, key=_item)
        return first, bisect_left(self.blocks, number + 1, first, key=_item)

    def lines_of(self, number: int) -> tuple[int, int]:
        """Return the first line of an item, and the first behind it."""
        first, last = self.span(number)
        return self.heights.start(first), self.heights.start(last)

    def source_line(self, number: int, rank: int, offset: int) -> int:
        """Return the first line of the block with a character of an item's text."""
        place = max(0, bisect_right(self.blocks, (number, rank, offset), key=_key) - 1)
        piece = self.blocks[place].piece
        return self.heights.start(place) + (piece is not None and piece.gap)

    # What is selected.

    def letters(self, line: int) -> Sequence[Letters]:
        block, inside = self.at(line)
        drawn = self.line(line)
        if drawn is None or block.part is None or block.lines is None:
            return (Letters(0, "", block.key, (0,)),)
        if block.part.source is None and drawn.strip.text.strip():
            return whole_line(block.key, inside)
        if drawn.runs:
            return [Letters(x, text, block.key, range(at, at + len(text) + 1)) for x, at, text in drawn.runs]
        return (Letters(0, "", block.key, (_end_of(block.lines[:inside]),)),)

    def settled(self, spot: Spot) -> Spot:
        """Return a spot as it is counted now: of what was one open end, several blocks may have become."""
        *key, place = spot
        number = bisect_left(self.blocks, tuple(key), key=_key)
        while number + 1 < len(self.blocks):
            block, following = self.blocks[number : number + 2]
            if block.part is None or block.part.source is None or block.part is not following.part:
                break
            self._draw(number)
            end = _end_of(block.lines or ())
            if place <= end:
                return (*block.key, place)
            number, place = number + 1, place - end - 1
            key = list(following.key)
        return (*key, place)

    def copied(self, first: Spot, last: Spot) -> tuple[str, str]:
        """Return whole items and whole blocks as their source, parts of blocks as they are drawn, unwrapped."""
        first, last = self.settled(first), self.settled(last)
        texts: list[str] = []
        for number in range(first[0], min(last[0] + 1, self.count)):
            if number not in self._parts:
                self._open(self.span(number)[0], Budget(PATIENCE))
            if first[0] < number < last[0]:
                texts.append(self._source(number))
            else:
                texts.append(self._copied_of(number, first, last))
        return "selection", "\n\n".join(filter(None, texts))

    def _copied_of(self, number: int, first: Spot, last: Spot) -> str:
        texts: list[str] = []
        for part in self._parts[number]:
            if (number, part.rank, END) <= first or (number, part.rank) >= last:
                continue
            if part.source is not None:
                texts.append(self._copied_text(part, first, last))
            elif part.stands_for_item:
                return self._source(number)
        return "\n\n".join(filter(None, texts))

    def _copied_text(self, part: ItemPart, first: Spot, last: Spot) -> str:
        part.cut(part.blocks[0].item, self.width, self.inks, Budget(PATIENCE))
        copied = ""
        pairs = zip(part.blocks, [*part.blocks[1:], None], strict=True)
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


def _item(block: Block) -> int:
    return block.item


def _key(block: Block) -> tuple[int, int, int]:
    return block.key


def _end_of(lines: Sequence[DrawnLine]) -> int:
    """Return the place behind the last character on some lines."""
    run = next((line.runs[-1] for line in reversed(lines) if line.runs), None)
    return 0 if run is None else run.place + len(run.text)


def estimate(text: str, width: int) -> int:
    """Estimate the lines of a text at a width, at least one, without wrapping."""
    if not text:
        return 1
    cells = len(text) if text.isascii() else int(len(text) * 1.5)
    return 1 + text.count("\n") + cells // max(1, width)
