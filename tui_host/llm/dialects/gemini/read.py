"""The answers of generateContent, streamed or whole, as events. Source: llm-dialects.md, section 6."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal

from tui_host.capture.json.spans import Node, spans
from tui_host.errors import JSON
from tui_host.llm.body_framing import is_done, read_object
from tui_host.llm.dialects.gemini.forms import stop_of, usage_of
from tui_host.llm.events import (
    CallArguments,
    CallMalformed,
    CallsLeftOut,
    CallStarted,
    Failed,
    ModelEvent,
    PartEnded,
    Stopped,
    TextDelta,
    ThinkingDelta,
    Unreadable,
    UsageReported,
)
from tui_host.llm.fold import MOST_CALLS
from tui_host.llm.messages import Usage
from tui_host.llm.provider_faults import fault_in
from tui_host.llm.request_writing import echo_for

_SHOWN = 500
_BOM = b"\xef\xbb\xbf"
_WALKED = ("candidates", "content", "parts", "functionCall")
_BEFORE = (0, len("data:"), len("data: "))
"""Bytes that may stand before the data of an event, or of an element of a list."""


class _Chunk:
    """The bytes of one chunk: where its parts stand in the body, as far as that is known.

    Args:
        data: Its JSON.
        start: First byte in the body of what it came in.
        end: One past its last.
        count: How many parts it has.
    """

    __slots__ = ("_data", "_is_alone", "_parts", "end", "start")

    def __init__(self, data: bytes, start: int, end: int, count: int) -> None:
        self._is_alone = count < 2
        self.start = start
        self.end = end
        self._data = data
        self._parts: tuple[Node, ...] | None = None

    def place(self, number: int) -> tuple[int, int]:
        """The bytes of a part: of the whole chunk where it is the only one, or where its own are not known."""
        # The data are the event's last bytes, but where they came in several lines.
        if self._is_alone or self.end - self.start - len(self._data) not in _BEFORE or number >= len(self._nodes()):
            return self.start, self.end
        parts, at = self._nodes(), self.end - len(self._data)
        return parts[number].start + at, parts[number].end + at

    def arguments(self, number: int, value: JSON) -> str:
        """The arguments of the call in a part, to the byte; written anew where their bytes are not known."""
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


class Contents:
    """Folds chunks, each with new parts, or the one whole answer, into events."""

    def __init__(self) -> None:
        self.has_failed = False
        self.has_other = False
        self._calls = 0
        self._usage: Usage | None = None
        self._words: Literal["text", "thinking"] | None = None  # what more of the same kind would be joined to
        self._finish = ""
        self._finish_message = ""
        self._finish_span = (0, 0)
        self._is_done = False
        self._has_read = False
        self._ended = False

    @property
    def is_strange(self) -> bool:
        """Whether something came, and none of it was an answer's."""
        return self.has_other and not self._has_read and not self._is_done and not self.has_failed

    def data(self, data: bytes, start: int, end: int) -> list[ModelEvent]:
        """One event of the stream."""
        if self._ended or self.has_failed:
            return []
        value, found = read_object(data, start, end)
        if value is None:
            if is_done(data):  # no word of this API, but of services that speak several
                self._is_done = True
                return self.end(end)
            self.has_other = True
            return found
        return found + self._chunk(value, data, start, end)

    def whole(self, body: bytes) -> list[ModelEvent]:
        """An answer that was not streamed, or an error in its place."""
        data, end = body.removeprefix(_BOM), len(body)
        value, found = read_object(data, 0, end)
        if value is not None:
            found += self._chunk(value, data, end - len(data), end)
        if value is not None and not self._has_read and not self.has_failed:
            found.append(self._fail(f"no answer in it: {data[:_SHOWN].decode('utf-8', 'replace')}", "", 0, end))
        return found

    def end(self, position: int) -> list[ModelEvent]:
        """The end of the answer, once."""
        if self._ended:
            return []
        self._ended = True
        start, end = self._finish_span if self._finish else (position, position)
        if self.has_failed:
            stop = "failed"
        elif not self._finish and not self._is_done:
            stop = "cut"
        else:
            stop = stop_of(self._finish, has_calls=self._calls > 0)
        more = f": {self._finish_message}" if self._finish_message else ""
        return [Stopped(stop=stop, vendor=f"{self._finish}{more}", start=start, end=end)]

    def _chunk(self, value: Mapping[str, JSON], data: bytes, start: int, end: int) -> list[ModelEvent]:
        candidate, feedback = _candidate(value), value.get("promptFeedback")
        is_answer = candidate is not None or feedback is not None or "usageMetadata" in value
        if "error" in value or not is_answer:
            fault = fault_in(value)
            if fault is not None:
                return [self._fail(*fault, start, end)]
        self._has_read = self._has_read or is_answer
        self.has_other = self.has_other or not is_answer
        found: list[ModelEvent] = []
        if candidate is not None:
            parts = _parts(candidate)
            chunk = _Chunk(data, start, end, len(parts))
            for number, part in enumerate(parts):
                found += self._part(part, number, chunk)
            if "finishReason" in candidate:
                self._finished(candidate["finishReason"], candidate.get("finishMessage"), start, end)
        elif isinstance(feedback, dict):
            self._finished(feedback.get("blockReason"), feedback.get("blockReasonMessage"), start, end)
        usage = usage_of(value) if "usageMetadata" in value else None
        if usage is not None and usage != self._usage:
            self._usage = usage
            found.append(UsageReported(usage=usage, start=start, end=end))
        return found + self._faults(start, end) if self._finish_span == (start, end) else found

    def _faults(self, start: int, end: int) -> list[ModelEvent]:
        """What the reason for the end tells of: a call that the model wrote wrongly, or a fault of the provider."""
        match stop_of(self._finish, has_calls=False):
            case "bad call":
                words = self._finish_message or f"the provider could not read it ({self._finish})"
                return [CallMalformed(reason=words, start=start, end=end)]
            case "failed":
                words = self._finish_message or f"the provider ended the answer with {self._finish!r}"
                return [self._fail(words, self._finish, start, end)]
            case _:
                return []

    def _finished(self, word: JSON, message: JSON, start: int, end: int) -> None:
        if isinstance(word, str) and word and not word.endswith("_UNSPECIFIED"):
            self._finish, self._finish_span = word, (start, end)
            self._finish_message = message[:_SHOWN] if isinstance(message, str) else ""

    def _fail(self, words: str, code: str, start: int, end: int) -> Failed:
        self.has_failed = True
        return Failed(message=words or "an error without a word", vendor=code, start=start, end=end)

    def _part(self, part: JSON, number: int, chunk: _Chunk) -> list[ModelEvent]:
        """One part: words are joined to those before only where nothing has to go back beside either."""
        if not isinstance(part, dict):
            return [Unreadable(reason="a part that is no object", start=chunk.start, end=chunk.end)]
        text = part.get("text")
        if isinstance(text, str) and text and len(part) == 1:  # as nearly all of an answer is
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
        found: list[ModelEvent] = []
        if echo and self._words == kind:
            found.append(PartEnded(kind=kind, start=start, end=start))
        if isinstance(text, str) and text:
            said = TextDelta if kind == "text" else ThinkingDelta
            found.append(said(text=text, start=start, end=end))
        if echo:
            found.append(PartEnded(kind=kind, echo=echo_for("gemini", echo), start=start, end=end))
        self._words = None if echo else kind
        return found

    def _call(self, call: Mapping[str, JSON], echo: Mapping[str, JSON], number: int, chunk: _Chunk) -> list[ModelEvent]:
        start, end = chunk.place(number)
        index = self._calls
        self._calls += 1
        if index >= MOST_CALLS:
            return [CallsLeftOut(start=start, end=end)] if index == MOST_CALLS else []
        wire_id, name = call.get("id"), call.get("name")
        started = CallStarted(
            index=index,
            wire_id=wire_id if isinstance(wire_id, str) else "",
            name=name[:1000] if isinstance(name, str) else "",
            echo=echo_for("gemini", echo),
            start=start,
            end=end,
        )
        arguments = chunk.arguments(number, call.get("args"))
        return [started, *([CallArguments(index=index, text=arguments, start=start, end=end)] if arguments else [])]


def _candidate(value: Mapping[str, JSON]) -> Mapping[str, JSON] | None:
    """The first candidate: more than one is never asked for."""
    candidates = value.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    return first if isinstance(first, dict) and not first.get("index") else None


def _parts(candidate: Mapping[str, JSON]) -> list[JSON]:
    content = candidate.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    return parts if isinstance(parts, list) else []


def _beside(part: Mapping[str, JSON], *own: str) -> dict[str, JSON]:
    """What else is in a part, and has to go back in it: its signature, and the whole of a part of another kind."""
    return {name: value for name, value in part.items() if name not in own}
