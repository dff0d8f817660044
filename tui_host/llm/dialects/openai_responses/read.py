"""Reads the answers of Responses, streamed or whole. Source: OpenAI API reference, Responses and streaming events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tui_host.capture.json.narrowing import mapping
from tui_host.capture.json.spans import spans
from tui_host.errors import JSON
from tui_host.llm.answer_state import AnswerState, call_started
from tui_host.llm.body_framing import count_of
from tui_host.llm.events import CallArguments, ModelEvent, PartEnded, TextDelta, ThinkingDelta
from tui_host.llm.messages import Stop, Usage
from tui_host.llm.provider_faults import fault_in
from tui_host.llm.request_writing import echo_for
from tui_host.llm.vendor_tools import cited, tool_used

_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")
_REFUSAL = "response.refusal.delta"
_DELTAS: Mapping[str, type[TextDelta | ThinkingDelta]] = {
    "response.output_text.delta": TextDelta,
    _REFUSAL: TextDelta,
    "response.reasoning_summary_text.delta": ThinkingDelta,
    "response.reasoning_text.delta": ThinkingDelta,
    "response.reasoning.delta": ThinkingDelta,
}
_CALL = "function_call"
_RUNS = frozenset(("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"))
"""Items of tools that the vendor itself has run."""
_NEVER_OFFERED = ("custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call")
"""Kinds of calls that cannot be sent back, because they have no results."""
_FINAL = ("completed", "incomplete", "failed", "cancelled")
_OWN: Mapping[str, tuple[str, ...]] = {
    "message": ("role", "content"),
    _CALL: ("call_id", "name", "arguments"),
}
"""The members of each kind of item that our own form already holds."""


@dataclass(slots=True)
class _OpenItem:
    """An item of the output being streamed.

    Attributes:
        kind: The vendor's word for the kind of item, empty while unknown.
        call: The number of the call; None if the item is no call, or a call beyond the limit.
        pieces: The text, or the arguments, that were streamed.
        is_done: Whether the complete item has come.
    """

    kind: str = ""
    call: int | None = None
    pieces: list[str] = field(default_factory=list[str])
    is_done: bool = False


class _OpenItems:
    """The items of an answer, found by the id or index in an event."""

    def __init__(self) -> None:
        self._by_index: dict[int, _OpenItem] = {}
        self._by_id: dict[str, _OpenItem] = {}
        self._last: _OpenItem | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no item has come."""
        return self._last is None

    def add(self, event: Mapping[str, JSON], item: Mapping[str, JSON]) -> _OpenItem:
        """Begin an item with the first event about it."""
        kind, index = item.get("type"), _index(event)
        opened = self._last = _OpenItem(kind=kind if isinstance(kind, str) else "")
        if index is not None:
            self._by_index[index] = opened
        for name in (item.get("id"), event.get("item_id")):
            if isinstance(name, str) and name:
                self._by_id[name] = opened
        return opened

    def find(self, event: Mapping[str, JSON], item: Mapping[str, JSON] | None = None) -> _OpenItem | None:
        """Find the item of an event: by id (some services make a new id each time), by index, else the last item."""
        name = event.get("item_id") if item is None else item.get("id")
        by_id = self._by_id.get(name) if isinstance(name, str) else None
        if by_id is not None:
            return by_id
        index = _index(event)
        return self._last if index is None else self._by_index.get(index)

    def has_id(self, opened: _OpenItem, item: Mapping[str, JSON]) -> bool:
        """Tell whether an item began with the same id that the complete item has."""
        return opened is self._by_id.get(str(item.get("id")))


class ResponsesReading:
    """Turns the vendor's events, or a whole answer, into ours.

    Complete items are authoritative; the pieces before them only serve to draw the answer early.
    """

    def __init__(self) -> None:
        self.state = AnswerState()
        self._items = _OpenItems()
        self._refuses = False

    def event(self, value: dict[str, JSON], data: bytes, start: int, end: int) -> list[ModelEvent]:
        """Read an event by the `type` in the data."""
        del data
        state, kind = self.state, value.get("type")
        if isinstance(kind, str) and kind in _DELTAS:
            state.has_read = True
            return self._delta(kind, value, start, end)
        if isinstance(kind, str) and kind in _ENDS:
            state.has_read = state.is_over = True
            response = mapping(value.get("response"))
            events = self._unstreamed(response.get("output"), start, end)
            return events + self._over(response, kind.removeprefix("response."), start, end)
        if isinstance(kind, str) and kind.startswith("response."):
            state.has_read = True
            return self._item_event(kind, value, start, end)
        fault = fault_in(value)
        if fault is not None or kind == "error":
            return [state.fail(*(fault or ("", "")), start, end)]
        state.has_foreign = True
        return []

    def whole(self, value: JSON, body: bytes) -> list[ModelEvent] | None:
        """Read an answer without streaming."""
        output = value.get("output") if isinstance(value, Mapping) else None
        if not isinstance(value, Mapping) or (not isinstance(output, list) and "status" not in value):
            return None
        node = spans(body, walk=("output",))
        listed = node.get("output") if node is not None else None
        nodes = listed.elements if listed is not None else ()
        events: list[ModelEvent] = []
        for number, item in enumerate(output if isinstance(output, list) else []):
            place = (nodes[number].start, nodes[number].end) if number < len(nodes) else (0, len(body))
            if isinstance(item, Mapping):
                events += self._whole_item(_OpenItem(), item, *place)
        status = value.get("status")
        return events + self._over(value, status if isinstance(status, str) else "completed", 0, len(body))

    def closing(self, position: int) -> list[ModelEvent]:
        """Return nothing: every event was given out before."""
        del position
        return []

    def stop(self) -> Stop:
        """Translate the status, or the reason why the response is incomplete."""
        reason = self.state.reason or self.state.mark
        if reason in {"queued", "in_progress"}:
            return "cut"
        if reason in {"failed", "cancelled"}:
            return "failed"
        if reason == "content_filter":
            return "refused"
        if reason not in {"completed", "[DONE]"}:
            return "length"  # incomplete for any reason
        return "tools" if self.state.calls else "refused" if self._refuses else "end"

    def _item_event(self, kind: str, value: Mapping[str, JSON], start: int, end: int) -> list[ModelEvent]:
        match kind:
            case "response.output_item.added":
                return self._added(value, start, end)
            case "response.output_item.done":
                return self._done(value, start, end)
            case "response.function_call_arguments.delta":
                return self._arguments_delta(value, start, end)
            case "response.function_call_arguments.done":
                # The repeated arguments count as bytes of the call.
                opened = self._items.find(value)
                if opened is None or opened.call is None:
                    return []
                again = call_started(opened.call, "", "", start, end)
                return [again, *self._arguments(opened, _string(value, "arguments"), start, end)]
            case "response.reasoning_summary_part.added":
                opened = self._items.find(value)
                return self._words(opened, "\n\n", ThinkingDelta, start, end) if opened and opened.pieces else []
            case _:
                return []  # ends of parts, progress, the vendor's own tools: only recorded

    def _delta(self, kind: str, value: Mapping[str, JSON], start: int, end: int) -> list[ModelEvent]:
        piece = value.get("delta")
        self._refuses = self._refuses or kind == _REFUSAL
        opened = self._items.find(value) or self._items.add(value, {})
        return self._words(opened, piece, _DELTAS[kind], start, end) if isinstance(piece, str) and piece else []

    def _arguments_delta(self, value: Mapping[str, JSON], start: int, end: int) -> list[ModelEvent]:
        opened, piece = self._items.find(value), value.get("delta")
        if opened is None or opened.call is None or not isinstance(piece, str) or not piece:
            return []
        opened.pieces.append(piece)
        return [CallArguments(index=opened.call, text=piece, start=start, end=end)]

    def _added(self, value: Mapping[str, JSON], start: int, end: int) -> list[ModelEvent]:
        item = mapping(value.get("item"))
        opened = self._items.add(value, item)
        return self._call(opened, item, start, end, None) if opened.kind == _CALL else []

    def _done(self, value: Mapping[str, JSON], start: int, end: int) -> list[ModelEvent]:
        item = value.get("item")
        if not isinstance(item, Mapping):
            return []
        opened = self._items.find(value, item)
        if opened is not None and opened.is_done and self._items.has_id(opened, item):
            return []  # sent twice
        if opened is None or opened.is_done:
            opened = self._items.add(value, item)
        return self._whole_item(opened, item, start, end)

    def _whole_item(self, opened: _OpenItem, item: Mapping[str, JSON], start: int, end: int) -> list[ModelEvent]:
        """Read a complete item: whatever was not streamed before, and the members to send back."""
        opened.is_done = True
        echo = echo_for("openai-responses", _echo_of(item))
        match item.get("type"):
            case "function_call":
                return self._call(opened, item, start, end, echo)
            case "message":
                refusals = [part for part in _parts(item, "content") if _string(part, "refusal")]
                self._refuses = self._refuses or bool(refusals)
                text = "".join(_string(part, "text") or _string(part, "refusal") for part in _parts(item, "content"))
                events = self._rest(opened, text, TextDelta, start, end)
                for part in _parts(item, "content"):
                    events += cited(part.get("annotations"), start, end)
                return [*events, PartEnded(kind="text", echo=echo, start=start, end=end)]
            case "reasoning":
                events = self._rest(opened, _thinking(item), ThinkingDelta, start, end)
                return [*events, PartEnded(kind="thinking", echo=echo, start=start, end=end)]
            case _:
                kind, action = _string(item, "type"), mapping(item.get("action")) or item
                used = tool_used(kind.removesuffix("_call"), action, start, end) if kind in _RUNS else []
                used += cited(action.get("sources"), start, end)
                return [*used, PartEnded(kind="text", echo=echo, start=start, end=end)] if echo else [*used]

    def _call(self, opened: _OpenItem, item: Mapping[str, JSON], start: int, end: int, echo: JSON) -> list[ModelEvent]:
        """Begin a call, or complete a call that has begun."""
        name = _string(item, "name")
        name = name_of_tool(name, _string(item, "namespace")) if name else ""
        if opened.call is None:
            opened.call, events = self.state.open_call(item.get("call_id"), name, start, end, echo)
        else:
            events = [call_started(opened.call, item.get("call_id"), name, start, end, echo)]
        return [*events, *self._arguments(opened, _string(item, "arguments"), start, end)]

    def _arguments(self, opened: _OpenItem, arguments: str, start: int, end: int) -> list[ModelEvent]:
        """Return all arguments of a call, if they differ from the streamed pieces."""
        if opened.call is None or not arguments or arguments == "".join(opened.pieces):
            return []
        anew = bool(opened.pieces)
        opened.pieces = [arguments]
        return [CallArguments(index=opened.call, text=arguments, anew=anew, start=start, end=end)]

    def _words(
        self, opened: _OpenItem, piece: str, delta: type[TextDelta | ThinkingDelta], start: int, end: int
    ) -> list[ModelEvent]:
        opened.pieces.append(piece)
        return [delta(text=piece, start=start, end=end)]

    def _rest(
        self, opened: _OpenItem, text: str, delta: type[TextDelta | ThinkingDelta], start: int, end: int
    ) -> list[ModelEvent]:
        """Return the part of a text that was not streamed."""
        streamed = "".join(opened.pieces)
        if not text.startswith(streamed) or text == streamed:
            return []
        return self._words(opened, text[len(streamed) :], delta, start, end)

    def _unstreamed(self, output: JSON, start: int, end: int) -> list[ModelEvent]:
        """Read those items of the final output that have not been read as complete items."""
        events: list[ModelEvent] = []
        is_empty = self._items.is_empty
        for number, item in enumerate(output if isinstance(output, list) else []):
            if isinstance(item, Mapping):
                opened = _OpenItem() if is_empty else self._items.find({"output_index": number}, item)
                if opened is not None and not opened.is_done:
                    events += self._whole_item(opened, item, start, end)
        return events

    def _over(self, response: Mapping[str, JSON], status: str, start: int, end: int) -> list[ModelEvent]:
        """Read the end of the response: the reason, the usage, and an error."""
        reason = _reason(response, status)
        self.state.finish(reason, start, end)
        events = self.state.report(_usage(response), start, end)
        fault = fault_in({"error": response.get("error")}) if response.get("error") else None
        if fault is None and reason in {"failed", "cancelled"}:
            fault = f"the provider ended the answer with {reason!r}", reason
        if fault is not None and not self.state.has_failed:
            events.append(self.state.fail(*fault, start, end))
        return events


def name_of_tool(name: str, namespace: str) -> str:
    """Return the full name of a tool, since hosts may offer a server's tools in a namespace."""
    return f"{namespace}.{name}" if namespace else name


def _echo_of(item: Mapping[str, JSON]) -> Mapping[str, JSON] | None:
    """Return the members of an item that our own form lacks, to send them back. None if there are none."""
    kind = item.get("type")
    if not isinstance(kind, str) or kind in _NEVER_OFFERED:
        return None
    own = _OWN.get(kind, ())
    if kind == "message" and any(_string(part, "refusal") for part in _parts(item, "content")):
        own = ()  # our form cannot hold refusals
    return {name: value for name, value in item.items() if name not in own and value is not None}


def _thinking(item: Mapping[str, JSON]) -> str:
    """Return the summary of the thinking, or the thinking itself of open models."""
    for name in ("summary", "content"):
        texts = [text for part in _parts(item, name) if (text := _string(part, "text"))]
        if texts:
            return "\n\n".join(texts)
    return ""


def _usage(response: Mapping[str, JSON]) -> Usage:
    usage = response.get("usage")
    return Usage(
        input_total=count_of(usage, "input_tokens"),
        input_cached=count_of(usage, "input_tokens_details", "cached_tokens"),
        cache_written=count_of(usage, "input_tokens_details", "cache_write_tokens"),
        output_total=count_of(usage, "output_tokens"),
        reasoning=count_of(usage, "output_tokens_details", "reasoning_tokens"),
    )


def _reason(response: Mapping[str, JSON], event_status: str) -> str:
    """Return why a response ended: the reason for incompleteness, or the status, for some services in the event's name."""
    status = response.get("status")
    reason = status if isinstance(status, str) and status in _FINAL else event_status
    details = _string(mapping(response.get("incomplete_details")), "reason")
    return details if reason == "incomplete" and details else reason


def _parts(item: Mapping[str, JSON], name: str) -> list[Mapping[str, JSON]]:
    parts = item.get(name)
    return [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []


def _string(value: Mapping[str, JSON], name: str) -> str:
    text = value.get(name)
    return text if isinstance(text, str) else ""


def _index(event: Mapping[str, JSON]) -> int | None:
    index = event.get("output_index")
    return index if isinstance(index, int) and not isinstance(index, bool) else None
