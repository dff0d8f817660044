"""The chat: a view of a `Conversation`, drawn where visible, steady while read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
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
from tui_host.tui.markdown import line_page as inks
from tui_host.tui.markdown.code_blocks import language_of
from tui_host.tui.markdown.document import Budget
from tui_host.tui.markdown.line_page import inks_of
from tui_host.tui.markdown.parser import loaded, parse_blocks
from tui_host.tui.suggestions import NOTHING_OFFERED, Offers
from tui_host.tui.widgets.lines.selection import SelectingView
from tui_host.tui.widgets.transcript.item_column import Column
from tui_host.tui.widgets.transcript.item_lines import ItemLook, offer_rows, opens
from tui_host.tui.widgets.transcript.transcript_selection import TranscriptSelection
from tui_host.tui.widgets.transcript.transcript_words import numbered


class Transcript(SelectingView):
    """The items of a conversation. `sync`, called at screen rate, shows news.

    Attributes:
        asked: Answers by key to what the host asks at the moment, in place of other texts that one key sends.
    """

    FOLLOWS = True
    COMPONENT_CLASSES: ClassVar[set[str]] = inks.COMPONENTS
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
    ]
    DEFAULT_CSS = f"Transcript {{ {inks.CSS} }}"

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
        super().__init__(id=id)
        self._mask = mask
        self._empty = empty
        self._empty_rows: list[tuple[Strip, str]] = []
        self._column = Column(conversation)
        self._anchor = self._end = (0, 0)
        self._placing = self._working = False
        self._copied_code = (-1, -1)
        self.asked: Mapping[str, str] = {}

    # What the app calls.

    def show(self, conversation: Conversation) -> None:
        """Show another conversation from the end."""
        self.selection = None
        self._column = Column(conversation)
        self._anchor = (0, 0)
        self.at_tail = True
        self.current = None
        self.make_anew()

    def set_empty(self, empty: Offers) -> None:
        """Set the content of an empty chat."""
        if empty != self._empty:
            self._empty = empty
            if not len(self._column):
                self.make_anew()

    def sync(self) -> None:
        """Show changes of the conversation."""
        column = self._column
        if self.view_width <= 0 or column.look is None:
            return  # not laid out yet: `width_changed` measures everything
        if column.is_behind:
            count = len(column)
            changed = column.take_in()
            if not count:
                self.refresh()
            self._work(changed)
        elif not self._working and not column.are_done(self.top, self.top + self.view_height - 1):
            self._work()  # Markdown can be read now

    def current_source(self) -> tuple[str, str]:
        """Return the selection, the current item, or the last item with text; with a word for it."""
        return self.selected_source() or ("message", self._item_source())

    @property
    def new_below(self) -> int:
        """Count the lines below the screen that came since the reader left the end."""
        heights = self._column.heights
        if self.at_tail or self._end[0] >= len(heights):
            return 0
        return max(0, heights.total - max(heights.start(self._end[0]) + self._end[1], self.top + self.view_height))

    def _mark_end(self) -> None:
        """Remember the last item and its height as what the reader has seen."""
        heights = self._column.heights
        if len(heights):
            self._end = len(heights) - 1, heights[len(heights) - 1]

    def _item_source(self) -> str:
        column = self._column
        if self.current is not None and self.current < len(column.conversation):
            return column.source_of(self.current)
        numbers = reversed(range(len(column.conversation)))
        return next((source for number in numbers if (source := column.source_of(number))), "")

    # Drawing what is on the screen and near it, within a budget, holding the item on top still, or the end.

    def _present_look(self) -> ItemLook:
        look = self._column.look
        if look is None or look.width != self.view_width:
            inks_before = None if look is None else look.inks
            look = ItemLook(self.view_width, inks_of(self, inks_before), self._mask)
        return look

    def _work(self, changed: Sequence[int] = ()) -> None:
        self._working = False
        column = self._column
        if not len(column) or self.view_width <= 0:
            return
        budget = Budget()
        top_before = self.top
        height = max(1, self.view_height)
        pending = column.update(changed, budget)
        if self.at_tail:
            done = column.upward(len(column) - 1, height * 2, budget)
        else:
            number = min(self._anchor[0], len(column) - 1)
            inside, done = column.measure(number, self._anchor[1], height, height * 2, budget)
            self._anchor = (number, inside)
            done = column.downward(number + 1, height * 2, budget) and done
            done = column.upward(number - 1, height, budget) and done
        self._place()
        dirty = max(column.take_dirty(), self.top)
        if top_before == self.top and dirty < self.top + height:
            self.refresh_lines(dirty, self.top + height - dirty)
        if pending or not done or not column.are_done(self.top, self.top + height - 1):
            self._work_later(pending)

    def _work_later(self, pending: Sequence[int] = ()) -> None:
        if not self._working:
            self._working = True
            self.call_later(self._work, pending)

    def _place(self) -> None:
        heights = self._column.heights
        self._placing = True
        if self.virtual_size.height != heights.total:
            self.set_height(heights.total)
            self.refresh()  # lines may have moved that did not change
        if self.at_tail:
            self.to_tail()
            self._mark_end()
        else:
            top = heights.start(self._anchor[0]) + self._anchor[1]
            if top != self.top:
                self.scroll_to(y=top, animate=False, force=True)
        self._placing = False

    # What the bases ask.

    @property
    @override
    def selectable(self) -> TranscriptSelection | None:
        return TranscriptSelection(self._column) if len(self._column) and self._column.look is not None else None

    @override
    def hold_still(self) -> None:
        super().hold_still()
        if len(self._column):
            self._anchor = self._column.at(self.top)

    @override
    def line_count(self) -> int:
        return self._column.heights.total if len(self._column) else len(self._empty_rows)

    @override
    def strip_at(self, number: int) -> Strip:
        return self.draw(number)

    @override
    def draw(self, number: int) -> Strip:
        if not len(self._column):
            return self._empty_rows[number][0] if number < len(self._empty_rows) else Strip([])
        return self._column.line(number)

    @override
    def decorate(self, number: int, strip: Strip) -> Strip:
        strip = super().decorate(number, strip)
        if self.current is None or not len(self._column):
            return strip
        item, inside = self._column.at(number)
        gap = self._column.gap(item)
        if item != self.current or inside < gap:
            return strip
        if self.has_focus and (hint := self._column.hint_at(number)):
            strip = _with_hint(strip, self.view_width, hint)
        # What is selected stands out better where nothing else is tinted.
        tint = self.look_of("line-view--cursor") if self.selection is None else Style.null()
        segments = list(strip.extend_cell_length(self.view_width))
        if inside == gap and segments:
            first = segments[0]
            segments[0:1] = [Segment(">", first.style), Segment(first.text[1:], first.style)]
        return Strip([Segment(text, (style or Style.null()) + tint) for text, style, _ in segments])

    @override
    def width_changed(self) -> None:
        if self.view_width > 0:
            look = self._present_look()
            self._column.fit(look)
            self._empty_rows = offer_rows(self._empty, look)
            self._work()

    @override
    def on_resize(self) -> None:
        super().on_resize()
        self._work()

    @override
    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self._column.look is not None:
            self.call_later(self._new_colours)

    def _new_colours(self) -> None:
        look = self._column.look
        if look is None or not self.is_attached:
            return
        present = inks_of(self, look.inks)
        if present is not look.inks:
            look = ItemLook(look.width, present, self._mask)
            self._column.fit(look)
            self._empty_rows = offer_rows(self._empty, look)
            self.refresh()
            self._work()

    @override
    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._placing and len(self._column):
            self._anchor = self._column.at(round(new_value))
            self._work_later()

    # Moving, opening.

    def watch_current(self, old: int | None, new: int | None) -> None:
        heights = self._column.heights
        for number in (old, new):
            if number is not None and number < len(heights):
                self.changed(heights.start(number), heights[number])

    @override
    def action_line(self, step: int) -> None:
        heights = self._column.heights
        if not len(heights):
            return
        if self.current is None:
            edge = self.top + (self.view_height - 1 if step < 0 else 0)
            self._make_current(self._column.at(edge)[0], step)
            return
        start = heights.start(self.current)
        end = start + heights[self.current]
        if (step > 0 and end > self.top + self.view_height) or (step < 0 and start < self.top):
            self.scroll_to(y=self.top + step, animate=False, force=True)
        else:
            self._make_current(self.current + step, step)

    def _make_current(self, number: int, step: int) -> None:
        """Make the item, or the next visible item, current, and show it."""
        heights = self._column.heights
        while 0 <= number < len(heights) and not heights[number]:
            number += step
        if not 0 <= number < len(heights):
            return
        self.current = number
        first = heights.start(number)
        last = first + heights[number] - 1
        fits = heights[number] <= self.view_height
        self.show_line(last if (step > 0) is fits else first)
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
        column = self._column
        if number >= len(column) or not opens(column.conversation[number]):
            return
        column.opened ^= {number}
        self._anchor = column.at(self.top)
        self.at_tail = False
        self._work([number])
        if number == self._end[0]:
            self._mark_end()
        self.show_line(column.heights.start(number))
        self.at_tail = self.top >= self.max_scroll_y

    @override
    def on_click(self, event: events.Click) -> None:
        event.stop()
        if self.is_dragged:
            return
        y = event.y - self.gutter.top + self.top
        if not len(self._column):
            if 0 <= y < len(self._empty_rows) and self._empty_rows[y][1]:
                self.post_message(self.Picked(self._empty_rows[y][1]))
            return
        if not 0 <= y < self._column.heights.total:
            return
        number, inside = self._column.at(y)
        inside -= self._column.gap(number)
        if inside < 0:
            return
        self.current = number
        if inside == 0 or (isinstance(self._column.conversation[number], CallItem) and inside == 1):
            self.toggle(number)

    def action_code_or_chain(self) -> None:
        """Ask for the chain of the current call; elsewhere copy code."""
        conversation = self._column.conversation
        item = conversation[self.current] if self.current is not None and self.current < len(conversation) else None
        if isinstance(item, CallItem) and item.call:
            self.post_message(self.ChainAsked(item.call))
        else:
            self.action_copy_code()

    def action_copy_code(self) -> None:
        """Copy the next code block of the current answer, else of the last answer with code."""
        numbers = reversed(range(len(self._column))) if self.current is None else (self.current,)
        answers = ((number, blocks) for number in numbers if (blocks := _blocks(self._column, number)))
        for number, blocks in islice(answers, 1):
            before, place = self._copied_code
            place = (place + 1) % len(blocks) if before == number else 0
            language, text = blocks[place]
            what = f"code {place + 1} of {len(blocks)}" if len(blocks) > 1 else "code"
            what += f" ({line(language, 20)})" if language else ""
            self._copied_code = number, place
            self.post_message(self.CopyAsked(what, text))

    def action_view_contents(self) -> None:
        """Ask for the contents of the current call, else of the last call that has any besides text."""
        conversation = self._column.conversation
        item = None if self.current is None else conversation[self.current]
        if not isinstance(item, CallItem):
            calls = (call for call in reversed(conversation.items) if isinstance(call, CallItem))
            item = next((call for call in calls if call.contents or call.page), None)
        if item is not None:
            self.post_message(self.ContentsAsked(item))

    @property
    def quick(self) -> Mapping[str, str]:
        """Texts sent by one key: answers to the host or to the model, or questions of an empty chat."""
        if self.asked:
            return self.asked
        return numbered(self._column.conversation.proposed()) if len(self._column) else dict(self._empty.questions)

    def on_key(self, event: events.Key) -> None:
        text = self.quick.get(event.key)
        if text is not None:
            event.stop()
            self.post_message(self.Picked(text))


def _blocks(column: Column, number: int) -> list[tuple[str, str]]:
    if not loaded() or number >= len(column) or not isinstance(column.conversation[number], AnswerItem):
        return []
    return [
        (language_of(token.info), token.content.removesuffix("\n"))
        for token in parse_blocks(column.source_of(number))
        if token.type in {"fence", "code_block"}
    ]


def _with_hint(strip: Strip, width: int, hint: str) -> Strip:
    room = width - cell_len(hint) - 1
    if strip.crop(room - 1).text.strip():
        return strip
    strip = strip.extend_cell_length(width)
    style = next(iter(strip.crop(room)), Segment("")).style
    return Strip([*strip.crop(0, room), Segment(hint, style), *strip.crop(room + cell_len(hint))])
