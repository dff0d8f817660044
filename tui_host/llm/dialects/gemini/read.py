"""Reads the answers of generateContent, streamed or whole. Source: Gemini API reference, generateContent and Content."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal

from tui_host.capture.json.spans import Node, spans
from tui_host.errors import JSON
from tui_host.llm.answer_state import AnswerState
from tui_host.llm.body_framing import count_of
from tui_host.llm.events import (
    CallArguments,
    CallMalformed,
    ModelEvent,
    PartEnded,
    TextDelta,
    ThinkingDelta,
    Unreadable,
)
from tui_host.llm.messages import Stop, Usage
from tui_host.llm.provider_faults import fault_in
from tui_host.llm.request_writing import echo_for
from tui_host.llm.vendor_tools import cited, tool_used

_SHOWN = 500
_BOM = b"\xef\xbb\xbf"
_WALKED = ("candidates", "content", "parts", "functionCall")
_BEFORE = (0, len("data:"), len("data: "))
"""The possible numbers of bytes before the data of an event, or before a list's element."""


_STOPS: Mapping[str, Stop] = {
    "STOP": "end",
    "MAX_TOKENS": "length",
    "CONTINUATION": "paused",
    "MALFORMED_FUNCTION_CALL": "bad call",
    "UNEXPECTED_TOOL_CALL": "bad call",
    "TOO_MANY_TOOL_CALLS": "bad call",
    "MALFORMED_RESPONSE": "failed",
    "MISSING_THOUGHT_SIGNATURE": "failed",
}
_REFUSED = (
    "BLOCKLIST",
    "ESCALATION",
    "LANGUAGE",
    "MODEL_ARMOR",
    "NO_IMAGE",
    "OTHER",
    "PROHIBITED_CONTENT",
    "RECITATION",
    "SAFETY",
    "SPII",
)


class _Chunk:
    """The bytes of a chunk, and its parts' places in the body, where known.

    Args:
        data: The chunk's JSON.
        start: First byte of the event in the body.
        end: One past its last byte.
        count: The number of parts.
    """

    __slots__ = ("_data", "_is_alone", "_parts", "end", "start")

    def __init__(self, data: bytes, start: int, end: int, count: int) -> None:
        self._is_alone = count < 2
        self.start = start
        self.end = end
        self._data = data
        self._parts: tuple[Node, ...] | None = None

    def place(self, number: int) -> tuple[int, int]:
        """Return the bytes of a part, or the whole chunk's if it has no other part or the place is unknown."""
        # The data is the end of the event, unless it came in several lines.
        if self._is_alone or self.end - self.start - len(self._data) not in _BEFORE or number >= len(self._nodes()):
            return self.start, self.end
        parts, at = self._nodes(), self.end - len(self._data)
        return parts[number].start + at, parts[number].end + at

    def arguments(self, number: int, value: JSON) -> str:
        """Return the arguments of the call in a part, byte for byte; serialised again if their place is unknown."""
        if value is None or isinstance(value, str):
            return value or ""
        parts = self._nodes()
        node = parts[number].get("functionCall", "args") if number < len(parts) else None
        if node is None:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return self._data[node.start : node.end].decode("utf-8", "replace")

    def _nodes(self) -> tuple[Node, ...]:
        if self._parts is None:
            node = spans(self._data, walk=_WALKED)
            candidates = node.get("candidates") if node is not None else None
            parts = candidates.elements[0].get("content", "parts") if candidates and candidates.elements else None
            self._parts = parts.elements if parts is not None else ()
        return self._parts


class GeminiReading:
    """Turns chunks of new parts, or a whole answer, into events."""

    def __init__(self) -> None:
        self.state = AnswerState()
        self._words: Literal["text", "thinking"] | None = None  # the kind of part to which text of that kind is added
        self._finish = ""
        self._finish_message = ""

    def event(self, value: dict[str, JSON], data: bytes, start: int, end: int) -> list[ModelEvent]:
        """Read a chunk."""
        state = self.state
        if state.has_failed:
            return []
        candidate, feedback = _candidate(value), value.get("promptFeedback")
        is_answer = candidate is not None or feedback is not None or "usageMetadata" in value
        if "error" in value or not is_answer:
            fault = fault_in(value)
            if fault is not None:
                return [state.fail(*fault, start, end)]
        state.has_read = state.has_read or is_answer
        state.has_foreign = state.has_foreign or not is_answer
        events: list[ModelEvent] = []
        if candidate is not None:
            parts = _parts(candidate)
            chunk = _Chunk(data, start, end, len(parts))
            for number, part in enumerate(parts):
                events += self._part(part, number, chunk)
            grounding = candidate.get("groundingMetadata")
            if isinstance(grounding, dict):
                queries = grounding.get("webSearchQueries")
                events += tool_used("google_search", {"queries": queries}, start, end) if queries else []
                events += cited(grounding.get("groundingChunks"), start, end)
            if "finishReason" in candidate:
                self._finished(candidate["finishReason"], candidate.get("finishMessage"), start, end)
        elif isinstance(feedback, dict):
            self._finished(feedback.get("blockReason"), feedback.get("blockReasonMessage"), start, end)
        if "usageMetadata" in value:
            events += state.report(_usage(value["usageMetadata"]), start, end)
        return events + self._faults(start, end) if state.reason_span == (start, end) else events

    def whole(self, value: JSON, body: bytes) -> list[ModelEvent] | None:
        """Read an answer without streaming."""
        if not isinstance(value, dict):
            return None
        data = body.removeprefix(_BOM)
        events = self.event(value, data, len(body) - len(data), len(body))
        return events if self.state.has_read or self.state.has_failed else None

    def closing(self, position: int) -> list[ModelEvent]:
        """Return nothing: every event was given out before."""
        del position
        return []

    def stop(self) -> Stop:
        """Translate the finish reason."""
        return _stop(self._finish, has_calls=self.state.calls > 0)

    def _faults(self, start: int, end: int) -> list[ModelEvent]:
        """Return the events for a malformed call or a provider's fault that the finish reason reports."""
        match _stop(self._finish, has_calls=False):
            case "bad call":
                message = self._finish_message or f"the provider could not read it ({self._finish})"
                return [CallMalformed(reason=message, start=start, end=end)]
            case "failed":
                message = self._finish_message or f"the provider ended the answer with {self._finish!r}"
                return [self.state.fail(message, self._finish, start, end)]
            case _:
                return []

    def _finished(self, reason: JSON, message: JSON, start: int, end: int) -> None:
        if isinstance(reason, str) and reason and not reason.endswith("_UNSPECIFIED"):
            self._finish = reason
            self._finish_message = message[:_SHOWN] if isinstance(message, str) else ""
            self.state.finish(f"{reason}: {self._finish_message}" if self._finish_message else reason, start, end)

    def _part(self, part: JSON, number: int, chunk: _Chunk) -> list[ModelEvent]:
        """Read a part. Two texts are joined only if neither carries data to send back."""
        if not isinstance(part, dict):
            return [Unreadable(reason="a part that is no object", start=chunk.start, end=chunk.end)]
        text = part.get("text")
        if isinstance(text, str) and text and len(part) == 1:  # the most frequent part
            self._words = "text"
            start, end = chunk.place(number)
            return [TextDelta(text=text, start=start, end=end)]
        call = part.get("functionCall")
        if isinstance(call, dict):
            self._words = None
            return self._call(call, _beside(part, "functionCall"), number, chunk)
        has_text = isinstance(text, str)
        kind: Literal["text", "thinking"] = "thinking" if has_text and part.get("thought") is True else "text"
        echo = _beside(part, "text", "thought") if has_text else part
        if not echo and not text:
            return []
        start, end = chunk.place(number)
        events: list[ModelEvent] = []
        if echo and self._words == kind:
            events.append(PartEnded(kind=kind, start=start, end=start))
        if isinstance(text, str) and text:
            delta = TextDelta if kind == "text" else ThinkingDelta
            events.append(delta(text=text, start=start, end=end))
        if echo:
            events.append(PartEnded(kind=kind, echo=echo_for("gemini", echo), start=start, end=end))
        self._words = None if echo else kind
        return events

    def _call(self, call: Mapping[str, JSON], echo: Mapping[str, JSON], number: int, chunk: _Chunk) -> list[ModelEvent]:
        start, end = chunk.place(number)
        index, events = self.state.open_call(call.get("id"), call.get("name"), start, end, echo_for("gemini", echo))
        arguments = chunk.arguments(number, call.get("args")) if index is not None else ""
        if index is not None and arguments:
            events.append(CallArguments(index=index, text=arguments, start=start, end=end))
        return events


def _candidate(value: Mapping[str, JSON]) -> Mapping[str, JSON] | None:
    """Return the first candidate; requests never ask for several."""
    candidates = value.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    return first if isinstance(first, dict) and not first.get("index") else None


def _parts(candidate: Mapping[str, JSON]) -> list[JSON]:
    content = candidate.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    return parts if isinstance(parts, list) else []


def _beside(part: Mapping[str, JSON], *own: str) -> dict[str, JSON]:
    """Return the members of a part to send back: its signature, or everything in a part of an unknown kind."""
    return {name: value for name, value in part.items() if name not in own}


def _stop(reason: str, *, has_calls: bool) -> Stop:
    """Translate a finish reason, or the reason for a blocked prompt. Reasons for images are named like those for text."""
    if reason.removeprefix("IMAGE_") in _REFUSED:
        return "refused"
    stop = _STOPS.get(reason, "end")
    return "tools" if stop == "end" and has_calls else stop


def _usage(counts: JSON) -> Usage:
    """Read the tokens of a chunk, whose `candidatesTokenCount` does not include the thoughts."""
    reasoning = count_of(counts, "thoughtsTokenCount")
    return Usage(
        input_total=_sum(count_of(counts, "promptTokenCount"), count_of(counts, "toolUsePromptTokenCount")),
        input_cached=count_of(counts, "cachedContentTokenCount"),
        output_total=_sum(count_of(counts, "candidatesTokenCount"), reasoning),
        reasoning=reasoning,
    )


def _sum(first: int | None, second: int | None) -> int | None:
    return second if first is None else first + (second or 0)
