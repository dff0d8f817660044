"""Selecting by the mouse: characters or whole lines, as places that stay on their text when lines move."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

from rich.cells import cell_len, split_graphemes

Spot: TypeAlias = tuple[int, ...]
"""A place in a view's content that stays on its text; spots are ordered as the content is."""
Stretch: TypeAlias = tuple[Spot, Spot]
"""From one spot to before another one; empty where they are the same."""
_WORD = re.compile(r"\w+")


class Letters(NamedTuple):
    """Characters side by side on a line, or a line that is selected whole."""

    x: int  # the cell where they begin
    text: str  # the characters, as drawn
    key: Spot  # what all their spots begin with
    places: Sequence[int]  # the last part of the spot of each, and of what comes behind the last
    is_whole: bool = False  # whether the line is one unit, from the first place to the last

    def spot(self, at: int) -> Spot:
        """Return the spot of a character."""
        return (*self.key, self.places[at])


NO_LETTERS = (Letters(0, "", (), (0,)),)


class Selectable(Protocol):
    """The selectable content of a view."""

    def letters(self, line: int) -> Sequence[Letters]:
        """Return the characters on a line, from left to right; at least one run, if only an empty one."""
        ...

    def copied(self, first: Spot, last: Spot) -> tuple[str, str]:
        """Return a word for the text between two spots, and the text."""
        ...


def whole_line(key: Spot, place: int) -> Sequence[Letters]:
    """Return the letters of a line that is selected as a whole."""
    return (Letters(0, "", key, (place, place + 1), is_whole=True),)


def stretch_at(letters: Sequence[Letters], cell: int, *, by_words: bool = False) -> Stretch:
    """Return the character, or the word, at a cell of a line; empty before and behind the text, and of no word."""
    run = next((run for run in reversed(letters) if run.x <= cell), letters[0])
    if run.is_whole:
        return run.spot(0), run.spot(0 if by_words else -1)
    span, left = None, cell - run.x
    for first, last, cells in split_graphemes(run.text)[0] if left >= 0 else ():
        left -= cells
        if left < 0:
            span = first, last
            break
    if span is None:
        spot = run.spot(0 if cell < run.x else -1)
        return spot, spot
    if by_words:
        words = (word.span() for word in _WORD.finditer(run.text))
        span = next((word for word in words if word[0] <= span[0] < word[1]), span)
    start = run.places[span[0]]
    # Several drawn characters may stand for one.
    end = next((place for place in run.places[span[1] :] if place > start), run.places[-1])
    return (*run.key, start), (*run.key, end)


def cells_in(letters: Sequence[Letters], selected: Stretch, width: int) -> tuple[int, int] | None:
    """Return the selected cells of a line."""
    first, last = selected
    cells: list[int] = []
    for run in letters:
        if run.is_whole:
            return (0, width) if first <= run.spot(0) < last else None
        chosen = [at for at in range(len(run.text)) if first <= run.spot(at) < last]
        if chosen:
            cells += [run.x + cell_len(run.text[:at]) for at in (chosen[0], chosen[-1] + 1)]
    return (cells[0], cells[-1]) if cells else None
