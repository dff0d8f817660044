"""The characters to draw with, and ASCII replacements for terminals that draw some of them too wide."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Glyphs:
    """A set of characters to draw with, one cell each unless stated otherwise.

    Attributes:
        bar: Line at the left of the user's messages.
        thin: Line at the left of other texts.
        box: Corners top left, top right, bottom left, bottom right, then the horizontal and the vertical line.
        question: Line of an arrow for what a server asks, and for the answer.
        cross: Lines of tables: crossing, tee down, tee up, tee right, tee left.
        dot: Separates figures.
        more: Marks where text was cut.
        done: Success.
        failed: Failure.
        bullets: Bullets of lists, by depth.
        boxes: An open and a done task; one cell or three.
        hidden: Replaces a secret; three cells.
        folds: Marks of folded and of open parts; one cell or three.
        state: A full, an empty and a half circle; the half one for work under way.
    """

    bar: str = "▌"
    thin: str = "│"
    box: str = "╭╮╰╯─│"
    question: str = "═"
    cross: str = "┼┬┴├┤"
    dot: str = "·"
    more: str = "…"
    done: str = "✓"
    failed: str = "✗"
    bullets: str = "•◦‣"
    boxes: tuple[str, str] = ("☐", "☑")
    hidden: str = "•••"
    folds: tuple[str, str] = ("▸", "▾")
    state: str = "●○◐"


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
