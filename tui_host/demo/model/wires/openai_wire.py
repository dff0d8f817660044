"""Serves OpenAI's Chat Completions. Source: OpenAI API reference, Chat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from typing_extensions import override

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.json_values import object_at, objects_at, text_at, texts_at
from tui_host.demo.model.plan import CallBegun, CallEnded, Ended, Fragment, Piece, Said, Stop, Thought, gathered
from tui_host.demo.model.request_content import AssistantSaid, Conversation, Message, SystemSaid, ToolSaid, UserSaid
from tui_host.demo.model.wires import wire
from tui_host.demo.model.wires.wire import ChatRequest, RequestRefused, event
from tui_host.errors import JSON

_FINISH: dict[Stop, str] = {"end": "stop", "calls": "tool_calls", "length": "length"}
_ERROR_KINDS: dict[int, tuple[str, str | None]] = {
    401: ("invalid_request_error", "invalid_api_key"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
    529: ("overloaded_error", None),
}
"""The type and the code of an error, by HTTP status."""


def _read(request: Request) -> ChatRequest:
    body = wire.body_of(request)
    functions = (object_at(tool, "function") for tool in objects_at(body, "tools"))
    conversation = Conversation(
        messages=tuple(map(_message, objects_at(body, "messages"))),
        tools=() if body.get("tool_choice") == "none" else wire.tools_of(functions, "parameters"),
        parallel=body.get("parallel_tool_calls") is not False,
        thinking=wire.thinking_for(body.get("reasoning_effort"), "none"),
    )
    return wire.chat_request(
        request,
        conversation,
        model=text_at(body, "model"),
        is_streamed=body.get("stream") is True,
        limits=(body, "max_completion_tokens", "max_tokens"),
        stops=texts_at(body, "stop"),
        has_usage=object_at(body, "stream_options").get("include_usage") is True,
    )


def _message(value: dict[str, object]) -> Message:
    text, images = wire.content_at(value, "content")
    match value.get("role"):
        case "assistant":
            functions = [(text_at(call, "id"), object_at(call, "function")) for call in objects_at(value, "tool_calls")]
            calls = (wire.call_of(key, text_at(call, "name"), call.get("arguments")) for key, call in functions)
            return AssistantSaid(text=text, calls=tuple(calls))
        case "tool":
            return ToolSaid(call_id=text_at(value, "tool_call_id"), text=text, images=images)
        case "user":
            return UserSaid(text=text, images=images)
        case _:
            return SystemSaid(text=text)


class OpenAIWriter(wire.ResponseWriter):
    """Writes an answer as `chat.completion.chunk` events, or as a single `chat.completion`."""

    @override
    def begin(self) -> bytes:
        return self._chunk({"role": "assistant", "content": "", "refusal": None})

    @override
    def piece(self, piece: Piece) -> bytes:
        match piece:
            case Said(text=text):
                return self._chunk({"content": text})
            case Thought(text=text):
                return self._chunk({"reasoning_content": text})
            case CallBegun(index=index, name=name):
                return self._chunk({"tool_calls": [{"index": index, **self._call(index, name, "")}]})
            case Fragment(index=index, text=text):
                return self._chunk({"tool_calls": [{"index": index, "function": {"arguments": text}}]})
            case CallEnded():
                return b""
        assert_never(piece)

    @override
    def end(self, ended: Ended) -> bytes:
        data = self._chunk({}, finish=_FINISH[ended.stop])
        if self.chat.options["has_usage"]:
            data += event({**self._head("chat.completion.chunk"), "choices": [], "usage": self._usage(ended)})
        return data + b"data: [DONE]\n\n"

    @override
    def failure(self, message: str) -> bytes:
        return event(error_body(RequestRefused(status=500, message=message)))

    @override
    def whole(self, pieces: Sequence[Piece], ended: Ended) -> JSON:
        answer = gathered(pieces)
        message: dict[str, JSON] = {"role": "assistant", "content": answer.text or ("" if not answer.calls else None)}
        message["refusal"] = None
        if answer.thinking:
            message["reasoning_content"] = answer.thinking
        if answer.calls:
            calls = enumerate(answer.calls)
            message["tool_calls"] = [self._call(index, call.name, call.arguments) for index, call in calls]
        choice: JSON = {"index": 0, "message": message, "logprobs": None, "finish_reason": _FINISH[ended.stop]}
        return {**self._head("chat.completion"), "choices": [choice], "usage": self._usage(ended)}

    def _call(self, index: int, name: str, arguments: str) -> dict[str, JSON]:
        function: JSON = {"name": name, "arguments": arguments}
        return {"id": f"call_{self.identity}{index:02d}", "type": "function", "function": function}

    def _head(self, kind: str) -> dict[str, JSON]:
        head: dict[str, JSON] = {"id": f"chatcmpl-{self.identity}", "object": kind, "created": self.created}
        return {**head, "model": self.chat.model, "system_fingerprint": "demo"}

    def _chunk(self, delta: JSON, *, finish: str | None = None) -> bytes:
        choice: JSON = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        usage: dict[str, JSON] = {"usage": None} if self.chat.options["has_usage"] else {}
        return event({**self._head("chat.completion.chunk"), "choices": [choice], **usage})

    def _usage(self, ended: Ended) -> JSON:
        return {
            "prompt_tokens": self.chat.prompt_tokens,
            "completion_tokens": ended.tokens,
            "total_tokens": self.chat.prompt_tokens + ended.tokens,
            "prompt_tokens_details": {"cached_tokens": self.chat.cached_tokens},
            "completion_tokens_details": {"reasoning_tokens": ended.thinking_tokens},
        }


def error_body(refused: RequestRefused, identity: str = "") -> JSON:
    """Return `{"error": {"message", "type", "param", "code"}}`, the form that Responses uses too."""
    del identity
    fallback = "server_error" if refused.status >= 500 else "invalid_request_error", None
    kind, code = _ERROR_KINDS.get(refused.status, fallback)
    return {"error": {"message": refused.words, "type": kind, "param": None, "code": code}}


OPENAI = wire.Wire(model="openai", read=_read, error=error_body, writer=OpenAIWriter, request_id_header="x-request-id")
"""The API of `POST /v1/chat/completions`."""
