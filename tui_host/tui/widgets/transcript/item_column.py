"""A conversation's items as stacked heights and drawn items, without a widget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.strip import Strip

from tui_host.chat.conversation import CallItem, Conversation, without_secrets
from tui_host.tui.markdown.document import Budget
from tui_host.tui.markdown.heights import Heights
from tui_host.tui.widgets.transcript.item_lines import (
    Fixed,
    Flow,
    ItemLook,
    Shown,
    estimated_height,
    is_empty,
    source_of,
)

KEPT = 400
"""Drawn items that are kept; the others are drawn again when they are seen."""
RECENT = 50
"""So many items of a long conversation are looked at before they are seen: where a view of it begins."""
NEVER = 1 << 60
CODE_HINT = "c copies"
"""What stands beside the language of code that can be copied now."""
TALK = {"u": 59, "a": 93}
"""The letter after `{"item":"` of stored questions and answers, whose text takes room; about how many characters stand around it."""
WORDLESS = '"text":"","thinking":""'
"""In a stored answer: nothing is drawn of it."""


def stored_height(text: str, width: int) -> int:
    """Estimate an item's lines, gap included, from its stored text."""
    around = TALK.get(text[9:10])
    if around is None:
        return 2
    if WORDLESS in text[:80]:
        return 0
    length = max(0, len(text) - around)
    return 2 + text.count("\\n") + (length if text.isascii() else int(length * 1.5)) // width


class Column:
    """The items of a conversation."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation  # the conversation
        self.heights = Heights()  # lines of each item, measured or estimated
        self.opened: set[int] = set()  # numbers of the items whose details are shown
        self.look: ItemLook | None = None  # how items are drawn, None before the first layout
        self._seen = 0
        self._shown: dict[int, Shown] = {}
        self._dirty = NEVER

    def __len__(self) -> int:
        return len(self.heights)

    def fit(self, look: ItemLook) -> None:
        """Set the look; a new width makes new estimates."""
        old, self.look = self.look, look
        if old is None or old.width != look.width:
            self.heights.replace(self._estimates(len(self.conversation), max(1, look.width - 1)))
            if old is None:
                self._seen = self.conversation.revision

    @property
    def is_behind(self) -> bool:
        """Whether the conversation has changed."""
        return self.conversation.revision != self._seen

    def take_in(self) -> list[int]:
        """Take in changes; return the numbers of changed and new items."""
        changed = self.conversation.changed_since(self._seen)
        self._seen = self.conversation.revision
        count = len(self.heights)
        for number in range(count, len(self.conversation)):
            self.heights.append(self._estimate(number))
        for number in changed:
            if number < count and number not in self._shown:
                self.heights.put(number, self._estimate(number))
        return changed

    # What is where.

    def at(self, line: int) -> tuple[int, int]:
        """Return the item at a line, and the line inside the item."""
        return self.heights.find(line)

    def line(self, line: int) -> Strip:
        """Return a line, empty before its item is drawn."""
        number, inside = self.heights.find(line)
        shown = self._shown.get(number)
        return Strip([]) if shown is None else shown.line(inside)

    def is_shown(self, number: int) -> bool:
        """Whether an item is drawn."""
        return number in self._shown

    def shown(self, number: int) -> Shown | None:
        """A drawn item."""
        return self._shown.get(number)

    def hint_at(self, line: int) -> str:
        """Return what a key does at a line of the current item: at the language of code, and at a result's contents."""
        number, inside = self.heights.find(line)
        shown = self._shown.get(number)
        part, inside = (None, 0) if shown is None else shown.part_at(inside)
        if isinstance(part, Flow):
            return CODE_HINT if part.document.line(inside).is_label else ""
        return part.hint if isinstance(part, Fixed) and not inside else ""

    def source_of(self, number: int) -> str:
        """Return an item as text, with secrets masked."""
        item = self.conversation[number]
        return source_of(item if self.look is None else without_secrets(item, self.look.mask))

    def are_done(self, first: int, last: int) -> bool:
        """Whether the drawn items between two lines need no more time."""
        if not len(self.heights):
            return True
        numbers = range(self.heights.find(first)[0], self.heights.find(last)[0] + 1)
        return all(self._shown[number].done for number in numbers if number in self._shown)

    def gap(self, number: int) -> int:
        """Return the empty lines before an item: none between calls."""
        items = self.conversation
        before = number - 1
        while before >= 0 and is_empty(items[before]):
            before -= 1
        if before < 0:
            return 0
        return 0 if isinstance(items[number], CallItem) and isinstance(items[before], CallItem) else 1

    def _estimates(self, count: int, width: int) -> Iterator[int]:
        """Yield estimated heights, for old items from the stored length only."""
        for number in range(count):
            text = self.conversation.unread(number) if number < count - RECENT else None
            yield self._estimate(number) if text is None else stored_height(text, width)

    def _estimate(self, number: int) -> int:
        width = 80 if self.look is None else self.look.width
        height = estimated_height(self.conversation[number], width - 1)
        return height + self.gap(number) if height else 0

    # Drawing.

    def _ensure(self, number: int, look: ItemLook) -> Shown:
        item = self.conversation[number]
        is_open, gap = number in self.opened, self.gap(number)
        shown = self._shown.pop(number, None)
        if shown is None:
            shown = Shown(item, look, is_open=is_open, gap=gap)
            while len(self._shown) >= KEPT:
                del self._shown[next(iter(self._shown))]
        elif shown.item is not item or shown.look is not look or shown.is_open is not is_open or shown.gap != gap:
            shown.take(item, look, is_open=is_open, gap=gap)
        self._shown[number] = shown  # the last one in use stands last
        return shown

    def measure(self, number: int, inside: int, above: int, below: int, budget: Budget) -> tuple[int, bool]:
        """Draw an item around a line, and correct its height; return the line's new place, and whether all is drawn."""
        if self.look is None:
            return inside, True
        shown = self._ensure(number, self.look)
        shown.advance(budget)
        inside = shown.settle(max(0, min(inside, shown.height - 1)), above, below, budget)
        dirty = shown.take_dirty()
        if dirty < shown.height or shown.height != self.heights[number]:
            self._dirty = min(self._dirty, self.heights.start(number) + dirty)
        self.heights.put(number, shown.height)
        return inside, shown.done

    def upward(self, number: int, wanted: int, budget: Budget) -> bool:
        """Measure items upward until `wanted` lines are exact; whether time sufficed."""
        while number >= 0 and wanted > 0:
            if budget.spent:
                return False
            self.measure(number, NEVER, wanted, 1, budget)
            wanted -= self.heights[number]
            number -= 1
        return not budget.spent  # else a part of the last one may have been left out

    def downward(self, number: int, wanted: int, budget: Budget) -> bool:
        """Measure items downward until `wanted` lines are exact; whether time sufficed."""
        while number < len(self.heights) and wanted > 0:
            if budget.spent:
                return False
            self.measure(number, 0, 0, wanted, budget)
            wanted -= self.heights[number]
            number += 1
        return not budget.spent

    def update(self, numbers: Sequence[int], budget: Budget) -> list[int]:
        """Update changed drawn items; return the items that need more time."""
        return [
            number for number in numbers if number in self._shown and not self.measure(number, NEVER, 0, 1, budget)[1]
        ]

    def take_dirty(self) -> int:
        """Return the first line changed since the last call."""
        dirty, self._dirty = self._dirty, NEVER
        return dirty
