"""Reads the answers of Ollama's `/api/chat`. Source: Ollama's API reference, Generate a chat completion."""

from __future__ import annotations

from collections.abc import Mapping

from tui_host.capture.json.spans import Node, spans
from tui_host.errors import JSON
from tui_host.llm.answer_state import AnswerState
from tui_host.llm.body_framing import count_of
from tui_host.llm.events import CallArguments, ModelEvent, ThinkingDelta, Unreadable
from tui_host.llm.messages import Stop, Usage
from tui_host.llm.provider_faults import fault_in
from tui_host.llm.thinktags import ThinkTags

_WALKED = ("message", "tool_calls", "function")
_NANO = 1e9


class OllamaReading:
    """Turns lines into events."""

    def __init__(self) -> None:
        self.state = AnswerState()
        self._tags = ThinkTags()

    def event(self, value: dict[str, JSON], data: bytes, start: int, end: int) -> list[ModelEvent]:
        """Read a line."""
        if value.get("error"):
            message, code = fault_in(value) or ("", "")
            status = value.get("status")
            code = code or (str(status) if isinstance(status, int) else "")
            return [self.state.fail(message, code, start, end)]
        events: list[ModelEvent] = []
        message = value.get("message")
        if isinstance(message, dict):
            self.state.has_read = True
            events += self._message(message, data, start, end)
        elif not isinstance(value.get("done"), bool):
            self.state.has_foreign = True
            return events
        if value.get("done") is True:
            events += self._done(value, start, end)
        return events

    def whole(self, value: JSON, body: bytes) -> list[ModelEvent] | None:
        """Read an answer without streaming: a single line."""
        if not isinstance(value, dict):
            return None
        events = self.event(value, body, 0, len(body))
        return events if self.state.has_read or self.state.has_failed else None

    def closing(self, position: int) -> list[ModelEvent]:
        """Return text that was held back because it might begin a tag for thinking."""
        del position
        return self._tags.finish()

    def stop(self) -> Stop:
        """Translate `done_reason`, which is `stop` even if there are calls."""
        if self.state.reason == "length":
            return "length"
        return "tools" if self.state.calls else "end"

    def _message(self, message: Mapping[str, JSON], data: bytes, start: int, end: int) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        thought = message.get("thinking") or message.get("reasoning_content")  # some imitating servers name it so
        text, calls = message.get("content"), message.get("tool_calls")
        if isinstance(thought, str) and thought:
            events += self._tags.off()
            events.append(ThinkingDelta(text=thought, start=start, end=end))
        if isinstance(text, str) and text:
            events += self._tags.feed(text, start, end)
        if isinstance(calls, list) and calls:
            node = spans(data, walk=_WALKED)
            listed = node.get("message", "tool_calls") if node is not None else None
            for number, call in enumerate(calls):
                place = listed.elements[number] if listed is not None else None
                events += self._call(call, place, data, start)
        return events

    def _call(self, value: JSON, node: Node | None, data: bytes, at: int) -> list[ModelEvent]:
        """Read a call, which is never split. Its index is ignored, because older servers give 0 to all calls."""
        start, end = (at + node.start, at + node.end) if node is not None else (at, at + len(data))
        function = value.get("function") if isinstance(value, Mapping) else None
        if not isinstance(value, Mapping) or not isinstance(function, Mapping):
            return [Unreadable(reason="a tool call that is no object", start=start, end=end)]
        number, events = self.state.open_call(value.get("id"), function.get("name"), start, end)
        given = node.get("function", "arguments") if node is not None else None
        if number is None or given is None:
            return events
        arguments = function.get("arguments")  # servers that imitate OpenAI send a string
        text = arguments if isinstance(arguments, str) else data[given.start : given.end].decode("utf-8", "replace")
        return [*events, CallArguments(index=number, text=text, start=at + given.start, end=at + given.end)]

    def _done(self, value: Mapping[str, JSON], start: int, end: int) -> list[ModelEvent]:
        self.state.is_over = self.state.has_read = True
        reason = value.get("done_reason")
        self.state.finish(reason if isinstance(reason, str) else "done", start, end)
        usage = Usage(
            input_total=count_of(value, "prompt_eval_count"),
            output_total=count_of(value, "eval_count"),
            loading=_seconds(value, "load_duration"),
            reading=_seconds(value, "prompt_eval_duration"),
            writing=_seconds(value, "eval_duration"),
        )
        return [*self._tags.finish(), *self.state.report(usage, start, end)]


def _seconds(value: Mapping[str, JSON], name: str) -> float | None:
    nanoseconds = count_of(value, name)
    return None if nanoseconds is None else nanoseconds / _NANO
