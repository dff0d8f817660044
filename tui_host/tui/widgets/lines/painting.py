"""How lines are laid on a view's ground, so that a line that looks as before is made once."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rich.segment import Segment
from textual.strip import Strip

if TYPE_CHECKING:
    from rich.style import Style
    from textual.color import Color
    from textual.filter import LineFilter

Key = TypeVar("Key")
Value = TypeVar("Value")
MOST_KEPT = 256
"""Lines that a view keeps, so that scrolling back and forth draws none again."""


class Ground(NamedTuple):
    """What a view's lines stand on: lines that are equal look alike on equal grounds."""

    width: int  # cells of a line
    base: Style  # the style below a line's own styles
    behind: Color  # the background that filters mix with
    filters: tuple[LineFilter, ...]  # the app's filters for every line, in order

    def lay(self, strip: Strip) -> Strip:
        """Lay a line on the ground without Textual's strip caches, which leave reference cycles."""
        if strip.cell_length > self.width:
            strip = strip.crop(0, self.width)
        segments = [*strip, Segment(" " * (self.width - strip.cell_length))]
        return Strip(Segment.apply_style(segments, self.base), self.width)

    def finish(self, strip: Strip) -> Strip:
        """Apply the app's filters to a line that was laid."""
        segments = list(strip)
        for line_filter in self.filters:
            segments = line_filter.apply(segments, self.behind)
        return Strip(segments, self.width)


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
