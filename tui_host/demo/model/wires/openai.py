"""Chat Completions, from the vendor's side. Source: OpenAI API reference, Chat, as its SDK 2 reads it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

from tui_host.demo.model.plan import CallBegun, Ended, Fragment, Piece, Said, Stop, Thought
from tui_host.demo.model.wires.openai_request import read_request
from tui_host.demo.model.wires.wire import Asked, RequestRefused
from tui_host.errors import JSON

_MODEL = "openai"
_FINISH: dict[Stop, str] = {"end": "stop", "calls": "tool_calls", "length": "length"}

# status: type, code, words
_USUAL: dict[int, tuple[str, str | None, str]] = {
    401: (
        "invalid_request_error",
        "invalid_api_key",
        "Incorrect API key provided. (The demo model was asked for this.)",
    ),
    403: ("invalid_request_error", None, "You are not allowed to do this. (The demo model was asked for this.)"),
    404: ("invalid_request_error", "model_not_found", "The model does not exist. (The demo model was asked for this.)"),
    413: ("invalid_request_error", None, "The request is too large."),
    429: (
        "requests",
        "rate_limit_exceeded",
        "Rate limit reached for requests: try again in a second. (The demo model was asked for this.)",
    ),
    500: (
        "server_error",
        None,
        "The server had an error while processing your request. (The demo model was asked for it.)",
    ),
    503: ("server_error", None, "The server is overloaded or not ready yet. (The demo model was asked for this.)"),
    529: ("overloaded_error", None, "Overloaded. (The demo model was asked for this.)"),
}


class OpenAIWire:
    """Reads requests for `POST /v1/chat/completions` and writes their responses."""

    def read(self, body: bytes) -> Asked:
        """A request's body. Raises `RequestRefused`."""
        asked = read_request(body)
        if asked.model != _MODEL:
            raise RequestRefused(
                status=404,
                message=f"The model `{asked.model[:100]}` does not exist: there is only `{_MODEL}` here.",
                code="model_not_found",
            )
        return asked

    def refusal(self, refused: RequestRefused) -> bytes:
        """`{"error": {"message", "type", "param", "code"}}`."""
        fallback = (
            "server_error" if refused.status >= 500 else "invalid_request_error",
            None,
            f"Error {refused.status}. (The demo model was asked for this.)",
        )
        kind, code, words = _USUAL.get(refused.status, fallback)
        return _line(_error(refused.message or words, kind, param=refused.param, code=refused.code or code)) + b"\n"

    def writer(self, asked: Asked, *, identity: str, created: int) -> OpenAIWriter:
        """A writer for one answer."""
        return OpenAIWriter(asked=asked, identity=identity, created=created)

    def models(self) -> bytes:
        """The body of `GET /v1/models`."""
        model: JSON = {"id": _MODEL, "object": "model", "created": 1_735_689_600, "owned_by": "tui-host demo"}
        return _line({"object": "list", "data": [model]})


@dataclass(slots=True, kw_only=True)
class OpenAIWriter:
    """One answer as `chat.completion.chunk` events, or as one `chat.completion`."""

    asked: Asked
    identity: str
    created: int
    stream_type: str = field(default="text/event-stream; charset=utf-8", init=False)

    def begin(self) -> bytes:
        """The chunk that says who speaks."""
        return self._chunk({"role": "assistant", "content": "", "refusal": None})

    def piece(self, piece: Piece) -> bytes:
        """One chunk."""
        match piece:
            case Said(text=text):
                return self._chunk({"content": text})
            case Thought(text=text):
                return self._chunk({"reasoning_content": text})
            case CallBegun(index=index, name=name):
                function: JSON = {"name": name, "arguments": ""}
                call: JSON = {"index": index, "id": self._call_id(index), "type": "function", "function": function}
                return self._chunk({"tool_calls": [call]})
            case Fragment(index=index, text=text):
                return self._chunk({"tool_calls": [{"index": index, "function": {"arguments": text}}]})
        assert_never(piece)

    def end(self, ended: Ended) -> bytes:
        """Why it ended, the usage if it was asked for, and `[DONE]`."""
        data = self._chunk({}, finish=_FINISH[ended.stop])
        if self.asked.with_usage:
            data += _event({**self._head("chat.completion.chunk"), "choices": [], "usage": self._usage(ended)})
        return data + b"data: [DONE]\n\n"

    def failure(self, message: str) -> bytes:
        """An error event."""
        return _event(_error(message, "server_error", param=None, code=None))

    def whole(self, pieces: Sequence[Piece], ended: Ended) -> bytes:
        """A `chat.completion`."""
        calls: list[JSON] = []
        for begun in (piece for piece in pieces if isinstance(piece, CallBegun)):
            fragments = (piece.text for piece in pieces if isinstance(piece, Fragment) and piece.index == begun.index)
            function: JSON = {"name": begun.name, "arguments": "".join(fragments)}
            calls.append({"id": self._call_id(begun.index), "type": "function", "function": function})
        text = "".join(piece.text for piece in pieces if isinstance(piece, Said))
        thinking = "".join(piece.text for piece in pieces if isinstance(piece, Thought))
        message: dict[str, JSON] = {
            "role": "assistant",
            "content": text if text or not calls else None,
            "refusal": None,
        }
        if thinking:
            message["reasoning_content"] = thinking
        if calls:
            message["tool_calls"] = calls
        choice: JSON = {"index": 0, "message": message, "logprobs": None, "finish_reason": _FINISH[ended.stop]}
        return _line({**self._head("chat.completion"), "choices": [choice], "usage": self._usage(ended)})

    def _call_id(self, index: int) -> str:
        return f"call_{self.identity}{index:02d}"

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
        return _event(chunk)

    def _usage(self, ended: Ended) -> JSON:
        return {
            "prompt_tokens": self.asked.prompt_tokens,
            "completion_tokens": ended.tokens,
            "total_tokens": self.asked.prompt_tokens + ended.tokens,
            "prompt_tokens_details": {"cached_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": ended.thinking_tokens},
        }


def _error(message: str, kind: str, *, param: str | None, code: str | None) -> JSON:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _event(value: JSON) -> bytes:
    return b"data: " + _line(value) + b"\n\n"


def _line(value: JSON) -> bytes:
    # A lone surrogate that a request brought in goes out escaped, as it came.
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()
