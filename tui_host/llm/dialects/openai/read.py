"""The answers of Chat Completions, streamed or whole, as events. Source: llm-dialects.md, sections 1 to 3."""

from __future__ import annotations

from collections.abc import Mapping

from tui_host.capture.json.reading import read_json
from tui_host.capture.json.spans import spans
from tui_host.errors import JSON
from tui_host.llm.body_framing import is_done, read_object
from tui_host.llm.dialects.openai.calls import Calls
from tui_host.llm.dialects.openai.forms import ECHOED, Places, choice_of, flat, message_in, thought_of, usage_of
from tui_host.llm.events import (
    Failed,
    ModelEvent,
    Stopped,
    TextDelta,
    ThinkingDelta,
    ThinkingEcho,
    Unreadable,
    UsageReported,
)
from tui_host.llm.messages import Stop, Usage
from tui_host.llm.provider_faults import fault_in
from tui_host.llm.thinktags import ThinkTags

_SHOWN = 500
_STOPS: Mapping[str, Stop] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refused",
    "sensitive": "refused",
    "error": "failed",
    "network_error": "failed",
    "insufficient_system_resource": "failed",
}
_WALKED = ("choices", "message", "delta", "tool_calls")
_FIELD = (len("data:"), len("data: "))
_WORDS = frozenset(("role", "content"))
"""The members of a delta that is text and nothing else."""
_BARE = frozenset(
    ("id", "object", "created", "model", "choices", "system_fingerprint", "service_tier", "obfuscation", "usage")
)
"""Members of a chunk that tell of no error; `usage` stands in each, and is null but in one."""


def _is_bare(value: Mapping[str, JSON], choice: Mapping[str, JSON]) -> bool:
    """Whether a chunk tells of nothing but its choice."""
    is_known = _BARE.issuperset(value) and value.get("object") != "error"
    return is_known and value.get("usage") is None and "usage" not in choice


def _places(delta: Mapping[str, JSON], data: bytes, start: int, end: int) -> Places:
    """Several calls in one event are told apart by their own bytes; all else is the event's."""
    calls = delta.get("tool_calls")
    if not isinstance(calls, list) or len(calls) < 2 or end - start - len(data) not in _FIELD:
        return Places(start, end)
    return Places(start, end, message_in(spans(data, walk=_WALKED), "delta"), at=end - len(data))


class Chunks:
    """Folds chunks, or the one whole answer, into events."""

    def __init__(self) -> None:
        self.has_failed = False
        self.has_other = False
        self._calls = Calls()
        self._tags = ThinkTags()
        self._usage: Usage | None = None
        self._finish = ""
        self._finish_span = (0, 0)
        self._is_done = False
        self._has_read = False
        self._has_said = False
        self._refuses = False
        self._echoes = False
        self._ended = False

    @property
    def is_strange(self) -> bool:
        """Whether something came, and none of it was an answer's."""
        return self.has_other and not self._has_read and not self._is_done and not self.has_failed

    def data(self, data: bytes, start: int, end: int) -> list[ModelEvent]:
        """One event of the stream."""
        if self._ended:
            return []
        value, found = read_object(data, start, end)
        if value is None:
            if is_done(data):
                self._is_done = True
                return self.end(end)
            self.has_other = True
            return found
        self._has_read = True
        choice = choice_of(value)
        if choice is not None:
            delta = choice.get("delta")
            if not isinstance(delta, dict) and not self._has_said:
                delta = choice.get("message")
            if isinstance(delta, dict):
                self._say(delta, data, start, end, found)
            if choice.get("finish_reason"):
                self._finished(choice, start, end)
        if choice is None or self._finish or not _is_bare(value, choice):
            found += self._around(value, choice, start, end)
        return found

    def whole(self, body: bytes) -> list[ModelEvent]:
        """An answer that was not streamed, or an error in its place."""
        end = len(body)
        try:
            value = read_json(body)
        except ValueError as error:
            return [Unreadable(reason=f"not JSON: {error}"[:200], start=0, end=end)]
        choice = choice_of(value) if isinstance(value, dict) else None
        found: list[ModelEvent] = []
        if choice is not None:
            message = choice.get("message")
            node = spans(body, walk=_WALKED)
            found += self._said(message if isinstance(message, dict) else {}, Places(0, end, message_in(node)))
            self._finished(choice, 0, end)
            self._is_done = True
        if isinstance(value, dict):
            found += self._around(value, choice, 0, end)
        elif (fault := fault_in(value)) is not None:
            found.append(self._fail(*fault, 0, end))
        if choice is None and not self.has_failed:
            found.append(self._fail(f"no answer in it: {body[:_SHOWN].decode('utf-8', 'replace')}", "", 0, end))
        return found

    def end(self, position: int) -> list[ModelEvent]:
        """The end of the answer, once."""
        if self._ended:
            return []
        self._ended = True
        found = self._tags.finish()
        if self._echoes:
            found.append(ThinkingEcho(echo=ECHOED, start=position, end=position))
        start, end = self._finish_span if self._finish else (position, position)
        vendor = self._finish or ("[DONE]" if self._is_done else "")
        found.append(Stopped(stop=self._stop(), vendor=vendor, start=start, end=end))
        return found

    def _stop(self) -> Stop:
        if self.has_failed:
            return "failed"
        if not self._finish and not self._is_done:
            return "cut"
        known = _STOPS.get(self._finish)
        if known is not None:
            return known
        if len(self._calls):
            return "tools"
        return "refused" if self._refuses else "end"

    def _finished(self, choice: Mapping[str, JSON], start: int, end: int) -> None:
        word = choice.get("finish_reason")
        if isinstance(word, str) and word:
            self._finish, self._finish_span = word, (start, end)

    def _around(
        self, value: Mapping[str, JSON], choice: Mapping[str, JSON] | None, start: int, end: int
    ) -> list[ModelEvent]:
        """What stands beside the choices: usage and errors."""
        found: list[ModelEvent] = []
        has_usage = "usage" in value or "x_groq" in value or (choice is not None and "usage" in choice)
        usage = usage_of(value, choice) if has_usage else None
        if usage is not None and usage != self._usage:
            self._usage = usage
            found.append(UsageReported(usage=usage, start=start, end=end))
        fault = fault_in(value)
        if fault is None and _STOPS.get(self._finish) == "failed" and not self.has_failed:
            fault = f"the provider ended the answer with {self._finish!r}", self._finish
        if fault is not None:
            found.append(self._fail(*fault, start, end))
        return found

    def _fail(self, words: str, code: str, start: int, end: int) -> Failed:
        self.has_failed = True
        return Failed(message=words or "an error without a word", vendor=code, start=start, end=end)

    def _say(self, delta: Mapping[str, JSON], data: bytes, start: int, end: int, found: list[ModelEvent]) -> None:
        content = delta.get("content")
        if isinstance(content, str) and _WORDS.issuperset(delta):  # as nearly all of an answer is
            if content:
                self._has_said = True
                found += self._tags.feed(content, start, end)
        else:
            found += self._said(delta, _places(delta, data, start, end))

    def _said(self, delta: Mapping[str, JSON], places: Places) -> list[ModelEvent]:
        found: list[ModelEvent] = []
        thought, key = thought_of(delta)
        if thought or key == ECHOED:
            self._echoes = self._echoes or key == ECHOED
        if thought:
            self._has_said = True
            found += self._tags.off()
            start, end = places.of(key)
            found.append(ThinkingDelta(text=thought, start=start, end=end))
        content = delta.get("content")
        if content:
            self._has_said = True
            found += self._content(content, *places.of("content"))
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._refuses = self._has_said = True
            start, end = places.of("refusal")
            found.append(TextDelta(text=refusal, start=start, end=end))
        calls, function = delta.get("tool_calls"), delta.get("function_call")
        if isinstance(calls, list) and calls:
            self._has_said = True
            found += self._calls.add([(call, *places.of_call(number)) for number, call in enumerate(calls)])
        elif isinstance(function, dict):
            found += self._calls.add([({"index": 0, "function": function}, *places.of("function_call"))])
        return found

    def _content(self, content: JSON, start: int, end: int) -> list[ModelEvent]:
        """Text, or a list of parts as Mistral sends it."""
        if isinstance(content, str):
            return self._tags.feed(content, start, end)
        found: list[ModelEvent] = []
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, dict) and part.get("type") == "thinking":
                found += self._tags.off()
                found.append(ThinkingDelta(text=flat(part.get("thinking")), start=start, end=end))
            else:
                found += self._tags.feed(flat(part), start, end)
        return found
