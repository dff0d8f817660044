"""What pages have in common behind the tabs of a detail."""

# ruff: noqa: ARG002, B027 - what a page cannot do it need not answer
from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from tui_host.answers.steps import Pause

if TYPE_CHECKING:
    from tui_host.tui.widgets.lines.json_lines import Piece
    from tui_host.tui.widgets.lines.selection import Selectable

_PICTURE = re.compile("[\u2400-\u2421]+|⟨[^⟩]{1,12}⟩")
_PIECE = 1 << 16
"""Characters that are searched at once."""


class Match(NamedTuple):
    """A place of a searched text."""

    start: int  # the first character; below 0 in the label of an entry
    end: int  # one past the last
    path: tuple[str, ...] = ()  # the paths of the entry and those above it, outermost first; empty without entries


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


class Below(NamedTuple):
    """What a line opens in place of its page, and the place in it to show."""

    page: Page
    place: int = 0


class Page(ABC):
    """The content of a tab, as lines that are made in slices."""

    has_cursor: ClassVar[bool] = False
    """Whether lines have a cursor and open."""

    @property
    def grows_below(self) -> bool:
        """Whether further lines come below those that are made, and change none of them."""
        return False

    @property
    @abstractmethod
    def source(self) -> tuple[str, str]:
        """A word for the whole text, and the text, for copying."""

    @property
    @abstractmethod
    def selectable(self) -> Selectable: ...

    @abstractmethod
    def fit(self, width: int) -> None:
        """Begin to make the lines for a width."""

    @abstractmethod
    def advance(self, seconds: float) -> bool:
        """Make more lines for a limited time; whether there may be more."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def draw(self, number: int) -> Sequence[Piece]:
        """Draw a line as visible pieces."""

    @abstractmethod
    def place_of(self, number: int) -> int:
        """Return a line's place in the content, independent of the width; below 0 for the program's own words."""

    @abstractmethod
    def line_at(self, place: int) -> int:
        """Return the line of a place."""

    @abstractmethod
    def places(self, pattern: re.Pattern[str]) -> Iterator[Match | None]:
        """Yield the places of a pattern, None where there is time for other work, and `NOT_YET` while the page grows."""

    @abstractmethod
    def reveal(self, match: Match) -> int:
        """Open what hides a place, and return its line, or the nearest one that is made."""

    def opened(self, number: int) -> int | Below | None:
        """Open or close what stands on a line: returns its line, or a page of its own; None if nothing opens."""
        return None

    def bytes_at(self, number: int) -> Page | None:
        """Return the bytes of what stands on a line as a page; None without bytes."""
        return None

    def path(self, number: int) -> str:
        """Return the path of the JSON value on a line; empty without one."""
        return ""

    def target(self, number: int) -> tuple[str, int] | None:
        """Return the row that a line leads to, by capture and number of its first record; None if it leads nowhere."""
        return None

    def keep(self, before: Page) -> None:
        """Keep folded what is folded in a page that this one replaces."""


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
