"""What can be selected in a view: whole rows or characters, as places that stay on their text when lines move."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from rich.cells import cell_len
from typing_extensions import override

from tui_host.tui.text_width import character_at

Spot: TypeAlias = tuple[int, ...]
"""A place in a view's content that stays on its text; spots are ordered as the content is."""
Stretch: TypeAlias = tuple[Spot, Spot]
"""From one spot to before another one; empty where they are the same."""

WIDE = 1 << 20
"""Cells that no line has."""
_WORD = re.compile(r"\w+")


class Selectable(Protocol):
    """The selectable content of a view, by visible lines and cells."""

    def stretch_at(self, line: int, cell: int) -> Stretch:
        """Return the stretch at a cell; empty before and behind the text."""
        ...

    def cells_in(self, line: int, selected: Stretch) -> tuple[int, int] | None:
        """Return the selected cells of a line."""
        ...

    def word_at(self, line: int, cell: int) -> Stretch | None:
        """Return the word at a cell; None where a second click means something else."""
        ...

    def copied(self, selected: Stretch) -> tuple[str, str]:
        """Return a word for the selected text, and the text."""
        ...


@dataclass(frozen=True, slots=True)
class RowSelection(Selectable):
    """Selects whole lines; a second click opens a line."""

    spot_of: Callable[[int], Spot]  # returns a line's place; the line's end is its last part plus one
    copy: Callable[[Stretch], tuple[str, str]]  # returns a stretch in words and as text

    @override
    def stretch_at(self, line: int, cell: int) -> Stretch:
        spot = self.spot_of(line)
        return spot, (*spot[:-1], spot[-1] + 1)

    @override
    def cells_in(self, line: int, selected: Stretch) -> tuple[int, int] | None:
        return (0, WIDE) if selected[0] <= self.spot_of(line) < selected[1] else None

    @override
    def word_at(self, line: int, cell: int) -> Stretch | None:
        return None

    @override
    def copied(self, selected: Stretch) -> tuple[str, str]:
        return self.copy(selected)


class Letters(NamedTuple):
    """Characters that stand side by side on a line."""

    x: int  # the cell where they begin
    text: str  # the characters, as drawn
    spots: Sequence[Spot]  # the place of each, and of what comes behind the last


class CharacterSelection(Selectable, Protocol):
    """Selects characters."""

    def letters(self, line: int) -> Sequence[Letters]:
        """Return the drawn characters of a line, from left to right."""
        ...

    def spot_of(self, line: int) -> Spot:
        """Return the place of a line without characters."""
        ...

    @override
    def stretch_at(self, line: int, cell: int) -> Stretch:
        letters = self.letters(line)
        if not letters:
            return self.spot_of(line), self.spot_of(line)
        run = _run_at(letters, cell)
        span = character_at(run.text, cell - run.x) if cell >= run.x else None
        if span is None:
            spot = run.spots[0 if cell < run.x else -1]
            return spot, spot
        start = run.spots[span[0]]
        # Several drawn characters may stand for one.
        return start, next((spot for spot in run.spots[span[1] :] if spot > start), run.spots[-1])

    @override
    def cells_in(self, line: int, selected: Stretch) -> tuple[int, int] | None:
        first, last = selected
        cells: list[int] = []
        for run in self.letters(line):
            chosen = [at for at in range(len(run.text)) if first <= run.spots[at] < last]
            if chosen:
                cells += [run.x + cell_len(run.text[: chosen[0]]), run.x + cell_len(run.text[: chosen[-1] + 1])]
        return (cells[0], cells[-1]) if cells else None

    @override
    def word_at(self, line: int, cell: int) -> Stretch | None:
        letters = self.letters(line)
        run = _run_at(letters, cell) if letters else None
        span = character_at(run.text, cell - run.x) if run is not None and cell >= run.x else None
        if run is None or span is None:
            return None
        words = (word.span() for word in _WORD.finditer(run.text))
        first, last = next((word for word in words if word[0] <= span[0] < word[1]), span)
        return run.spots[first], run.spots[last]


def _run_at(letters: Sequence[Letters], cell: int) -> Letters:
    return next((run for run in reversed(letters) if run.x <= cell), letters[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A selection."""

    anchor: Stretch  # where it began: it stays selected whatever the head does
    head: Stretch  # where it goes to

    @property
    def stretch(self) -> Stretch:
        """The whole stretch between anchor and head."""
        return min(self.anchor[0], self.head[0]), max(self.anchor[1], self.head[1])
