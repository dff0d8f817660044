"""What can be selected in a view: whole rows, or characters of a source, as places that stay when lines move."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from rich.cells import cell_len
from typing_extensions import override

from tui_host.tui.markdown.wrap import character_at

Spot: TypeAlias = tuple[int, ...]
"""A place in a view's content that stays on its text; spots are ordered as the content is."""
Stretch: TypeAlias = tuple[Spot, Spot]
"""From one spot to before another one; empty where they are the same."""


class Selectable(Protocol):
    """The selectable content of a view, by visible lines and cells.

    Attributes:
        is_rows: Whether lines are selected whole.
    """

    is_rows: bool

    def stretch_at(self, line: int, cell: int) -> Stretch:
        """Return the stretch at a cell; empty before and behind the text."""
        ...

    def cells_in(self, line: int, selected: Stretch) -> tuple[int, int] | None:
        """Return the selected cells of a line."""
        ...

    def point_of(self, spot: Spot) -> tuple[int, int]:
        """The line and the cell of a spot."""
        ...

    def around(self, line: int, cell: int, *, whole: bool) -> Stretch | None:
        """Return the word at a cell, or the whole paragraph or line; None where further clicks mean something else."""
        ...

    def copied(self, selected: Stretch) -> tuple[str, str]:
        """Return the selected text, with a word for it."""
        ...


WIDE = 1 << 20
"""Cells that no line has."""


@dataclass(frozen=True, slots=True)
class RowSelection(Selectable):
    """Selects whole lines; a second click opens a line.

    Attributes:
        spot_of: Returns the first and the last part of a line's place; a line's end is the last part plus one.
        line_of: Returns the line of a spot.
        copy: Returns a stretch in words and as text.
    """

    is_rows = True
    spot_of: Callable[[int], Spot]
    line_of: Callable[[Spot], int]
    copy: Callable[[Stretch], tuple[str, str]]

    @override
    def stretch_at(self, line: int, cell: int) -> Stretch:
        spot = self.spot_of(line)
        return spot, (*spot[:-1], spot[-1] + 1)

    @override
    def cells_in(self, line: int, selected: Stretch) -> tuple[int, int] | None:
        return (0, WIDE) if selected[0] <= self.spot_of(line) < selected[1] else None

    @override
    def point_of(self, spot: Spot) -> tuple[int, int]:
        return self.line_of(spot), 0

    @override
    def around(self, line: int, cell: int, *, whole: bool) -> Stretch | None:
        return None

    @override
    def copied(self, selected: Stretch) -> tuple[str, str]:
        return self.copy(selected)


class Letters(NamedTuple):
    """Characters that stand side by side on a line.

    Attributes:
        x: The cell where they begin.
        text: The characters, as drawn.
        ranges: Of each of them, the characters of the source.
        start: Where they begin in the source.
        end: Where they end in the source.
    """

    x: int
    text: str
    ranges: Sequence[tuple[int, int]]
    start: int
    end: int


class CharacterSelection(Selectable, Protocol):
    """Selects characters of one source. A spot is the number of a character."""

    is_rows = False

    def letters(self, line: int) -> Sequence[Letters]:
        """Return the drawn characters of a line, from left to right."""
        ...

    def place_of(self, line: int) -> int:
        """Return the place in the source of a line without characters."""
        ...

    def lines_near(self, place: int) -> Iterable[int]:
        """Return the lines that may have the character at a place."""
        ...

    @override
    def stretch_at(self, line: int, cell: int) -> Stretch:
        runs = self.letters(line)
        if not runs:
            return _stretch(self.place_of(line), self.place_of(line))
        run = run_at(runs, cell) or runs[0]
        span = character_at(run.text, cell - run.x) if cell >= run.x else None
        if span is None:
            place = run.start if cell < run.x else run.end
            return _stretch(place, place)
        return _stretch(run.ranges[span[0]][0], run.ranges[span[1] - 1][1])

    @override
    def cells_in(self, line: int, selected: Stretch) -> tuple[int, int] | None:
        (first,), (last,) = selected
        cells: list[int] = []
        for run in self.letters(line):
            places = [place for place, (start, _) in enumerate(run.ranges) if first <= start < last]
            if places:
                cells += [run.x + cell_len(run.text[: places[0]]), run.x + cell_len(run.text[: places[-1] + 1])]
        return (cells[0], cells[-1]) if cells else None

    @override
    def point_of(self, spot: Spot) -> tuple[int, int]:
        point: tuple[int, int] | None = None
        for line in self.lines_near(spot[0]):
            point = point or (line, 0)
            for run in self.letters(line):
                if run.start <= spot[0]:
                    before = sum(end <= spot[0] for _, end in run.ranges)
                    point = line, run.x + cell_len(run.text[:before])
        return point or (0, 0)


def _stretch(first: int, last: int) -> Stretch:
    return (first,), (last,)


def run_at(runs: Sequence[Letters], cell: int) -> Letters | None:
    """Return the last of the characters that begin at or before a cell."""
    return next((run for run in reversed(runs) if run.x <= cell), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A selection.

    Attributes:
        anchor: Where it began: it stays selected whatever the head does.
        head: Where it goes to.
    """

    anchor: Stretch
    head: Stretch

    @property
    def stretch(self) -> Stretch:
        """The whole stretch between anchor and head."""
        return min(self.anchor[0], self.head[0]), max(self.anchor[1], self.head[1])
