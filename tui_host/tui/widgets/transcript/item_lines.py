"""Items of the conversation as lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias, assert_never

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui_host.chat.call_arguments import pretty
from tui_host.chat.conversation import AnswerItem, CallItem, Item, NoteItem, SummaryItem, UserItem, without_secrets
from tui_host.tui.markdown.document import Budget, Document
from tui_host.tui.markdown.line_page import Inks, MarkdownPage
from tui_host.tui.markdown.markdown_blocks import estimate
from tui_host.tui.suggestions import Offers
from tui_host.tui.widgets.lines.selection import DocumentSelection
from tui_host.tui.widgets.transcript.transcript_words import (
    call_rows,
    call_text,
    card_rows,
    content_count,
    content_rows,
    end_rows,
    is_edited,
    note_rows,
    option_rows,
    origin_rows,
    summary_rows,
    thinking_rows,
)


class Fixed:
    """Finished lines."""

    done = True

    def __init__(self, lines: Sequence[Sequence[Segment]], rank: int = 0, hint: str = "") -> None:
        self.rank = rank
        self.hint = hint  # the key that works on the first line while the item is current, with what it does
        self._lines = [Strip(line) for line in lines]
        self._fresh = True

    @property
    def height(self) -> int:
        return len(self._lines)

    def line(self, number: int) -> Strip:
        """Return a line."""
        return self._lines[number]

    def advance(self, budget: Budget) -> None:
        """Do nothing: all lines are finished."""

    def settle(self, line: int, above: int, below: int, budget: Budget) -> int:  # noqa: ARG002 - as in Flow
        """Return the line's place, which never changes."""
        return line

    def take_dirty(self) -> int:
        """Return 0 the first time, then the height."""
        fresh, self._fresh = self._fresh, False
        return 0 if fresh else self.height

    def same_as(self, other: Fixed) -> bool:
        """Whether both have the same lines."""
        return self._lines == other._lines


class Flow:
    """A document behind a left rule or indentation."""

    def __init__(
        self, document: Document, edge: Segment, width: int, inks: Inks, *, rank: int = 0, style: Style | None = None
    ) -> None:
        self.document = document
        self.rank = rank
        self._edge = edge
        self._style = style
        document.fit(max(1, width - self.indent), inks)

    @property
    def indent(self) -> int:
        return cell_len(self._edge.text)

    def selection(self, number: int) -> DocumentSelection:
        """Return the characters of the document, in an item."""
        return DocumentSelection(self.document, self.indent, (number, self.rank))

    @property
    def height(self) -> int:
        """The number of lines, as far as known."""
        return self.document.height

    @property
    def done(self) -> bool:
        """Whether the document is cut to its end."""
        return self.document.done

    def line(self, number: int) -> Strip:
        """Return a line behind the edge."""
        strip = self.document.line(number).strip
        if self._style is not None:
            strip = strip.apply_style(self._style)
        return Strip([self._edge, *strip], strip.cell_length + self.indent)

    def advance(self, budget: Budget) -> None:
        """Cut more of the document."""
        self.document.advance(budget)

    def settle(self, line: int, above: int, below: int, budget: Budget) -> int:
        """Draw the pieces near a line; return the line's new place."""
        return self.document.settle(line, above, below, budget)

    def take_dirty(self) -> int:
        """Return the first line changed since the last call."""
        return self.document.take_dirty()


CONTENTS_HINT = "v views, saves, opens"
"""What stands beside the contents of a current call."""
LONGEST_PRETTY = 200_000
"""Characters of JSON above which it is shown as it came."""


@dataclass(frozen=True, slots=True)
class ItemLook:
    """How items are drawn now."""

    width: int  # cells of a line
    inks: Inks  # styles and marks
    mask: Callable[[str], str] = str  # hides what marks stand for a secret


Part: TypeAlias = Fixed | Flow
"""Some lines of an item. Parts of one item are ordered by `rank`."""


class Rank(IntEnum):
    """The parts of an answer, in order."""

    LINE = 0
    THINKING = 1
    GAP = 2
    TEXT = 3
    OPTIONS = 4
    ENDING = 5


class Shown:
    """A drawn item.

    Attributes:
        item: The item.
        look: How it is drawn.
        is_open: Whether its details are shown.
        gap: Empty lines before it.
    """

    def __init__(self, item: Item, look: ItemLook, *, is_open: bool, gap: int) -> None:
        self._documents: dict[str, Document] = {}
        self._parts: list[Part] = []
        self._painted: list[tuple[Part, int]] = []
        self.take(item, look, is_open=is_open, gap=gap)

    def take(self, item: Item, look: ItemLook, *, is_open: bool, gap: int) -> None:
        """Draw another state of the item."""
        self.item, self.look, self.is_open, self.gap = item, look, is_open, gap
        parts = _Builder(look, self._document).parts(without_secrets(item, look.mask), is_open=is_open)
        for number, (old, new) in enumerate(zip(self._parts, parts, strict=False)):
            # Keep what is the same, so that it is not painted again.
            if isinstance(old, Fixed) and isinstance(new, Fixed) and old.same_as(new):
                parts[number] = old
        self._parts = parts

    def _document(self, name: str, source: str, *, final: bool, plain: bool) -> Document:
        document = self._documents.get(name)
        if document is None:
            document = self._documents[name] = Document(plain=plain)
        document.put(source, final=final)
        return document

    @property
    def height(self) -> int:
        own = sum(part.height for part in self._parts)
        return own + self.gap if own else 0

    @property
    def done(self) -> bool:
        """Whether the item is drawn completely."""
        return all(part.done for part in self._parts)

    @property
    def parts(self) -> Sequence[Part]:
        return self._parts

    def part_at(self, number: int) -> tuple[Part | None, int]:
        """Return the part at a line, and the line inside the part; None in the gap."""
        number -= self.gap
        if number >= 0:
            for part in self._parts:
                if number < part.height:
                    return part, number
                number -= part.height
        return None, 0

    def line(self, number: int) -> Strip:
        """Return a line."""
        part, inside = self.part_at(number)
        return Strip([]) if part is None else part.line(inside)

    def advance(self, budget: Budget) -> None:
        """Continue drawing within the budget."""
        for part in self._parts:
            part.advance(budget)
            if budget.spent:
                return

    def settle(self, line: int, above: int, below: int, budget: Budget) -> int:
        """Draw the parts around a line; return the line's new place."""
        inside = line - self.gap
        index = 0
        for index, part in enumerate(self._parts):
            if inside < part.height or index == len(self._parts) - 1:
                break
            inside -= part.height
        if self._parts:
            inside = self._parts[index].settle(max(0, inside), above, below, budget) if line >= self.gap else inside
        covered = self._parts[index].height - inside if self._parts else 0
        for part in self._parts[index + 1 :]:
            part.settle(0, 0, max(0, below - covered), budget)
            covered += part.height
        covered = max(0, inside)
        for part in reversed(self._parts[:index]):
            part.settle(max(0, part.height - 1), max(0, above - covered), 1, budget)
            covered += part.height
        return (
            min(line, self.gap)
            if line < self.gap
            else self.gap + sum(part.height for part in self._parts[:index]) + inside
        )

    def take_dirty(self) -> int:
        """Return the first line changed since the last call; the height if none changed."""
        before, self._painted = self._painted, [(part, part.height) for part in self._parts]
        dirty = start = self.gap
        has_changed = False
        for number, (part, height) in enumerate(self._painted):
            old, old_height = before[number] if number < len(before) else (None, 0)
            own = part.take_dirty()
            if isinstance(part, Flow) and isinstance(old, Flow) and part.document is old.document:
                old = part
            if not has_changed and (old is not part or own < height or height != old_height):
                has_changed = True
                dirty = start + (min(own, old_height) if old is part else 0)
            start += height
        return dirty if has_changed else start


class _Builder:
    """Builds the parts of items for a look."""

    def __init__(self, look: ItemLook, document: Callable[..., Document]) -> None:
        self._look = look
        self._document = document

    def parts(self, item: Item, *, is_open: bool) -> list[Part]:
        """Return the parts of an item."""
        look = self._look
        match item:
            case UserItem():
                bar = Segment("▌", look.inks["accent"])
                text = self._flow("text", item.text, bar, plain=True, rank=bool(item.origin))
                return [Fixed(origin_rows(item, bar, look.width, look.inks)), text] if item.origin else [text]
            case AnswerItem():
                return self._answer(item, is_open=is_open)
            case CallItem():
                return self._call(item, is_open=is_open)
            case NoteItem(kind="error"):
                return [Fixed(card_rows(item, look.width, look.inks))]
            case NoteItem():
                return [] if is_empty(item) else [Fixed(note_rows(item, look.width, look.inks))]
            case SummaryItem():
                return [Fixed(summary_rows(item, look.width, look.inks))]
            case _:
                assert_never(item)

    def _flow(
        self, name: str, source: str, edge: Segment, *, final: bool = True, plain: bool = False, rank: int = 0
    ) -> Flow:
        document = self._document(name, source, final=final, plain=plain)
        inks = self._look.inks
        style = inks["dim"] if name == "thinking" else None
        return Flow(document, edge, self._look.width, inks, rank=rank, style=style)

    def _answer(self, item: AnswerItem, *, is_open: bool) -> list[Part]:
        look = self._look
        parts: list[Part] = []
        final = item.state != "streaming"
        if item.thinking:
            parts.append(Fixed(thinking_rows(item, look.width, look.inks, is_open=is_open), Rank.LINE))
            if is_open:
                edge = Segment(" │ ", look.inks["rule"])
                ended = final or bool(item.text)
                thinking = self._flow("thinking", item.thinking, edge, final=ended, plain=True, rank=Rank.THINKING)
                parts.append(thinking)
            if item.text:
                parts.append(Fixed([[]], Rank.GAP))
        if item.text:
            parts.append(self._flow("text", item.text, Segment(" ", Style.null()), final=final, rank=Rank.TEXT))
        if item.options:
            parts.append(Fixed(option_rows(item.options.splitlines(), look.width, look.inks), Rank.OPTIONS))
        ending = end_rows(item, look.width, look.inks)
        if ending:
            parts.append(Fixed(ending, Rank.ENDING))
        return parts

    def _call(self, item: CallItem, *, is_open: bool) -> list[Part]:
        look = self._look
        parts: list[Part] = [Fixed(call_rows(item, look.width, look.inks, is_open=is_open))]
        if rows := content_rows(item, look.width, look.inks, is_open=is_open):
            parts.append(Fixed(rows, len(parts), CONTENTS_HINT))
        if not is_open:
            return parts
        self._detail(parts, "asked" if is_edited(item) else "arguments", indented(item.asked))
        if is_edited(item):
            self._detail(parts, "sent instead", indented(item.sent))
        if item.result:
            self._detail(parts, "result", indented(item.result))
        if item.structured:
            self._detail(parts, "structured content", indented(item.structured))
        return parts

    def _detail(self, parts: list[Part], name: str, text: str) -> None:
        inks = self._look.inks
        edge = "   │ "
        rule = Segment(edge, inks["rule"])
        parts.append(Fixed([[rule, Segment(name, inks["label"])]], len(parts)))
        parts.append(self._flow(name, text or "(none)", rule, plain=True, rank=len(parts)))


def indented(text: str) -> str:
    """Indent JSON; return other text unchanged."""
    if len(text) > LONGEST_PRETTY or text[:1] not in {"{", "["}:
        return text
    try:
        return pretty(json.loads(text))
    except (ValueError, RecursionError):
        return text


def source_of(item: Item) -> str:
    """Return an item as text: Markdown, a message, or a call with its result."""
    match item:
        case UserItem() | AnswerItem():
            return item.text
        case CallItem():
            return call_text(item)
        case NoteItem():
            return "\n".join(words for words in (item.what, item.where, item.remedy) if words)
        case SummaryItem():
            return ""
        case _:
            assert_never(item)


def opens(item: Item) -> bool:
    """Whether an item can be opened."""
    return isinstance(item, CallItem) or (isinstance(item, AnswerItem) and bool(item.thinking))


def is_empty(item: Item) -> bool:
    """Whether an item has no lines."""
    if isinstance(item, NoteItem):
        return item.kind == "note" and not item.what
    return isinstance(item, AnswerItem) and not item.text and not item.thinking and item.state in {"streaming", "done"}


def estimated_height(item: Item, width: int) -> int:
    """Estimate an item's lines without its gap."""
    match item:
        case UserItem():
            return estimate(item.text, width) + bool(item.origin)
        case AnswerItem():
            if is_empty(item):
                return 0
            return estimate(item.text, width) + (2 if item.thinking else 0)
        case CallItem():
            rows = map(bool, (item.words, item.misfits, item.notice, item.output_misfits, is_edited(item)))
            return 1 + sum(rows) + content_count(item)
        case NoteItem():
            return 5 if item.kind == "error" else int(not is_empty(item))
        case SummaryItem():
            return 1
        case _:
            assert_never(item)


SERVERS = "f3 shows messages and standard error, and reconnects."


def offer_rows(offers: Offers, look: ItemLook) -> list[tuple[Strip, str]]:
    """Return the lines of an empty chat, each with the question to send on a click, if any."""
    rows = [(Strip([]), "")]
    plain = Style.null()
    width = max(1, look.width - 1)
    for key, text in offers.questions:
        page = MarkdownPage(width, look.inks)
        mark = Segment(f" {key}  ", look.inks["accent"])
        with page.inside(mark, Segment(" " * len(mark.text), plain)):
            page.text([Segment(text, plain)])
        rows += [(line.strip, text) for line in page.lines]
    if offers.questions:
        rows.append((Strip([]), ""))
    page = MarkdownPage(width, look.inks)
    for words in offers.failures:
        with page.inside(Segment(" ✗ ", look.inks["wrong"]), Segment("   ", plain)):
            page.text([Segment(words, plain)])
    with page.inside(Segment(" ", plain), Segment(" ", plain)):
        if offers.failures:
            page.text([Segment(SERVERS, look.inks["dim"])])
            page.text([Segment("", plain)])
        for words in offers.lines:
            page.text([Segment(words, look.inks["dim"])])
    return [*rows, *((line.strip, "") for line in page.lines)]
