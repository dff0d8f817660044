"""Serves Messages. Source: Anthropic API reference, Messages and its streaming events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.json_values import compact, limit_at, object_at, objects_at, text_at, texts_at
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
    check_seal,
    event,
    gathered,
    json_line,
    object_in,
    picture,
    seal,
    token_counts,
    tool_of,
)
from tui_host.errors import JSON

_SIGNED = "thinking"
_STOPS: dict[Stop, str] = {"end": "end_turn", "calls": "tool_use", "length": "max_tokens"}
_ERROR_KINDS: dict[int, str] = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class AnthropicWire:
    """Reads requests for `POST /v1/messages` and writes their responses."""

    model = "anthropic"
    request_id_header = "request-id"

    def read(self, request: Request) -> Asked:
        """Read a request."""
        body = body_of(request)
        system = "\n".join(_texts(body, "system"))
        messages = (
            *((SystemSaid(text=system),) if system else ()),
            *(message for value in objects_at(body, "messages") for message in _messages(value)),
        )
        tokens, cached = token_counts(request.body, messages)
        thinking, choice = object_at(body, "thinking"), object_at(body, "tool_choice")
        tools = tuple(
            tool_of(text_at(tool, "name"), text_at(tool, "description"), tool.get("input_schema"))
            for tool in objects_at(body, "tools")
            if "input_schema" in tool
        )
        has_cache = b'"cache_control"' in request.body
        return Asked(
            conversation=Conversation(
                messages=messages,
                tools=() if choice.get("type") == "none" else tools,
                parallel=choice.get("disable_parallel_tool_use") is not True,
                thinking=_thinking(thinking.get("type")),
            ),
            model=text_at(body, "model"),
            is_streamed=body.get("stream") is True,
            most_tokens=limit_at(body, "max_tokens"),
            prompt_tokens=tokens,
            cached_tokens=cached if has_cache else 0,
            stops=texts_at(body, "stop_sequences"),
            shows_thinking=thinking.get("display") != "omitted",
            options={"caches": has_cache},
        )

    def refusal(self, refused: RequestRefused, *, identity: str = "", request: Request | None = None) -> bytes:
        """Write `{"type": "error", "error": {"type", "message"}, "request_id"}`."""
        del request
        return json_line(_error(refused.status, refused.words, identity))

    def writer(self, asked: Asked, *, identity: str, created: int) -> AnthropicWriter:
        """Make a writer for an answer."""
        del created
        return AnthropicWriter(asked=asked, identity=identity)


def _thinking(kind: object) -> Thinking:
    return "asked" if kind is None else "never" if kind == "disabled" else "always"


def _messages(value: dict[str, object]) -> Iterator[Message]:
    blocks, text = objects_at(value, "content"), "\n".join(_texts(value, "content"))
    if value.get("role") == "assistant":
        for block in blocks:
            if text_at(block, "thinking"):
                check_seal(block.get("signature"), _SIGNED, text_at(block, "thinking"))
        calls = tuple(
            Call(id=text_at(block, "id"), name=text_at(block, "name"), arguments=compact(object_at(block, "input")))
            for block in blocks
            if block.get("type") == "tool_use"
        )
        yield AssistantSaid(text=text, calls=calls)
        return
    if value.get("role") == "system":
        yield SystemSaid(text=text)
        return
    for block in blocks:
        if block.get("type") == "tool_result":
            yield ToolSaid(
                call_id=text_at(block, "tool_use_id"),
                text="\n".join(_texts(block, "content")),
                images=_pictures(objects_at(block, "content")),
                is_error=block.get("is_error") is True,
            )
    images = _pictures(blocks)
    if text or images:
        yield UserSaid(text=text, images=images)


def _texts(value: dict[str, object], name: str) -> list[str]:
    if text := text_at(value, name):
        return [text]
    return [text_at(block, "text") for block in objects_at(value, name) if block.get("type") == "text"]


def _pictures(blocks: list[dict[str, object]]) -> tuple[str, ...]:
    sources = [object_at(block, "source") for block in blocks if block.get("type") == "image"]
    return tuple(
        picture(source["data"], source.get("media_type")) if "data" in source else "at a URL" for source in sources
    )


@dataclass(slots=True, kw_only=True)
class AnthropicWriter:
    """Writes an answer as named events opening, filling and closing blocks, or as a message."""

    asked: Asked
    identity: str
    stream_type: str = field(default="text/event-stream; charset=utf-8", init=False)
    _blocks: int = field(default=0, init=False)
    _open: str = field(default="", init=False)
    _thoughts: list[str] = field(default_factory=list[str], init=False)

    def begin(self) -> bytes:
        """Write the message without content, and a ping."""
        usage = {**self._usage(), "output_tokens": 1}
        message: JSON = {**self._head(), "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        return _named({"type": "message_start", "message": message}) + _named({"type": "ping"})

    def piece(self, piece: Piece) -> bytes:
        """Write a delta, after a new block where the kind changes."""
        match piece:
            case Thought(text=text):
                data = self._begin_block({"type": "thinking", "thinking": "", "signature": ""})
                self._thoughts.append(text)
                shown = self.asked.shows_thinking
                return data + (self._delta({"type": "thinking_delta", "thinking": text}) if shown else b"")
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

    def end(self, ended: Ended) -> bytes:
        """Write the stop reason and the usage."""
        usage: JSON = {"output_tokens": ended.tokens, **_thinking_tokens(ended)}
        last = _named({"type": "message_delta", "delta": _stop(ended), "usage": usage})
        return self._end_block() + last + _named({"type": "message_stop"})

    def failure(self, message: str) -> bytes:
        """Write an error event."""
        return event(_error(529, f"Overloaded. {message}", self.identity), name="error")

    def whole(self, pieces: Sequence[Piece], ended: Ended) -> bytes:
        """Write a message."""
        answer = gathered(pieces)
        content: list[JSON] = []
        if answer.thinking:
            shown = answer.thinking if self.asked.shows_thinking else ""
            content.append({"type": "thinking", "thinking": shown, "signature": seal(_SIGNED, answer.thinking)})
        if answer.text:
            content.append({"type": "text", "text": answer.text})
        for call in answer.calls:
            # The vendor puts arguments that are no JSON under this name.
            values = object_in(call.arguments)
            values = {"INVALID_JSON": call.arguments} if values is None else values
            content.append(self._call(call.index, call.name, values))
        usage: JSON = {**self._usage(), "output_tokens": ended.tokens, **_thinking_tokens(ended)}
        return json_line({**self._head(), "content": content, **_stop(ended), "usage": usage})

    def _call(self, index: int, name: str, values: JSON) -> dict[str, JSON]:
        return {"type": "tool_use", "id": f"toolu_{self.identity}{index:02d}", "name": name, "input": values}

    def _head(self) -> dict[str, JSON]:
        return {"id": f"msg_{self.identity}", "type": "message", "role": "assistant", "model": self.asked.model}

    def _usage(self) -> dict[str, JSON]:
        """Return the input's tokens; the first three counts add up to the whole."""
        tokens, cached = self.asked.prompt_tokens, self.asked.cached_tokens
        written = tokens - cached if self.asked.options.get("caches") else 0
        return {
            "input_tokens": tokens - cached - written,
            "cache_creation_input_tokens": written,
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
        data = b""
        if self._open == "thinking":
            data = self._delta({"type": "signature_delta", "signature": seal(_SIGNED, "".join(self._thoughts))})
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


def _error(status: int, words: str, identity: str) -> JSON:
    kind = _ERROR_KINDS.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": words}, "request_id": f"req_{identity}"}
