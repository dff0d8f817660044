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
    try:
        value = read_json(event.data) if event.kind == "event" and event.data[:1] == b"{" else None
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    before = reader.reason
    reader.start, reader.end = event.start, event.end
    reader.event(value, event.data)
    read, reader.events = reader.events, []
    pieces: list[Said] = []
    for part in read:
        piece = Said("")  # of what says nothing by itself
        match part:
            case TextDelta(text=text):
                piece = Said(f'text "{text[:_SHOWN]}"', "text", text)
            case ThinkingDelta(text=text):
                piece = Said(f'thinking "{text[:_SHOWN]}"', "thinking", text)
            case CallArguments(text=text, index=index, anew=anew):
                piece = Said(f"arguments {text[:_SHOWN]}", "" if anew else "arguments", text, index)
            case CallStarted(name=name) if name:
                piece = Said(f"name {name}")
            case UsageReported(usage=usage):
                piece = Said(f"usage {', '.join(usage_words(usage))}")
            case Failed(message=message):
                piece = Said(f"error {message[:_SHOWN]}")
            case Unreadable(reason=reason):
                piece = Said(f"not readable: {reason}")
            case Repeated(restarts=restarts):
                again = "the answer begins again: nothing before it counts"
                piece = Said(again if restarts else "a repetition, left out")
            case VendorToolUsed(tool=tool) if tool:
                piece = Said(part.words)
            case _:
                pass
        pieces.append(piece)
    words = [piece.words for piece in pieces if piece.words]
    if reader.reason != before:
        words.append(f"stop {reader.reason}")
    elif pieces and pieces[0].kind and all(isinstance(part, UsageReported) for part in read[1:]):
        return replace(pieces[0], words="  ".join(words))  # perhaps with the tokens so far
    return Said("  ".join(words)) if words else None


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
