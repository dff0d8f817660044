"""The protocol of pages behind the tabs of a detail, and text functions for drawing pages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rich.cells import cell_len

from tui_host.answers.steps import Pause
from tui_host.capture.visible import visible

if TYPE_CHECKING:
    from tui_host.tui.widgets.lines.json_lines import Piece
    from tui_host.tui.widgets.lines.selectable import Selectable

_FIGURE = re.compile(r"[~+]?(-?[\d,.]+) ?(\S*)")
_UNITS = {"µs": 1e-6, "ms": 1e-3, "min": 60.0, "h": 3600.0, "kB": 1e3, "MB": 1e6, "GB": 1e9}
_PICTURE = re.compile("[\u2400-\u2421]+|⟨[^⟩]{1,12}⟩")
_PIECE = 1 << 16
"""Characters that are searched at once."""


class Match(NamedTuple):
    """A place of a searched text.

    Attributes:
        path: The paths of the entry and those above it, outermost first; empty on a page without entries.
    """

    start: int  # the first character; below 0 in the label of an entry
    end: int  # one past the last
    path: tuple[str, ...] = ()


NOT_YET = Match(-1, -1)
"""Stands for places that are searched once the page has grown."""


def matches(text: str, pattern: re.Pattern[str], path: tuple[str, ...] = ()) -> Iterator[Match | None]:
    """Yield the places of a pattern in a text, and None behind each piece of the text."""
    place, reach = 0, _PIECE + len(pattern.pattern)
    while place < len(text):
        end = place + _PIECE
        for match in pattern.finditer(text, place, place + reach):
            if match.start() >= end:
                break
            yield Match(*match.span(), path)
            place = match.end()
        place = max(place, end)
        yield None


class Page(Protocol):
    """The content of a tab."""

    @property
    def has_cursor(self) -> bool:
        """Whether lines have a cursor and open."""
        ...

    @property
    def grows_below(self) -> bool:
        """Whether further lines come below those that are made, and change none of them."""
        ...

    @property
    def source(self) -> tuple[str, str]:
        """The whole text for copying, with a word for it."""
        ...

    @property
    def selectable(self) -> Selectable: ...

    def fit(self, width: int) -> None:
        """Make the lines for a width, with marks to draw with; without them the ones before."""

    def advance(self, seconds: float) -> bool:
        """Make more lines for a limited time; whether any were made."""
        ...

    def __len__(self) -> int: ...

    def draw(self, number: int) -> Sequence[Piece]:
        """Draw a line as visible pieces."""
        ...

    def toggle(self, number: int) -> int | None:
        """Open or close what stands on a line; returns its line, None if nothing opens."""
        ...

    def show_bytes(self, number: int) -> int | None:
        """Show the bytes of what stands on a line, then as hex, then no longer; returns its line, None without bytes."""
        ...

    def path(self, number: int) -> str:
        """Return the path of the JSON value on a line; empty without one."""
        ...

    def keep(self, before: Page) -> None:
        """Keep open what is open in a page that this one replaces."""

    def place_of(self, number: int) -> int:
        """Return a line's place in the content, independent of the width."""
        ...

    def line_at(self, place: int) -> int:
        """Return the line of a place."""
        ...

    def places(self, pattern: re.Pattern[str]) -> Iterator[Match | None]:
        """Yield the places of a pattern, None where there is time for other work, and `NOT_YET` while the page grows."""
        ...

    def reveal(self, match: Match) -> int:
        """Open what hides a place, and return its line, or the nearest one that is made."""
        ...


class Beginning(Pause):
    """A report of a page that is being made, with its beginning to show meanwhile."""

    __slots__ = ("page",)
    page: Page  # the beginning

    @classmethod
    def of(cls, page: Page) -> Beginning:
        """Return the report."""
        report = cls("the beginning")
        report.page = page
        return report


def with_pictures(text: str, style: str = "") -> list[Piece]:
    """Visible text, the pictures of controls in a style of their own."""
    if text.isascii():
        return [(text, style)]
    pieces: list[Piece] = []
    place = 0
    for match in _PICTURE.finditer(text):
        if match.start() > place:
            pieces.append((text[place : match.start()], style))
        pieces.append((match[0], "control"))
        place = match.end()
    if place < len(text) or not pieces:
        pieces.append((text[place:], style))
    return pieces


@lru_cache(maxsize=8192)
def _cells(character: str) -> int:
    return cell_len(visible(character, newlines=False))


def fitting(text: str, start: int, end: int, room: int) -> int:
    """Return where to cut `text[start:end]` to fit `room` cells; at least one character."""
    stop = min(end, start + max(1, room))
    chunk = text[start:stop]
    plain = chunk.removesuffix("\n")
    if plain.isascii() and plain.isprintable():
        return stop
    cells = 0
    stop = start
    for character in text[start : min(end, start + 16 * max(1, room))]:
        cells += _cells(character)
        if cells > room and stop > start:
            break
        stop += 1
    while stop - start > 1 and cell_len(visible(text[start:stop], newlines=False)) > room:
        stop = start + (stop - start) // 2
    return stop


def fitting_words(text: str, start: int, end: int, room: int) -> int:
    """Return the same cut behind the last blank, which may be beyond the room, unless that leaves half of it empty."""
    stop = fitting(text, start, end, room)
    if stop >= end or text[stop] == " ":
        return min(stop + 1, end)
    blank = text.rfind(" ", start, stop) + 1
    return blank if 2 * (blank - start) >= stop - start else stop


def cut(text: str, room: int) -> str:
    """Cut a visible line to `room` cells, with a mark."""
    if text.isascii() and len(text) <= room:
        return text
    if cell_len(text) <= room:
        return text
    if room <= 1:
        return "…"[:room]
    return text[: fitting(text, 0, len(text), room - 1)] + "…"


def padded(text: str, room: int) -> str:
    """Cut and pad a visible line to `room` cells."""
    text = cut(text, room)
    return text + " " * (room - cell_len(text))


def size_of(figures: Sequence[str]) -> float:
    """Return the first figure of a line as a number; lines without one are the smallest."""
    match = _FIGURE.match(figures[0].strip()) if figures else None
    if match is None:
        return -1.0
    try:
        return float(match[1].replace(",", "")) * _UNITS.get(match[2], 1.0)
    except ValueError:
        return -1.0
