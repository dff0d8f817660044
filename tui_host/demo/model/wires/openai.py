"""Chat Completions, from the vendor's side. Source: OpenAI API reference, Chat, as its SDK 2 reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.plan import CallBegun, Ended, Fragment, Piece, Said, Stop, Thought
from tui_host.demo.model.wires.openai_request import read_request
from tui_host.demo.model.wires.wire import Asked, RequestRefused
from tui_host.demo.model.wires.wire_writing import event, gathered, line
from tui_host.errors import JSON

MODEL = "openai"
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

    def read(self, request: Request) -> Asked:
        """The body of a request. Raises `RequestRefused`."""
        asked = read_request(request.body)
        if asked.model != MODEL:
            raise unknown_model(asked.model, MODEL)
        return asked

    def headers(self, identity: str, status: int) -> list[tuple[str, str]]:
        """`x-request-id`, and when to come again."""
        return request_headers(identity, status)

    def refusal(self, refused: RequestRefused, *, identity: str = "", request: Request | None = None) -> bytes:
        """`{"error": {"message", "type", "param", "code"}}`."""
        del identity, request
        return openai_refusal(refused)

    def writer(self, asked: Asked, *, identity: str, created: int) -> OpenAIWriter:
        """A writer for one answer."""
        return OpenAIWriter(asked=asked, identity=identity, created=created)


def unknown_model(asked: str, known: str) -> RequestRefused:
    """A model that is not there."""
    return RequestRefused(
        status=404,
        message=f"The model `{asked[:100]}` does not exist: there is only `{known}` here.",
        code="model_not_found",
    )


def request_headers(identity: str, status: int) -> list[tuple[str, str]]:
    """What this vendor's responses carry."""
    again = [("retry-after", "1")] if status == 429 else []
    return [("x-request-id", f"req_{identity}"), *again]


def openai_refusal(refused: RequestRefused) -> bytes:
    """The body of this vendor's errors, whichever of its two APIs was asked."""
    fallback = (
        "server_error" if refused.status >= 500 else "invalid_request_error",
        None,
        f"Error {refused.status}. (The demo model was asked for this.)",
    )
    kind, code, words = _USUAL.get(refused.status, fallback)
    return line(_error(refused.message or words, kind, param=refused.param, code=refused.code or code)) + b"\n"


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
            data += event({**self._head("chat.completion.chunk"), "choices": [], "usage": self._usage(ended)})
        return data + b"data: [DONE]\n\n"

    def failure(self, message: str) -> bytes:
        """An error event."""
        return event(_error(message, "server_error", param=None, code=None))

    def whole(self, pieces: Sequence[Piece], ended: Ended) -> bytes:
        """A `chat.completion`."""
        said = gathered(pieces)
        calls: list[JSON] = [
            {
                "id": self._call_id(call.index),
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in said.calls
        ]
        message: dict[str, JSON] = {
            "role": "assistant",
            "content": said.text if said.text or not calls else None,
            "refusal": None,
        }
        if said.thinking:
            message["reasoning_content"] = said.thinking
        if calls:
            message["tool_calls"] = calls
        choice: JSON = {"index": 0, "message": message, "logprobs": None, "finish_reason": _FINISH[ended.stop]}
        return line({**self._head("chat.completion"), "choices": [choice], "usage": self._usage(ended)})

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
        return event(chunk)

    def _usage(self, ended: Ended) -> JSON:
        return {
            "prompt_tokens": self.asked.prompt_tokens,
            "completion_tokens": ended.tokens,
            "total_tokens": self.asked.prompt_tokens + ended.tokens,
            "prompt_tokens_details": {"cached_tokens": self.asked.cached_tokens},
            "completion_tokens_details": {"reasoning_tokens": ended.thinking_tokens},
        }


def _error(message: str, kind: str, *, param: str | None, code: str | None) -> JSON:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}
