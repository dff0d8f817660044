"""The exit filter: removes characters and links that act on a terminal from every line before it is drawn.

`capture.visible` makes foreign text harmless at its entry; this second layer catches what was missed there. Controls
have no width, so removing them keeps a line's width.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.filter import LineFilter
from typing_extensions import override

if TYPE_CHECKING:
    from textual.color import Color

ACTING = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)

ASCII = {
    **dict.fromkeys(range(0x2500, 0x2580), "+"),  # corners and crossings of lines and borders
    **dict.fromkeys(map(ord, "─━┄┅┈┉╌╍═╴╶╸╺╼╾–▪"), "-"),
    **dict.fromkeys(map(ord, "│┃┆┇┊┋╎╏║╵╷╹╻╽╿▌▍▎▏▐▕█"), "|"),
    **dict.fromkeys(map(ord, "▀▁▂▃▄▅▆▇▔"), " "),
    **{ord(mark): stand_in for mark, stand_in in zip("·…✓✗•◦‣☐☑▸▾●○◐«»→←", '-~+x*-+ox+-*o~""><', strict=True)},
}
"""ASCII for the marks that terminals of East Asia may draw two cells wide; one cell for one cell."""


@dataclass(eq=False)
class ExitFilter(LineFilter):
    """Removes control, bidi and invisible characters, and every hyperlink; draws `marks` as they say."""

    marks: Mapping[int, str] = field(default_factory=dict[int, str])
    others: tuple[
        LineFilter, ...
    ] = ()  # applied before: Textual keeps a copy of each line for each filter, so it has one
    enabled: bool = True

    @override
    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        for other in self.others:
            segments = other.apply(segments, background)
        cleaned: list[Segment] | None = None
        for place, segment in enumerate(segments):
            text, style, control = segment
            linked = style is not None and style.link is not None
            if not linked and (text.isascii() and text.isprintable()):
                continue
            harmless = ACTING.sub("", text).translate(self.marks)
            if harmless == text and not linked:
                continue
            cleaned = list(segments) if cleaned is None else cleaned
            cleaned[place] = Segment(harmless, style.update_link(None) if linked and style else style, control)
        return segments if cleaned is None else [segment for segment in cleaned if segment.text]
