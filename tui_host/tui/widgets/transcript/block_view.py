"""A view of blocks: laid out where it is seen, the line on top or the end held still."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.strip import Strip
from typing_extensions import override

from tui_host.tui.markdown.page import COMPONENTS, CSS, DrawnLine, inks_of
from tui_host.tui.widgets.lines.selection import SelectingView, Spot
from tui_host.tui.widgets.transcript.blocks import END, Blocks, Budget

EMPTY = Strip([])


class BlockView(SelectingView):
    """Draws blocks. `sync`, called at screen rate, shows news."""

    COMPONENT_CLASSES: ClassVar[set[str]] = COMPONENTS
    AROUND: ClassVar[int] = 1  # the heights of the screen that are laid out above what is seen, and half of those below
    DEFAULT_CSS = f"BlockView {{ {CSS} }}"

    def __init__(self, blocks: Blocks, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id, classes=classes)
        self.blocks = blocks
        self._seen: Sequence[object] = ()
        self._placing = self._working = False

    def sync(self) -> None:
        """Show what changed."""
        if self.blocks.is_outdated:
            self.width_changed()

    # For subclasses.

    def item_count(self) -> int:
        """Return the number of items."""
        return 1

    def work(self) -> None:
        """Lay out what is on the screen and near it, holding the line on top still, or the end; later what time is left out."""
        self._working = False
        blocks, height = self.blocks, max(1, self.view_height)
        if not blocks.count or self.view_width <= 0:
            return
        if self.at_tail and self.FOLLOWS:
            blocks.anchor = len(blocks.blocks) - 1, END
            done = blocks.settle(2 * height, 1, Budget())
        else:
            done = blocks.settle(self.AROUND * height, 2 * self.AROUND * height, Budget())
        self._placing = True
        self.set_height(blocks.heights.total)
        if self.at_tail and self.FOLLOWS:
            self.to_tail()
        else:
            top = blocks.heights.start(blocks.anchor[0]) + blocks.anchor[1]
            self.scroll_to(y=top, animate=False, force=True)
        self._placing = False
        self._repaint()
        if not done:
            self.work_later()

    def work_later(self) -> None:
        if not self._working:
            self._working = True
            self.call_later(self.work)

    def _repaint(self) -> None:
        """Repaint the visible lines that are not as they were."""
        before, self._seen = self._seen, self._visible()
        if len(before) != len(self._seen):
            self.refresh()
            return
        changed = [y for y, (old, new) in enumerate(zip(before, self._seen, strict=True)) if old != new]
        if changed:
            self.refresh_lines(self.top + changed[0], changed[-1] - changed[0] + 1)

    def _visible(self) -> Sequence[object]:
        """Return the visible lines with all that changes how they look."""
        blocks, seen = self.blocks, list[tuple[int, bool, DrawnLine | None]]()
        place, inside = blocks.heights.find(self.top)
        for block in blocks.blocks[place : place + 2 * self.view_height]:
            is_gap = block.part is not None and block.part.rank == 0
            lines = block.lines or [None] * blocks.heights[place]
            seen += [(block.item, is_gap, line) for line in lines[inside:]]
            place, inside = place + 1, 0
        return seen[: self.view_height]

    # What the bases ask.

    @property
    @override
    def selectable(self) -> Blocks | None:
        return self.blocks if self.blocks.count and self.blocks.width else None

    @override
    def settled(self, spot: Spot) -> Spot:
        return self.blocks.settled(spot)

    @override
    def line_count(self) -> int:
        return self.blocks.heights.total

    @override
    def draw(self, number: int) -> Strip:
        drawn = self.blocks.line(number)
        return EMPTY if drawn is None else drawn.strip

    @override
    def strip_at(self, number: int) -> Strip:
        return self.draw(number)

    @override
    def width_changed(self) -> None:
        if self.view_width > 0:
            self.blocks.fit(self.view_width, inks_of(self.look_of), self.item_count())
            self.work()

    @override
    def on_resize(self) -> None:
        super().on_resize()
        self.work()

    @override
    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.blocks.width:
            self.call_later(self._restyle)

    def _restyle(self) -> None:
        if self.is_attached and inks_of(self.look_of) != self.blocks.inks:
            self.width_changed()

    @override
    def hold_still(self) -> None:
        super().hold_still()
        self._hold_top()

    def _hold_top(self) -> None:
        if self.blocks.count:
            self.blocks.anchor = self.blocks.heights.find(self.top)

    @override
    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._placing:
            self._hold_top()
            self._seen = self._visible()
            self.work_later()
