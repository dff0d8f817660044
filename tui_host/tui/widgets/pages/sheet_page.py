"""Draws the sheets of answers as trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tui_host.answers.sheet import Sheet, SheetLine
from tui_host.tui.widgets.pages.tree_page import TreePage


class SheetPage(TreePage):
    """A sheet as a page.

    Args:
        sheet: The sheet.
        flipped: Paths of lines that a person opened or closed; kept by the caller over a rebuild.
    """

    def __init__(self, sheet: Sheet, flipped: set[str]) -> None:
        super().__init__(
            sheet.what,
            map(_wrapped, sheet.lines),
            flipped=flipped,
            notes=[sheet.what, *sheet.notes],
            empty=sheet.empty,
        )
        self._lines = sheet.lines

    def target(self, number: int) -> tuple[str, int] | None:
        """Return the row that a line leads to, by capture and number of its first record; None if it leads nowhere."""
        lines: Sequence[SheetLine] = self._lines
        target = None
        for key in self.path_of(number):
            line = next((line for line in lines if line.key == key), None)
            if line is None:
                return None
            target, lines = line.target, line.children
        return target


def _wrapped(line: SheetLine) -> SheetLine:
    children = tuple(map(_wrapped, line.children))
    return replace(line, children=children, is_wrapped=not line.figures and not line.mark)
