"""Selections in a conversation: item, part, character of the source."""

from __future__ import annotations

from typing_extensions import override

from tui_host.chat.conversation import AnswerItem, UserItem
from tui_host.tui.markdown.document import Budget
from tui_host.tui.widgets.lines.selectable import Selectable, Spot, Stretch
from tui_host.tui.widgets.transcript.item_column import Column
from tui_host.tui.widgets.transcript.item_lines import Flow, Part, Shown

END = 1 << 60
"""Beyond every part and character of an item."""
_PATIENCE = 0.1
"""Seconds that may be spent on an item that is not drawn yet."""
_LONGEST = 2.0
"""Seconds that may be spent on reading an item to its end, when it is copied."""


class TranscriptSelection(Selectable):
    """Selecting in a column of items. A text is selected by characters; a call, a note, a line of figures is selected whole."""

    is_rows = False

    def __init__(self, column: Column) -> None:
        self._column = column

    # Where.

    def _drawn(self, number: int) -> Shown | None:
        column = self._column
        if not column.is_shown(number):
            column.measure(number, 0, 0, 1, Budget(_PATIENCE))
        return column.shown(number)

    def _part_at(self, line: int) -> tuple[int, Part | None, int]:
        """Return the item at a line, its part there, and the line inside the part."""
        number, inside = self._column.at(line)
        shown = self._column.shown(number)
        part, inside = (None, 0) if shown is None else shown.part_at(inside)
        return number, part, inside

    @override
    def stretch_at(self, line: int, cell: int) -> Stretch:
        """Return a character, or a whole item without text."""
        number, part, inside = self._part_at(line)
        if part is None:
            return (number, -1, 0), (number, -1, 0)
        if not isinstance(part, Flow):
            return (number, part.rank, 0), (number, part.rank, 1)
        return _placed(number, part, part.selection.stretch_at(inside, cell))

    @override
    def cells_in(self, line: int, selected: Stretch) -> tuple[int, int] | None:
        number, part, inside = self._part_at(line)
        if part is None:
            return None
        first, last = _clipped(selected, number, part.rank)
        if not isinstance(part, Flow):
            return (0, part.line(inside).cell_length) if first < 1 <= last else None
        return part.selection.cells_in(inside, ((first,), (last,))) if first < last else None

    @override
    def point_of(self, spot: Spot) -> tuple[int, int]:
        number, rank, offset = spot
        number = min(number, len(self._column) - 1)
        shown = self._drawn(number)
        line, cell = 0, 0
        if shown is not None:
            line = shown.gap if rank >= 0 else 0
            for part in shown.parts:
                if part.rank >= rank:
                    if part.rank == rank and isinstance(part, Flow):
                        inside, cell = part.selection.point_of((offset,))
                        line += inside
                    break
                line += part.height
        return self._column.heights.start(number) + line, cell

    @override
    def around(self, line: int, cell: int, *, whole: bool) -> Stretch | None:
        """Return a stretch of text; none in items that open at a click."""
        number, part, inside = self._part_at(line)
        if not isinstance(part, Flow) or (text := part.selection.around(inside, cell, whole=whole)) is None:
            return None
        return _placed(number, part, text)

    # What.

    @override
    def copied(self, selected: Stretch) -> tuple[str, str]:
        """The Markdown of texts, calls with their results, an empty line between two items."""
        first, last = selected[0][0], min(selected[1][0], len(self._column) - 1)
        texts: list[str] = []
        for number in range(first, last + 1):
            text = self._column.source_of(number) if first < number < last else self._some(number, selected)
            if text:
                texts.append(text)
        return "selection", "\n\n".join(texts)

    def _some(self, number: int, selected: Stretch) -> str:
        """Return the selected part of the first or the last item."""
        item = self._column.conversation[number]
        shown = self._drawn(number)
        if shown is None:
            return self._column.source_of(number)
        texts: list[str] = []
        is_text = isinstance(item, AnswerItem | UserItem)
        for part in shown.parts:
            first, last = _clipped(selected, number, part.rank)
            if isinstance(part, Flow):
                part.document.advance(Budget(_LONGEST))
                texts.append(part.selection.copied(((first,), (last,)))[1])
            elif first < 1 <= last and not is_text:
                return self._column.source_of(number)
        return ("\n\n" if is_text else "\n").join(text for text in texts if text)


def _placed(number: int, part: Flow, inside: Stretch) -> Stretch:
    """Return a stretch of a part's document as a stretch of the conversation."""
    return (number, part.rank, *inside[0]), (number, part.rank, *inside[1])


def _clipped(selected: Stretch, number: int, rank: int) -> tuple[int, int]:
    """Return the selected characters of a part; from END before the selection, to 0 behind."""
    (first_item, first_rank, first), (last_item, last_rank, last) = selected
    here = (number, rank)
    begin = first if here == (first_item, first_rank) else END if here < (first_item, first_rank) else 0
    end = last if here == (last_item, last_rank) else END if here < (last_item, last_rank) else 0
    return begin, end
