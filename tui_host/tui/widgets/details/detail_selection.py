"""What is selected in a detail: of a text by characters, of a tree by lines."""

from __future__ import annotations

import re
from bisect import bisect_left

from rich.cells import cell_len, split_graphemes

from tui_host.tui.markdown.origins import shown_characters
from tui_host.tui.widgets.lines.json_lines import key_end
from tui_host.tui.widgets.lines.selection_protocol import Spot, Stretch
from tui_host.tui.widgets.pages.text_page import TextPage
from tui_host.tui.widgets.pages.tree_page import TreePage

_WORD = re.compile(r"\w+")
_NEAR = 200
"""Characters on either side in which a word is looked for."""
_WIDE = 1 << 20


class TextSelection:
    """Selecting in a text: what is copied is the text itself, not wrapped and without our indentation."""

    is_rows = False

    def __init__(self, page: TextPage) -> None:
        self._page = page

    def _drawn(self, line: int) -> tuple[int, str, list[int]] | None:
        """The cells before a line's text, its text as drawn, and the source's character for each of it."""
        row = self._page.row(line)
        if row is None:
            return None
        start, end, indent = row
        shown = list(shown_characters(self._page.text[start:end]))
        text = "".join(character for character, _ in shown)
        places = [start + at for _, at in shown]
        if self._page.is_json and indent >= 0:
            after = key_end(text, 0, len(text))
            if after and text[after : after + 1] not in {" ", ""}:  # the blank that is drawn behind a key
                text = f"{text[:after]} {text[after:]}"
                places.insert(after, places[after - 1])
        return (indent if indent >= 0 else -1 - indent), text, places

    def stretch_at(self, line: int, cell: int) -> Stretch:
        """A character."""
        drawn, row = self._drawn(line), self._page.row(line)
        if drawn is None or row is None:
            return (0,), (0,)
        x, text, places = drawn
        if cell < x:
            return (row[0],), (row[0],)
        for first, last, cells in split_graphemes(text)[0]:
            x += cells
            if cell < x:
                return (places[first],), (places[last - 1] + 1,)
        return (row[1],), (row[1],)

    def cells_in(self, line: int, selected: Stretch) -> tuple[int, int] | None:
        """The cells of its characters."""
        drawn = self._drawn(line)
        if drawn is None:
            return None
        x, text, places = drawn
        first, last = bisect_left(places, selected[0][0]), bisect_left(places, selected[1][0])
        return (x + cell_len(text[:first]), x + cell_len(text[:last])) if first < last else None

    def point_of(self, spot: Spot) -> tuple[int, int]:
        """The line and the cell of a character."""
        line = self._page.line_at(spot[0])
        drawn = self._drawn(line)
        if drawn is None:
            return line, 0
        x, text, places = drawn
        return line, x + cell_len(text[: bisect_left(places, spot[0])])

    def word_at(self, line: int, cell: int) -> Stretch | None:
        """A word, or one character."""
        (at,), (end,) = self.stretch_at(line, cell)
        if at == end:
            return None
        before = max(0, at - _NEAR)
        for match in _WORD.finditer(self._page.text[before : at + _NEAR]):
            if match.start() <= at - before < match.end():
                return (before + match.start(),), (before + match.end(),)
        return (at,), (end,)

    def text_at(self, line: int, cell: int) -> Stretch | None:  # noqa: ARG002 - Selectable's
        """A line, with all that it goes on with."""
        row = self._page.row(line)
        if row is None:
            return None
        first = last = line
        while (before := self._page.row(first)) is not None and before[2] < 0:
            first -= 1
        while (after := self._page.row(last + 1)) is not None and after[2] < 0:
            last += 1
        begin, end = self._page.row(first), self._page.row(last)
        return None if begin is None or end is None else ((begin[0],), (end[1],))

    def copied(self, selected: Stretch) -> tuple[str, str]:
        """The text itself."""
        return f"part of {self._page.source[0]}", self._page.text[selected[0][0] : selected[1][0]]


class TreeSelection:
    """Selecting in a tree: entries as lines, and what is open below them as it came."""

    is_rows = True

    def __init__(self, page: TreePage) -> None:
        self._page = page

    def stretch_at(self, line: int, cell: int) -> Stretch:  # noqa: ARG002 - Selectable's
        """A line."""
        owner, place = self._page.spot(line)
        return (owner, place), (owner, place + 1)

    def cells_in(self, line: int, selected: Stretch) -> tuple[int, int] | None:
        """The whole line."""
        return (0, _WIDE) if selected[0] <= self._page.spot(line) < selected[1] else None

    def point_of(self, spot: Spot) -> tuple[int, int]:
        """The line of an entry, or of a character below it."""
        return self._page.line_of((spot[0], spot[1])), 0

    def word_at(self, line: int, cell: int) -> Stretch | None:  # noqa: ARG002 - Selectable's
        """A second click opens."""
        return None

    text_at = word_at

    def copied(self, selected: Stretch) -> tuple[str, str]:
        """Entries with their figures, a line each, and texts as they came."""
        (first, place), (last, end) = selected
        return f"part of {self._page.source[0]}", self._page.copied((first, place), (last, end))
