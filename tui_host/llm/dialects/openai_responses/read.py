"""The answers of Responses, streamed or whole, as events. Source: llm-dialects.md, section 4."""

from __future__ import annotations

from collections.abc import Mapping

from tui_host.capture.json.reading import read_json
from tui_host.capture.json.spans import spans
from tui_host.errors import JSON
from tui_host.llm.body_framing import is_done, read_object
from tui_host.llm.dialects.openai_responses.forms import (
    arguments_in,
    echo_of_item,
    refuses,
    stop_of,
    text_in,
    thought_in,
    tool_in,
    usage_of,
    word_of,
)
from tui_host.llm.dialects.openai_responses.open import OpenItem, OpenItems
from tui_host.llm.events import (
    CallArguments,
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
_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")
_REFUSAL = "response.refusal.delta"
_SAID: Mapping[str, type[TextDelta | ThinkingDelta]] = {
    "response.output_text.delta": TextDelta,
    _REFUSAL: TextDelta,
    "response.reasoning_summary_text.delta": ThinkingDelta,
    "response.reasoning_text.delta": ThinkingDelta,
    "response.reasoning.delta": ThinkingDelta,
}
_CALL = "function_call"


class Items:
    """Folds the events of a stream, or the one whole answer, into ours. The whole of an item is the truth; pieces are for drawing."""

    def __init__(self) -> None:
        self.has_failed = False
        self.has_other = False
        self._has_read = False
        self._open = OpenItems()
        self._calls = 0
        self._refuses = False
        self._usage: Usage | None = None
        self._word = ""
        self._word_span = (0, 0)
        self._ended = False

    @property
    def is_strange(self) -> bool:
        """Whether something came, and none of it was an answer's."""
        return self.has_other and not self._has_read and not self._word and not self.has_failed

    def data(self, data: bytes, start: int, end: int) -> list[ModelEvent]:
        """One event of the stream; what it is, its data say."""
        if self._ended:
            return []
        value, found = read_object(data, start, end)
        if value is None:
            if is_done(data):  # no word of this API, but of services that speak several
                self._word, self._word_span = "[DONE]", (start, end)
                return self.end(end)
            self.has_other = True
            return found
        kind = value.get("type")
        if isinstance(kind, str) and kind in _SAID:
            self._has_read = True
            return found + self._piece(kind, value, start, end)
        if isinstance(kind, str) and kind in _ENDS:
            response = value.get("response")
            told: Mapping[str, JSON] = response if isinstance(response, Mapping) else {}
            found += self._missed(told.get("output"), start, end)
            found += self._over(told, kind.removeprefix("response."), start, end)
            return found + self.end(end)
        if isinstance(kind, str) and kind.startswith("response."):
            self._has_read = True
            return found + self._event(kind, value, start, end)
        fault = fault_in(value)
        if fault is not None or kind == "error":
            return [*found, self._fail(*(fault or ("", "")), start, end)]
        self.has_other = True
        return found

    def whole(self, body: bytes) -> list[ModelEvent]:
        """An answer that was not streamed, or an error in its place."""
        end = len(body)
        try:
            value = read_json(body)
        except ValueError as error:
            return [Unreadable(reason=f"not JSON: {error}"[:200], start=0, end=end)]
        output = value.get("output") if isinstance(value, Mapping) else None
        if not isinstance(value, Mapping) or (not isinstance(output, list) and "status" not in value):
            fault = fault_in(value)
            words = f"no answer in it: {body[:_SHOWN].decode('utf-8', 'replace')}"
            return [self._fail(*(fault or (words, "")), 0, end)]
        node = spans(body, walk=("output",))
        listed = node.get("output") if node is not None else None
        nodes = listed.elements if listed is not None else ()
        found: list[ModelEvent] = []
        for number, item in enumerate(output if isinstance(output, list) else []):
            place = (nodes[number].start, nodes[number].end) if number < len(nodes) else (0, end)
            if isinstance(item, Mapping):
                found += self._done(OpenItem(), item, *place)
        status = value.get("status")
        return found + self._over(value, status if isinstance(status, str) else "completed", 0, end)

    def end(self, position: int) -> list[ModelEvent]:
        """The end of the answer, once."""
        if self._ended:
            return []
        self._ended = True
        start, end = self._word_span if self._word else (position, position)
        stop = "failed" if self.has_failed else stop_of(self._word, has_calls=self._calls > 0, refused=self._refuses)
        return [Stopped(stop=stop, vendor=self._word, start=start, end=end)]

    def _event(self, kind: str, value: Mapping[str, JSON], start: int, end: int) -> list[ModelEvent]:
        match kind:
            case "response.output_item.added":
                return self._opened(value, start, end)
            case "response.output_item.done":
                return self._closed(value, start, end)
            case "response.function_call_arguments.delta":
                return self._more(value, start, end)
            case "response.function_call_arguments.done":
                return self._all(value, start, end)
            case "response.reasoning_summary_part.added":
                there = self._open.find(value)
                return self._words(there, "\n\n", start, end, thinking=True) if there and there.pieces else []
            case _:
                return []  # ends of parts, progress, tools that the vendor runs: in the record, and in no answer

    def _piece(self, kind: str, value: Mapping[str, JSON], start: int, end: int) -> list[ModelEvent]:
        """More of what is said or thought."""
        piece = value.get("delta")
        self._refuses = self._refuses or kind == _REFUSAL
        there = self._open.find(value) or self._open.add(value, {})
        if not isinstance(piece, str) or not piece:
            return []
        there.pieces.append(piece)
        return [_SAID[kind](text=piece, start=start, end=end)]

    def _more(self, value: Mapping[str, JSON], start: int, end: int) -> list[ModelEvent]:
        """More of a call's arguments."""
        there, piece = self._open.find(value), value.get("delta")
        if there is None or there.call is None or not isinstance(piece, str) or not piece:
            return []
        there.pieces.append(piece)
        return [CallArguments(index=there.call, text=piece, start=start, end=end)]

    def _all(self, value: Mapping[str, JSON], start: int, end: int) -> list[ModelEvent]:
        """All of a call's arguments, told once more: news or not, these bytes are the call's too."""
        there = self._open.find(value)
        if there is None or there.call is None:
            return []
        told = CallStarted(index=there.call, wire_id="", name="", start=start, end=end)
        return [told, *self._arguments(there, arguments_in(value), start, end)]

    def _closed(self, value: Mapping[str, JSON], start: int, end: int) -> list[ModelEvent]:
        item = value.get("item")
        if not isinstance(item, Mapping):
            return []
        there = self._open.find(value, item)
        if there is not None and there.is_done and self._open.is_named(item, there):
            return []  # told twice
        if there is None or there.is_done:
            there = self._open.add(value, item)
        return self._done(there, item, start, end)

    def _opened(self, value: Mapping[str, JSON], start: int, end: int) -> list[ModelEvent]:
        item = value.get("item")
        told: Mapping[str, JSON] = item if isinstance(item, Mapping) else {}
        there = self._open.add(value, told)
        if there.kind != _CALL:
            return []
        return [*self._called(there, told, start, end), *self._arguments(there, arguments_in(told), start, end)]

    def _called(
        self, there: OpenItem, item: Mapping[str, JSON], start: int, end: int, echo: JSON = None
    ) -> list[ModelEvent]:
        """A call, or more of what is known of it."""
        if there.call is None:
            self._calls += 1
            if self._calls > MOST_CALLS:
                return [CallsLeftOut(start=start, end=end)] if self._calls == MOST_CALLS + 1 else []
            there.call = self._calls - 1
        wire_id = item.get("call_id")
        return [
            CallStarted(
                index=there.call,
                wire_id=wire_id if isinstance(wire_id, str) else "",
                name=tool_in(item)[:1000],
                echo=echo,
                start=start,
                end=end,
            )
        ]

    def _arguments(self, there: OpenItem, whole: str, start: int, end: int) -> list[ModelEvent]:
        """All of a call's arguments, where they are not what was streamed of them."""
        if there.call is None or not whole or whole == "".join(there.pieces):
            return []
        anew = bool(there.pieces)
        there.pieces = [whole]
        return [CallArguments(index=there.call, text=whole, anew=anew, start=start, end=end)]

    def _words(self, there: OpenItem, piece: str, start: int, end: int, *, thinking: bool) -> list[ModelEvent]:
        there.pieces.append(piece)
        said = ThinkingDelta if thinking else TextDelta
        return [said(text=piece, start=start, end=end)]

    def _done(self, there: OpenItem, item: Mapping[str, JSON], start: int, end: int) -> list[ModelEvent]:
        """The whole of an item: what was not streamed of it, and what goes back with it."""
        there.is_done = True
        echo = echo_for("openai-responses", echo_of_item(item))
        match item.get("type"):
            case "function_call":
                found = self._called(there, item, start, end, echo)
                return found + self._arguments(there, arguments_in(item), start, end)
            case "message":
                self._refuses = self._refuses or refuses(item)
                found = self._rest(there, text_in(item), start, end, thinking=False)
                return [*found, PartEnded(kind="text", echo=echo, start=start, end=end)]
            case "reasoning":
                found = self._rest(there, thought_in(item), start, end, thinking=True)
                return [*found, PartEnded(kind="thinking", echo=echo, start=start, end=end)]
            case _:
                return [PartEnded(kind="text", echo=echo, start=start, end=end)] if echo else []

    def _rest(self, there: OpenItem, whole: str, start: int, end: int, *, thinking: bool) -> list[ModelEvent]:
        streamed = "".join(there.pieces)
        if not whole.startswith(streamed) or whole == streamed:
            return []
        return self._words(there, whole[len(streamed) :], start, end, thinking=thinking)

    def _missed(self, output: JSON, start: int, end: int) -> list[ModelEvent]:
        """Items whose whole comes at the end alone, or that were not streamed at all."""
        found: list[ModelEvent] = []
        is_news = self._open.is_empty
        for number, item in enumerate(output if isinstance(output, list) else []):
            if isinstance(item, Mapping):
                there = OpenItem() if is_news else self._open.find({"output_index": number}, item)
                if there is not None and not there.is_done:
                    found += self._done(there, item, start, end)
        return found

    def _over(self, response: Mapping[str, JSON], status: str, start: int, end: int) -> list[ModelEvent]:
        """The end of the response: why, at what cost, and what went wrong."""
        self._word, self._word_span = word_of(response, status), (start, end)
        found: list[ModelEvent] = []
        usage = usage_of(response)
        if usage is not None and usage != self._usage:
            self._usage = usage
            found.append(UsageReported(usage=usage, start=start, end=end))
        fault = fault_in({"error": response.get("error")}) if response.get("error") else None
        if fault is None and self._word in {"failed", "cancelled"}:
            fault = f"the provider ended the answer with {self._word!r}", self._word
        if fault is not None and not self.has_failed:
            found.append(self._fail(*fault, start, end))
        return found

    def _fail(self, words: str, code: str, start: int, end: int) -> Failed:
        self.has_failed = True
        return Failed(message=words or "an error without a word", vendor=code, start=start, end=end)
