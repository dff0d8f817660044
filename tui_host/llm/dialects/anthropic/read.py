"""The answers of Messages, streamed or whole, as events. Source: llm-dialects.md, section 5."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tui_host.capture.json.reading import read_json
from tui_host.capture.json.spans import Node, spans
from tui_host.errors import JSON
from tui_host.llm.body_framing import is_done, read_object
from tui_host.llm.dialects.anthropic.blocks import Block, OpenBlocks
from tui_host.llm.dialects.anthropic.forms import echo_of_block, stop_of, stop_word, usage_of
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
_OF_THINKING = ("thinking_delta", "signature_delta")


class Blocks:
    """Folds the events of a stream, or the one whole answer, into ours."""

    def __init__(self) -> None:
        self.has_failed = False
        self.has_other = False
        self._has_read = False
        self._open = OpenBlocks()
        self._calls = 0
        self._counts: dict[str, JSON] = {}
        self._usage: Usage | None = None
        self._word = ""
        self._word_span = (0, 0)
        self._done = ""
        self._ended = False

    @property
    def is_strange(self) -> bool:
        """Whether something came, and none of it was an answer's."""
        return self.has_other and not self._has_read and not self._done and not self.has_failed

    def data(self, data: bytes, start: int, end: int) -> list[ModelEvent]:
        """One event of the stream; what it is, its data say, for not all services name their events."""
        if self._ended:
            return []
        value, found = read_object(data, start, end)
        if value is None:
            if is_done(data):  # no word of this API, but of services that speak several
                self._done = "[DONE]"
                return self.end(end)
            self.has_other = True
            return found
        kind = value.get("type")
        if kind == "content_block_delta":  # as nearly all of an answer is
            self._has_read = True
            more = self._more(value, start, end)
            return found + more if found else more
        match kind:
            case "message_start":
                found += self._began(value.get("message"), start, end)
            case "content_block_start":
                found += self._opened(value, data, start, end)
            case "content_block_stop":
                found += self._closed(self._open.at(value), start, end)
            case "message_delta":
                found += self._finishes(value, start, end)
            case "message_stop":
                self._done = "message_stop"
                return found + self.end(end)
            case "ping":
                pass
            case _:
                return found + self._other(value, start, end)
        self._has_read = True
        return found

    def whole(self, body: bytes) -> list[ModelEvent]:
        """An answer that was not streamed, or an error in its place."""
        end = len(body)
        try:
            value = read_json(body)
        except ValueError as error:
            return [Unreadable(reason=f"not JSON: {error}"[:200], start=0, end=end)]
        content = value.get("content") if isinstance(value, dict) else None
        if not isinstance(value, dict) or not isinstance(content, list):
            fault = fault_in(value)
            words = f"no answer in it: {body[:_SHOWN].decode('utf-8', 'replace')}"
            return [self._fail(*(fault or (words, "")), 0, end)]
        node = spans(body, walk=("content",))
        nodes = _elements(node)
        found: list[ModelEvent] = []
        for number, block in enumerate(content):
            place = nodes[number] if number < len(nodes) else None
            if isinstance(block, dict):
                found += self._block(block, place, body)
        self._done = "message"
        self._counted(value.get("usage"))
        self._stopped(value, _place(node, "stop_reason", end))
        return found + self._reported(*_place(node, "usage", end))

    def end(self, position: int) -> list[ModelEvent]:
        """The end of the answer, once."""
        if self._ended:
            return []
        self._ended = True
        start, end = self._word_span if self._word else (position, position)
        word = self._word.partition(":")[0]
        if self.has_failed:
            stop = "failed"
        elif not word and not self._done:
            stop = "cut"
        else:
            stop = stop_of(word, has_calls=self._calls > 0)
        found = self._reported(start, end) if self._done else []
        return [*found, Stopped(stop=stop, vendor=self._word or self._done, start=start, end=end)]

    def _began(self, message: JSON, start: int, end: int) -> list[ModelEvent]:
        usage = message.get("usage") if isinstance(message, Mapping) else None
        self._counted(usage)
        return self._reported(start, end, but="output_tokens")  # which is a stub, here

    def _opened(self, value: Mapping[str, JSON], data: bytes, start: int, end: int) -> list[ModelEvent]:
        given = value.get("content_block")
        block = Block(dict(given) if isinstance(given, Mapping) else {}, start, end)
        self._open.add(block, value)
        match block.kind:
            case "text" | "thinking":
                return self._words(block, block.value.get(block.kind), start, end)
            case "tool_use":
                node = spans(data, walk=("content_block",))
                given = node.get("content_block", "input") if node is not None else None
                block.input = data[given.start : given.end].decode("utf-8", "replace") if given is not None else ""
                return self._called(block, start, end)
            case _:
                return []

    def _more(self, value: Mapping[str, JSON], start: int, end: int) -> list[ModelEvent]:
        delta = value.get("delta")
        if not isinstance(delta, dict):
            return [Unreadable(reason="a piece of nothing", start=start, end=end)]
        kind = delta.get("type")
        block = self._open.at(value) or self._missed(value, kind, start, end)
        match kind:
            case "text_delta":
                return self._words(block, delta.get("text"), start, end)
            case "thinking_delta":
                return self._words(block, delta.get("thinking"), start, end)
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
            case _:
                return []  # citations, and what may come: in the record, and in no answer
        return []

    def _missed(self, value: Mapping[str, JSON], delta: JSON, start: int, end: int) -> Block:
        """A block whose beginning did not come."""
        kind = "thinking" if delta in _OF_THINKING else "text"
        block = Block({"type": kind}, start, end)
        self._open.add(block, value)
        return block

    def _words(self, block: Block, text: JSON, start: int, end: int) -> list[ModelEvent]:
        if not isinstance(text, str) or not text:
            return []
        if block.kind == "thinking":
            return [ThinkingDelta(text=text, start=start, end=end)]
        return [TextDelta(text=text, start=start, end=end)]

    def _called(self, block: Block, start: int, end: int) -> list[ModelEvent]:
        if self._calls >= MOST_CALLS:
            self._calls += 1
            return [CallsLeftOut(start=start, end=end)] if self._calls == MOST_CALLS + 1 else []
        block.call = self._calls
        self._calls += 1
        wire_id, name = block.value.get("id"), block.value.get("name")
        return [
            CallStarted(
                index=block.call,
                wire_id=wire_id if isinstance(wire_id, str) else "",
                name=name[:1000] if isinstance(name, str) else "",
                start=start,
                end=end,
            )
        ]

    def _closed(self, block: Block | None, start: int, end: int) -> list[ModelEvent]:
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
            block.value["input"] = _read("".join(block.pieces))
        echo = echo_for("anthropic", echo_of_block(block.value))
        return [PartEnded(kind="thinking", echo=echo, start=start, end=end)]

    def _finishes(self, value: Mapping[str, JSON], start: int, end: int) -> list[ModelEvent]:
        delta = value.get("delta")
        self._stopped(delta if isinstance(delta, Mapping) else {}, (start, end))
        self._counted(value.get("usage"))
        return self._reported(start, end)

    def _other(self, value: Mapping[str, JSON], start: int, end: int) -> list[ModelEvent]:
        """An error, or what this API may say one day."""
        fault = fault_in(value)
        if fault is not None:
            return [self._fail(*fault, start, end)]
        self.has_other = True
        return []

    def _block(self, value: dict[str, JSON], node: Node | None, body: bytes) -> list[ModelEvent]:
        """A block of a whole answer."""
        start, end = (node.start, node.end) if node is not None else (0, len(body))
        block = Block(value, start, end)
        if block.kind in {"text", "thinking"}:
            inner = _place(node, block.kind, len(body))
            return [*self._words(block, value.get(block.kind), *inner), *self._closed(block, start, end)]
        if block.kind != "tool_use":
            return self._closed(block, start, end)
        given = node.get("input") if node is not None else None
        block.input = body[given.start : given.end].decode("utf-8", "replace") if given is not None else ""
        return [*self._called(block, start, end), *self._closed(block, start, end)]

    def _counted(self, usage: JSON) -> None:
        """More counts: those that are told again replace what was told before."""
        if isinstance(usage, Mapping):
            self._counts |= {name: count for name, count in usage.items() if count is not None}

    def _reported(self, start: int, end: int, *, but: str = "") -> list[ModelEvent]:
        usage = usage_of({name: count for name, count in self._counts.items() if name != but})
        if usage in (self._usage, Usage()):
            return []
        self._usage = usage
        return [UsageReported(usage=usage, start=start, end=end)]

    def _stopped(self, delta: Mapping[str, JSON], span: tuple[int, int]) -> None:
        word = stop_word(delta)
        if word:
            self._word, self._word_span = word, span

    def _fail(self, words: str, code: str, start: int, end: int) -> Failed:
        self.has_failed = True
        return Failed(message=words or "an error without a word", vendor=code, start=start, end=end)


def _elements(node: Node | None) -> tuple[Node, ...]:
    content = node.get("content") if node is not None else None
    return content.elements if content is not None else ()


def _place(node: Node | None, name: str, size: int) -> tuple[int, int]:
    """Where a member stands; everything where that is not known."""
    found = node.get(name) if node is not None else None
    return (found.start, found.end) if found is not None else (0, size)


def _read(text: str) -> JSON:
    try:
        value: JSON = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value
