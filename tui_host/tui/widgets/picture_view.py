"""Draws a small picture in half blocks, two pixels a cell."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.color import Color
from rich.color_triplet import ColorTriplet
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from typing_extensions import override

from tui_host.tui.widgets.lines.line_view import LineView

if TYPE_CHECKING:
    from tui_host.host.image_decoder import Picture

HALF = "▀"
"""Upper and lower pixel of a cell."""


class PictureView(LineView):
    """A picture as lines of coloured cells; where marks are ASCII, the exit filter leaves each lower pixel."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._picture: Picture | None = None

    @property
    def ground(self) -> str:
        """The colour behind the picture, in six hexadecimal digits."""
        red, green, blue = self.background_colors[1].rgb
        return f"{red:02x}{green:02x}{blue:02x}"

    def show(self, picture: Picture | None) -> None:
        """Show a picture, or nothing."""
        self._picture = picture
        self.redraw()

    @override
    def line_count(self) -> int:
        return 0 if self._picture is None else (self._picture.height + 1) // 2

    @override
    def draw(self, number: int) -> Strip:
        picture = self._picture
        if picture is None:
            return Strip([])
        width, start = picture.width, 6 * number * picture.width
        row = picture.rgb[start : start + 6 * width]
        upper = [row[at : at + 3] for at in range(0, 3 * width, 3)]
        # A missing last line repeats the one above it.
        lower = [row[at : at + 3] for at in range(3 * width, len(row), 3)] or upper
        runs = [(colours, sum(1 for _ in run)) for colours, run in groupby(zip(upper, lower, strict=True))]
        return Strip([Segment(HALF * cells, _style(*colours)) for colours, cells in runs])


def _style(upper: bytes, lower: bytes) -> Style:
    above, below = (Color.from_triplet(ColorTriplet(*colour)) for colour in (upper, lower))
    return Style(color=above, bgcolor=below)
