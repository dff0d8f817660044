"""Lines on the screen, painted cheaply: each is made once, and growth lays nothing out anew."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip
from textual.widget import Widget
from typing_extensions import override

from tui_host.tui.glyphs import UNICODE, glyphs_of

if TYPE_CHECKING:
    from textual.color import Color
    from textual.filter import LineFilter

EMPTY = Strip([])


Key = TypeVar("Key")
Value = TypeVar("Value")
MOST_KEPT = 256
"""Lines that a view keeps, so that scrolling back and forth draws none again."""


class PlainBar(ScrollBarRender):
    """A scroll bar without block characters."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "] * 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The ground of a view's lines.

    Attributes:
        width: Cells of a line.
        size: Cells of the view, with its scroll bar.
        left: Cells that are scrolled out to the left.
        top: The line that is seen first.
        base: What a line's own style is laid over.
        behind: The background that filters mix with.
        filters: What the app does to every line, in this order.
    """

    width: int
    size: Size
    left: int
    top: int
    base: Style
    behind: Color
    filters: tuple[LineFilter, ...]

    def lays_like(self, other: Ground) -> bool:
        """Whether lines look alike on both grounds, wherever they stand."""
        return replace(self, top=other.top, size=other.size) == other


class Laid(Strip):
    """A line over the view's style, padded to the width.

    Attributes:
        finished: The same after the app's filters, once it was painted.
    """

    __slots__ = ("finished",)

    finished: Strip | None

    @classmethod
    def on(cls, ground: Ground, strip: Strip) -> Laid:
        """Lay a line on a ground without Textual's strip caches, which leave reference cycles."""
        if ground.left or strip.cell_length > ground.width:
            strip = strip.crop(ground.left, ground.left + ground.width)
        segments = [*strip, Segment(" " * (ground.width - strip.cell_length))]
        laid = cls(Segment.apply_style(segments, ground.base), ground.width)
        laid.finished = None
        return laid


def keep(cache: dict[Key, Value], key: Key, value: Value) -> Value:
    """Cache a value in place of the oldest.

    Textual's caches are chains of links that hold each other: what is cleared from them waits for the collector.
    """
    if len(cache) >= MOST_KEPT:
        del cache[next(iter(cache))]
    cache[key] = value
    return value


def thumb_of(size: int, lines: float, window: float, position: float) -> tuple[int, int]:
    """Return the start and length of a scroll bar's thumb in eighths of a cell, like Textual."""
    if not size or not lines or window >= lines:
        return 0, 0
    thumb = max(1, window * size / lines)
    return int((size - thumb) * position / (lines - window) * 8), ceil(thumb * 8)


class PaintedLines(ScrollView, can_focus=True):
    """The painting half of line views. Subclasses define `line_count` and `draw`.

    Textual composes borders, effects and filters for every line of a view that scrolls, and lays out the whole screen when
    a view grows by a line. Here a line that looks the same as before is the same strip to its end.
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id, classes=classes)
        self._strips: dict[int, Strip] = {}
        self._laid: dict[tuple[Segment, ...], Laid] = {}
        self._painted: dict[int, Strip] = {}
        self._ground: Ground | None = None
        self._is_painting = False
        self._strips_width = -1
        self._thumb = (0, 0, 0)
        self._is_telling = False

    # What a subclass says. The first two are abstract: the metaclass of Textual's widgets leaves no room for `ABC`.

    def line_count(self) -> int:
        """Return the number of lines. Abstract: the metaclass of Textual's widgets leaves no room for `ABC`."""
        raise NotImplementedError

    def draw(self, number: int) -> Strip:
        """Draw a line, from 0 on; called for visible lines after a change."""
        raise NotImplementedError

    def decorate(self, number: int, strip: Strip) -> Strip:  # noqa: ARG002 - for a subclass
        """Return a line as drawn now. Called at each paint; keep it cheap."""
        return strip

    # What is seen of it.

    @property
    def view_width(self) -> int:
        """Cells in a line on the screen."""
        return self.scrollable_content_region.width

    @property
    def view_height(self) -> int:
        """Lines on the screen."""
        return self.scrollable_content_region.height

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
        self._tell_bar()
        self.scroll_target_y = self.validate_scroll_target_y(self.scroll_target_y)
        self.scroll_y = self.validate_scroll_y(self.scroll_y)

    def _tell_bar(self) -> None:
        """Update the scroll bar, and repaint it if its thumb moved."""
        if not self.show_vertical_scrollbar:
            return
        bar = self.vertical_scrollbar
        bar.set_reactive(ScrollBar.window_virtual_size, self.virtual_size.height)
        bar.set_reactive(ScrollBar.position, bar.validate_position(self.scroll_y))
        if not self._is_telling:
            self._is_telling = True
            self.call_later(self._paint_bar)

    def _paint_bar(self) -> None:
        self._is_telling = False
        bar = self.vertical_scrollbar
        size = bar.size.height
        thumb = size, *thumb_of(size, bar.window_virtual_size, bar.window_size, bar.position)
        if thumb != self._thumb:
            self._thumb = thumb
            bar.refresh()

    @override
    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Paint the visible lines, but not the whole scroll bar as Textual does."""
        self._tell_bar()
        if round(old_value) != round(new_value):
            self.refresh(self.size.region)

    # What Textual calls.

    @override
    def on_mount(self) -> None:
        """Choose scroll bars that the terminal can draw."""
        if glyphs_of(self) is not UNICODE:
            for bar in (self.vertical_scrollbar, self.horizontal_scrollbar):
                bar.renderer = PlainBar  # pyright: ignore[reportAttributeAccessIssue] - the way that Textual documents

    def strip_at(self, number: int) -> Strip:
        """Return a cached line. Views with their own cache override this."""
        strip = self._strips.get(number)
        if strip is None:
            strip = keep(self._strips, number, self.draw(number))
        return strip

    @override
    def render_line(self, y: int) -> Strip:
        """Return a line of the screen, before the app's filters."""
        ground = self._ground if self._is_painting else None
        if ground is None:
            ground = self._stand()
        number = y + ground.top
        strip = EMPTY if number >= self.virtual_size.height else self.decorate(number, self.strip_at(number))
        # What looks the same is the same strip, however often it was decorated: what is made of it is kept with it.
        key = tuple(strip)
        laid = self._laid.get(key)
        if laid is None:
            laid = keep(self._laid, key, Laid.on(ground, strip))
        return laid

    @override
    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the requested screen lines, each made once until changed.

        Textual's way composes borders, padding and effects, and filters every line, each time that a view scrolls. That
        is for views that have any of them.
        """
        ground, painted = self._stand(), self._painted
        self._is_painting = True
        try:
            if not self._is_bare():
                painted.clear()
                return super().render_lines(crop)
            for y in crop.line_range:
                if y not in painted:
                    painted[y] = self._finish(self.render_line(y), ground)
        finally:
            self._is_painting = False
        strips, span = [painted[y] for y in crop.line_range], crop.column_span
        if span == (0, ground.width):
            return strips
        behind = Style(bgcolor=ground.base.bgcolor)  # under the scroll bar
        return [strip.adjust_cell_length(self.size.width, behind).crop(*span) for strip in strips]

    def _stand(self) -> Ground:
        """Return the present ground, and drop caches made for another."""
        scrolled = self.scroll_offset
        ground = Ground(
            width=self.view_width,
            size=self.size,
            left=scrolled.x,
            top=scrolled.y,
            base=self.rich_style,
            behind=self.background_colors[1],
            filters=tuple(self.get_line_filters()),
        )
        before = self._ground
        if ground != before:
            self._painted.clear()
            if before is None or not ground.lays_like(before):
                self._laid.clear()
            self._ground = ground
        if ground.width != self._strips_width:
            self._strips_width = ground.width
            self._strips.clear()
        return ground

    @staticmethod
    def _finish(strip: Strip, ground: Ground) -> Strip:
        """Apply the app's filters to a line."""
        if isinstance(strip, Laid) and strip.finished is not None:
            return strip.finished
        segments = list(strip)
        for line_filter in ground.filters:
            segments = line_filter.apply(segments, ground.behind)
        finished = Strip(segments, ground.width)
        if isinstance(strip, Laid):
            strip.finished = finished
        return finished

    def _is_bare(self) -> bool:
        """Whether the view has no border, effect or tint."""
        styles = self.styles
        return (
            styles.gutter == (0, 0, 0, 0)
            and self.opacity == styles.text_opacity == 1.0
            and not styles.tint.a
            and not styles.has_rule("hatch")
            and not any(edge for edge, _ in styles.outline)
        )

    @override
    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Repaint some regions, or everything."""
        if regions:
            for region in regions:
                for y in region.line_range:
                    self._painted.pop(y, None)
        elif repaint:
            self._painted.clear()
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    @override
    def notify_style_update(self) -> None:
        """Forget lines drawn in old colours."""
        super().notify_style_update()
        self._strips.clear()
        self._laid.clear()
        self._painted.clear()
