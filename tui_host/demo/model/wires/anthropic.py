"""Messages, from the vendor's side. Source: Anthropic API reference, Messages and its streaming, as its SDK 2.11 reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.plan import CallBegun, Ended, Fragment, Piece, Said, Stop, Thought
from tui_host.demo.model.wires.anthropic_content import SIGNED, THOUGHT_ID
from tui_host.demo.model.wires.anthropic_request import read_request
from tui_host.demo.model.wires.seals import seal
from tui_host.demo.model.wires.wire import Asked, RequestRefused
from tui_host.demo.model.wires.wire_writing import event, gathered, line, object_in
from tui_host.errors import JSON

MODEL = "anthropic"
_STOPS: dict[Stop, str] = {"end": "end_turn", "calls": "tool_use", "length": "max_tokens"}
_KINDS: dict[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_WORDS: dict[int, str] = {
    401: "invalid x-api-key",
    429: "This request would exceed your organization's rate limit of 50 requests per minute.",
    500: "Internal server error",
    529: "Overloaded",
}


class AnthropicWire:
    """Reads requests for `POST /v1/messages` and writes their responses."""

    def read(self, request: Request) -> Asked:
        """The body of a request, and its version. Raises `RequestRefused`."""
        asked = read_request(request)
        if asked.model != MODEL:
            raise RequestRefused(status=404, message=f"model: {asked.model[:100]}")
        return asked

    def headers(self, identity: str, status: int) -> list[tuple[str, str]]:
        """`request-id`, and when to come again."""
        again = [("retry-after", "1")] if status == 429 else []
        return [("request-id", f"req_{identity}"), *again]

    def refusal(self, refused: RequestRefused, *, identity: str = "", request: Request | None = None) -> bytes:
        """`{"type": "error", "error": {"type", "message"}, "request_id"}`."""
        del request
        return line(_error(refused.status, refused.message, identity))

    def writer(self, asked: Asked, *, identity: str, created: int) -> AnthropicWriter:
        """A writer for one answer."""
        del created
        return AnthropicWriter(asked=asked, identity=identity)


@dataclass(slots=True, kw_only=True)
class AnthropicWriter:
    """One answer as named events that open, fill and close blocks, or as one message."""

    asked: Asked
    identity: str
    stream_type: str = field(default="text/event-stream; charset=utf-8", init=False)
    _blocks: int = field(default=0, init=False)
    _open: str = field(default="", init=False)
    _thoughts: list[str] = field(default_factory=list[str], init=False)

    def begin(self) -> bytes:
        """The message without content, and a sign of life."""
        usage = {**self._usage(), "output_tokens": 1}
        message: JSON = {**self._head(), "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        return _named({"type": "message_start", "message": message}) + _named({"type": "ping"})

    def piece(self, piece: Piece) -> bytes:
        """A delta, with a new block before it where the kind changes."""
        match piece:
            case Thought(text=text):
                data = self._begin_block({"type": "thinking", "thinking": "", "signature": ""})
                self._thoughts.append(text)
                shown = self.asked.shows_thinking
                return data + (self._delta({"type": "thinking_delta", "thinking": text}) if shown else b"")
            case Said(text=text):
                return self._begin_block({"type": "text", "text": ""}) + self._delta(
                    {"type": "text_delta", "text": text}
                )
            case CallBegun(index=index, name=name):
                block: dict[str, JSON] = {"type": "tool_use", "id": self._call_id(index), "name": name, "input": {}}
                data = self._end_block() + self._begin_block(block)
                return data + self._delta({"type": "input_json_delta", "partial_json": ""})
            case Fragment(text=text):
                return self._delta({"type": "input_json_delta", "partial_json": text})
        assert_never(piece)

    def end(self, ended: Ended) -> bytes:
        """Why it ended, and the usage so far."""
        delta: JSON = {"stop_reason": _stop_reason(ended), "stop_sequence": ended.stopped_by or None}
        usage: JSON = {"output_tokens": ended.tokens, **_thought(ended)}
        last = _named({"type": "message_delta", "delta": delta, "usage": usage})
        return self._end_block() + last + _named({"type": "message_stop"})

    def failure(self, message: str) -> bytes:
        """An error event."""
        return event(_error(529, f"Overloaded. {message}", self.identity), name="error")

    def whole(self, pieces: Sequence[Piece], ended: Ended) -> bytes:
        """A message."""
        said = gathered(pieces)
        content: list[JSON] = []
        if said.thinking:
            self._thoughts = [said.thinking]
            shown = said.thinking if self.asked.shows_thinking else ""
            content.append({"type": "thinking", "thinking": shown, "signature": seal(SIGNED, said.thinking)})
        if said.text:
            content.append({"type": "text", "text": said.text})
        for call in said.calls:
            # Where the vendor's own JSON is broken it says so under this name.
            given = object_in(call.arguments)
            values: JSON = {"INVALID_JSON": call.arguments} if given is None else given
            content.append({"type": "tool_use", "id": self._call_id(call.index), "name": call.name, "input": values})
        return line(
            {
                **self._head(),
                "content": content,
                "stop_reason": _stop_reason(ended),
                "stop_sequence": ended.stopped_by or None,
                "usage": {**self._usage(), "output_tokens": ended.tokens, **_thought(ended)},
            }
        )

    def _head(self) -> dict[str, JSON]:
        return {"id": f"msg_{self.identity}", "type": "message", "role": "assistant", "model": self.asked.model}

    def _usage(self) -> dict[str, JSON]:
        """What it took to read; the first three add up to the whole."""
        tokens, cached = self.asked.prompt_tokens, self.asked.cached_tokens
        written = tokens - cached if self.asked.options.get("caches") else 0
        return {
            "input_tokens": tokens - cached - written,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": cached,
            "service_tier": "standard",
        }

    def _call_id(self, index: int) -> str:
        return f"{THOUGHT_ID if self._thoughts else 'toolu_'}{self.identity}{index:02d}"

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
        signed = b""
        if self._open == "thinking":
            signed = self._delta({"type": "signature_delta", "signature": seal(SIGNED, "".join(self._thoughts))})
        data = signed + _named({"type": "content_block_stop", "index": self._blocks})
        self._open = ""
        self._blocks += 1
        return data


def _stop_reason(ended: Ended) -> str:
    return "stop_sequence" if ended.stopped_by else _STOPS[ended.stop]


def _thought(ended: Ended) -> dict[str, JSON]:
    return {"output_tokens_details": {"thinking_tokens": ended.thinking_tokens}} if ended.thinking_tokens else {}


def _named(value: dict[str, JSON]) -> bytes:
    return event(value, name=str(value["type"]))


def _error(status: int, message: str, identity: str) -> JSON:
    kind = _KINDS.get(status, "api_error" if status >= 500 else "invalid_request_error")
    words = message or f"{_WORDS.get(status, f'Error {status}')} (The demo model was asked for this.)"
    return {"type": "error", "error": {"type": kind, "message": words}, "request_id": f"req_{identity}"}
