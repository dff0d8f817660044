"""Pictures of the screen as text: what stands in each cell, how it looks, and how well it can be read.

A golden picture is a text file: the lines of the screen, and below them one letter a cell for its look, each with its
colours. After a change that is meant: `UPDATE_PICTURES=1 pytest tests/tui/test_pictures.py`, then read the difference.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.strip import Strip

FOLDER = Path(__file__).parent.parent / "golden" / "screens"
UPDATE = bool(os.environ.get("UPDATE_PICTURES"))
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


@dataclass(frozen=True, slots=True)
class Look:
    fore: str
    back: str
    attributes: tuple[str, ...] = ()

    @property
    def contrast(self) -> float:
        """From 1 to 21. Source: WCAG 2.2, contrast ratio."""
        dark, light = sorted((luminance(self.fore), luminance(self.back)))
        return (light + 0.05) / (dark + 0.05)


Run = tuple[str, Look]


def runs_of(app: App[int]) -> list[list[Run]]:
    """The screen as it would be painted: for each line its texts with their looks."""
    colours = app.theme_variables
    blank = Look(fore=colours["foreground"], back=colours["background"])
    compositor = app.screen._compositor  # pyright: ignore[reportPrivateUsage] - Textual has no other way to it
    return [list(_runs(strip, blank)) for strip in compositor.render_strips(app.size)]


def _runs(strip: Strip, blank: Look) -> Iterator[Run]:
    for text, style, _ in Segment.simplify(strip):
        yield text, _look(style or Style.null(), blank)


def _look(style: Style, blank: Look) -> Look:
    fore, back = _hexadecimal(style.color, blank.fore), _hexadecimal(style.bgcolor, blank.back)
    if style.reverse:
        fore, back = back, fore
    names = ("bold", "dim", "italic", "underline", "strike")
    attributes = tuple(name for name in names if getattr(style, name))
    return Look(fore=fore.lower(), back=back.lower(), attributes=attributes)


def _hexadecimal(colour: Color | None, default: str) -> str:
    return default if colour is None or colour.is_default else colour.get_truecolor().hex


def luminance(colour: str) -> float:
    """How bright a colour is. Source: WCAG 2.2, relative luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def text_of(lines: Iterable[Sequence[Run]]) -> str:
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines)


def picture_of(lines: Sequence[Sequence[Run]]) -> str:
    """The words of a screen, and below them how each cell looks."""
    letters: dict[Look, str] = {}
    marks = [
        "".join(letters.setdefault(look, LETTERS[len(letters)]) * cell_len(text) for text, look in line)
        for line in lines
    ]
    legend = [
        f"{mark}  {look.fore} on {look.back} {' '.join(look.attributes)}".rstrip() for look, mark in letters.items()
    ]
    return "\n".join((text_of(lines), *marks, "", *legend, ""))


def faint(lines: Sequence[Sequence[Run]], least: float) -> list[str]:
    """The words on a screen that stand out less from their background than they have to."""
    return [
        f"{look.contrast:.1f}: {text.strip()!r} {look.fore} on {look.back}"
        for line in lines
        for text, look in line
        if any(character.isalnum() for character in text) and look.contrast < least
    ]


def golden(name: str) -> str:
    path = FOLDER / f"{name}.txt"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def keep(name: str, picture: str) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.txt").write_text(picture, encoding="utf-8")
