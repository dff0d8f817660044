"""The chat: a view of a `Conversation`, drawn where visible, steady while read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.chat.conversation import AnswerItem, CallItem, Conversation
from tui_host.tui.markdown.code_blocks import language_of
from tui_host.tui.markdown.page import DrawnLine, inks_of
from tui_host.tui.markdown.parser import loaded, parse_blocks
from tui_host.tui.suggestions import NOTHING_OFFERED, Offers
from tui_host.tui.widgets.transcript.block_view import BlockView
from tui_host.tui.widgets.transcript.blocks import Blocks, Budget
from tui_host.tui.widgets.transcript.items import Items, Rank, numbered, offer_lines

CODE_HINT = "c copies"
"""What stands beside the language of code that can be copied now."""


class Transcript(BlockView):
    """The items of a conversation.

    Attributes:
        asked: Answers by key to what the host asks at the moment, in place of other texts that one key sends.
    """

    FOLLOWS = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open_item", "open or close", tooltip="open or close a tool call, thinking or an error"),
        Binding(
            "c",
            "code_or_chain",
            "chain, or copy code",
            tooltip="on a call: show its chain in the inspector; else copy code, again: its next block",
        ),
        Binding(
            "v",
            "view_contents",
            "contents",
            id="contents",
            tooltip="view the contents of the current call's result: draw images, save, open",
        ),
        Binding(
            "o",
            "ask_values",
            "values",
            id="values",
            tooltip="list the numbers and names of the current answer: from which result, or from nowhere",
        ),
    ]

    current: var[int | None] = var(None, init=False)
    """Number of the current item."""

    @dataclass
    class Picked(Message):
        """A question of the empty chat was chosen."""

        text: str

    @dataclass
    class ContentsAsked(Message):
        """The contents of a call's result are to be shown."""

        item: CallItem

    @dataclass
    class ValuesAsked(Message):
        """The values of an answer are to be listed."""

        item: AnswerItem

    @dataclass
    class ChainAsked(Message):
        """The chain of a call is to be shown."""

        call: str

    @dataclass
    class CopyAsked(Message):
        """A part of an item is to be copied."""

        what: str
        text: str

    def __init__(
        self,
        conversation: Conversation,
        *,
        empty: Offers = NOTHING_OFFERED,
        mask: Callable[[str], str] = str,
        id: str | None = None,  # noqa: A002 - Textual's word
    ) -> None:
        self._items = Items(conversation, mask)
        super().__init__(Blocks(self._items.parts, self._items.estimate, self._items.source), id=id)
        self._mask = mask
        self._revision = 0
        self._empty = empty
        self._empty_lines: list[tuple[DrawnLine, str]] = []
        self._end = (0, 0)
        self._copied_code = (-1, -1)
        self.asked: Mapping[str, str] = {}

    # What the app calls.

    def show(self, conversation: Conversation) -> None:
        """Show another conversation from the end."""
        self.unselect()
        self.current = None
        self._items = Items(conversation, self._mask)
        self.blocks = Blocks(self._items.parts, self._items.estimate, self._items.source)
        self.at_tail = True
        self.width_changed()
        self.redraw()

    def set_empty(self, empty: Offers) -> None:
        """Set the content of an empty chat."""
        if empty != self._empty:
            self._empty = empty
            if not self.blocks.count:
                self.width_changed()
                self.redraw()

    @override
    def sync(self) -> None:
        conversation = self._items.conversation
        if self.view_width <= 0 or not self.blocks.width:
            return  # not laid out yet: `width_changed` takes everything in
        super().sync()
        if conversation.revision == self._revision:
            return
        if not self.blocks.count:
            self.refresh()
        budget = Budget()
        for number in conversation.changed_since(self._revision):
            if number < self.blocks.count:
                self.blocks.update(number, budget)
            else:
                self.blocks.add(number, budget)
        self._revision = conversation.revision
        self.work()

    def current_source(self) -> tuple[str, str]:
        """Return the selection, the current item, or the last item with text; with a word for it."""
        if (selected := self.selected_source()) is not None:
            return selected
        if self._items.item(self.current) is not None and self.current is not None:
            return "message", self._items.source(self.current)
        numbers = reversed(range(len(self._items.conversation)))
        return "message", next((text for number in numbers if (text := self._items.source(number))), "")

    @property
    def new_below(self) -> int:
        """Count the lines below the screen that came since the reader left the end."""
        number, height = self._end
        if self.at_tail or number >= self.blocks.count:
            return 0
        heights = self.blocks.heights
        new = heights.behind(self.blocks.span(number)[0]) - height
        return max(0, min(new, heights.total - self.top - self.view_height))

    def _mark_end(self) -> None:
        """Remember the last item and its height as what the reader has seen."""
        if self.blocks.count:
            number = self.blocks.count - 1
            first, last = self.blocks.lines_of(number)
            self._end = number, last - first

    # What the bases ask.

    @override
    def item_count(self) -> int:
        return len(self._items.conversation)

    @override
    def work(self) -> None:
        super().work()
        if self.at_tail:
            self._mark_end()

    @override
    def width_changed(self) -> None:
        if self.view_width > 0:
            self._revision = self._items.conversation.revision
            self._empty_lines = offer_lines(self._empty, self.view_width, inks_of(self.look_of))
        super().width_changed()

    @override
    def line_count(self) -> int:
        return super().line_count() if self.blocks.count else len(self._empty_lines)

    @override
    def draw(self, number: int) -> Strip:
        if self.blocks.count:
            return super().draw(number)
        return self._empty_lines[number][0].strip if number < len(self._empty_lines) else Strip([])

    @override
    def decorate(self, number: int, strip: Strip) -> Strip:
        strip = super().decorate(number, strip)
        if self.current is None or not self.blocks.count:
            return strip
        block, inside = self.blocks.at(number)
        if block.item != self.current or block.part is None or block.part.rank == Rank.GAP:
            return strip
        drawn = self.blocks.line(number)
        hint = CODE_HINT if drawn is not None and drawn.is_label else block.part.hint * (not inside)
        if hint and self.has_focus:
            strip = _with_hint(strip, self.view_width, hint)
        # What is selected stands out better where nothing else is tinted.
        tint = self.look_of("line-view--cursor") if self.selection is None else Style.null()
        segments = list(strip.extend_cell_length(self.view_width))
        if self._own_line(number, self.current) == 0 and segments:
            first = segments[0]
            segments[0:1] = [Segment(">", first.style), Segment(first.text[1:], first.style)]
        return Strip([Segment(text, (style or Style.null()) + tint) for text, style, _ in segments])

    def _own_line(self, number: int, item: int) -> int:
        """Return the number of a line in its item, without the gap."""
        first = self.blocks.span(item)[0]
        part = self.blocks.blocks[first].part
        return number - self.blocks.heights.start(first) - (part is not None and part.rank == Rank.GAP)

    # Moving, opening.

    def watch_current(self, old: int | None, new: int | None) -> None:
        for number in (old, new):
            if number is not None and number < self.blocks.count:
                first, last = self.blocks.lines_of(number)
                self.changed(first, last - first)

    @override
    def action_line(self, step: int) -> None:
        if not self.blocks.count:
            return
        if self.current is None:
            edge = self.top + (self.view_height - 1 if step < 0 else 0)
            self._make_current(self.blocks.at(edge)[0].item, step)
            return
        first, last = self.blocks.lines_of(self.current)
        if (step > 0 and last > self.top + self.view_height) or (step < 0 and first < self.top):
            self.scroll_to(y=self.top + step, animate=False, force=True)
        else:
            self._make_current(self.current + step, step)

    def _make_current(self, number: int, step: int) -> None:
        """Make the item, or the next visible item, current, and show it."""
        while 0 <= number < self.blocks.count:
            first, last = self.blocks.lines_of(number)
            if last > first:
                break
            number += step
        else:
            return
        self.current = number
        fits = last - first <= self.view_height
        self.show_line(last - 1 if (step > 0) is fits else first)
        if fits:
            self.show_line(first)

    @override
    def action_first(self) -> None:
        super().action_first()
        self._make_current(0, 1)

    @override
    def action_last(self) -> None:
        """Go to the end and follow; no item is current then."""
        self.current = None
        super().action_last()

    def action_open_item(self) -> None:
        if self.current is not None:
            self.toggle(self.current)

    def toggle(self, number: int) -> None:
        """Open or close an item's details; its first line stays visible."""
        if not self._items.opens(number):
            return
        self._items.opened ^= {number}
        self.hold_still()
        self.blocks.update(number, Budget())
        self.work()
        if number == self._end[0]:
            self._mark_end()
        self.show_line(self.blocks.lines_of(number)[0])
        self.at_tail = self.top >= self.max_scroll_y

    @override
    def on_click(self, event: events.Click) -> None:
        event.stop()
        y = event.y - self.gutter.top + self.top
        if self.is_dragged or not 0 <= y < self.line_count():
            return
        if not self.blocks.count:
            if self._empty_lines[y][1]:
                self.post_message(self.Picked(self._empty_lines[y][1]))
            return
        block = self.blocks.at(y)[0]
        if block.part is None or block.part.rank == Rank.GAP:
            return
        self.current = block.item
        if self._own_line(y, block.item) <= isinstance(self._items.item(block.item), CallItem):
            self.toggle(block.item)

    def action_code_or_chain(self) -> None:
        """Ask for the chain of the current call; elsewhere copy code."""
        item = self._items.item(self.current)
        if isinstance(item, CallItem) and item.call:
            self.post_message(self.ChainAsked(item.call))
        else:
            self.action_copy_code()

    def action_copy_code(self) -> None:
        """Copy the next code block of the current answer, else of the last answer with code."""
        numbers = reversed(range(self.blocks.count)) if self.current is None else (self.current,)
        for number in numbers:
            codes = list(self._codes(number))
            if not codes:
                continue
            before, place = self._copied_code
            place = (place + 1) % len(codes) if before == number else 0
            language, text = codes[place]
            what = f"code {place + 1} of {len(codes)}" if len(codes) > 1 else "code"
            self._copied_code = number, place
            self.post_message(self.CopyAsked(what + (f" ({line(language, 20)})" if language else ""), text))
            return

    def _codes(self, number: int) -> Iterator[tuple[str, str]]:
        """Yield language and text of each block of code in an answer."""
        if loaded() and isinstance(self._items.item(number), AnswerItem):
            for token in parse_blocks(self._items.source(number)):
                if token.type in {"fence", "code_block"}:
                    yield language_of(token.info), token.content.removesuffix("\n")

    def action_view_contents(self) -> None:
        """Ask for the contents of the current call, else of the last call that has any besides text."""
        item = self._items.item(self.current)
        if not isinstance(item, CallItem):
            calls = (call for call in reversed(self._items.conversation) if isinstance(call, CallItem))
            item = next((call for call in calls if call.contents or call.page), None)
        if item is not None:
            self.post_message(self.ContentsAsked(item))

    def action_ask_values(self) -> None:
        """Ask for the values of the current answer, else of the last one."""
        item = self._items.item(self.current)
        if not isinstance(item, AnswerItem):
            answers = (answer for answer in reversed(self._items.conversation) if isinstance(answer, AnswerItem))
            item = next((answer for answer in answers if answer.text), None)
        if item is not None:
            self.post_message(self.ValuesAsked(item))

    @property
    def quick(self) -> Mapping[str, str]:
        """Texts sent by one key: answers to the host or to the model, or questions of an empty chat."""
        if self.asked:
            return self.asked
        return numbered(self._items.conversation.proposed()) if self.blocks.count else dict(self._empty.questions)

    def on_key(self, event: events.Key) -> None:
        text = self.quick.get(event.key)
        if text is not None:
            event.stop()
            self.post_message(self.Picked(text))


def _with_hint(strip: Strip, width: int, hint: str) -> Strip:
    room = width - cell_len(hint) - 1
    if strip.crop(room - 1).text.strip():
        return strip
    strip = strip.extend_cell_length(width)
    style = next(iter(strip.crop(room)), Segment("")).style
    return Strip([*strip.crop(0, room), Segment(hint, style), *strip.crop(room + cell_len(hint))])
