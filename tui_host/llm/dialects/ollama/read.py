"""The answers of `/api/chat`, a line or many, as events. Source: llm-dialects.md, section 7."""

from __future__ import annotations

from collections.abc import Mapping

from tui_host.capture.json.spans import Node, spans
from tui_host.errors import JSON
from tui_host.llm.body_framing import count_of, read_object
from tui_host.llm.events import (
    CallArguments,
    CallsLeftOut,
    CallStarted,
    Failed,
    ModelEvent,
    Stopped,
    ThinkingDelta,
    Unreadable,
    UsageReported,
)
from tui_host.llm.fold import MOST_CALLS
from tui_host.llm.messages import Usage
from tui_host.llm.provider_faults import fault_in
from tui_host.llm.thinktags import ThinkTags

_WALKED = ("message", "tool_calls", "function")
_NANO = 1e9


class Lines:
    """Folds lines into events."""

    def __init__(self) -> None:
        self.has_failed = False
        self.has_other = False
        self._tags = ThinkTags()
        self._calls = 0
        self._has_read = False
        self._is_done = False
        self._word = ""
        self._span = (0, 0)
        self._ended = False

    @property
    def is_strange(self) -> bool:
        """Whether something came, and none of it was an answer's."""
        return self.has_other and not self._has_read and not self.has_failed

    def data(self, data: bytes, start: int, end: int) -> list[ModelEvent]:
        """One line."""
        if self._ended:
            return []
        value, found = read_object(data, start, end)
        if value is None:
            self.has_other = True
            return found
        if value.get("error"):
            return [*found, self._fail(value, start, end)]
        message = value.get("message")
        if isinstance(message, dict):
            self._has_read = True
            found += self._said(message, data, start, end)
        elif not isinstance(value.get("done"), bool):
            self.has_other = True
            return found
        if value.get("done") is True:
            found += self._done(value, start, end)
        return found

    def whole(self, body: bytes) -> list[ModelEvent]:
        """An answer that was not streamed is one line."""
        return self.data(body, 0, len(body))

    def end(self, position: int) -> list[ModelEvent]:
        """The end of the answer, once."""
        if self._ended:
            return []
        self._ended = True
        start, end = self._span if self._is_done else (position, position)
        found = self._tags.finish()
        if self.has_failed:
            stop = "failed"
        elif not self._is_done:
            stop = "cut"
        elif self._word == "length":
            stop = "length"
        else:
            stop = "tools" if self._calls else "end"
        return [*found, Stopped(stop=stop, vendor=self._word, start=start, end=end)]

    def _said(self, message: Mapping[str, JSON], data: bytes, start: int, end: int) -> list[ModelEvent]:
        found: list[ModelEvent] = []
        thought = message.get("thinking") or message.get("reasoning_content")  # which servers beside Ollama call it
        text, calls = message.get("content"), message.get("tool_calls")
        if isinstance(thought, str) and thought:
            found += self._tags.off()
            found.append(ThinkingDelta(text=thought, start=start, end=end))
        if isinstance(text, str) and text:
            found += self._tags.feed(text, start, end)
        if isinstance(calls, list) and calls:
            node = spans(data, walk=_WALKED)
            listed = node.get("message", "tool_calls") if node is not None else None
            for number, call in enumerate(calls):
                place = listed.elements[number] if listed is not None else None
                found += self._call(call, place, data, start)
        return found

    def _call(self, value: JSON, node: Node | None, data: bytes, at: int) -> list[ModelEvent]:
        """A call, which comes whole. Its index is not looked at: older servers number all of them 0."""
        start, end = (at + node.start, at + node.end) if node is not None else (at, at + len(data))
        function = value.get("function") if isinstance(value, Mapping) else None
        if not isinstance(value, Mapping) or not isinstance(function, Mapping):
            return [Unreadable(reason="a tool call that is no object", start=start, end=end)]
        number = self._calls
        self._calls += 1
        if number >= MOST_CALLS:
            return [CallsLeftOut(start=start, end=end)] if number == MOST_CALLS else []
        wire_id, name = value.get("id"), function.get("name")
        opened = CallStarted(
            index=number,
            wire_id=wire_id if isinstance(wire_id, str) else "",
            name=name[:1000] if isinstance(name, str) else "",
            start=start,
            end=end,
        )
        given = node.get("function", "arguments") if node is not None else None
        if given is None:
            return [opened]
        said = function.get("arguments")  # an object, but for servers that take after others and send its text
        text = said if isinstance(said, str) else data[given.start : given.end].decode("utf-8", "replace")
        return [opened, CallArguments(index=number, text=text, start=at + given.start, end=at + given.end)]

    def _done(self, value: Mapping[str, JSON], start: int, end: int) -> list[ModelEvent]:
        self._is_done = self._has_read = True
        self._span = start, end
        word = value.get("done_reason")
        self._word = word if isinstance(word, str) else "done"
        usage = Usage(
            input_total=count_of(value, "prompt_eval_count"),
            output_total=count_of(value, "eval_count"),
            loading=_seconds(value, "load_duration"),
            reading=_seconds(value, "prompt_eval_duration"),
            writing=_seconds(value, "eval_duration"),
        )
        found: list[ModelEvent] = [] if usage == Usage() else [UsageReported(usage=usage, start=start, end=end)]
        return [*self._tags.finish(), *found, *self.end(end)]

    def _fail(self, value: Mapping[str, JSON], start: int, end: int) -> Failed:
        self.has_failed = True
        words, code = fault_in(value) or ("", "")
        status = value.get("status")
        code = code or (str(status) if isinstance(status, int) else "")
        return Failed(message=words or "an error without a word", vendor=code, start=start, end=end)


def _seconds(value: Mapping[str, JSON], name: str) -> float | None:
    nanoseconds = count_of(value, name)
    return None if nanoseconds is None else nanoseconds / _NANO
