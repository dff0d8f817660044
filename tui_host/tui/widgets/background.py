"""Backgrounds of containers, painted as one line for all of them."""

from __future__ import annotations

from textual.containers import Container, Vertical
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget
from typing_extensions import override


class Covered(Widget):
    """Mixed in before a container or a screen without border and padding. Textual would make each line, covered or not."""

    @override
    def render_lines(self, crop: Region) -> list[Strip]:
        """The background."""
        strip = Strip.blank(crop.width, self.rich_style)
        for line_filter in self.get_line_filters():
            strip = strip.apply_filter(line_filter, self.background_colors[1])
        return [strip] * crop.height


class CoveredContainer(Covered, Container):
    """Textual's container."""


class CoveredVertical(Covered, Vertical):
    """Textual's column."""
