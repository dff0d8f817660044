"""The marks that are drawn, and their ASCII stand-ins for terminals that draw ambiguous widths wide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True, kw_only=True)
class Glyphs:
    """One set of marks; each takes one cell, if nothing else is said.

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
    """An app that knows which marks its terminal can draw."""

    @property
    def glyphs(self) -> Glyphs:
        """The marks to draw with."""
        ...


def glyphs_of(part: object) -> Glyphs:
    """The marks of a widget's or a screen's app; all of them where the app does not say."""
    app: object = getattr(part, "app", None)
    return app.glyphs if isinstance(app, Drawing) else UNICODE
