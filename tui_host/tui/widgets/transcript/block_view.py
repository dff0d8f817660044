"""A view of blocks: laid out where it is seen, the line on top or the end held still."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from time import perf_counter
from typing import ClassVar

from textual.strip import Strip
from typing_extensions import override

from tui_host.tui.markdown.page import RULES
from tui_host.tui.widgets.lines.line_view import LineView
from tui_host.tui.widgets.transcript.blocks import AT_ONCE, END, BlockRow, Blocks

EMPTY = Strip([])
SCREEN_SECONDS, SPARE_SECONDS = 0.02, 0.004
"""Time of the screen's thread for laying out what is seen at once, and until when what lies near it is laid out too."""


class BlockView(LineView):
    """Draws blocks."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"ink--{name}" for name in RULES}
    AROUND: ClassVar[int] = 1  # the heights of the screen that are laid out above and below what is seen
    DEFAULT_CSS = "\n".join(f"BlockView > .ink--{name} {{ {rules} }}" for name, rules in RULES.items())

    def __init__(self, blocks: Blocks, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id, classes=classes)
        self.blocks = blocks
        self.selectable = blocks
        self._rows: list[BlockRow] = []  # on the screen
        self._is_placing = False

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

    # What the bases ask.

    @override
    def draw(self, number: int) -> Strip:
        row = self.row(number)
        return EMPTY if row is None or row.line is None else row.line.strip

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
