"""The chat: a view of a `Conversation`, drawn where visible, steady while read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.chat.conversation import AnswerItem, CallItem, Conversation, Item, UserItem
from tui_host.tui.keys import bound
from tui_host.tui.markdown.code_blocks import language_of
from tui_host.tui.markdown.parser import parser
from tui_host.tui.widgets.prompt.prompt_field import Prompt
from tui_host.tui.widgets.transcript.blocks import Blocks, BlockView
from tui_host.tui.widgets.transcript.items import Items, Rank


class Transcript(BlockView):
    """The items of a conversation."""

    FOLLOWS = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter",
            "open_item",
            "open, edit",
            tooltip="open or close a tool call or thinking; on a message of yours: edit it, and ask from there in a branch",
        ),
        bound("fork", "fork", "fork", tooltip="begin a branch before a message of yours, or behind an answer"),
        bound("previous_branch", "screen.branch(-1)", tooltip="show another branch of this session"),
        bound("next_branch", "screen.branch(1)"),
        bound("copy_code", "copy_code(True)", "chain, or copy code", tooltip="show a call's chain; else copy code"),
        bound("contents", "ask_more(True)", "contents", tooltip="view, save or open what a call's result holds"),
        bound("values", "ask_more(False)", "values", tooltip="list an answer's numbers and names: from where"),
    ]

    @dataclass
    class Asked(Message):
        """A call's chain is to be shown, its contents or an answer's values, or a message edited, or a branch begins there."""

        what: Literal["chain", "more", "edit", "before", "behind"]
        item: Item

    def __init__(
        self,
        conversation: Conversation,
        *,
        mask: Callable[[str], str] = str,
        shows_thinking: bool = False,
        id: str | None = None,  # noqa: A002 - Textual's word
    ) -> None:
        super().__init__(Blocks(Items(conversation, mask, shows_thinking)), id=id)
        self._revision = 0
        self._new_lines = 0  # that came since the reader left the end
        self._copied_code = (-1, -1)
        self.quick: Mapping[str, str] = {}  # texts that one key sends

    def show(self, conversation: Conversation) -> None:
        """Show another conversation from the end."""
        self.unselect()
        self.current = None
        items = self.blocks.items
        self.selectable = self.blocks = Blocks(Items(conversation, items.mask, items.shows_thinking))
        self.at_tail = True
        self._revision = conversation.revision  # each conversation counts its own changes
        self.take()

    def sync(self) -> None:
        """Show what changed. Called at the screen's rate."""
        conversation = self.blocks.items.conversation
        if not self.blocks.width or conversation.revision == self._revision:
            return  # not laid out yet: `on_resize` takes everything in
        before = self.line_count()
        self.take(conversation.changed_since(self._revision))
        self._new_lines = 0 if self.at_tail else self._new_lines + self.line_count() - before
        self._revision = conversation.revision

    @property
    def new_below(self) -> int:
        """The lines below the screen that came since the reader left the end."""
        below = self.line_count() - self.scroll_offset.y - self.scrollable_size.height
        return 0 if self.at_tail else max(0, min(self._new_lines, below))

    @override
    def decorate(self, number: int, strip: Strip, mark: str = "") -> Strip:
        strip, row = super().decorate(number, strip, mark), self.row(number)
        if row is None or row.item != self.current or row.rank == Rank.GAP:
            return strip
        # What is selected stands out better where nothing else is tinted.
        tint = self.look_of("line-view--cursor") if self.selection is None else Style.null()
        segments = list(strip.extend_cell_length(self.scrollable_size.width))
        above = self.row(number - 1) if number else None
        if segments and (above is None or above.item != row.item or above.rank == Rank.GAP):
            first = segments[0]
            segments[0:1] = [Segment(">", first.style), Segment(first.text[1:], first.style)]
        return Strip([Segment(text, (style or Style.null()) + tint) for text, style, _ in segments])

    # Moving, opening.

    def watch_current(self, old: int | None, new: int | None) -> None:
        for number in (old, new):
            if number is not None:
                first, last = self.blocks.lines_of(number)
                self.refresh_lines(first, last - first)

    @override
    def action_line(self, step: int) -> None:
        if self.current is None:
            row = self.row(self.scroll_offset.y + (self.scrollable_size.height - 1 if step < 0 else 0))
            self._make_current(len(self.blocks.items.conversation) - 1 if row is None else row.item, step)
            return
        (first, last), top = self.blocks.lines_of(self.current), self.scroll_offset.y
        if last > top + self.scrollable_size.height if step > 0 else first < top:
            self.show_line(top + step, top=True)
        else:
            self._make_current(self.current + step, step)

    def _make_current(self, number: int, step: int) -> None:
        """Make the item, or the next visible item, current, and show it."""
        while 0 <= number < len(self.blocks.items.conversation):
            first, last = self.blocks.lines_of(number)
            if last > first:
                self.current = number
                fits = last - first <= self.scrollable_size.height
                self.show_line(last - 1 if (step > 0) is fits else first)
                if fits:
                    self.show_line(first)
                return
            number += step

    @override
    def action_edge(self, is_last: bool) -> None:
        """Go to the first item, or to the end and follow; no item is current then."""
        if is_last:
            self.current = None
        super().action_edge(is_last)
        if not is_last:
            self._make_current(0, 1)

    def action_open_item(self) -> None:
        item = self.blocks.items.item(self.current)
        if isinstance(item, UserItem):
            self.post_message(self.Asked("edit", item))
        elif self.current is None or not self.toggle(self.current):
            words = "A message of yours, a tool call or thinking opens: go to one with up and down."
            self.post_message(self.Hinted(words))

    def action_edit(self) -> None:
        """Ask to edit the current message of the user, else the last one above the current item."""
        conversation = self.blocks.items.conversation
        last = len(conversation) - 1 if self.current is None else self.current
        messages = (item for at in range(last, -1, -1) if isinstance(item := conversation[at], UserItem))
        if (item := next(messages, None)) is not None:
            self.post_message(self.Asked("edit", item))

    def action_fork(self) -> None:
        """Ask for a branch before the current message of the user, else behind the turn of the current or last item."""
        items = self.blocks.items
        if len(items.conversation):
            item = items.item(self.current) or items.conversation[-1]
            self.post_message(self.Asked("before" if isinstance(item, UserItem) else "behind", item))

    def toggle(self, number: int) -> bool:
        """Open or close an item's details, if it has any; its first line stays visible."""
        item = self.blocks.items.item(number)
        if not isinstance(item, CallItem) and not (isinstance(item, AnswerItem) and item.thinking):
            return False
        self.blocks.items.opened ^= {number}
        self.at_tail = False
        self.take([number])
        self.show_line(self.blocks.lines_of(number)[0])
        self.at_tail = self.scroll_offset.y >= self.max_scroll_y
        return True

    @override
    def on_click(self, event: events.Click) -> None:
        event.stop()
        row = self.row(event.y - self.gutter.top + self.scroll_offset.y)
        if self.is_dragged or row is None or row.rank < Rank.LINE:
            return
        self.current = row.item
        if row.rank == Rank.LINE:
            self.toggle(row.item)

    def action_copy_code(self, or_chain: bool) -> None:
        """Copy the next code block of the current answer, else of the last answer with code; or ask for a call's chain."""
        item = self.blocks.items.item(self.current)
        if or_chain and isinstance(item, CallItem) and item.call:
            self.post_message(self.Asked("chain", item))
            return
        numbers = reversed(range(len(self.blocks.items.conversation))) if self.current is None else (self.current,)
        for number in numbers:
            if not isinstance(self.blocks.items.item(number), AnswerItem):
                continue
            tokens = parser(blocks_only=True).parse(self.blocks.items.source(number))
            codes = [token for token in tokens if token.type in {"fence", "code_block"}]
            if codes:
                before, place = self._copied_code
                place = (place + 1) % len(codes) if before == number else 0
                self._copied_code = number, place
                language = line(language_of(codes[place].info), 20)
                what = f"code {place + 1} of {len(codes)}" if len(codes) > 1 else "code"
                what += f" ({language})" if language else ""
                self.post_message(self.CopyAsked(what, codes[place].content.removesuffix("\n")))
                return

    def action_ask_more(self, of_call: bool) -> None:
        """Ask for the contents of the current call, or the values of the current answer; else of the last one that has any."""
        item, items = self.blocks.items.item(self.current), reversed(self.blocks.items.conversation)
        if of_call and not isinstance(item, CallItem):
            item = next((call for call in items if isinstance(call, CallItem) and (call.contents or call.page)), None)
        elif not of_call and not isinstance(item, AnswerItem):
            item = next((answer for answer in items if isinstance(answer, AnswerItem) and answer.text), None)
        if isinstance(item, CallItem | AnswerItem):
            self.post_message(self.Asked("more", item))
        else:
            words = "No result in this chat holds more than text." if of_call else "No answer in this chat has text."
            self.post_message(self.Hinted(words))

    def on_key(self, event: events.Key) -> None:
        text = self.quick.get(event.key)
        if text is not None:
            event.stop()
            self.post_message(Prompt.QuickPicked(text))
