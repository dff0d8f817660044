"""Draws a small picture in half blocks, two pixels a cell."""

from __future__ import annotations

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
        segments: list[Segment] = []
        last: tuple[bytes, bytes] | None = None
        start = 0
        for column in range(picture.width + 1):
            cell = None if column == picture.width else self._cell(picture, column, number)
            if cell != last:
                if last is not None:
                    segments.append(self._run(last, column - start))
                last, start = cell, column
        return Strip(segments)

    @staticmethod
    def _cell(picture: Picture, column: int, number: int) -> tuple[bytes, bytes]:
        """Return the colours of the upper and the lower pixel; a missing last line repeats the one above it."""
        at = 3 * (2 * number * picture.width + column)
        upper = picture.rgb[at : at + 3]
        lower = picture.rgb[at + 3 * picture.width : at + 3 * picture.width + 3]
        return upper, lower or upper

    def _run(self, colours: tuple[bytes, bytes], cells: int) -> Segment:
        upper, lower = (Color.from_triplet(ColorTriplet(*colour)) for colour in colours)
        return Segment(HALF * cells, Style(color=upper, bgcolor=lower))
