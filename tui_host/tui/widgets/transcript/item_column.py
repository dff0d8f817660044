"""A conversation's items below each other as heights and drawn items: no widget, only the measuring."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.strip import Strip

from tui_host.chat.conversation import CallItem, Conversation, without_secrets
from tui_host.tui.markdown.document import Budget
from tui_host.tui.markdown.heights import Heights
from tui_host.tui.widgets.transcript.item_lines import Flow, Look, Shown, estimated_height, is_empty, source_of

KEPT = 400
"""Drawn items that are kept; the others are drawn again when they are seen."""
RECENT = 50
"""So many items of a long conversation are looked at before they are seen: where a view of it begins."""
NEVER = 1 << 60
TALK = {"u": 36, "a": 93}
"""The letter after `{"item":"` of stored questions and answers, whose text takes room; about how many characters stand around it."""
WORDLESS = '"text":"","thinking":""'
"""In a stored answer: nothing is drawn of it."""


def stored_height(text: str, width: int) -> int:
    """About how many lines an item takes, with its gap, told from the text by which it is kept, which nobody has read yet."""
    around = TALK.get(text[9:10])
    if around is None:
        return 2
    if WORDLESS in text[:80]:
        return 0
    length = max(0, len(text) - around)
    return 2 + text.count("\\n") + (length if text.isascii() else int(length * 1.5)) // width


class Column:
    """The items of one conversation.

    Attributes:
        conversation: Whose.
        heights: Lines of each item: true ones where it was measured, else estimates.
        opened: Numbers of the items whose details are shown.
        look: How items are drawn, None before the first layout.
    """

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.heights = Heights()
        self.opened: set[int] = set()
        self.look: Look | None = None
        self._seen = 0
        self._shown: dict[int, Shown] = {}
        self._dirty = NEVER

    def __len__(self) -> int:
        return len(self.heights)

    def fit(self, look: Look) -> None:
        """Draw so from now on; estimates are made anew for another width."""
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
        """Note what is new; the numbers of the items that changed or came."""
        changed = self.conversation.changed_since(self._seen)
        self._seen = self.conversation.revision
        known = len(self.heights)
        for number in range(known, len(self.conversation)):
            self.heights.append(self._estimate(number))
        for number in changed:
            if number < known and number not in self._shown:
                self.heights.put(number, self._estimate(number))
        return changed

    # What is where.

    def at(self, line: int) -> tuple[int, int]:
        """The item at a line, and the line in it."""
        return self.heights.find(line)

    def line(self, line: int) -> Strip:
        """A line, empty where its item was not drawn yet."""
        number, inside = self.heights.find(line)
        shown = self._shown.get(number)
        return Strip([]) if shown is None else shown.line(inside)

    def is_shown(self, number: int) -> bool:
        """Whether an item is drawn."""
        return number in self._shown

    def shown(self, number: int) -> Shown | None:
        """A drawn item."""
        return self._shown.get(number)

    def is_label(self, line: int) -> bool:
        """Whether a line names the language of code."""
        number, inside = self.heights.find(line)
        shown = self._shown.get(number)
        part, inside = (None, 0) if shown is None else shown.part_at(inside)
        return isinstance(part, Flow) and part.document.line(inside).is_label

    def source_of(self, number: int) -> str:
        """An item as text, with its secrets masked as they are on the screen."""
        item = self.conversation[number]
        return source_of(item if self.look is None else without_secrets(item, self.look.mask))

    def are_done(self, first: int, last: int) -> bool:
        """Whether the drawn items between two lines need no more time."""
        if not len(self.heights):
            return True
        numbers = range(self.heights.find(first)[0], self.heights.find(last)[0] + 1)
        return all(self._shown[number].done for number in numbers if number in self._shown)

    def gap(self, number: int) -> int:
        """Calls that follow each other stand together; a line is free before all else."""
        items = self.conversation
        before = number - 1
        while before >= 0 and is_empty(items[before]):
            before -= 1
        if before < 0:
            return 0
        return 0 if isinstance(items[number], CallItem) and isinstance(items[before], CallItem) else 1

    def _estimates(self, count: int, width: int) -> Iterator[int]:
        """About how many lines the items take, with their gaps: of those long ago by the length of what is stored alone."""
        for number in range(count):
            text = self.conversation.unread(number) if number < count - RECENT else None
            yield self._estimate(number) if text is None else stored_height(text, width)

    def _estimate(self, number: int) -> int:
        width = 80 if self.look is None else self.look.width
        height = estimated_height(self.conversation[number], width - 1)
        return height + self.gap(number) if height else 0

    # Drawing.

    def _ensure(self, number: int, look: Look) -> Shown:
        """The item as it is now, in the present look."""
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
        """Draw an item around one of its lines, and note its height; where that line is now, and whether all is done."""
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
        """Measure items from one upward until so many lines are right; whether there was time for it."""
        while number >= 0 and wanted > 0:
            if budget.spent:
                return False
            self.measure(number, NEVER, wanted, 1, budget)
            wanted -= self.heights[number]
            number -= 1
        return not budget.spent  # else a part of the last one may have been left out

    def downward(self, number: int, wanted: int, budget: Budget) -> bool:
        """The same from one downward."""
        while number < len(self.heights) and wanted > 0:
            if budget.spent:
                return False
            self.measure(number, 0, 0, wanted, budget)
            wanted -= self.heights[number]
            number += 1
        return not budget.spent

    def update(self, numbers: Sequence[int], budget: Budget) -> list[int]:
        """Take in what changed of items that are drawn; those that need more time."""
        return [
            number for number in numbers if number in self._shown and not self.measure(number, NEVER, 0, 1, budget)[1]
        ]

    def take_dirty(self) -> int:
        """The first line that looks different since this was last asked."""
        dirty, self._dirty = self._dirty, NEVER
        return dirty
