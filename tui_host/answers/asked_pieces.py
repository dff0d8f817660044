"""The characters of a response that were read: those that became a call, and those that its tool protocol left out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.answers.bodies import unescaped
from tui_host.answers.chain_values import parsed
from tui_host.capture.visible import line
from tui_host.llm.events import CallArguments, CallStarted, ModelEvent, TextDelta

if TYPE_CHECKING:
    from tui_host.capture.link import Link
    from tui_host.llm.fold import Fold, Range

_LITERAL = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


@dataclass(frozen=True, slots=True)
class StepPiece:
    """Bytes that a step of a chain refers to."""

    start: int  # first byte, in the decoded body or in the frame
    end: int  # one past the last byte
    text: str  # what they say; in a chain the bytes as text, secrets masked, of more than 64 KB the beginning
    part: str = ""  # `name`, `arguments`, `text`, or `cut` for text that was left out; empty for the whole of a step


def call_of(fold: Fold, events: Iterable[ModelEvent], link: Link) -> tuple[int | None, str]:
    """Return the number and the arguments of the call that a link is about; no number if its dialect has no such call."""
    numbers = sorted({event.index for event in events if isinstance(event, CallStarted)})
    calls = [
        (number, call.call.arguments)
        for number, call in zip(numbers, fold.calls, strict=False)
        if call.spans and call.spans[0][0] == link.span.start
    ]
    same = (call for call in calls if line(call[1], 200) == link.words)
    return next(same, calls[0]) if calls else (None, "")


def asked_pieces(
    data: bytes, ranges: Sequence[Range], events: Sequence[ModelEvent], number: int | None
) -> list[StepPiece]:
    """Return what became a call, by its number in the response; without one the text that a tool protocol read."""
    if number is None:
        return text_pieces("text", data, ranges, events)
    pieces: list[StepPiece] = []
    for event in events:
        if isinstance(event, CallStarted) and event.index == number and event.name:
            pieces += _characters("name", data, (event.start, event.end), event.name)
        elif isinstance(event, CallArguments) and event.index == number and event.text:
            pieces += _characters("arguments", data, (event.start, event.end), event.text)
    return pieces


def text_pieces(part: str, data: bytes, ranges: Iterable[Range], events: Sequence[ModelEvent]) -> list[StepPiece]:
    """Return the text in some bytes of a response."""
    return [
        piece
        for start, end in ranges
        for event in events
        if isinstance(event, TextDelta) and event.start < end and start < event.end
        for piece in _characters(part, data, (max(event.start, start), min(event.end, end)), event.text)
    ]


def _characters(part: str, data: bytes, place: Range, text: str) -> Sequence[StepPiece]:
    """Return the inside of the JSON strings that say a text, or the text as it stands; else the whole event."""
    literals = list(_LITERAL.finditer(data, *place))
    for match in literals:
        if len(match[0]) > len(text) and parsed(match[0]) == text:
            return [StepPiece(match.start() + 1, match.end() - 1, text, part)]
    written = text.encode("utf-8", "replace")
    if (at := data.find(written, *place)) >= 0:
        return [StepPiece(at, at + len(written), text, part)]
    runs = (_over_strings(part, literals[first:], text) for first in range(len(literals)))
    return next(filter(None, runs), [StepPiece(*place, text, part)])


def _over_strings(part: str, literals: Sequence[re.Match[bytes]], text: str) -> list[StepPiece]:
    """Return a text that begins at the end of the first string and goes on in others, as one that was held back does."""
    pieces: list[StepPiece] = []
    rest = json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "replace")
    for match in literals:
        inside = match[0][1:-1]
        size = min(len(rest), len(inside))
        if not pieces:
            size = next((size for size in range(size, 0, -1) if inside.endswith(rest[:size])), 0)
            if not size:
                break
        elif not rest.startswith(inside[:size]):
            continue
        if size:
            begin = match.start() + 1 if pieces else match.end() - 1 - size
            pieces.append(StepPiece(begin, begin + size, unescaped(rest[:size]), part))
            rest = rest[size:]
        if not rest:
            return pieces
    return []
