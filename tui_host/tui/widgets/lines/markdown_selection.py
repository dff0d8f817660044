"""Selecting in a Markdown document, by the drawn characters of its pieces: they stay while it grows and wraps anew."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from tui_host.tui.markdown.document import Document
from tui_host.tui.widgets.lines.selectable import CharacterSelection, Letters, Spot, Stretch


class DocumentSelection(CharacterSelection):
    """Selects in a document that is drawn `indent` cells from the left; `prefix` begins each of its spots."""

    def __init__(self, document: Document, indent: int, prefix: Spot = ()) -> None:
        self._document = document
        self._indent = indent
        self._prefix = prefix

    @override
    def letters(self, line: int) -> Sequence[Letters]:
        number, inside, lines = self._document.lines_at(line)
        runs = lines[inside].runs if inside < len(lines) else ()
        letters: list[Letters] = []
        for run in runs:
            places = range(run.place, run.place + len(run.text) + 1)
            letters.append(Letters(self._indent + run.x, run.text, [(*self._prefix, number, at) for at in places]))
        return letters

    @override
    def spot_of(self, line: int) -> Spot:
        number, inside, lines = self._document.lines_at(line)
        above = next((drawn.runs[-1] for drawn in reversed(lines[:inside]) if drawn.runs), None)
        return (*self._prefix, number, 0 if above is None else above.place + len(above.text))

    @override
    def cells_in(self, line: int, selected: Stretch) -> tuple[int, int] | None:
        first, last = (
            (*self._prefix, *self._document.settled(spot[len(self._prefix) :]))
            if spot[: len(self._prefix)] == self._prefix
            else spot
            for spot in selected
        )
        return super().cells_in(line, (first, last))

    @override
    def copied(self, selected: Stretch) -> tuple[str, str]:
        size, (first, last) = len(self._prefix), selected
        begin = first[size:] if first[:size] == self._prefix else ()
        end = last[size:] if last[:size] == self._prefix else None
        return "selection", self._document.copied(begin, end)
