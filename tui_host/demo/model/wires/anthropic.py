"""Serves Anthropic's Messages API. Source: Anthropic API reference, Messages and its streaming events."""

from __future__ import annotations

from collections.abc import Iterator

from typing_extensions import override

from tui_host.demo.model.conversation import DemoConversation, DemoMessage
from tui_host.demo.model.json_values import object_at, objects_at, parsed_object, text_at
from tui_host.demo.model.plan import Stop
from tui_host.demo.model.wires import wire
from tui_host.demo.model.wires.wire import SIGNATURE, ChatRequest, ModelAnswer, RequestRefused
from tui_host.errors import JSON

_STOPS: dict[Stop, str] = {"end": "end_turn", "calls": "tool_use", "length": "max_tokens"}
_ERRORS = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error", 529: "overloaded_error"}


class AnthropicWire(wire.VendorWire):
    """`POST /v1/messages`: named events that open, fill and close blocks, or a single message."""

    model = "anthropic"
    request_id_header = "request-id"
    overload = (529, "Overloaded. ")

    @override
    def read(self, path: str, body: bytes) -> ChatRequest:
        values = wire.object_of(body)
        system, _ = wire.content_at(values, "system")
        messages = [message for value in objects_at(values, "messages") for message in _messages(value)]
        if system:
            messages.insert(0, DemoMessage(role="system", text=system))
        choice = object_at(values, "tool_choice")
        conversation = DemoConversation(
            messages=tuple(messages),
            tools=() if choice.get("type") == "none" else wire.tools_of(objects_at(values, "tools")),
            parallel=choice.get("disable_parallel_tool_use") is not True,
            thinking=wire.thinking_for(object_at(values, "thinking").get("type"), "disabled"),
        )
        return ChatRequest(
            conversation=conversation,
            model=text_at(values, "model"),
            is_streamed=values.get("stream") is True,
            most_tokens=values.get("max_tokens"),
        )

    @override
    def stream(self, answer: ModelAnswer) -> Iterator[bytes]:
        message: dict[str, JSON] = {**_head(answer), "content": [], "stop_reason": None, "stop_sequence": None}
        usage: JSON = {"input_tokens": answer.prompt_tokens, "output_tokens": 1}
        yield self.framed({"type": "message_start", "message": {**message, "usage": usage}})
        for index, (block, deltas) in enumerate(_blocks(answer)):
            yield self.framed({"type": "content_block_start", "index": index, "content_block": block})
            for filling in deltas:
                yield self.framed({"type": "content_block_delta", "index": index, "delta": filling})
            yield self.framed({"type": "content_block_stop", "index": index})
        usage = {"output_tokens": answer.pieces.tokens}
        delta: JSON = {"stop_reason": _STOPS[answer.pieces.stop], "stop_sequence": None}
        yield self.framed({"type": "message_delta", "delta": delta, "usage": usage})
        yield self.framed({"type": "message_stop"})

    @override
    def whole(self, answer: ModelAnswer) -> JSON:
        content: list[JSON] = []
        if answer.pieces.thinking:
            thinking = "".join(answer.pieces.thinking)
            content.append({"type": "thinking", "thinking": thinking, "signature": SIGNATURE})
        if answer.pieces.text:
            content.append({"type": "text", "text": "".join(answer.pieces.text)})
        for index, call in enumerate(answer.pieces.calls):
            values = parsed_object(call.arguments)
            if values is None:
                values = {"INVALID_JSON": call.arguments}  # the vendor's own way to pass them on
            content.append(_call(answer, index, call.name, values))
        usage: JSON = {"input_tokens": answer.prompt_tokens, "output_tokens": answer.pieces.tokens}
        ending: dict[str, JSON] = {"stop_reason": _STOPS[answer.pieces.stop], "stop_sequence": None, "usage": usage}
        return {**_head(answer), "content": content, **ending}

    @override
    def error(self, refused: RequestRefused, identity: str) -> dict[str, JSON]:
        kind = _ERRORS.get(refused.status, "invalid_request_error" if refused.status < 500 else "api_error")
        return {"type": "error", "error": {"type": kind, "message": refused.message}, "request_id": f"req_{identity}"}


def _messages(value: dict[str, object]) -> Iterator[DemoMessage]:
    """Read a message; a user message becomes a message for each result in it, and one for the rest."""
    blocks, (text, images) = objects_at(value, "content"), wire.content_at(value, "content")
    if value.get("role") == "assistant":
        used = [block for block in blocks if block.get("type") == "tool_use"]
        calls = (wire.call_of(text_at(call, "id"), text_at(call, "name"), call.get("input")) for call in used)
        yield DemoMessage(role="assistant", text=text, calls=tuple(calls))
        return
    for block in blocks:
        if block.get("type") == "tool_result":
            result, pictures = wire.content_at(block, "content")
            key, is_error = text_at(block, "tool_use_id"), block.get("is_error") is True
            yield DemoMessage(role="tool", call_id=key, text=result, images=pictures, is_error=is_error)
    if text or images:
        yield DemoMessage(role="system" if value.get("role") == "system" else "user", text=text, images=images)


def _blocks(answer: ModelAnswer) -> Iterator[tuple[JSON, list[JSON]]]:
    """Yield each block as it is opened, and what fills it."""
    pieces = answer.pieces
    if pieces.thinking:
        deltas: list[JSON] = [{"type": "thinking_delta", "thinking": piece} for piece in pieces.thinking]
        deltas.append({"type": "signature_delta", "signature": SIGNATURE})
        yield {"type": "thinking", "thinking": "", "signature": ""}, deltas
    if pieces.text:
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces.text]
    for index, call in enumerate(pieces.calls):
        fragments = ("", *call.fragments)  # the vendor begins each call with an empty fragment
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in fragments]
        yield _call(answer, index, call.name, {}), deltas


def _call(answer: ModelAnswer, index: int, name: str, values: JSON) -> JSON:
    return {"type": "tool_use", "id": f"toolu_{answer.identity}{index:02d}", "name": name, "input": values}


def _head(answer: ModelAnswer) -> dict[str, JSON]:
    return {"id": f"msg_{answer.identity}", "type": "message", "role": "assistant", "model": answer.chat.model}


ANTHROPIC = AnthropicWire()
