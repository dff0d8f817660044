"""What pages have in common, and what stands on one of their lines."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tui_host.tui.widgets.lines.selection import Selectable

if TYPE_CHECKING:
    from tui_host.tui.widgets.lines.json_lines import Piece

_PIECE_CHARACTERS = 1 << 16


class Match(NamedTuple):
    """A place of a searched text."""

    start: int  # the first character; below 0 in the label of an entry
    end: int  # one past the last
    path: tuple[str, ...] = ()  # the paths of the entry and those above it, outermost first; empty without entries


def matches(text: str, pattern: re.Pattern[str], path: tuple[str, ...] = ()) -> Iterator[Match | None]:
    """Yield the places of a pattern in a text, and None behind each piece of the text."""
    place, reach = 0, _PIECE_CHARACTERS + len(pattern.pattern)
    while place < len(text):
        end = place + _PIECE_CHARACTERS
        for match in pattern.finditer(text, place, place + reach):
            if match.start() >= end:
                break
            yield Match(*match.span(), path)
            place = match.end()
        place = max(place, end)
        yield None


class Below(NamedTuple):
    """What a line opens in place of its page, and the key in it to show."""

    page: Page
    key: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LineItem:
    """What is current on a line of a page."""

    lines: range  # all lines that it covers
    copy: Callable[[], tuple[str, str]]  # returns a word for it, and its text
    data: Callable[[], bytes] | None = None  # returns its bytes as they are in the body
    path: Callable[[], str] = str  # returns the path of its JSON value
    target: tuple[str, int] | None = None  # the row that it leads to, by capture and number of its first record
    keys: tuple[str, ...] = ()  # of the entries that lead to it


class Page(Selectable):
    """Lines that a view draws, made in slices of time for a width."""

    has_cursor: bool = False  # whether lines have a cursor and open

    @property
    @abstractmethod
    def source(self) -> tuple[str, str]:
        """A word for the whole text, and the text, for copying."""

    @abstractmethod
    def fit(self, width: int) -> None:
        """Begin to make the lines for a width."""

    @abstractmethod
    def grow(self, seconds: float) -> int | None:
        """Make more lines for a limited time; returns the first line that changed, None once all are made."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def pieces(self, number: int) -> Sequence[Piece]:
        """Draw a line as visible pieces."""

    @abstractmethod
    def key(self, number: int) -> int:
        """Return what a line is of in the content, whatever the width; below 0 for the program's own words."""

    @abstractmethod
    def line_of(self, key: int) -> int:
        """Return the first line of a key, or the nearest line that is made."""

    @abstractmethod
    def places(self, pattern: re.Pattern[str]) -> Iterator[Match | None]:
        """Yield the places of a pattern, None where there is time for other work."""

    @abstractmethod
    def reveal(self, match: Match) -> int:
        """Open what hides a place, and return its line, or the nearest one that is made."""

    def item(self, number: int) -> LineItem | None:
        """Return what is current on a line; None for the whole page."""

    def opened(self, number: int) -> int | Below | None:
        """Open or close what stands on a line: returns its line, or a page of its own; None if nothing opens."""

    def keep(self, before: Page) -> None:
        """Keep folded what is folded in a page that this one replaces."""
