"""Serves Anthropic's Messages API. Source: Anthropic API reference, Messages and its streaming events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from typing_extensions import override

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.json_values import object_at, objects_at, text_at, texts_at
from tui_host.demo.model.plan import CallBegun, CallEnded, Ended, Fragment, Piece, Said, Stop, Thought, gathered
from tui_host.demo.model.request_content import AssistantSaid, Conversation, Message, SystemSaid, ToolSaid, UserSaid
from tui_host.demo.model.wires import wire
from tui_host.demo.model.wires.wire import SIGNATURE, ChatRequest, RequestRefused, event
from tui_host.errors import JSON

_STOPS: dict[Stop, str] = {"end": "end_turn", "calls": "tool_use", "length": "max_tokens"}
_ERROR_KINDS: dict[int, str] = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def _read(request: Request) -> ChatRequest:
    body = wire.body_of(request)
    system, _ = wire.content_at(body, "system")
    messages = (message for value in objects_at(body, "messages") for message in _messages(value))
    choice = object_at(body, "tool_choice")
    tools = (tool for tool in objects_at(body, "tools") if "input_schema" in tool)
    conversation = Conversation(
        messages=(*((SystemSaid(text=system),) if system else ()), *messages),
        tools=() if choice.get("type") == "none" else wire.tools_of(tools, "input_schema"),
        parallel=choice.get("disable_parallel_tool_use") is not True,
        thinking=wire.thinking_for(object_at(body, "thinking").get("type"), "disabled"),
    )
    return wire.chat_request(
        request,
        conversation,
        model=text_at(body, "model"),
        is_streamed=body.get("stream") is True,
        limits=(body, "max_tokens"),
        stops=texts_at(body, "stop_sequences"),
        has_cache=b'"cache_control"' in request.body,
    )


def _messages(value: dict[str, object]) -> Iterator[Message]:
    blocks, (text, images) = objects_at(value, "content"), wire.content_at(value, "content")
    match value.get("role"):
        case "assistant":
            used = [block for block in blocks if block.get("type") == "tool_use"]
            calls = (wire.call_of(text_at(call, "id"), text_at(call, "name"), call.get("input")) for call in used)
            yield AssistantSaid(text=text, calls=tuple(calls))
        case "system":
            yield SystemSaid(text=text)
        case _:
            for block in blocks:
                if block.get("type") == "tool_result":
                    told, pictures = wire.content_at(block, "content")
                    key, is_error = text_at(block, "tool_use_id"), block.get("is_error") is True
                    yield ToolSaid(call_id=key, text=told, images=pictures, is_error=is_error)
            if text or images:
                yield UserSaid(text=text, images=images)


class AnthropicWriter(wire.ResponseWriter):
    """Writes an answer as named events that open, fill and close blocks, or as a single message."""

    _blocks = 0
    _open = ""

    @override
    def begin(self) -> bytes:
        usage = {**self._usage(), "output_tokens": 1}
        message: JSON = {**self._head(), "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        return _named({"type": "message_start", "message": message}) + _named({"type": "ping"})

    @override
    def piece(self, piece: Piece) -> bytes:
        match piece:
            case Thought(text=text):
                data = self._begin_block({"type": "thinking", "thinking": "", "signature": ""})
                return data + self._delta({"type": "thinking_delta", "thinking": text})
            case Said(text=text):
                data = self._begin_block({"type": "text", "text": ""})
                return data + self._delta({"type": "text_delta", "text": text})
            case CallBegun(index=index, name=name):
                data = self._end_block() + self._begin_block(self._call(index, name, {}))
                return data + self._delta({"type": "input_json_delta", "partial_json": ""})
            case Fragment(text=text):
                return self._delta({"type": "input_json_delta", "partial_json": text})
            case CallEnded():
                return b""
        assert_never(piece)

    @override
    def end(self, ended: Ended) -> bytes:
        usage: JSON = {"output_tokens": ended.tokens, **_thinking_tokens(ended)}
        last = _named({"type": "message_delta", "delta": _stop(ended), "usage": usage})
        return self._end_block() + last + _named({"type": "message_stop"})

    @override
    def failure(self, message: str) -> bytes:
        refused = RequestRefused(status=529, message=f"Overloaded. {message}")
        return event(_error_body(refused, self.identity), name="error")

    @override
    def whole(self, pieces: Sequence[Piece], ended: Ended) -> JSON:
        answer = gathered(pieces)
        content: list[JSON] = []
        if answer.thinking:
            content.append({"type": "thinking", "thinking": answer.thinking, "signature": SIGNATURE})
        if answer.text:
            content.append({"type": "text", "text": answer.text})
        for index, call in enumerate(answer.calls):
            # The vendor puts arguments that are not JSON under this name.
            values = wire.object_in(call.arguments)
            values = {"INVALID_JSON": call.arguments} if values is None else values
            content.append(self._call(index, call.name, values))
        usage: JSON = {**self._usage(), "output_tokens": ended.tokens, **_thinking_tokens(ended)}
        return {**self._head(), "content": content, **_stop(ended), "usage": usage}

    def _call(self, index: int, name: str, values: JSON) -> dict[str, JSON]:
        return {"type": "tool_use", "id": f"toolu_{self.identity}{index:02d}", "name": name, "input": values}

    def _head(self) -> dict[str, JSON]:
        return {"id": f"msg_{self.identity}", "type": "message", "role": "assistant", "model": self.chat.model}

    def _usage(self) -> dict[str, JSON]:
        """Return the token counts of the request; the first three counts add up to the total."""
        has_cache, tokens = self.chat.options["has_cache"], self.chat.prompt_tokens
        cached = self.chat.cached_tokens if has_cache else 0
        return {
            "input_tokens": 0 if has_cache else tokens,
            "cache_creation_input_tokens": tokens - cached if has_cache else 0,
            "cache_read_input_tokens": cached,
            "service_tier": "standard",
        }

    def _begin_block(self, block: dict[str, JSON]) -> bytes:
        kind = str(block["type"])
        if kind == self._open:
            return b""
        data = self._end_block()
        self._open = kind
        return data + _named({"type": "content_block_start", "index": self._blocks, "content_block": block})

    def _delta(self, delta: JSON) -> bytes:
        return _named({"type": "content_block_delta", "index": self._blocks, "delta": delta})

    def _end_block(self) -> bytes:
        if not self._open:
            return b""
        data = self._delta({"type": "signature_delta", "signature": SIGNATURE}) if self._open == "thinking" else b""
        data += _named({"type": "content_block_stop", "index": self._blocks})
        self._open = ""
        self._blocks += 1
        return data


def _stop(ended: Ended) -> dict[str, JSON]:
    reason = "stop_sequence" if ended.stopped_by else _STOPS[ended.stop]
    return {"stop_reason": reason, "stop_sequence": ended.stopped_by or None}


def _thinking_tokens(ended: Ended) -> dict[str, JSON]:
    return {"output_tokens_details": {"thinking_tokens": ended.thinking_tokens}} if ended.thinking_tokens else {}


def _named(value: dict[str, JSON]) -> bytes:
    return event(value, name=str(value["type"]))


def _error_body(refused: RequestRefused, identity: str) -> JSON:
    kind = _ERROR_KINDS.get(refused.status, "api_error" if refused.status >= 500 else "invalid_request_error")
    error: JSON = {"type": kind, "message": refused.words}
    return {"type": "error", "error": error, "request_id": f"req_{identity}"}


ANTHROPIC = wire.Wire(
    model="anthropic", read=_read, error=_error_body, writer=AnthropicWriter, request_id_header="request-id"
)
"""The API of `POST /v1/messages`."""
