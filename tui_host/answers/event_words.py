"""What the events of a streamed answer say, each in words: `text "Par"`, `name lookup`, `stop tool_calls`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tui_host.capture.http.sse import SseEvent
from tui_host.capture.json.reading import read_json
from tui_host.llm.answer_state import AnswerReader
from tui_host.llm.events import (
    CallArguments,
    CallStarted,
    Failed,
    ModelEvent,
    Repeated,
    TextDelta,
    ThinkingDelta,
    Unreadable,
    UsageReported,
    VendorToolUsed,
)
from tui_host.llm.messages import Usage

_SHOWN = 300  # characters of a text in words


@dataclass(frozen=True, slots=True)
class Said:
    """What one event says, in words with texts cut.

    An event that is only more of a `text`, of `thinking` or `arguments` has this `kind` and the whole piece; `part` tells calls apart.
    """

    words: str
    kind: str = ""
    text: str = ""
    part: int = 0


def event_said(reader: AnswerReader, event: SseEvent) -> Said | None:
    """Return what the next event of an answer says, read by the dialect's reader; None if it says nothing by itself."""
    if event.kind != "event" or event.data[:1] != b"{":
        return None
    try:
        value = read_json(event.data)
    except ValueError:
        return None
    before = reader.reason
    reader.start, reader.end = event.start, event.end
    if isinstance(value, dict):
        reader.event(value, event.data)
    read, reader.events = reader.events, []
    pieces = [_said(part) for part in read]
    words = [piece.words for piece in pieces if piece.words]
    if reader.reason != before:
        words.append(f"stop {reader.reason}")
    elif pieces and pieces[0].kind and all(isinstance(part, UsageReported) for part in read[1:]):
        return replace(pieces[0], words="  ".join(words))  # perhaps with the tokens so far
    return Said("  ".join(words)) if words else None


def _said(event: ModelEvent) -> Said:
    match event:
        case TextDelta(text=text):
            return Said(f'text "{text[:_SHOWN]}"', "text", text)
        case ThinkingDelta(text=text):
            return Said(f'thinking "{text[:_SHOWN]}"', "thinking", text)
        case CallArguments(text=text, index=index, anew=anew):
            return Said(f"arguments {text[:_SHOWN]}", "" if anew else "arguments", text, index)
        case CallStarted(name=name) if name:
            words = f"name {name}"
        case UsageReported(usage=usage):
            words = f"usage {', '.join(usage_words(usage))}"
        case Failed(message=message):
            words = f"error {message[:_SHOWN]}"
        case Unreadable(reason=reason):
            words = f"not readable: {reason}"
        case Repeated():
            words = "the answer begins again: nothing before it counts" if event.restarts else "a repetition, left out"
        case VendorToolUsed(tool=tool) if tool:
            words = event.words
        case _:  # says nothing by itself
            words = ""
    return Said(words)


def usage_words(usage: Usage) -> Iterator[str]:
    """Yield the reported numbers of tokens: `12,004 in`, `85 out`."""
    for value, name in (
        (usage.input_total, "in"),
        (usage.input_cached, "of them cached"),
        (usage.cache_written, "of them written to the cache"),
        (usage.output_total, "out"),
        (usage.reasoning, "of them thinking"),
    ):
        if value is not None:
            yield f"{value:,} {name}"
