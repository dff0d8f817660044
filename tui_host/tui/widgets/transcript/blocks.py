"""Texts and finished lines as one flat list of blocks, laid out where they are seen, steady around an anchor; and their view."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, zip_longest
from operator import attrgetter
from time import perf_counter
from typing import ClassVar, NamedTuple

from textual.reactive import var
from textual.strip import Strip
from typing_extensions import override

from tui_host.tui.markdown.drawing import draw_blocks
from tui_host.tui.markdown.page import NO_INKS, RULES, DrawnLine, Inks, MarkdownPage
from tui_host.tui.markdown.parser import SourcePiece, parser
from tui_host.tui.widgets.lines.line_view import LineView
from tui_host.tui.widgets.lines.selection import Letters, Spot, whole_line
from tui_host.tui.widgets.transcript.item_parts import Block, ItemPart, estimate
from tui_host.tui.widgets.transcript.items import Items

KEPT = 2_000
"""Laid out pieces that are kept; more are laid out again when they are seen again."""
END = 1 << 60
"""Beyond every line of a block, and every place in an item."""
AT_ONCE = 0.008
"""Seconds of the screen's thread in which texts are cut; what is left comes later."""
PATIENCE = 2.0
"""Seconds that may be spent on reading a text to its end when it is copied."""
SCREEN_SECONDS, SPARE_SECONDS = 0.02, 0.004
"""Time of the screen's thread for laying out what is seen at once, and until when what lies near it is laid out too."""


class BlockRow(NamedTuple):
    """A line of a block; rows that are equal look alike."""

    item: int
    rank: int  # of the part
    line: DrawnLine | None  # None until it is laid out


@dataclass(slots=True, eq=False)
class Blocks:
    """The texts and lines of items as blocks."""

    items: Items
    blocks: list[Block] = field(default_factory=list[Block])  # in order; an item that was not seen yet is one of them
    # The key of a block and a line of it, which stays whatever becomes of the others.
    anchor: tuple[tuple[int, int, int], int] = (0, 0, 0), 0
    width: int = 0  # of a line in cells; 0 until it is known
    inks: Inks = field(default_factory=lambda: NO_INKS)
    # The first lines of blocks, as far as they are counted since the last change.
    _starts: list[int] = field(default_factory=lambda: [0])
    _parts: dict[int, Sequence[ItemPart]] = field(default_factory=dict[int, Sequence[ItemPart]])  # of seen items
    _drawn: list[Block] = field(default_factory=list[Block])

    def fit(self, width: int, inks: Inks) -> None:
        """Lay everything out anew, for another width or other colours, around the same place of the text at the anchor."""
        self.width, self.inks = self.items.width, self.items.inks = width, inks
        self._parts.clear()
        self._drawn.clear()
        self.blocks, self._starts = [], [0]
        self._splice(0, 0, [*map(Block, range(max(1, len(self.items.conversation))))])
        self._open(self.anchor[0][0], perf_counter() + PATIENCE)

    def update(self, number: int, until: float) -> None:
        """Take a new item at the end, or a new state of one; of one that was not seen only the estimate."""
        if number not in self._parts:
            self._splice(*self.span(number), [Block(number)])
            return
        before, parts = {part.rank: part for part in self._parts[number]}, self.items.parts(number)
        olds = [before.get(part.rank, part) for part in parts]
        self._parts[number] = [old if old.goes_on(part) else part for old, part in zip(olds, parts, strict=True)]
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
        for block in blocks:
            if block.lines is not None:
                block.height = len(block.lines)
            elif block.part is None:
                block.height = self.items.estimate(block.item)
            elif block.piece is None:
                block.height = estimate((block.part.source or "")[block.start :], self.width) + 1
            else:
                block.height = estimate(block.piece.source, self.width) + block.piece.gap
        self.blocks[start:end] = blocks
        del self._starts[start + 1 :]

    # What is laid out.

    def settle(self, above: int, below: int, until: float) -> bool:
        """Lay out the blocks around the anchor, for so many lines above and below; whether time sufficed."""
        if len(self._drawn) > KEPT:
            for block in self._drawn[: -KEPT // 2]:
                block.lines = None
            del self._drawn[: -KEPT // 2]
        self._open(self.find(self.line_held)[0], until)
        middle, inside = self.find(self.line_held)
        height = self._draw(middle)
        inside = max(0, min(inside, height - 1))
        self.anchor = self.blocks[middle].key, inside
        for step, wanted, known in ((1, below, height - inside), (-1, above, inside)):
            covered, place = known, middle + step
            while covered < wanted and 0 <= place < len(self.blocks) and perf_counter() < until:
                more = self._open(place, until)
                place += more if step < 0 else 0  # from the last one upwards
                covered, place = covered + self._draw(place), place + step
        return perf_counter() < until  # else a part of the last one may have been left out

    @property
    def line_held(self) -> int:
        """The line at the anchor; that of an item that was not seen is a guess."""
        key, inside = self.anchor
        first, last = self.span(key[0])
        place = max(first, bisect_right(self.blocks, key, first, last, key=attrgetter("key")) - 1)
        return min(self.start(place) + inside, self.start(last) - 1)

    def _open(self, place: int, until: float) -> int:
        """Make its blocks of an item that was not seen, or of a text that is not cut to its end; return how many more."""
        block, count = self.blocks[place], len(self.blocks)
        if block.item not in self._parts:
            self._parts[block.item] = self.items.parts(block.item)
        elif block.part is None or block.part.source is None or block.piece is not None:
            return 0
        self._cut(block.item, until)
        return len(self.blocks) - count

    def _draw(self, place: int) -> int:
        """Lay out a block, and return its height."""
        block = self.blocks[place]
        if block.lines is None and block.part is not None and block.piece is not None:
            block.lines = self._drawn_page(block.part, block.piece).lines
            self._drawn.append(block)
            if len(block.lines) != block.height:
                block.height = len(block.lines)
                del self._starts[place + 1 :]
        return block.height

    def _drawn_page(self, part: ItemPart, piece: SourcePiece) -> MarkdownPage:
        page = MarkdownPage(self.width, self.inks, [part.edge] if part.edge else [])
        if part.is_plain:
            page.say(piece.source.expandtabs(4), part.style)
        else:
            if piece.gap:
                page.raw()
            draw_blocks(page, parser().parse(piece.source), piece)
        return page

    def start(self, place: int) -> int:
        """Return the first line of a block, or behind the last block: exact where lines are laid out, else estimated."""
        known = len(self._starts) - 1
        if place > known:
            heights = map(attrgetter("height"), self.blocks[known:place])
            self._starts += accumulate(heights, initial=self._starts.pop())
        return self._starts[place]

    def find(self, line: int) -> tuple[int, int]:
        """Return the block at a line, and the line inside the block. Beyond the end, count from the last block."""
        if self._starts[-1] <= line:
            self.start(len(self.blocks))
        line = max(0, line)
        place = max(0, min(bisect_right(self._starts, line), len(self.blocks)) - 1)
        return place, line - self._starts[place]

    def rows(self, top: int, count: int) -> list[BlockRow]:
        """Return some lines from one on."""
        rows: list[BlockRow] = []
        place, inside = self.find(top)
        for block in self.blocks[place : place + 2 * count]:  # some have no lines
            item, rank, _ = block.key
            lines = block.lines or [None] * min(block.height, inside + count)
            rows += [BlockRow(item, rank, line) for line in lines[inside : inside + count]]
            if len(rows) >= count:
                break
            inside = 0
        return rows[:count]

    def span(self, number: int) -> tuple[int, int]:
        """Return the first block of an item, and the first behind it."""
        first = bisect_left(self.blocks, number, key=attrgetter("item"))
        return first, bisect_left(self.blocks, number + 1, first, key=attrgetter("item"))

    def lines_of(self, number: int) -> tuple[int, int]:
        """Return the first line of an item, and the first behind it."""
        first, last = self.span(number)
        return self.start(first), self.start(last)

    # What is selected.

    def letters(self, line: int) -> Sequence[Letters]:
        place, inside = self.find(line)
        block = self.blocks[place]
        if block.part is not None and block.lines is not None and inside < len(block.lines):
            strip, runs = block.lines[inside]
            if block.part.source is None and strip.text.strip():
                return whole_line(block.key, inside)
            if runs:
                return [Letters(x, text, block.key, range(at, at + len(text) + 1)) for x, at, text in runs]
        return (Letters(0, "", block.key, (END if inside else 0,)),)  # behind the text that stands above, or before it

    def copied(self, first: Spot, last: Spot) -> tuple[str, str]:
        """Return whole items and whole blocks as their source, parts of blocks as they are drawn, unwrapped."""
        texts: list[str] = []
        for number in range(first[0], min(last[0], self.blocks[-1].item) + 1):
            if first[0] < number < last[0]:
                texts.append(self.items.source(number))
                continue
            if number not in self._parts:
                self._open(self.span(number)[0], perf_counter() + PATIENCE)
            parts = self._parts[number]
            touched = [part for part in parts if first < (number, part.rank, END) and (number, part.rank) < last]
            if any(part.stands_for_item for part in touched):
                texts.append(self.items.source(number))
            else:
                texts += [self._copied_text(part, number, first, last) for part in touched if part.source is not None]
        return "selection", "\n\n".join(filter(None, texts))

    def _copied_text(self, part: ItemPart, number: int, first: Spot, last: Spot) -> str:
        part.cut(number, perf_counter() + PATIENCE)
        copied = ""
        ends = [*(block.start for block in part.blocks[1:]), None]
        ended = zip(part.blocks, ends, strict=True)
        touched = [(block, end) for block, end in ended if first < (*block.key, END) and block.key < last]
        for block, end in touched:
            text = (part.source or "")[block.start : end]
            edges = [spot for spot in (first, last) if spot[:3] == block.key]
            # A block of code alone is copied without its fence.
            is_code = len(touched) == 1 and text.lstrip().startswith(("```", "~~~"))
            drawn = "\n".join(self._drawn_page(part, block.piece).rows) if edges and block.piece is not None else ""
            start = first[3] if first in edges else 0
            stop = last[3] if last in edges else len(drawn)
            if drawn and (start or stop < len(drawn) or is_code):
                copied += drawn[start:stop] and drawn[start:stop] + text[len(text.rstrip("\n")) :]
            else:
                copied += text
        return copied.rstrip("\n")


class BlockView(LineView):
    """Draws blocks; the line on top or the end is held still."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"ink--{name}" for name in RULES}
    AROUND: ClassVar[int] = 1  # the heights of the screen that are laid out above and below what is seen
    WHAT: ClassVar[str] = "message"  # the word for an item that is copied
    DEFAULT_CSS = "\n".join(f"BlockView > .ink--{name} {{ {rules} }}" for name, rules in RULES.items())

    current: var[int | None] = var(None, init=False)
    """Number of the current item."""

    def __init__(self, blocks: Blocks, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id, classes=classes)
        self.blocks = blocks
        self.selectable = blocks
        self._rows: list[BlockRow] = []  # on the screen
        self._is_placing = False

    def current_source(self) -> tuple[str, str]:
        """Return the selection, the current item, or the last item with text; with a word for it."""
        if (selected := self.selected_source()) is not None:
            return selected
        numbers = reversed(range(len(self.blocks.items.conversation))) if self.current is None else [self.current]
        return self.WHAT, next((text for number in numbers if (text := self.blocks.items.source(number))), "")

    def take(self, numbers: Iterable[int] = ()) -> None:
        """Lay out some items that changed or are new, what is on the screen, and what is near as far as there is time.

        The line on top stays where it is, or the end. Another width or other colours are taken in too.
        """
        if not self.is_attached or self.scrollable_size.width <= 0:
            return
        blocks, height, began = self.blocks, max(1, self.scrollable_size.height), perf_counter()
        if blocks.blocks:  # the line on top is the anchor
            place, inside = blocks.find(self.scroll_offset.y)
            blocks.anchor = blocks.blocks[place].key, inside
        look = self.scrollable_size.width, {name: self.look_of(f"ink--{name}") for name in RULES}
        if look != (blocks.width, blocks.inks):
            blocks.fit(*look)
        for number in numbers:
            blocks.update(number, began + AT_ONCE)
        follows, above, below = self.at_tail and self.FOLLOWS, 0, height
        if follows:
            blocks.anchor = (blocks.blocks[-1].item, END, END), END
            above, below = height, 1
        now, spare = perf_counter(), self.AROUND * height
        blocks.settle(above, below, now + SCREEN_SECONDS)
        is_done = blocks.settle(above + spare, below + spare, now + SPARE_SECONDS)
        self._is_placing = True
        self.set_height(blocks.start(len(blocks.blocks)))
        if follows:
            self.show_line(self.max_scroll_y, top=True)
        else:
            self.show_line(blocks.line_held, top=True)
        self._is_placing = False
        self._look()
        if not is_done:
            self.call_later(self.take)

    def _look(self) -> None:
        """Read the lines on the screen anew, and repaint those that changed."""
        before, self._rows = self._rows, self.blocks.rows(self.scroll_offset.y, self.scrollable_size.height)
        self._strips.clear()  # other lines may have their numbers now
        changed = [y for y, (old, new) in enumerate(zip_longest(before, self._rows)) if old != new]
        if changed:
            self.refresh_lines(self.scroll_offset.y + changed[0], changed[-1] - changed[0] + 1)

    def row(self, number: int) -> BlockRow | None:
        """Return a line; None beyond the end."""
        return next(iter(self.blocks.rows(number, 1)), None)

    @override
    def draw(self, number: int) -> Strip:
        row = self.row(number)
        return Strip([]) if row is None or row.line is None else row.line.strip

    @override
    def on_resize(self) -> None:
        super().on_resize()
        self.take()

    @override
    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.blocks.width:
            self.call_later(self.take)

    @override
    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._is_placing:
            self._look()
            self.call_later(self.take)
