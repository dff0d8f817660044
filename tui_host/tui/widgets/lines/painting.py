"""What lines of a view are painted on and kept as, so that a line that looks as before is made once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, TypeVar

from rich.segment import Segment
from textual.strip import Strip

if TYPE_CHECKING:
    from rich.style import Style
    from textual.color import Color
    from textual.filter import LineFilter
    from textual.geometry import Size

Key = TypeVar("Key")
Value = TypeVar("Value")
MOST_KEPT = 256
"""Lines that a view keeps, so that scrolling back and forth draws none again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The ground of a view's lines."""

    width: int  # cells of a line
    size: Size  # cells of the view, with its scroll bar
    left: int  # cells scrolled out to the left
    top: int  # the first visible line
    base: Style  # the style below a line's own styles
    behind: Color  # the background that filters mix with
    filters: tuple[LineFilter, ...]  # the app's filters for every line, in order

    def lays_like(self, other: Ground) -> bool:
        """Whether lines look alike on both grounds, wherever they stand."""
        return replace(self, top=other.top, size=other.size) == other


class Laid(Strip):
    """A line over the view's style, padded to the width."""

    __slots__ = ("finished",)

    finished: Strip | None  # the same after the app's filters, once it was painted

    @classmethod
    def on(cls, ground: Ground, strip: Strip) -> Laid:
        """Lay a line on a ground without Textual's strip caches, which leave reference cycles."""
        if ground.left or strip.cell_length > ground.width:
            strip = strip.crop(ground.left, ground.left + ground.width)
        segments = [*strip, Segment(" " * (ground.width - strip.cell_length))]
        laid = cls(Segment.apply_style(segments, ground.base), ground.width)
        laid.finished = None
        return laid

    def finish(self, ground: Ground) -> Strip:
        """Apply the app's filters, once."""
        if self.finished is None:
            self.finished = filtered(self, ground)
        return self.finished


def filtered(strip: Strip, ground: Ground) -> Strip:
    """Apply the app's filters to a line."""
    segments = list(strip)
    for line_filter in ground.filters:
        segments = line_filter.apply(segments, ground.behind)
    return Strip(segments, ground.width)


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
