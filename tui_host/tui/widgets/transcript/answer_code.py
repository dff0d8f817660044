"""Code blocks of an answer, for copying."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip

from tui_host.capture.visible import line
from tui_host.chat.conversation import AnswerItem
from tui_host.tui.markdown.code_blocks import language_of
from tui_host.tui.markdown.parser import loaded, parse_blocks
from tui_host.tui.widgets.transcript.item_column import Column

HINT = "c copies"
"""What stands beside the language of code that can be copied now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """A block of code of an answer.

    Attributes:
        item: Number of the answer.
        place: Which one of its blocks, from 0 on.
        what: The same in words.
        text: The code.
    """

    item: int
    place: int
    what: str
    text: str


def next_code(column: Column, current: int | None, before: tuple[int, int]) -> Code | None:
    """Return the code block after `before` in the current item, else the first of the last answer with code.

    Args:
        column: The conversation.
        current: Number of the current item.
        before: Item and place of the block that was copied last.
    """
    if not loaded():
        return None
    numbers = reversed(range(len(column))) if current is None else (current,)
    for number in numbers:
        blocks = _blocks(column, number)
        if blocks:
            place = (before[1] + 1) % len(blocks) if before[0] == number else 0
            language, text = blocks[place]
            what = f"code {place + 1} of {len(blocks)}" if len(blocks) > 1 else "code"
            what += f" ({line(language, 20)})" if language else ""
            return Code(item=number, place=place, what=what, text=text)
    return None


def _blocks(column: Column, number: int) -> list[tuple[str, str]]:
    """Return language and text of an item's code blocks."""
    if number >= len(column) or not isinstance(column.conversation[number], AnswerItem):
        return []
    return [
        (language_of(token.info), token.content.removesuffix("\n"))
        for token in parse_blocks(column.source_of(number))
        if token.type in {"fence", "code_block"}
    ]


def with_hint(strip: Strip, width: int) -> Strip:
    """Add the copy key to the line with a code's language, if it fits."""
    room = width - cell_len(HINT) - 1
    if strip.cell_length < width - 1 or strip.crop(room).text.strip():
        return strip
    style = next(iter(strip.crop(room)), Segment("")).style
    return Strip([*strip.crop(0, room), Segment(HINT, style), *strip.crop(room + cell_len(HINT))])
