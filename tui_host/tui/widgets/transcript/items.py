"""The items of a conversation as parts: messages, answers, calls, notes, figures. Foreign text is cut and made visible."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from typing import assert_never

from rich.cells import cell_len
from rich.segment import Segment

from tui_host.capture.short_units import short_time
from tui_host.capture.visible import tool_name
from tui_host.chat.call_arguments import pretty
from tui_host.chat.conversation import (
    AnswerItem,
    CallItem,
    Conversation,
    Item,
    NoteItem,
    SummaryItem,
    UserItem,
    without_secrets,
)
from tui_host.tui.keys import key_of
from tui_host.tui.markdown.page import NO_INKS, PLAIN, STRONG, Inks, MarkdownPage
from tui_host.tui.text_width import clip
from tui_host.tui.widgets.transcript.item_parts import ItemPart, estimate

LONGEST_NOTE = 4000
"""Characters of a provider's words that are shown; all of them stand in the inspector."""
LONGEST_PRETTY = 200_000
"""Characters of JSON above which it is shown as it came."""
MOST_OPTIONS = 9
"""Answers that a digit can give."""
MARKS = {
    "asked": ("○", "dim", "asked"),
    "waiting": ("◐", "", "waiting for you"),  # a colour would be faint behind the approval, on light ground
    "running": ("◐", "accent", "running"),
    "done": ("✓", "string", ""),
    "failed": ("✗", "wrong", "failed"),
    "rejected": ("✗", "wrong", "rejected"),
    "invalid": ("✗", "wrong", "invalid"),
    "stopped": ("✗", "dim", "stopped"),
}
"""The glyph, the ink and the word of a call's state."""
ENDS = {"cut": "cut off here", "failed": "failed here"}


class Rank(IntEnum):
    """The parts of an item in order; the details of a call come behind them."""

    GAP = 0
    LINE = 1
    THINKING = 2
    BETWEEN = 3
    TEXT = 4
    OPTIONS = 5
    ENDING = 6
    DETAILS = 7


@dataclass(slots=True, eq=False)
class Items:
    """The items of a conversation; an empty one has one without lines."""

    conversation: Conversation
    mask: Callable[[str], str]  # hides what marks stand for a secret
    shows_thinking: bool = False  # whether thinking is open until it is closed
    opened: set[int] = field(default_factory=set[int])  # numbers of the items that a person opened or closed
    width: int = 0  # of a line in cells
    inks: Inks = field(default_factory=lambda: NO_INKS)

    def item(self, number: int | None) -> Item | None:
        """Return an item, None where none has the number."""
        return self.conversation[number] if number is not None and number < len(self.conversation) else None

    def source(self, number: int) -> str:
        """Return an item as text: Markdown, a message, or a call with its result; secrets are masked."""
        item = without_secrets(self.conversation[number], self.mask)
        match item:
            case UserItem() | AnswerItem():
                return item.text
            case CallItem():
                head = f"{item.server}.{item.tool}" if item.server else item.tool
                edited = f"the model asked {item.asked}" if item.decision == "edited" else ""
                what = (edited, item.words, item.contents, item.output_misfits, item.result, item.structured)
                return "\n".join([f"{head} {item.sent or item.asked}".rstrip(), *filter(None, what)])
            case NoteItem():
                return "\n".join(filter(None, (item.what, item.where, item.remedy)))
            case SummaryItem():
                return ""
            case _:
                assert_never(item)

    def estimate(self, number: int) -> int:
        """Estimate an item's lines with its gap; of a stored one without reading it."""
        stored = self.conversation.unread(number) if self.conversation else ""
        if stored is not None:
            # After `{"item":"`, `u` and `a` are questions and answers; the others have a line or two.
            return 1 + stored.count("\\n") + estimate(stored, self.width) if stored[9:10] in {"u", "a"} else 3
        item = self.conversation[number]
        thinking = item.thinking if isinstance(item, AnswerItem) and self.shows_thinking else ""
        return 1 + estimate(thinking + item.text if isinstance(item, UserItem | AnswerItem) else "", self.width)

    def parts(self, number: int) -> Sequence[ItemPart]:
        """Return an item as parts, the first a gap but between calls; nothing of an item without lines."""
        items = self.conversation
        if not items or _is_empty(items[number]):
            return ()
        item, is_open = without_secrets(items[number], self.mask), number in self.opened
        match item:
            case UserItem():
                bar = Segment("▌", self.inks["accent"])
                parts = [ItemPart(Rank.TEXT, source=item.text, is_plain=True, edge=bar)]
                if item.origin:
                    words = f"from the prompt {item.origin}" + " · as the model's words" * bool(item.role)
                    parts[:0] = [self._line(Rank.LINE, words, "label", bar)]
            case AnswerItem():
                parts = self._answer(item, is_open=is_open is not self.shows_thinking)
            case CallItem():
                parts = self._call(item, is_open=is_open)
            case NoteItem():
                parts = [self._note(item)]
            case SummaryItem():
                facts = [  # the most important first: «612 in · 85 out · 2 calls · 3.6 s · 64 cached»
                    "" if item.tokens_in is None else f"{item.tokens_in:,} in",
                    "" if item.tokens_out is None else f"{item.tokens_out:,} out",
                    f"{item.calls} call{'s' * (item.calls != 1)}" if item.calls else "",
                    short_time(item.seconds * 1000),
                    "" if item.cost is None else f"cost {item.cost:.4g}",
                    f"{item.tokens_cached:,} cached" if item.tokens_cached else "",
                    f"{item.tokens_thinking:,} thinking" if item.tokens_thinking else "",
                ]
                parts = [self._line(Rank.LINE, f" {' · '.join(filter(None, facts))}")]
            case _:
                assert_never(item)
        above = (items[place] for place in range(number - 1, -1, -1))
        before = next((earlier for earlier in above if not _is_empty(earlier)), None)
        if before is None or (isinstance(item, CallItem) and isinstance(before, CallItem)):
            return parts
        return [self._line(Rank.GAP), *parts]

    def _line(self, rank: int, words: str = "", ink: str = "dim", edge: Segment | None = None) -> ItemPart:
        """Return a line, cut at the width."""
        page = MarkdownPage(self.width, self.inks, [edge] if edge else [])
        page.raw([Segment(clip(words, page.room), self.inks[ink])] if words else [])
        return ItemPart(rank, page.lines)

    def _answer(self, item: AnswerItem, *, is_open: bool) -> list[ItemPart]:
        parts: list[ItemPart] = []
        is_final, edge = item.state != "streaming", Segment(" ", PLAIN)
        has_thought = is_final or bool(item.text)
        if item.thinking:
            keys = "enter closes" if is_open else "enter opens"
            words = f" thinking{'' if has_thought else '…'} · {len(item.thinking):,} characters · {keys}"
            parts.append(self._line(Rank.LINE, words))
            if is_open:
                bar, style = Segment(" │ ", self.inks["rule"]), self.inks["dim"]
                part = ItemPart(Rank.THINKING, (), item.thinking, has_thought, is_plain=True, edge=bar, style=style)
                parts.append(part)
            if item.text:
                parts.append(self._line(Rank.BETWEEN))
        if item.text:
            parts.append(ItemPart(Rank.TEXT, source=item.text, is_final=is_final, edge=edge))
        if item.options:
            page = MarkdownPage(self.width, self.inks, [edge])
            page.raw()
            for number, text in numbered(item.options.splitlines()).items():
                with page.inside(Segment(f"{number}  ", self.inks["accent"])):
                    page.say(text)
            parts.append(ItemPart(Rank.OPTIONS, page.lines))
        if item.state in ENDS:
            parts.append(self._line(Rank.ENDING, f" ✗ {ENDS[item.state]}", "wrong"))
        return parts

    def _call(self, item: CallItem, *, is_open: bool) -> list[ItemPart]:
        """Return a call: its first line, what is to be noted about it, contents; the details if open."""
        page = MarkdownPage(self.width, self.inks)
        _draw_call(page, item, is_open=is_open)
        parts = [ItemPart(Rank.LINE, page.lines, stands_for_item=True)]
        edited, edge = item.decision == "edited", Segment("   │ ", self.inks["rule"])
        details = {
            "asked" if edited else "arguments": item.asked or "(none)",
            "sent instead": (item.sent or "(none)") if edited else "",
            "result": item.result,
            "structured content": item.structured,
        }
        for rank, (name, text) in enumerate(details.items() if is_open else ()):
            if not text:
                continue
            shown = text
            if len(text) <= LONGEST_PRETTY and text[:1] in {"{", "["}:
                with suppress(ValueError, RecursionError):  # what is no JSON stays as it came
                    shown = pretty(json.loads(text))
            label = self._line(Rank.DETAILS + 2 * rank, name, "label", edge)
            label.stands_for_item = True
            parts += [label, ItemPart(label.rank + 1, source=shown, is_plain=True, edge=edge)]
        return parts

    def _note(self, item: NoteItem) -> ItemPart:
        """Return a note, or an error with the provider's own words and the key that goes on."""
        page = MarkdownPage(self.width, self.inks)
        dim, bar = self.inks["dim"], Segment(" │ ", self.inks["wrong"])
        key = f"press {key_of('again')} to " + ("go on without the oldest turns" if item.is_full else "try again")
        key *= item.is_full or item.again
        if item.kind == "note":
            times = f"{item.times} times" * (item.times > 1)
            with page.inside(Segment(" · ", dim)):
                page.say(" · ".join(filter(None, (item.what, times, item.where, item.remedy, key)))[:LONGEST_NOTE], dim)
        else:
            page.say(" ✗ error", self.inks["wrong"])
            with page.inside(bar, bar):
                for words, style in ((item.what, PLAIN), (item.where, dim), (item.remedy, dim), (key, STRONG)):
                    if words:
                        page.say(words[:LONGEST_NOTE], style)
        return ItemPart(Rank.LINE, page.lines, stands_for_item=True)


def _is_empty(item: Item) -> bool:
    if isinstance(item, NoteItem):
        return item.kind == "note" and not item.what
    return isinstance(item, AnswerItem) and not item.text and not item.thinking and item.state in {"streaming", "done"}


def numbered(options: Sequence[str]) -> dict[str, str]:
    """Return proposed answers by digit."""
    return {str(number): text for number, text in enumerate(options[:MOST_OPTIONS], 1)}


def _draw_call(page: MarkdownPage, item: CallItem, *, is_open: bool) -> None:
    """Draw a call's line: arguments and result share it; below it what is to be noted, each cut to a line unless open."""
    glyph, ink, word = MARKS[item.state]
    style = page.inks[ink] if ink else STRONG
    if item.state == "running":
        word = item.progress or word
    room = max(4, page.room - 3)
    name = clip(tool_name(item.server, item.tool, is_decided=item.state != "waiting"), room)
    result = "" if item.state in {"rejected", "waiting", "asked", "running"} else item.result.strip()
    tail = ": ".join(filter(None, (word, result)))
    room -= cell_len(name) + 1
    written = item.sent or item.asked
    spare = room - 2 - cell_len(written[:room])  # what short arguments leave
    tail = clip(tail, max(12, cell_len(word), room // 2, spare))
    arguments = clip(written, room - cell_len(tail) - 2 * bool(tail))
    first = [Segment(f" {glyph} ", style), Segment(f"{name} ", STRONG), Segment(f"{arguments}  ", page.inks["dim"])]
    page.raw([*first, Segment(tail, style if word else PLAIN)])
    decision, _, by_you = item.words.partition(", by you, after ")
    times = [f"you {short_time(item.waited * 1000)}"] if by_you and item.waited else []
    if item.milliseconds > 0 and item.state in {"done", "failed", "stopped"}:
        times.append(f"ran {short_time(item.milliseconds)}")
    times = " · ".join(times)
    decision = clip(decision if item.waited else item.words, max(8, page.room - 6 - cell_len(times)))
    page_words = item.page and f"page: {item.page} · the server has a page for this tool, which is not shown"
    contents = [*filter(None, (*item.contents.splitlines(), page_words))]
    misfits, output_misfits = (
        words and f"! does not fit {schema}: {'; '.join(words.splitlines())}"
        for schema, words in (("the tool's schema", item.misfits), ("the output schema", item.output_misfits))
    )
    notes = [
        ("" if is_open or item.decision != "edited" else f"the model asked {item.asked}", "dim"),
        (misfits, "wrong"),
        (" · ".join(filter(None, (decision, times))), "dim"),
        (output_misfits, "number"),
        *((words, "label") for words in (contents if is_open else [" · ".join(contents)])),
    ]
    edge = Segment("   ", PLAIN)
    with page.inside(edge, edge):
        for words, ink in notes:
            if words:
                page.say(words if is_open else clip(words, page.room), page.inks[ink])
