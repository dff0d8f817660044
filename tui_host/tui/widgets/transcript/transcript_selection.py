"""Selections in a conversation: item, part, and the place inside a text."""

from __future__ import annotations

from typing_extensions import override

from tui_host.chat.conversation import AnswerItem, UserItem
from tui_host.tui.markdown.document import Budget
from tui_host.tui.widgets.lines.selectable import Selectable, Stretch
from tui_host.tui.widgets.transcript.item_column import Column
from tui_host.tui.widgets.transcript.item_lines import Flow, Part, Shown

END = 1 << 60
"""Beyond every place inside a part."""
_PATIENCE = 0.1
"""Seconds that may be spent on an item that is not drawn yet."""
_LONGEST = 2.0
"""Seconds that may be spent on reading an item to its end, when it is copied."""


class TranscriptSelection(Selectable):
    """Selecting in a column of items. A text is selected by characters; a call, a note, a line of figures is selected whole."""

    def __init__(self, column: Column) -> None:
        self._column = column

    def _part_at(self, line: int) -> tuple[int, Part | None, int]:
        """Return the item at a line, its part there, and the line inside the part."""
        number, inside = self._column.at(line)
        shown = self._column.shown(number)
        part, inside = (None, 0) if shown is None else shown.part_at(inside)
        return number, part, inside

    @override
    def stretch_at(self, line: int, cell: int) -> Stretch:
        number, part, inside = self._part_at(line)
        if part is None:
            return (number,), (number,)
        if isinstance(part, Flow):
            return part.selection(number).stretch_at(inside, cell)
        return (number, part.rank), (number, part.rank, END)

    @override
    def cells_in(self, line: int, selected: Stretch) -> tuple[int, int] | None:
        number, part, inside = self._part_at(line)
        if isinstance(part, Flow):
            return part.selection(number).cells_in(inside, selected)
        is_selected = part is not None and selected[0] <= (number, part.rank) < selected[1]
        return (0, part.line(inside).cell_length) if part is not None and is_selected else None

    @override
    def word_at(self, line: int, cell: int) -> Stretch | None:
        """Return a word of a text; none in items that open at a click."""
        number, part, inside = self._part_at(line)
        return part.selection(number).word_at(inside, cell) if isinstance(part, Flow) else None

    @override
    def copied(self, selected: Stretch) -> tuple[str, str]:
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
            here = (number, part.rank)
            if selected[1] <= here or selected[0] >= (*here, END):
                continue
            if isinstance(part, Flow):
                part.document.advance(Budget(_LONGEST))
                texts.append(part.selection(number).copied(selected)[1])
            elif not is_text:
                return self._column.source_of(number)
        return ("\n\n" if is_text else "\n").join(text for text in texts if text)

    def _drawn(self, number: int) -> Shown | None:
        column = self._column
        if not column.is_shown(number):
            column.measure(number, 0, 0, 1, Budget(_PATIENCE))
        return column.shown(number)
