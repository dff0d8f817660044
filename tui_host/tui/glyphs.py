"""The glyphs to draw with, and ASCII glyphs for terminals that draw ambiguous widths wide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True, kw_only=True)
class Glyphs:
    """One set of glyphs, one cell each unless stated otherwise.

    Attributes:
        bar: Left rule of what the person said.
        thin: Left rule of what others said.
        box: Corners top left, top right, bottom left, bottom right, then the horizontal and the vertical line.
        cross: Lines of tables: crossing, tee down, tee up, tee right, tee left.
        dot: Between figures.
        more: Where something was cut.
        done: It went well.
        failed: It did not.
        bullets: Of lists, by depth.
        boxes: Of a task that is open, and of one that is done; one cell or three.
        hidden: In the place of a secret; three cells.
        state: A full and an empty circle, a half one for what is under way.
    """

    bar: str = "▌"
    thin: str = "│"
    box: str = "╭╮╰╯─│"
    cross: str = "┼┬┴├┤"
    dot: str = "·"
    more: str = "…"
    done: str = "✓"
    failed: str = "✗"
    bullets: str = "•◦‣"
    boxes: tuple[str, str] = ("☐", "☑")
    hidden: str = "•••"
    state: str = "●○◐"


UNICODE = Glyphs()
ASCII = Glyphs(
    bar="|",
    thin="|",
    box="++++-|",
    cross="+++++",
    dot="-",
    more="~",
    done="+",
    failed="x",
    bullets="*-+",
    boxes=("[ ]", "[x]"),
    hidden="***",
    state="*o~",
)


@runtime_checkable
class Drawing(Protocol):
    """An app with glyphs chosen for its terminal."""

    @property
    def glyphs(self) -> Glyphs:
        """The marks to draw with."""
        ...


def glyphs_of(part: object) -> Glyphs:
    """Return the glyphs of a widget's or a screen's app; the Unicode ones by default."""
    app: object = getattr(part, "app", None)
    return app.glyphs if isinstance(app, Drawing) else UNICODE
