"""Selecting in line views by the mouse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.color import Color
from textual.geometry import Offset
from textual.strip import Strip
from textual.timer import Timer
from typing_extensions import override

from tui_host.tui.widgets.lines.line_view import LineView
from tui_host.tui.widgets.lines.selectable import Selectable, Selection, Stretch

_DOUBLE_CLICK = 0.5
"""Seconds between two presses that belong together."""
SCROLL_RATE = 1 / 20
"""Seconds between two steps while the mouse is held beyond the edge."""


@dataclass(slots=True)
class _Drag:
    """A pressed mouse button."""

    at: Offset  # the pointer's place, in cells of the view
    has_moved: bool = False  # whether the pointer has moved since the press, which makes it a drag


class SelectingView(LineView):
    """A view with selectable text."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id, classes=classes)
        self.selection: Selection | None = None
        self._drag: _Drag | None = None
        self._was_drag = False
        self._press = (0.0, Offset(-1, -1))
        self._scrolling: Timer | None = None

    # For subclasses.

    @property
    def selectable(self) -> Selectable | None:
        """The selectable content; None if nothing can be selected."""
        return None

    def hold_still(self) -> None:
        """Stop following new lines while the mouse selects."""
        self.at_tail = False

    # For the app.

    def selected_source(self) -> tuple[str, str] | None:
        """Return the selected text and what it is; None without a selection."""
        content = self.selectable
        if self.selection is None or content is None or self.selection.stretch[0] == self.selection.stretch[1]:
            return None
        return content.copied(self.selection.stretch)

    def unselect(self) -> bool:
        """Clear the selection; returns whether there was one."""
        if self.selection is None:
            return False
        self.selection = None
        self.refresh()
        return True

    def _select(self, anchor: Stretch, head: Stretch) -> None:
        chosen = Selection(anchor=anchor, head=head)
        if chosen != self.selection:
            self.screen.clear_selection()  # Textual's own, which its key would copy first
            self.selection = chosen
            self.refresh()

    def _move_head(self, head: Stretch, lines: Sequence[int]) -> None:
        """Move the head of the selection; `lines` are the old and the new line of the head."""
        if self.selection is None or head == self.selection.head:
            return
        self.selection = replace(self.selection, head=head)
        first, last = max(self.top, min(lines)), min(self.top + self.view_height, max(lines) + 1)
        if first < last:
            self.refresh_lines(first, last - first)

    # How it is drawn.

    @override
    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        content = None if self.selection is None else self.selectable
        if self.selection is None or content is None:
            return strip
        number = y + self.scroll_offset.y
        cells = content.cells_in(number, self.selection.stretch) if number < self.virtual_size.height else None
        if cells is None or cells[0] >= cells[1]:
            return strip
        first, last = cells[0], min(cells[1], strip.cell_length)
        style = self._selected_style
        marked = [Segment(text, (own or Style.null()) + style) for text, own, _ in strip.crop(first, last)]
        return Strip.join([strip.crop(0, first), Strip(marked), strip.crop(last)])

    @property
    def _selected_style(self) -> Style:
        """Return the style of selected text: readable on Textual's selection colour, or reversed without colours."""
        if self.app.no_color:  # pyright: ignore[reportUnknownMemberType] - Textual leaves the app's type open
            return Style(reverse=True)
        ground = self.screen.get_component_rich_style("screen--selection").bgcolor
        if ground is None or ground.triplet is None:
            return Style(reverse=True)
        letters = Color.from_rich_color(ground).get_contrast_text(1.0)
        return Style(color=letters.rich_color, bgcolor=ground)

    # The mouse.

    @property
    @override
    def is_dragged(self) -> bool:
        return self._was_drag

    def _point(self, at: Offset) -> tuple[int, int]:
        """Return the line and cell under the pointer, within the visible part."""
        line = max(0, min(at.y, self.view_height - 1)) + self.top
        return max(0, min(line, self.line_count() - 1)), max(0, min(at.x, self.view_width)) + self.scroll_offset.x

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Begin or extend (shift) a selection; a double click selects a word."""
        content = self.selectable
        at = Offset(event.x - self.gutter.left, event.y - self.gutter.top)
        self._was_drag = False
        if content is None or event.button != 1 or not self.line_count() or not 0 <= at.x < self.view_width:
            return
        self._drag = _Drag(at)
        self.capture_mouse()
        line, cell = self._point(at)
        here = content.stretch_at(line, cell)
        is_second = event.time - self._press[0] <= _DOUBLE_CLICK and self._press[1] == at
        self._press = (0.0, at) if is_second else (event.time, at)
        if event.shift and self.selection is not None:
            self._was_drag = True
            self._select(self.selection.anchor, here)
            return
        self.unselect()
        word = content.word_at(line, cell) if is_second and at.y + self.top < self.line_count() else None
        if word is not None:
            self._was_drag = True
            self._select(word, word)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Extend the selection to the pointer; scroll if it is beyond the edge."""
        drag, content = self._drag, self.selectable
        if drag is None or content is None:
            return
        event.stop()
        at = Offset(event.x - self.gutter.left, event.y - self.gutter.top)
        if at == drag.at and not drag.has_moved:
            return
        if not drag.has_moved:
            drag.has_moved = self._was_drag = True
            self.hold_still()
            if self.selection is None:
                begin = content.stretch_at(*self._point(drag.at))
                self._select(begin, begin)
        before, drag.at = self._point(drag.at)[0], at
        self._drag_to(before)
        is_beyond = not 0 <= at.y < self.view_height
        if is_beyond and self._scrolling is None:
            self._scrolling = self.set_interval(SCROLL_RATE, self._scroll_on)
        elif not is_beyond:
            self._stop_scrolling()

    def _drag_to(self, before: int) -> None:
        content = self.selectable
        if self._drag is not None and content is not None:
            line, cell = self._point(self._drag.at)
            self._move_head(content.stretch_at(line, cell), (before, line))

    def _scroll_on(self) -> None:
        if self._drag is None:
            self._stop_scrolling()
            return
        y = self._drag.at.y
        far = y if y < 0 else max(0, y - self.view_height + 1)
        before = self.top + (0 if far < 0 else self.view_height - 1)
        self.scroll_to(y=self.top + far, animate=False, force=True)
        self._drag_to(before)

    def _stop_scrolling(self) -> None:
        if self._scrolling is not None:
            self._scrolling.stop()
            self._scrolling = None

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """End the drag; the selection stays."""
        if self._drag is not None:
            event.stop()
            self.release_mouse()
        self._end_drag()

    def on_mouse_release(self) -> None:
        """End the drag after losing the mouse, unless the message is about an earlier press."""
        if self.app.mouse_captured is not self:  # pyright: ignore[reportUnknownMemberType] - Textual leaves the app's type open
            self._end_drag()

    def _end_drag(self) -> None:
        if self._drag is not None and self._drag.has_moved:
            self.at_tail = self.top >= self.max_scroll_y
        self._drag = None
        self._stop_scrolling()

    def key_escape(self, event: events.Key) -> None:
        if self.unselect():
            event.stop()
