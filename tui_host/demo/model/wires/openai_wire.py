"""Serves Chat Completions. Source: OpenAI API reference, Chat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.json_values import limit_at, object_at, objects_at, text_at, texts_at
from tui_host.demo.model.plan import CallBegun, CallEnded, Ended, Fragment, Piece, Said, Stop, Thought
from tui_host.demo.model.request_content import (
    AssistantSaid,
    Call,
    Conversation,
    Message,
    SystemSaid,
    Thinking,
    ToolSaid,
    UserSaid,
)
from tui_host.demo.model.wires.wire import (
    Asked,
    RequestRefused,
    body_of,
    event,
    gathered,
    json_line,
    picture_at,
    token_counts,
    tool_of,
)
from tui_host.errors import JSON

_FINISH: dict[Stop, str] = {"end": "stop", "calls": "tool_calls", "length": "length"}
_ERROR_KINDS: dict[int, tuple[str, str | None]] = {
    401: ("invalid_request_error", "invalid_api_key"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
    529: ("overloaded_error", None),
}
"""The type and the code of an error by its status."""


class OpenAIWire:
    """Reads requests for `POST /v1/chat/completions` and writes their responses."""

    model = "openai"
    request_id_header = "x-request-id"

    def read(self, request: Request) -> Asked:
        """Read a request."""
        body = body_of(request)
        messages = tuple(map(_message, objects_at(body, "messages")))
        tokens, cached = token_counts(request.body, messages)
        functions = [object_at(tool, "function") for tool in objects_at(body, "tools")]
        tools = tuple(
            tool_of(text_at(function, "name"), text_at(function, "description"), function.get("parameters"))
            for function in functions
            if text_at(function, "name")
        )
        return Asked(
            conversation=Conversation(
                messages=messages,
                tools=() if body.get("tool_choice") == "none" else tools,
                parallel=body.get("parallel_tool_calls") is not False,
                thinking=thinking_for(body.get("reasoning_effort")),
            ),
            model=text_at(body, "model"),
            is_streamed=body.get("stream") is True,
            with_usage=object_at(body, "stream_options").get("include_usage") is True,
            most_tokens=limit_at(body, "max_completion_tokens", "max_tokens"),
            prompt_tokens=tokens,
            cached_tokens=cached,
            stops=texts_at(body, "stop"),
        )

    def refusal(self, refused: RequestRefused, *, identity: str = "", request: Request | None = None) -> bytes:
        """Write `{"error": {"message", "type", "param", "code"}}`."""
        del identity, request
        fallback = "server_error" if refused.status >= 500 else "invalid_request_error", None
        kind, code = _ERROR_KINDS.get(refused.status, fallback)
        return json_line(_error(refused.words, kind, refused.code or code)) + b"\n"

    def writer(self, asked: Asked, *, identity: str, created: int) -> OpenAIWriter:
        """Make a writer for an answer."""
        return OpenAIWriter(asked=asked, identity=identity, created=created)


def thinking_for(effort: object) -> Thinking:
    """Tell from an effort of reasoning whether to think; any effort but `none` is a yes."""
    return "asked" if effort is None else "never" if effort == "none" else "always"


def _message(value: dict[str, object]) -> Message:
    text, images = _content(value)
    match value.get("role"):
        case "assistant":
            return AssistantSaid(text=text, calls=tuple(_calls(value)))
        case "tool":
            return ToolSaid(call_id=text_at(value, "tool_call_id"), text=text, images=images)
        case "user":
            return UserSaid(text=text, images=images)
        case _:
            return SystemSaid(text=text)


def _calls(message: dict[str, object]) -> Iterator[Call]:
    for call in objects_at(message, "tool_calls"):
        function = object_at(call, "function")
        yield Call(id=text_at(call, "id"), name=text_at(function, "name"), arguments=text_at(function, "arguments"))


def _content(message: dict[str, object]) -> tuple[str, tuple[str, ...]]:
    if text := text_at(message, "content"):
        return text, ()
    parts = objects_at(message, "content")
    texts = [text_at(part, "text") for part in parts if part.get("type") == "text"]
    urls = [part.get("image_url") for part in parts if part.get("type") == "image_url"]
    return "\n".join(texts), tuple(picture_at(text_at(url, "url") or url) for url in urls)


@dataclass(slots=True, kw_only=True)
class OpenAIWriter:
    """Writes an answer as `chat.completion.chunk` events, or as a `chat.completion`."""

    asked: Asked
    identity: str
    created: int
    stream_type: str = field(default="text/event-stream; charset=utf-8", init=False)

    def begin(self) -> bytes:
        """Write the chunk with the role."""
        return self._chunk({"role": "assistant", "content": "", "refusal": None})

    def piece(self, piece: Piece) -> bytes:
        """Write a chunk."""
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

    def end(self, ended: Ended) -> bytes:
        """Write the finish reason, the usage if asked for, and `[DONE]`."""
        data = self._chunk({}, finish=_FINISH[ended.stop])
        if self.asked.with_usage:
            data += event({**self._head("chat.completion.chunk"), "choices": [], "usage": self._usage(ended)})
        return data + b"data: [DONE]\n\n"

    def failure(self, message: str) -> bytes:
        """Write an error event."""
        return event(_error(message, "server_error", None))

    def whole(self, pieces: Sequence[Piece], ended: Ended) -> bytes:
        """Write a `chat.completion`."""
        answer = gathered(pieces)
        calls: list[JSON] = [self._call(call.index, call.name, call.arguments) for call in answer.calls]
        message: dict[str, JSON] = {"role": "assistant", "content": answer.text if answer.text or not calls else None}
        message["refusal"] = None
        if answer.thinking:
            message["reasoning_content"] = answer.thinking
        if calls:
            message["tool_calls"] = calls
        choice: JSON = {"index": 0, "message": message, "logprobs": None, "finish_reason": _FINISH[ended.stop]}
        return json_line({**self._head("chat.completion"), "choices": [choice], "usage": self._usage(ended)})

    def _call(self, index: int, name: str, arguments: str) -> dict[str, JSON]:
        function: JSON = {"name": name, "arguments": arguments}
        return {"id": f"call_{self.identity}{index:02d}", "type": "function", "function": function}

    def _head(self, kind: str) -> dict[str, JSON]:
        return {
            "id": f"chatcmpl-{self.identity}",
            "object": kind,
            "created": self.created,
            "model": self.asked.model,
            "system_fingerprint": "demo",
        }

    def _chunk(self, delta: JSON, *, finish: str | None = None) -> bytes:
        choice: JSON = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        chunk: dict[str, JSON] = {**self._head("chat.completion.chunk"), "choices": [choice]}
        if self.asked.with_usage:
            chunk["usage"] = None
        return event(chunk)

    def _usage(self, ended: Ended) -> JSON:
        return {
            "prompt_tokens": self.asked.prompt_tokens,
            "completion_tokens": ended.tokens,
            "total_tokens": self.asked.prompt_tokens + ended.tokens,
            "prompt_tokens_details": {"cached_tokens": self.asked.cached_tokens},
            "completion_tokens_details": {"reasoning_tokens": ended.thinking_tokens},
        }


def _error(message: str, kind: str, code: str | None) -> JSON:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}
