"""The base of growing views: paints visible lines, keeps the rest as data, moves a cursor, and selects by the mouse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import ClassVar, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget
from typing_extensions import override

from tui_host.tui.widgets.lines.json_lines import Piece
from tui_host.tui.widgets.lines.selection import NO_LETTERS, Selectable, Stretch, cells_in, stretch_at

Key = TypeVar("Key")
MOST_KEPT = 256  # lines that a view keeps, so that scrolling back and forth draws none again
_DOUBLE_CLICK_SECONDS = 0.5
_SCROLL_RATE = 1 / 20  # seconds between two steps while the mouse is held beyond the edge
_LOOKS = {
    **dict.fromkeys(("time", "host", "figure", "note", "heading"), "muted"),
    **dict.fromkeys(("llm", "key"), "primary"),
    "mcp": "secondary",
    **dict.fromkeys(("decision", "mark", "new", "fold"), "marked"),
    "what": "strong",
    "failed": "error",
    **dict.fromkeys(("secret", "control", "nowhere"), "warning"),
    "string": "success",
    **dict.fromkeys(("number", "word"), "accent"),
}
"""How styles look that are not plain. A look costs whenever a view is styled, so styles that look alike share one."""


class LineView(ScrollView, can_focus=True, inherit_bindings=False):
    """Lines drawn on demand. Subclasses define `draw`, and call `redraw` with the number of lines, or `changed`.

    A view that `FOLLOWS` stays at its end while the reader is there. A view that `has_cursor` has a current line, moved by
    keys and clicks, and posts `CursorMoved` and `Opened`.

    The strips of `draw` carry partial styles, laid over the view's own style. Foreign text in them must have passed
    `capture.visible`. The styles of pieces, which are texts with the names of their styles, stand in the style sheet.

    Textual composes borders, effects and filters for every line of a view that scrolls, and lays out the whole screen when
    a view grows by a line. Here a line that looks the same as before is the same strip to its end.
    """

    ALLOW_SELECT = False
    FOLLOWS: ClassVar[bool] = False
    has_cursor: bool = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"line-view--cursor", *(f"piece--{look}" for look in _LOOKS.values())}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "line(-1)", key_display="up down, k j", tooltip="move a line up or down"),
        Binding("down,j", "line(1)"),
        Binding("pageup", "page(-1)", tooltip="move a page up or down"),
        Binding("pagedown", "page(1)"),
        Binding("home,g", "edge(False)", key_display="home end, g G", tooltip="go to the first or the last line"),
        Binding("end,G", "edge(True)"),
    ]
    DEFAULT_CSS = """
    LineView {
        background: $surface; color: $foreground; overflow-x: hidden; overflow-y: scroll; scrollbar-size: 1 1;
        & > .line-view--cursor { background: $primary 12%; }
        &:focus > .line-view--cursor { background: $primary 25%; }
        & > .piece--muted { color: $text-muted; }
        & > .piece--primary { color: $text-primary; }
        & > .piece--secondary { color: $text-secondary; }
        & > .piece--marked { color: $text-accent; text-style: bold; }
        & > .piece--strong { text-style: bold; }
        & > .piece--error { color: $text-error; text-style: bold; }
        & > .piece--warning { color: $text-warning; }
        & > .piece--success { color: $text-success; }
        & > .piece--accent { color: $text-accent; }
    }
    """

    cursor: var[int | None] = var(None, init=False)
    """The current line of a view that has one."""

    @dataclass
    class LineMessage(Message):
        """Base of the messages about a line."""

        view: LineView
        line: int

    class CursorMoved(LineMessage):
        """Posted when a key or a click has moved the cursor."""

    class Opened(LineMessage):
        """Posted when `enter` or a click has opened the current line."""

    @dataclass
    class CopyAsked(Message):
        """A text is to be copied."""

        what: str
        text: str

    @dataclass
    class Hinted(Message):
        """Posted to say why a key does nothing here."""

        words: str

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id, classes=classes)
        self._strips: dict[int, Strip] = {}  # drawn lines by number
        self._finished: dict[tuple[object, ...], Strip] = {}  # painted lines by what they look like
        self._ground: object = None  # what painted lines depend on
        self._thumb = (0, 0, 0)
        self._looks: dict[str, Style] = {}
        self.at_tail = self.FOLLOWS  # whether the reader is at the end, where a following view stays
        self.selectable: Selectable | None = None  # the selectable content; None if nothing can be selected
        self._drawn_width = -1
        self.selection: Stretch | None = None  # what is selected
        self._anchor: Stretch = (), ()  # what the mouse went down on, which stays selected
        self.is_dragged = False  # whether the current click ends a drag and has no other meaning
        self._drag: Offset | None = None  # the pointer, in cells of the view, while the button is down
        self._press = (0.0, Offset(-1, -1))
        self._scrolling: Timer | None = None

    # For subclasses to define. `draw` is abstract: the metaclass of Textual's widgets leaves no room for `ABC`.

    def draw(self, number: int) -> Strip:
        """Draw a line, from 0 on; called for visible lines after a change."""
        raise NotImplementedError

    def decorate(self, number: int, strip: Strip, mark: str = "") -> Strip:
        """Return a line with its mark, what is selected, and the cursor's tint. Called at each paint; keep it cheap."""
        if self.has_cursor:
            mark = mark or " >"[number == self.cursor]
            strip = Strip([Segment(mark, self.look_of("mark")), *strip])
        content, selected = self.selectable, self.selection
        if content is not None and selected is not None:
            first, last = cells_in(content.letters(number), selected, self.scrollable_size.width) or (0, 0)
            ground, style = self.screen.get_component_rich_style("screen--selection").bgcolor, Style(reverse=True)
            if not self.app.no_color and ground is not None and ground.triplet is not None:  # pyright: ignore[reportUnknownMemberType] - Textual leaves the app's type open
                readable = Color.from_rich_color(ground).get_contrast_text(1.0)
                style = Style(color=readable.rich_color, bgcolor=ground)
            if first < last:
                strip = strip.extend_cell_length(last)
                marked = [Segment(text, (own or Style.null()) + style) for text, own, _ in strip.crop(first, last)]
                strip = Strip.join([strip.crop(0, first), Strip(marked), strip.crop(last)])
        if number != self.cursor:
            return strip
        return strip.extend_cell_length(self.scrollable_size.width).apply_style(self.look_of("line-view--cursor"))

    def width_changed(self) -> None:
        """Called before lines are drawn in a new width."""

    def selected_source(self) -> tuple[str, str] | None:
        """Return the selected text and what it is; None without a selection."""
        content, selected = self.selectable, self.selection
        if content is None or selected is None or selected[0] == selected[1] or not self.line_count():
            return None
        return content.copied(*selected)

    def select_text(self, stretch: Stretch, head: Stretch | None = None) -> None:
        """Select a stretch, and all up to another one."""
        head, self._anchor = head or stretch, stretch
        selection = min(stretch[0], head[0]), max(stretch[1], head[1])
        if selection != self.selection:
            self.screen.clear_selection()  # Textual's own, which its key would copy first
            self.selection = selection
            self.refresh()

    def unselect(self) -> bool:
        """Clear the selection; returns whether there was one."""
        if was_selected := self.selection is not None:
            self.selection = None
            self.refresh()
        return was_selected

    def look_of(self, name: str) -> Style:
        """Return the style of a style name or a component class: its own rules as opaque colours for this view's background.

        Textual's own partial style loses the strength of translucent and automatic colours. Unknown names are plain.
        """
        look = self._looks.get(name)
        if look is None:
            look, component = Style.null(), f"piece--{_LOOKS[name]}" if name in _LOOKS else name
            if "--" in component:
                styles, whole = self.get_component_styles(component), self.get_component_rich_style(component)
                color = whole.color if styles.has_rule("color") else None
                bgcolor = whole.bgcolor if styles.has_rule("background") else None
                look = styles.text_style + Style(color=color, bgcolor=bgcolor)
            self._looks[name] = look
        return look

    def strip_of(self, pieces: Sequence[Piece]) -> Strip:
        """Return a line of pieces."""
        return Strip([Segment(text, self.look_of(name)) for text, name in pieces])

    def line_count(self) -> int:
        """Return the number of lines."""
        return self.virtual_size.height

    def changed(self, first: int, count: int = 1) -> None:
        """Redraw some lines."""
        changed = range(first, first + count)
        for number in [line for line in self._strips if line in changed]:
            del self._strips[number]
        top = self.scroll_offset.y
        shown = range(max(first, top), min(first + count, top + self.scrollable_size.height))
        if shown:
            self.refresh_lines(shown.start, len(shown))

    def redraw(self, count: int | None = None, first: int = 0) -> None:
        """Redraw the lines from one on, of which there are now so many in all, or as many as before."""
        count = self.line_count() if count is None else count
        for number in [line for line in self._strips if line >= first]:
            del self._strips[number]
        self.set_height(count)
        if first:
            self.refresh_lines(first, count - first)
        else:
            self.refresh()
        if self.at_tail and self.FOLLOWS:
            self.show_line(self.max_scroll_y, top=True)

    def show_line(self, number: int, *, top: bool = False) -> None:
        """Scroll to a line: as little as possible, or so that it is on top."""
        height = max(1, self.scrollable_size.height)
        if not top and self.scroll_offset.y <= number < self.scroll_offset.y + height:
            return
        is_below = not top and number > self.scroll_offset.y
        self.scroll_to(y=number - height + 1 if is_below else number, animate=False, force=True)

    def set_height(self, count: int) -> None:
        """Set the number of lines to scroll through, without a new layout of the screen.

        Setting `virtual_size` would lay out the whole screen and repaint all of this view, each time that it grows; so
        would a scroll bar that comes and goes.
        """
        if count == self.virtual_size.height:
            return
        size = Size(0, count)
        if not self.is_mounted or not self.container_size.height or self.styles.is_auto_height:
            self.virtual_size = size
            return
        self.set_reactive(Widget.virtual_size, size)  # pyright: ignore[reportArgumentType] - of the class it is the descriptor
        self.call_later(self._move_bar)
        self.scroll_target_y = self.validate_scroll_target_y(self.scroll_target_y)
        self.scroll_y = self.validate_scroll_y(self.scroll_y)

    def _move_bar(self) -> None:
        """Update the scroll bar, and repaint it if its thumb moved."""
        if not self.show_vertical_scrollbar:
            return
        bar, lines = self.vertical_scrollbar, self.virtual_size.height
        bar.set_reactive(ScrollBar.window_virtual_size, lines)
        bar.set_reactive(ScrollBar.position, bar.validate_position(self.scroll_y))
        size, window = bar.size.height, bar.window_size
        now = size, 0, 0
        if size and lines and window < lines:  # start and length in eighths of a cell, like Textual
            thumb = max(1, window * size / lines)
            now = size, int((size - thumb) * bar.position / (lines - window) * 8), ceil(thumb * 8)
        if now != self._thumb:
            self._thumb = now
            bar.refresh()

    @override
    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        self.call_later(self._move_bar)
        if round(old_value) != round(new_value):
            self.refresh(self.size.region)
        self.at_tail = round(new_value) >= self.max_scroll_y

    # Painting.

    def _line(self, y: int) -> Strip:
        """Return what stands on a line of the visible part."""
        number = y + self.scroll_offset.y
        if number >= self.line_count():
            return Strip([])
        strip = self._strips.get(number)
        if strip is None:
            strip = _keep(self._strips, number, self.draw(number))
        return self.decorate(number, strip)

    @override
    def render_line(self, y: int) -> Strip:
        return self._line(y).extend_cell_length(self.scrollable_size.width).apply_style(self.rich_style)

    @override
    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the requested screen lines; Textual's slower way is for views with borders, padding or effects."""
        if self.styles.gutter != (0, 0, 0, 0) or self.opacity != 1.0:
            return super().render_lines(crop)
        width, base, behind = self.scrollable_size.width, self.rich_style, self.background_colors[1]
        ground = width, base, behind, tuple(filters := self.get_line_filters())
        if ground != self._ground:
            self._ground = ground
            self._strips.clear()
            self._finished.clear()
        strips: list[Strip] = []
        for y in range(crop.y, crop.bottom):
            line = self._line(y)
            look = tuple(line)  # lines that look the same are the same strip, however often they are decorated
            finished = self._finished.get(look)
            if finished is None:
                # Without Textual's caches of strips, which leave reference cycles.
                line = line.crop(0, width) if line.cell_length > width else line
                segments = list(Segment.apply_style([*line, Segment(" " * (width - line.cell_length))], base))
                for line_filter in filters:
                    segments = line_filter.apply(segments, behind)
                finished = _keep(self._finished, look, Strip(segments, width))
            strips.append(finished)
        if crop.column_span == (0, width):
            return strips
        under_bar = Style(bgcolor=base.bgcolor)
        return [strip.adjust_cell_length(self.size.width, under_bar).crop(*crop.column_span) for strip in strips]

    @override
    def notify_style_update(self) -> None:
        super().notify_style_update()
        for cache in (self._strips, self._finished, self._looks):
            cache.clear()

    def on_resize(self) -> None:
        if self.scrollable_size.width != self._drawn_width:
            self._drawn_width = self.scrollable_size.width
            self.width_changed()
            self.redraw()
        elif self.at_tail and self.FOLLOWS:
            self.show_line(self.max_scroll_y, top=True)
        if self.cursor is not None:
            self.show_line(self.cursor)

    # Cursor and keys.

    def watch_cursor(self, old: int | None, new: int | None) -> None:
        for number in (old, new):
            if number is not None:
                self.refresh_lines(number)

    def on_click(self, event: events.Click) -> None:
        number = event.y - self.gutter.top + self.scroll_offset.y
        if self.is_dragged or not self.has_cursor or not 0 <= number < self.line_count():
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
        if self.has_cursor and self.cursor is not None:
            event.stop()
            self.post_message(self.Opened(self, self.cursor))

    def action_line(self, step: int) -> None:
        if not self.has_cursor:
            self.show_line(self.scroll_offset.y + step, top=True)
        elif self.cursor is None:
            self.move_cursor(self.scroll_offset.y + (self.scrollable_size.height - 1 if step < 0 else 0))
        else:
            self.move_cursor(self.cursor + step)

    def action_page(self, step: int) -> None:
        distance = step * max(1, self.scrollable_size.height - 1)
        if self.has_cursor:
            self.move_cursor((self.scroll_offset.y if self.cursor is None else self.cursor) + distance)
        else:
            self.show_line(self.scroll_offset.y + distance, top=True)

    def action_edge(self, is_last: bool) -> None:
        """Go to the last line, where a view that follows stays, or to the first."""
        if self.has_cursor:
            self.move_cursor(self.line_count() - 1 if is_last else 0)
        self.at_tail |= is_last
        self.show_line(self.max_scroll_y if is_last else 0, top=True)

    # The mouse.

    def _stretch_at(self, at: Offset, *, by_words: bool = False) -> Stretch:
        """Return what is under the pointer, within the visible part."""
        content, line = self.selectable, max(0, min(at.y, self.scrollable_size.height - 1)) + self.scroll_offset.y
        letters = NO_LETTERS if content is None else content.letters(max(0, min(line, self.line_count() - 1)))
        return stretch_at(letters, max(0, min(at.x, self.scrollable_size.width)), by_words=by_words)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self.is_dragged, at = False, event.get_content_offset_capture(self)
        is_beside = not self.line_count() or not 0 <= at.x < self.scrollable_size.width
        if self.selectable is None or event.button != 1 or is_beside:
            return
        self._drag = at
        self.capture_mouse()
        is_second = event.time - self._press[0] <= _DOUBLE_CLICK_SECONDS and self._press[1] == at
        self._press = (0.0 if is_second else event.time, at)
        if event.shift and self.selection is not None:
            self.is_dragged = True
            self._select_on()
            return
        self.unselect()
        if is_second and at.y + self.scroll_offset.y < self.line_count():
            word = self._stretch_at(at, by_words=True)
            if word[0] != word[1]:
                self.is_dragged = True
                self.select_text(word)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        at = event.get_content_offset_capture(self)
        if self._drag is None:
            return
        event.stop()
        if at != self._drag and not self.is_dragged:
            self.is_dragged, self.at_tail = True, False  # nothing is followed while the mouse selects
            self.select_text(self._stretch_at(self._drag))
        if self._scrolling is None:
            self._scrolling = self.set_interval(_SCROLL_RATE, self._select_on)
        self._drag = at
        self._select_on()

    def _select_on(self) -> None:
        """Select up to the pointer; scroll while it is beyond the edge."""
        if self._drag is None or self.selection is None:
            return
        y = self._drag.y
        if not 0 <= y < self.scrollable_size.height:
            beyond = y if y < 0 else y - self.scrollable_size.height + 1
            self.show_line(self.scroll_offset.y + beyond, top=True)
        self.select_text(self._anchor, self._stretch_at(self._drag))

    def on_mouse_up(self, event: events.MouseUp | events.MouseRelease) -> None:
        if self._drag is not None and isinstance(event, events.MouseUp):
            event.stop()
            self.release_mouse()  # of which Textual's message comes later
        if self._drag is None or self.app.mouse_captured is self:  # pyright: ignore[reportUnknownMemberType] - it is about an earlier press
            return
        if self.is_dragged:
            self.at_tail = self.scroll_offset.y >= self.max_scroll_y
        self._drag = None
        if self._scrolling is not None:
            self._scrolling.stop()
            self._scrolling = None

    on_mouse_release = on_mouse_up

    def key_escape(self, event: events.Key) -> None:
        if self.unselect():
            event.stop()


def _keep(cache: dict[Key, Strip], key: Key, strip: Strip) -> Strip:
    """Cache a line in place of the oldest.

    Textual's caches are chains of links that hold each other: what is cleared from them waits for the collector.
    """
    if len(cache) >= MOST_KEPT:
        del cache[next(iter(cache))]
    cache[key] = strip
    return strip
