"""The base of growing views: draws visible lines and keeps the rest as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip
from typing_extensions import override

from tui_host.tui.widgets.lines.painting import PaintedLines


class LineView(PaintedLines, can_focus=True, inherit_bindings=False):
    """Lines drawn on demand. Subclasses define `line_count` and `draw`.

    It tells the view what became of its lines by `grew`, `changed` and `redraw`; nothing else repaints. A view that
    `FOLLOWS` stays at its end while the reader is there, and stays where it is otherwise. One that `HAS_CURSOR` has a
    current line, moved by keys and clicks, and posts `CursorMoved` and `Opened`.

    The strips of `draw` carry what they differ in alone (partial styles): the view lays them over its own style, so that
    every segment has one. Foreign text in them must have passed `capture.visible`.
    """

    ALLOW_SELECT = False
    FOLLOWS: ClassVar[bool] = False
    HAS_CURSOR: ClassVar[bool] = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"line-view--cursor"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "line(-1)", "Up", show=False),
        Binding("down,j", "line(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "first", "First", show=False),
        Binding("end,G", "last", "Last", show=False),
    ]
    DEFAULT_CSS = """
    LineView {
        background: $surface;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size: 1 1;
        & > .line-view--cursor { background: $primary 12%; }
        &:focus > .line-view--cursor { background: $primary 30%; }
    }
    """

    cursor: var[int | None] = var(None, init=False)
    """The current line of a view that has one."""

    @dataclass
    class CursorMoved(Message):
        """The current line changed by a key or a click."""

        view: LineView
        line: int

        @property
        @override
        def control(self) -> LineView:
            return self.view

    @dataclass
    class Opened(Message):
        """The current line was opened by `enter` or a click."""

        view: LineView
        line: int

        @property
        @override
        def control(self) -> LineView:
            return self.view

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id, classes=classes)
        self._looks: dict[str, Style] = {}
        self._at_tail = self.FOLLOWS
        self._told_width = -1
        self._told_height = 0

    # What a subclass says, besides what the base asks.

    @override
    def decorate(self, number: int, strip: Strip) -> Strip:
        """Return a line as drawn now: with the cursor's tint. Called at each paint; keep it cheap."""
        return self.tinted(strip, "line-view--cursor") if number == self.cursor else strip

    def width_changed(self) -> None:
        """Called before anything is drawn in a new width."""

    # What a subclass calls.

    def look_of(self, component: str) -> Style:
        """Return a component class's own rules as opaque colours for this view's background.

        Textual's own partial style loses the strength of translucent and automatic colours.
        """
        look = self._looks.get(component)
        if look is None:
            styles, whole = self.get_component_styles(component), self.get_component_rich_style(component)
            look = self._looks[component] = styles.text_style + Style(
                color=whole.color if styles.has_rule("color") else None,
                bgcolor=whole.bgcolor if styles.has_rule("background") else None,
            )
        return look

    def tinted(self, strip: Strip, component: str) -> Strip:
        """A line with a component's background from end to end."""
        return strip.extend_cell_length(self.view_width).apply_style(self.look_of(component))

    @property
    def top(self) -> int:
        """The first line on the screen."""
        return self.scroll_offset.y

    @property
    def is_dragged(self) -> bool:
        """Whether the present click ends a drag, and means nothing else."""
        return False

    @property
    def at_tail(self) -> bool:
        """Whether the reader is at the end, where a following view stays."""
        return self._at_tail

    def grew(self) -> None:
        """Update after lines were added or removed at the end."""
        before = self.virtual_size.height
        count = self.line_count()
        self.set_height(count)
        if count > before:
            self.refresh_lines(before, count - before)
        elif count < before:
            for number in range(count, before):
                self._strips.pop(number, None)
            self.refresh()
        self._hold_tail()

    def changed(self, first: int, count: int = 1) -> None:
        """Redraw some lines."""
        if count > len(self._strips):
            for number in [number for number in self._strips if first <= number < first + count]:
                del self._strips[number]
        else:
            for number in range(first, first + count):
                self._strips.pop(number, None)
        top = self.top
        shown_first, shown_end = max(first, top), min(first + count, top + self.view_height)
        if shown_first < shown_end:
            self.refresh_lines(shown_first, shown_end - shown_first)

    def make_anew(self) -> None:
        """Make all lines anew, as for another width."""
        if self.view_width > 0:
            self.width_changed()
        else:
            self._told_width = -1
        self.redraw()

    def redraw(self) -> None:
        """Redraw everything, and count the lines again."""
        self._strips.clear()
        self.set_height(self.line_count())
        self.refresh()
        self._hold_tail()

    def show_line(self, number: int, *, top: bool = False) -> None:
        """Scroll to a line: as little as possible, or to the top."""
        height = max(1, self.view_height)
        if top or number < self.top:
            self.scroll_to(y=number, animate=False, force=True)
        elif number >= self.top + height:
            self.scroll_to(y=number - height + 1, animate=False, force=True)

    def to_tail(self) -> None:
        """Go to the end, and follow if the view does."""
        self._at_tail = True
        self.scroll_to(y=self.max_scroll_y, animate=False, force=True)

    def _hold_tail(self) -> None:
        if self._at_tail and self.FOLLOWS:
            self.to_tail()

    # What Textual calls.

    @override
    def notify_style_update(self) -> None:
        """Forget lines drawn in old colours."""
        super().notify_style_update()
        self._looks.clear()

    def on_resize(self) -> None:
        """Remake lines for a new width, and keep the end or the current line visible."""
        number, height = self.cursor, self._told_height
        was_seen = number is not None and self.top <= number < self.top + height
        self._told_height = self.view_height
        if self.view_width != self._told_width:
            self._told_width = self.view_width
            self.width_changed()
            self.redraw()
        else:
            self._hold_tail()
        if was_seen and self.cursor is not None:
            self.show_line(self.cursor)

    @override
    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._at_tail = round(new_value) >= self.max_scroll_y

    def watch_cursor(self, old: int | None, new: int | None) -> None:
        """Repaint the old and the new current line."""
        for number in (old, new):
            if number is not None:
                self.refresh_lines(number)

    def on_click(self, event: events.Click) -> None:
        """Make the clicked line current, or open the current line."""
        number = event.y - self.gutter.top + self.scroll_offset.y
        if self.is_dragged or not self.HAS_CURSOR or not 0 <= number < self.line_count():
            return
        event.stop()
        if number == self.cursor:
            self.post_message(self.Opened(self, number))
        else:
            self.move_cursor(number)

    def move_cursor(self, number: int) -> None:
        """Make a line current, and scroll to it."""
        count = self.line_count()
        if not count:
            return
        number = max(0, min(count - 1, number))
        if number != self.cursor:
            self.cursor = number
            self.post_message(self.CursorMoved(self, number))
        self.show_line(number)

    def key_enter(self, event: events.Key) -> None:
        """Open the current line."""
        if self.HAS_CURSOR and self.cursor is not None:
            event.stop()
            self.post_message(self.Opened(self, self.cursor))

    def action_line(self, step: int) -> None:
        """Move the cursor, or scroll, by a line."""
        if not self.HAS_CURSOR:
            self._scroll_by(step)
        elif self.cursor is None:
            self.move_cursor(self.top + (self.view_height - 1 if step < 0 else 0))
        else:
            self.move_cursor(self.cursor + step)

    def action_page(self, step: int) -> None:
        """Move the cursor, or the lines, by a screenful."""
        distance = step * max(1, self.view_height - 1)
        if self.HAS_CURSOR:
            self.move_cursor((self.top if self.cursor is None else self.cursor) + distance)
        else:
            self._scroll_by(distance)

    def action_first(self) -> None:
        """Go to the first line."""
        if self.HAS_CURSOR:
            self.move_cursor(0)
        self.scroll_to(y=0, animate=False, force=True)

    def action_last(self) -> None:
        """Go to the last line, and follow."""
        if self.HAS_CURSOR:
            self.move_cursor(self.line_count() - 1)
        self.to_tail()

    def _scroll_by(self, lines: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + lines, animate=False, force=True)
