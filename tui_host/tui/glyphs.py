"""The characters to draw with, and ASCII replacements for terminals that draw some of them too wide."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Glyphs:
    """A set of characters to draw with, one cell each unless stated otherwise.

    Attributes:
        box: Corners top left, top right, bottom left, bottom right, then the horizontal and the vertical line.
    """

    bar: str = "▌"  # line at the left of the user's messages
    thin: str = "│"  # line at the left of other texts
    box: str = "╭╮╰╯─│"
    question: str = "═"  # line of an arrow for what a server asks, and for the answer
    cross: str = "┼┬┴├┤"  # lines of tables: crossing, tee down, tee up, tee right, tee left
    dot: str = "·"  # separates figures
    more: str = "…"  # marks where text was cut
    done: str = "✓"  # success
    failed: str = "✗"  # failure
    bullets: str = "•◦‣"  # bullets of lists, by depth
    boxes: tuple[str, str] = ("☐", "☑")  # an open and a done task; one cell or three
    hidden: str = "•••"  # replaces a secret; three cells
    folds: tuple[str, str] = ("▸", "▾")  # marks of folded and of open parts; one cell or three
    state: str = "●○◐"  # a full, an empty and a half circle; the half one for work under way


UNICODE = Glyphs()
ASCII = Glyphs(
    bar="|",
    thin="|",
    box="++++-|",
    question="=",
    cross="+++++",
    dot="-",
    more="~",
    done="+",
    failed="x",
    bullets="*-+",
    boxes=("[ ]", "[x]"),
    hidden="***",
    folds=("[+]", "[-]"),
    state="*o~",
)


def glyphs_of(part: object) -> Glyphs:
    """Return the glyphs of a widget's or a screen's app; the Unicode ones by default."""
    glyphs = getattr(getattr(part, "app", None), "glyphs", None)
    return glyphs if isinstance(glyphs, Glyphs) else UNICODE
