"""A screen of the app as an SVG that names no foreign host: each run of cells at its place, lines and blocks as shapes.

Textual's own export refers to a web font, and gives wide characters the room of narrow ones. Here any monospace font will
do: what a font may draw with gaps (rules, boxes, bars) is drawn as shapes, and each wide character stands by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

from rich.cells import cell_len
from rich.color import Color, blend_rgb
from rich.color_triplet import ColorTriplet
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

WIDE, HIGH, SIZE = 12, 24, 20
"""Width and height of a cell, and the size of the font, in the picture's units."""
EDGE, BAR = 14, 40
FONTS = "'DejaVu Sans Mono', Menlo, Consolas, monospace, 'Noto Sans Mono CJK SC', 'PingFang SC', 'Microsoft YaHei'"
ADDRESS = re.compile(r"(?<=127\.0\.0\.1:)\d+")
"""A port differs from run to run."""

# Which arms a character has: up, right, down, left.
ARMS = {
    "─": "rl", "│": "ud", "┌": "rd", "┐": "dl", "└": "ur", "┘": "ul", "├": "urd", "┤": "udl", "┬": "rdl", "┴": "url",
    "┼": "urdl", "╵": "u", "╶": "r", "╷": "d", "╴": "l",
}  # fmt: skip
ROUND = {"╭": "rd", "╮": "dl", "╰": "ur", "╯": "ul"}
# Filled parts of a cell: left, top, width, height in eighths.
BLOCKS = {
    "█": (0, 0, 8, 8), "▀": (0, 0, 8, 4), "▄": (0, 4, 8, 4), "▌": (0, 0, 4, 8), "▐": (4, 0, 4, 8), "▔": (0, 0, 8, 1),
    "▁": (0, 7, 8, 1), "▂": (0, 6, 8, 2), "▃": (0, 5, 8, 3), "▅": (0, 3, 8, 5), "▆": (0, 2, 8, 6), "▇": (0, 1, 8, 7),
    "▎": (0, 0, 2, 8), "▏": (0, 0, 1, 8), "▊": (0, 0, 6, 8), "▕": (7, 0, 1, 8),
}  # fmt: skip
SHAPES = ARMS.keys() | ROUND.keys() | BLOCKS.keys()
# fmt: off
NAMES = (
    "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "HT", "LF", "VT", "FF", "CR", "SO", "SI",
    "DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US",
)
# fmt: on
CONTROLS = {chr(0x2400 + number): name for number, name in enumerate(NAMES)}
"""The pictures of controls, which few fonts have: they are drawn as those that have them draw them, in small letters aslant."""
RUN = re.compile(r"\S+(?: \S+)*")


@dataclass(slots=True)
class Drawing:
    """What is drawn so far, by layer."""

    back: str
    fore: str
    fills: list[str] = field(default_factory=list[str])
    shapes: list[str] = field(default_factory=list[str])
    texts: list[str] = field(default_factory=list[str])

    def line(self, number: int, strip: Strip) -> None:
        """Add a line of the screen."""
        cell = 0
        for segment in Segment.simplify(strip):
            style = segment.style or Style.null()
            fore, back = self.colours(style)
            text = masked(segment.text)
            if back != self.back:
                self.fill(cell, number, cell_len(text), back)
            self.write(cell, number, text, fore, style)
            cell += cell_len(text)

    def colours(self, style: Style) -> tuple[str, str]:
        """Foreground and background of a style as hexadecimal colours."""
        fore, back = hexadecimal(style.color, self.fore), hexadecimal(style.bgcolor, self.back)
        if style.reverse:
            fore, back = back, fore
        if style.dim:
            fore = blend_rgb(ColorTriplet(*rgb(fore)), ColorTriplet(*rgb(back)), 0.4).hex
        return fore, back

    def fill(self, cell: int, number: int, cells: int, colour: str) -> None:
        """A background."""
        self.fills.append(
            f'<rect x="{cell * WIDE}" y="{number * HIGH}" width="{cells * WIDE}" height="{HIGH}" fill="{colour}"/>'
        )

    def write(self, cell: int, number: int, text: str, colour: str, style: Style) -> None:
        """The characters of a run: shapes, narrow ones together, wide ones one by one."""
        look = "".join(
            f' {name}="{value}"'
            for name, value, is_on in (
                ("font-weight", "bold", style.bold),
                ("font-style", "italic", style.italic),
                ("text-decoration", "underline", style.underline),
                ("text-decoration", "line-through", style.strike),
            )
            if is_on
        )
        for at, piece in pieces(text):
            x, y = (cell + at) * WIDE, number * HIGH
            if piece in SHAPES:
                self.shapes.append(shape(piece, x, y, colour))
            elif piece in CONTROLS:
                name = CONTROLS[piece]
                for place, letter in enumerate(name):
                    left, top = x + place * WIDE * 0.5, y + 11 + place * 8 / (len(name) - 1)
                    self.texts.append(
                        f'<text x="{left:g}" y="{top:g}" fill="{colour}" font-size="10"{look}>{letter}</text>'
                    )
            else:
                cells = cell_len(piece)
                self.texts.append(
                    f'<text x="{x}" y="{y + HIGH - 6}" fill="{colour}" textLength="{cells * WIDE}"{look}>{escape(piece)}</text>'
                )


def pieces(text: str) -> Iterator[tuple[int, str]]:
    """The words of a run with the cells at which they stand; shapes and wide characters by themselves, no blank ones."""
    cell = 0
    narrow, begun = "", 0
    for character in text:
        width = cell_len(character)
        if character in SHAPES or character in CONTROLS or width != 1:
            yield from words(narrow, begun)
            if character.strip():
                yield cell, character
            narrow, begun = "", cell + width
        else:
            narrow += character
        cell += width
    yield from words(narrow, begun)


def words(text: str, begun: int) -> Iterator[tuple[int, str]]:
    """Narrow text, cut at wider gaps so that no font can drift far."""
    for match in RUN.finditer(text):
        yield begun + match.start(), match.group()


def shape(character: str, x: int, y: int, colour: str) -> str:
    """A rule, corner or block."""
    if character in BLOCKS:
        left, top, wide, high = BLOCKS[character]
        place = f'x="{x + left * WIDE / 8:g}" y="{y + top * HIGH / 8:g}"'
        return f'<rect {place} width="{wide * WIDE / 8:g}" height="{high * HIGH / 8:g}" fill="{colour}"/>'
    middle_x, middle_y = x + WIDE / 2, y + HIGH / 2
    ends = {
        "u": f"{middle_x:g} {y}",
        "d": f"{middle_x:g} {y + HIGH}",
        "l": f"{x} {middle_y:g}",
        "r": f"{x + WIDE} {middle_y:g}",
    }
    if character in ROUND:
        first, second = ROUND[character]
        path = f"M{ends[first]}Q{middle_x:g} {middle_y:g} {ends[second]}"
    else:
        path = "".join(f"M{middle_x:g} {middle_y:g}L{ends[arm]}" for arm in ARMS[character])
    return f'<path d="{path}" stroke="{colour}" stroke-width="1.6" fill="none"/>'


def masked(text: str) -> str:
    """The text with its ports made the same in every run, at the same length."""
    return ADDRESS.sub(lambda found: "40001234"[: len(found.group())], text)


def hexadecimal(colour: Color | None, default: str) -> str:
    """A colour as `#rrggbb`."""
    return default if colour is None or colour.is_default else colour.get_truecolor().hex


def rgb(colour: str) -> tuple[int, int, int]:
    """The three parts of `#rrggbb`."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def svg(strips: Sequence[Strip], *, title: str, back: str, fore: str) -> str:
    """The picture of a screen, in a window's frame."""
    columns = max(strip.cell_length for strip in strips)
    drawing = Drawing(back=back, fore=fore)
    for number, strip in enumerate(strips):
        drawing.line(number, strip)
    width, height = columns * WIDE + 2 * EDGE, len(strips) * HIGH + BAR + EDGE
    lights = "".join(
        f'<circle cx="{EDGE + 10 + 22 * place}" cy="20" r="6.5" fill="{colour}"/>'
        for place, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    body = "\n".join(
        (
            f'<g shape-rendering="crispEdges">{"".join(drawing.fills)}</g>',
            "<g>",
            *drawing.shapes,
            "</g>",
            f'<g font-family="{FONTS}" font-size="{SIZE}" xml:space="preserve">',
            *drawing.texts,
            "</g>",
        )
    )
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>{escape(title)}</title>
<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="9" fill="{back}" stroke="#808080" stroke-opacity="0.5"/>
{lights}
<g transform="translate({EDGE} {BAR})">
{body}
</g>
</svg>
"""
