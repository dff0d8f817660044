"""The characters of a response that were read: those that became a call, and those that its tool protocol left out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
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
class Characters:
    """Characters in an event."""

    part: str  # what was read: `name`, `arguments`, `text`, or `cut` for what was left out
    start: int
    end: int
    text: str


def asked_pieces(
    data: bytes, ranges: Sequence[Range], events: Sequence[ModelEvent], number: int | None
) -> list[Characters]:
    """Return what became a call, by its number in the response; without one the text that a tool protocol read."""
    return text_pieces("text", data, ranges, events) if number is None else list(_of_call(data, events, number))


def text_pieces(part: str, data: bytes, ranges: Iterable[Range], events: Sequence[ModelEvent]) -> list[Characters]:
    """Return the text in some bytes of a response."""
    return [
        characters
        for start, end in ranges
        for event in events
        if isinstance(event, TextDelta) and event.start < end and start < event.end
        for characters in _characters(part, data, max(event.start, start), min(event.end, end), event.text)
    ]


def _of_call(data: bytes, events: Iterable[ModelEvent], number: int) -> Iterator[Characters]:
    for event in events:
        if isinstance(event, CallStarted) and event.index == number and event.name:
            yield from _characters("name", data, event.start, event.end, event.name)
        elif isinstance(event, CallArguments) and event.index == number and event.text:
            yield from _characters("arguments", data, event.start, event.end, event.text)


def _characters(part: str, data: bytes, start: int, end: int, text: str) -> Sequence[Characters]:
    """Return the inside of the JSON strings that say a text, or the text as it stands; else the whole event."""
    literals = list(_LITERAL.finditer(data, start, end))
    for match in literals:
        if match.end() - match.start() > len(text) and parsed(match[0]) == text:
            return [Characters(part, match.start() + 1, match.end() - 1, text)]
    written = text.encode("utf-8", "replace")
    if (at := data.find(written, start, end)) >= 0:
        return [Characters(part, at, at + len(written), text)]
    runs = (_over_strings(part, literals[first:], text) for first in range(len(literals)))
    return next(filter(None, runs), [Characters(part, start, end, text)])


def _over_strings(part: str, literals: Sequence[re.Match[bytes]], text: str) -> list[Characters]:
    """Return a text that begins at the end of the first string and goes on in others, as one that was held back does."""
    pieces: list[Characters] = []
    rest = json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "replace")
    for match in literals:
        inside = match[0][1:-1]
        if not pieces:
            size = next((size for size in range(len(rest) - 1, 0, -1) if inside.endswith(rest[:size])), 0)
            begin = match.end() - 1 - size
            if not size:
                break
        else:
            size = min(len(rest), len(inside))
            size *= rest[:size] == inside[:size]
            begin = match.start() + 1
        if size:
            pieces.append(Characters(part, begin, begin + size, unescaped(rest[:size])))
            rest = rest[size:]
        if not rest:
            return pieces
    return []


def call_of(fold: Fold, events: Iterable[ModelEvent], link: Link) -> tuple[int | None, str]:
    """Return the number and the arguments of the call that a link is about; no number if its dialect has no such call."""
    numbers = sorted({event.index for event in events if isinstance(event, CallStarted)})
    calls = [
        (number, call.call.arguments)
        for number, call in zip(numbers, fold.calls, strict=False)
        if call.spans and call.spans[0][0] == link.span.start
    ]
    same = (each for each in calls if line(each[1], 200) == link.words)
    return next(same, calls[0]) if calls else (None, "")
