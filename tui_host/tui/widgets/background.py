"""Backgrounds of containers, painted as one line for all of them."""

from __future__ import annotations

from textual.containers import Container
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget


class Covered:
    """Mixin before a container or screen without border and padding: Textual would draw each line, even covered ones.

    No widget itself: Textual takes style sheets and component classes from the first base that is one.
    """

    def render_lines(self, crop: Region) -> list[Strip]:
        assert isinstance(self, Widget)  # noqa: S101 - see above
        strip = Strip.blank(crop.width, self.rich_style)
        for line_filter in self.get_line_filters():
            strip = strip.apply_filter(line_filter, self.background_colors[1])
        return [strip] * crop.height


class CoveredContainer(Covered, Container):
    """Textual's container."""
