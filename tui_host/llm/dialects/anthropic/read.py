"""Reads the answers of Messages, streamed or whole. Source: Anthropic API reference, Messages and Streaming."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from tui_host.capture.json.spans import Node, spans
from tui_host.errors import JSON
from tui_host.llm.answer_state import AnswerState
from tui_host.llm.body_framing import count_of
from tui_host.llm.events import (
    CallArguments,
    ModelEvent,
    PartEnded,
    TextDelta,
    ThinkingDelta,
    Unreadable,
    VendorToolUsed,
)
from tui_host.llm.messages import Stop, Usage
from tui_host.llm.provider_faults import fault_in
from tui_host.llm.request_writing import echo_for
from tui_host.llm.vendor_tools import cited, tool_used

_OF_THINKING = ("thinking_delta", "signature_delta")
_STOPS: Mapping[str, Stop] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
    "pause_turn": "paused",
}
_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


@dataclass(slots=True)
class _Block:
    """A content block being streamed.

    Attributes:
        value: The block as it began.
        kind: The vendor's word for the kind of block.
        call: The number of the call; None if the block is no call, or a call beyond the limit.
        pieces: The streamed pieces of the input as JSON text, for a block that is no call.
        start: First byte of the event in which the block began.
        end: One past its last byte.
        input: The text of the input in that event.
    """

    value: dict[str, JSON]
    kind: str = field(init=False)
    start: int
    end: int
    call: int | None = None
    pieces: list[str] = field(default_factory=list[str])
    input: str = ""
    has_ended: bool = False

    def __post_init__(self) -> None:
        kind = self.value.get("type")
        self.kind = kind if isinstance(kind, str) else ""


class AnthropicReading:
    """Turns the vendor's events, or a whole answer, into ours."""

    def __init__(self) -> None:
        self.state = AnswerState()
        self._blocks: dict[int, _Block] = {}
        self._last: _Block | None = None
        self._counts: dict[str, JSON] = {}

    def event(self, value: dict[str, JSON], data: bytes, start: int, end: int) -> list[ModelEvent]:
        """Read an event by the `type` in the data, since not all services name their events."""
        state, kind = self.state, value.get("type")
        if kind == "content_block_delta":  # the most frequent event
            state.has_read = True
            return self._delta(value, start, end)
        events: list[ModelEvent] = []
        match kind:
            case "message_start":
                message = value.get("message")
                self._count(message.get("usage") if isinstance(message, Mapping) else None)
                events = self._usage(start, end, without="output_tokens")  # only a placeholder as yet
            case "content_block_start":
                events = self._open(value, data, start, end)
            case "content_block_stop":
                events = self._close(self._block_of(value), start, end)
            case "message_delta":
                delta = value.get("delta")
                state.finish(_reason(delta if isinstance(delta, Mapping) else {}), start, end)
                self._count(value.get("usage"))
                events = self._usage(start, end)
            case "message_stop":
                state.mark, state.is_over = "message_stop", True
            case "ping":
                pass
            case _:
                fault = fault_in(value)
                if fault is not None:
                    return [state.fail(*fault, start, end)]
                state.has_foreign = True
                return []
        state.has_read = True
        return events

    def whole(self, value: JSON, body: bytes) -> list[ModelEvent] | None:
        """Read an answer without streaming."""
        content = value.get("content") if isinstance(value, dict) else None
        if not isinstance(value, dict) or not isinstance(content, list):
            return None
        node = spans(body, walk=("content",))
        listed = node.get("content") if node is not None else None
        nodes = listed.elements if listed is not None else ()
        events: list[ModelEvent] = []
        for number, block in enumerate(content):
            if isinstance(block, dict):
                events += self._whole_block(block, nodes[number] if number < len(nodes) else None, body)
        self.state.mark = "message"
        self._count(value.get("usage"))
        self.state.finish(_reason(value), *_place(node, "stop_reason", len(body)))
        return events + self._usage(*_place(node, "usage", len(body)))

    def closing(self, position: int) -> list[ModelEvent]:
        """Return the usage with all counts, if the answer came to its end."""
        start, end = self.state.reason_span if self.state.reason else (position, position)
        return self._usage(start, end) if self.state.mark else []

    def stop(self) -> Stop:
        """Translate the stop reason. If there are calls, they decide."""
        stop = _STOPS.get(self.state.reason.partition(":")[0])
        return stop or ("tools" if self.state.calls else "end")

    def _block_of(self, event: Mapping[str, JSON]) -> _Block | None:
        """Find the block of an event: by index, else the last block. None if the block has not begun."""
        index = event.get("index")
        return self._blocks.get(index) if type(index) is int else self._last

    def _add(self, block: _Block, event: Mapping[str, JSON]) -> _Block:
        index = event.get("index")
        self._blocks[index if type(index) is int else len(self._blocks)] = self._last = block
        return block

    def _open(self, value: Mapping[str, JSON], data: bytes, start: int, end: int) -> list[ModelEvent]:
        given = value.get("content_block")
        block = self._add(_Block(dict(given) if isinstance(given, Mapping) else {}, start, end), value)
        if block.kind in {"text", "thinking"}:
            return _words(block, block.value.get(block.kind), start, end)
        if block.kind != "tool_use":
            return []
        node = spans(data, walk=("content_block",))
        place = node.get("content_block", "input") if node is not None else None
        block.input = data[place.start : place.end].decode("utf-8", "replace") if place is not None else ""
        return self._call(block, start, end)

    def _delta(self, value: Mapping[str, JSON], start: int, end: int) -> list[ModelEvent]:
        delta = value.get("delta")
        if not isinstance(delta, dict):
            return [Unreadable(reason="a piece of nothing", start=start, end=end)]
        kind, block = delta.get("type"), self._block_of(value)
        if block is None:  # the event that begins the block is missing
            block = self._add(_Block({"type": "thinking" if kind in _OF_THINKING else "text"}, start, end), value)
        match kind:
            case "text_delta":
                return _words(block, delta.get("text"), start, end)
            case "thinking_delta":
                return _words(block, delta.get("thinking"), start, end)
            case "signature_delta":
                block.value["signature"] = delta.get("signature")
            case "input_json_delta":
                piece = delta.get("partial_json")
                if isinstance(piece, str) and piece:
                    if block.kind != "tool_use":
                        block.pieces.append(piece)
                    elif block.call is not None:
                        block.input = ""
                        return [CallArguments(index=block.call, text=piece, start=start, end=end)]
            case "citations_delta":
                return [*cited(delta.get("citation"), start, end)]
            case _:
                return []  # kinds to come: they stay in the record
        return []

    def _call(self, block: _Block, start: int, end: int) -> list[ModelEvent]:
        block.call, events = self.state.open_call(block.value.get("id"), block.value.get("name"), start, end)
        return events

    def _close(self, block: _Block | None, start: int, end: int) -> list[ModelEvent]:
        if block is None or block.has_ended:
            return []
        block.has_ended = True
        if block.kind == "tool_use":
            if not block.input or block.call is None:
                return []
            return [CallArguments(index=block.call, text=block.input, start=block.start, end=block.end)]
        if block.kind == "text":
            return [PartEnded(kind="text", start=start, end=end)]
        if block.pieces:
            block.value["input"] = _parsed("".join(block.pieces))
        echo = echo_for("anthropic", _echo_of(block.value))
        used: list[VendorToolUsed] = []
        if block.kind == "server_tool_use":
            used = tool_used(block.value.get("name"), block.value.get("input"), start, end)
        elif block.kind.endswith("_tool_result"):
            used = cited(block.value.get("content"), start, end)
        return [*used, PartEnded(kind="thinking", echo=echo, start=start, end=end)]

    def _whole_block(self, value: dict[str, JSON], node: Node | None, body: bytes) -> list[ModelEvent]:
        start, end = (node.start, node.end) if node is not None else (0, len(body))
        block = _Block(value, start, end)
        events: list[ModelEvent] = []
        if block.kind in {"text", "thinking"}:
            events = _words(block, value.get(block.kind), *_place(node, block.kind, len(body)))
            events += cited(value.get("citations"), start, end)
        elif block.kind == "tool_use":
            place = node.get("input") if node is not None else None
            block.input = body[place.start : place.end].decode("utf-8", "replace") if place is not None else ""
            events = self._call(block, start, end)
        return [*events, *self._close(block, start, end)]

    def _count(self, usage: JSON) -> None:
        """Add counts; later counts replace earlier ones."""
        if isinstance(usage, Mapping):
            self._counts |= {name: count for name, count in usage.items() if count is not None}

    def _usage(self, start: int, end: int, *, without: str = "") -> list[ModelEvent]:
        counts = {name: count for name, count in self._counts.items() if name != without}
        return self.state.report(_usage_of(counts), start, end)


def _words(block: _Block, text: JSON, start: int, end: int) -> list[ModelEvent]:
    if not isinstance(text, str) or not text:
        return []
    delta = ThinkingDelta if block.kind == "thinking" else TextDelta
    return [delta(text=text, start=start, end=end)]


def _reason(delta: Mapping[str, JSON]) -> str:
    """Return the stop reason, with the details of a refusal; empty if absent."""
    reason = delta.get("stop_reason")
    if not isinstance(reason, str) or not reason:
        return ""
    details = delta.get("stop_details")
    if not isinstance(details, Mapping):
        return reason
    texts = [text for name in ("category", "explanation") if isinstance(text := details.get(name), str) and text]
    return f"{reason}: {', '.join(texts)}" if texts else reason


def _usage_of(usage: JSON) -> Usage:
    """Read the tokens of a `usage` object, whose `input_tokens` does not include tokens read and written by the cache."""
    counts = [count_of(usage, name) for name in _INPUT]
    reported = [count for count in counts if count is not None]
    return Usage(
        input_total=sum(reported) if reported else None,
        input_cached=counts[2],
        cache_written=counts[1],
        output_total=count_of(usage, "output_tokens"),
        reasoning=count_of(usage, "output_tokens_details", "thinking_tokens"),
    )


def _echo_of(block: Mapping[str, JSON]) -> Mapping[str, JSON] | None:
    """Return the members of a block to send back with its text, None if there are none.

    The API refuses thinking without its signature. Redacted thinking and unknown kinds of blocks are sent back whole.
    """
    kind = block.get("type")
    if not isinstance(kind, str) or not kind:
        return None
    if kind != "thinking":
        return block
    signature = block.get("signature")
    return {"type": "thinking", "signature": signature} if isinstance(signature, str) and signature else None


def _place(node: Node | None, name: str, size: int) -> tuple[int, int]:
    """Return the bytes of a member, or of the whole body if the member is not found."""
    member = node.get(name) if node is not None else None
    return (member.start, member.end) if member is not None else (0, size)


def _parsed(text: str) -> JSON:
    try:
        value: JSON = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value
