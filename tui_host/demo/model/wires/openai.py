"""Serves OpenAI's Chat Completions. Source: OpenAI API reference, Chat."""

from __future__ import annotations

from collections.abc import Iterator

from typing_extensions import override

from tui_host.demo.model.conversation import DemoConversation, DemoMessage
from tui_host.demo.model.json_values import object_at, objects_at, text_at
from tui_host.demo.model.plan import Stop
from tui_host.demo.model.wires import wire
from tui_host.demo.model.wires.wire import ChatRequest, ModelAnswer, RequestRefused
from tui_host.errors import JSON

_FINISH: dict[Stop, str] = {"end": "stop", "calls": "tool_calls", "length": "length"}
_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}


class OpenAIWire(wire.VendorWire):
    """`POST /v1/chat/completions`: `chat.completion.chunk` events, or a single `chat.completion`."""

    model = "openai"
    request_id_header = "x-request-id"

    @override
    def read(self, path: str, body: bytes) -> ChatRequest:
        values = wire.object_of(body)
        functions = (object_at(tool, "function") for tool in objects_at(values, "tools"))
        conversation = DemoConversation(
            messages=tuple(map(message_of, objects_at(values, "messages"))),
            tools=() if values.get("tool_choice") == "none" else wire.tools_of(functions),
            parallel=values.get("parallel_tool_calls") is not False,
            thinking=wire.thinking_for(values.get("reasoning_effort"), "none"),
        )
        return ChatRequest(
            conversation=conversation,
            model=text_at(values, "model"),
            is_streamed=values.get("stream") is True,
            most_tokens=values.get("max_completion_tokens") or values.get("max_tokens"),
            is_detailed=object_at(values, "stream_options").get("include_usage") is True,
        )

    @override
    def stream(self, answer: ModelAnswer) -> Iterator[bytes]:
        head, deltas = _head(answer, "chat.completion.chunk"), list[JSON]()
        deltas.append({"role": "assistant", "content": ""})
        deltas += [{"reasoning_content": piece} for piece in answer.pieces.thinking]
        deltas += [{"content": piece} for piece in answer.pieces.text]
        for index, call in enumerate(answer.pieces.calls):
            deltas.append({"tool_calls": [{"index": index, **_call(answer, index, call.name, "")}]})
            for piece in call.fragments:
                deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        for delta in deltas:
            yield self.framed({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        last: JSON = {"index": 0, "delta": {}, "finish_reason": _FINISH[answer.pieces.stop]}
        yield self.framed({**head, "choices": [last]})
        if answer.chat.is_detailed:
            yield self.framed({**head, "choices": [], "usage": _usage(answer)})
        yield b"data: [DONE]\n\n"

    @override
    def whole(self, answer: ModelAnswer) -> JSON:
        message: dict[str, JSON] = {"role": "assistant", "content": "".join(answer.pieces.text)}
        if answer.pieces.thinking:
            message["reasoning_content"] = "".join(answer.pieces.thinking)
        if answer.pieces.calls:
            calls = enumerate(answer.pieces.calls)
            message["tool_calls"] = [_call(answer, index, call.name, call.arguments) for index, call in calls]
        choice: JSON = {"index": 0, "message": message, "finish_reason": _FINISH[answer.pieces.stop]}
        return {**_head(answer, "chat.completion"), "choices": [choice], "usage": _usage(answer)}

    @override
    def error(self, refused: RequestRefused, identity: str) -> dict[str, JSON]:
        kind = "server_error" if refused.status >= 500 else "invalid_request_error"
        code = _CODES.get(refused.status)
        return {"error": {"message": refused.message, "type": kind, "param": None, "code": code}}


def message_of(value: dict[str, object]) -> DemoMessage:
    """Read a message in the form of Chat Completions, which Ollama's chat shares."""
    text, images = wire.content_at(value, "content")
    match value.get("role"):
        case "assistant":
            functions = [(text_at(call, "id"), object_at(call, "function")) for call in objects_at(value, "tool_calls")]
            calls = (wire.call_of(key, text_at(call, "name"), call.get("arguments")) for key, call in functions)
            return DemoMessage(role="assistant", text=text, calls=tuple(calls))
        case "tool":
            return DemoMessage(role="tool", call_id=text_at(value, "tool_call_id"), text=text, images=images)
        case "user":
            return DemoMessage(role="user", text=text, images=images)
        case _:
            return DemoMessage(role="system", text=text)


def _call(answer: ModelAnswer, index: int, name: str, arguments: str) -> dict[str, JSON]:
    function: JSON = {"name": name, "arguments": arguments}
    return {"id": f"call_{answer.identity}{index:02d}", "type": "function", "function": function}


def _head(answer: ModelAnswer, kind: str) -> dict[str, JSON]:
    return {"id": f"chatcmpl-{answer.identity}", "object": kind, "created": answer.created, "model": answer.chat.model}


def _usage(answer: ModelAnswer) -> JSON:
    return {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.pieces.tokens,
        "total_tokens": answer.prompt_tokens + answer.pieces.tokens,
        "completion_tokens_details": {"reasoning_tokens": len(answer.pieces.thinking)},
    }


OPENAI = OpenAIWire()
