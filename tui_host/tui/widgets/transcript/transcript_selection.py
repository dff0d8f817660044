"""Selections in a conversation: item, part, and the place inside a text."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from tui_host.chat.conversation import AnswerItem, UserItem
from tui_host.tui.markdown.document import Budget
from tui_host.tui.widgets.lines.selection import Letters, Selectable, Spot
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
    def letters(self, line: int) -> Sequence[Letters]:
        number, part, inside = self._part_at(line)
        if part is None:
            return (Letters(0, "", (), (number,)),)
        if isinstance(part, Flow):
            return part.selection(number).letters(inside)
        return (Letters(0, "", (number, part.rank), (0, END), is_whole=True),)

    @override
    def settled(self, spot: Spot) -> Spot:
        number, *place = spot
        shown = self._column.shown(number) if place else None
        parts = () if shown is None else shown.parts
        flow = next((part for part in parts if isinstance(part, Flow) and part.rank == place[0]), None)
        return spot if flow is None else flow.selection(number).settled(spot)

    @override
    def copied(self, first: Spot, last: Spot) -> tuple[str, str]:
        selected = first, last
        begin, end = first[0], min(last[0], len(self._column) - 1)
        texts: list[str] = []
        for number in range(begin, end + 1):
            text = self._column.source_of(number) if begin < number < end else self._some(number, selected)
            if text:
                texts.append(text)
        return "selection", "\n\n".join(texts)

    def _some(self, number: int, selected: tuple[Spot, Spot]) -> str:
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
                texts.append(part.selection(number).copied(*selected)[1])
            elif not is_text:
                return self._column.source_of(number)
        return ("\n\n" if is_text else "\n").join(text for text in texts if text)

    def _drawn(self, number: int) -> Shown | None:
        column = self._column
        if not column.is_shown(number):
            column.measure(number, 0, 0, 1, Budget(_PATIENCE))
        return column.shown(number)
