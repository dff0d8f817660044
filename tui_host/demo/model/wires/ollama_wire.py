"""Serves Ollama's /api/chat. Source: Ollama's API reference."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import assert_never

from typing_extensions import override

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.json_values import json_line, object_at, objects_at, text_at, texts_at
from tui_host.demo.model.plan import CallBegun, CallEnded, Ended, Fragment, Piece, Said, Thought, gathered
from tui_host.demo.model.request_content import AssistantSaid, Conversation, Message, SystemSaid, ToolSaid, UserSaid
from tui_host.demo.model.wires import wire
from tui_host.demo.model.wires.wire import ChatRequest, RequestRefused
from tui_host.errors import JSON

_OFF = (False,)
_LOAD_NANOSECONDS = 2_000_000
_PROMPT_TOKEN_NANOSECONDS = 150_000
_TOKEN_NANOSECONDS = 5_000_000


def _read(request: Request) -> ChatRequest:
    body = wire.body_of(request)
    functions = (object_at(tool, "function") for tool in objects_at(body, "tools"))
    conversation = Conversation(
        messages=tuple(_messages(objects_at(body, "messages"))),
        tools=wire.tools_of(functions, "parameters"),
        thinking=wire.thinking_for(body.get("think"), *_OFF),
    )
    options, model = object_at(body, "options"), text_at(body, "model")
    return wire.chat_request(
        request,
        conversation,
        model=model.removesuffix(":latest"),
        is_streamed=body.get("stream") is not False,
        limits=(options, "num_predict"),
        stops=texts_at(options, "stop"),
        sent_model=model,
    )


def _messages(values: list[dict[str, object]]) -> Iterator[Message]:
    names_by_id: dict[str, str] = {}
    for index, value in enumerate(values):
        text, images = text_at(value, "content"), tuple(wire.picture(image) for image in texts_at(value, "images"))
        match text_at(value, "role").lower():
            case "assistant":
                functions = [
                    (text_at(call, "id") or f"{index}.{place}", object_at(call, "function"))
                    for place, call in enumerate(objects_at(value, "tool_calls"))
                ]
                calls = [wire.call_of(key, text_at(call, "name"), call.get("arguments")) for key, call in functions]
                names_by_id = {call.id: call.name for call in calls}
                yield AssistantSaid(text=text, calls=tuple(calls))
            case "tool":
                yield ToolSaid(call_id=_answered_call(value, names_by_id), text=text, images=images)
            case "user":
                yield UserSaid(text=text, images=images)
            case _:
                yield SystemSaid(text=text)


def _answered_call(value: dict[str, object], names_by_id: dict[str, str]) -> str:
    """Find the call of a result and remove it from `names_by_id`: by id, else the first with its name, else the first."""
    identity, name = text_at(value, "tool_call_id"), text_at(value, "tool_name")
    by_name = (call_id for call_id, called in names_by_id.items() if called == name)
    if identity not in names_by_id:
        identity = next(itertools.chain(by_name, names_by_id), "")
    names_by_id.pop(identity, None)
    return identity


class OllamaWriter(wire.ResponseWriter):
    """Writes an answer as lines of JSON, or as a single object."""

    stream_type = "application/x-ndjson"
    _is_failed = False

    @override
    def piece(self, piece: Piece) -> bytes:
        match piece:
            case Thought(text=text):
                return self._line({"content": "", "thinking": text})
            case Said(text=text):
                return self._line({"content": text})
            case CallBegun() | Fragment():
                return b""
            case CallEnded(index=index, name=name, arguments=arguments):
                call = self._call(index, name, arguments)
                self._is_failed = call is None
                return self._line({"content": "", "tool_calls": [call]}) if call else _line(_unreadable(arguments))
        assert_never(piece)

    @override
    def end(self, ended: Ended) -> bytes:
        return b"" if self._is_failed else _line({**self._head({"content": ""}), **self._done(ended)})

    @override
    def failure(self, message: str) -> bytes:
        return _line({"error": message})

    @override
    def whole(self, pieces: Sequence[Piece], ended: Ended) -> JSON:
        answer = gathered(pieces)
        message: dict[str, JSON] = {"content": answer.text}
        if answer.thinking:
            message["thinking"] = answer.thinking
        calls: list[JSON] = []
        for index, asked in enumerate(answer.calls):
            call = self._call(index, asked.name, asked.arguments)
            if call is None:
                return _unreadable(asked.arguments)
            calls.append(call)
        if calls:
            message["tool_calls"] = calls
        return {**self._head(message), **self._done(ended)}

    def _call(self, index: int, name: str, arguments: str) -> JSON:
        """Return a call in the server's form; None if the arguments are not an object."""
        values = wire.object_in(arguments)
        function: JSON = {"index": index, "name": name, "arguments": values}
        return None if values is None else {"id": f"call_{self.identity[-10:]}{index:02d}", "function": function}

    def _line(self, message: dict[str, JSON]) -> bytes:
        return _line({**self._head(message), "done": False})

    def _head(self, message: dict[str, JSON]) -> dict[str, JSON]:
        created = datetime.fromtimestamp(self.created, UTC).isoformat().replace("+00:00", ".000001Z")
        model = self.chat.options["sent_model"]
        return {"model": model, "created_at": created, "message": {"role": "assistant", **message}}

    def _done(self, ended: Ended) -> dict[str, JSON]:
        # Durations are computed from the counts: the demo model has no speed of its own. Cached tokens take no time.
        prompt = (self.chat.prompt_tokens - self.chat.cached_tokens) * _PROMPT_TOKEN_NANOSECONDS
        evaluated = ended.tokens * _TOKEN_NANOSECONDS
        return {
            "done_reason": "length" if ended.stop == "length" else "stop",
            "done": True,
            "total_duration": _LOAD_NANOSECONDS + prompt + evaluated,
            "load_duration": _LOAD_NANOSECONDS,
            "prompt_eval_count": self.chat.prompt_tokens,
            "prompt_eval_duration": prompt,
            "eval_count": ended.tokens,
            "eval_duration": evaluated,
        }


def _line(value: JSON) -> bytes:
    return json_line(value) + b"\n"


def _unreadable(arguments: str) -> JSON:
    return {"error": f"error parsing tool call: raw='{arguments}', err=invalid character in the arguments"}


def _error_body(refused: RequestRefused, identity: str) -> JSON:
    del identity
    return {"error": refused.words}


OLLAMA = wire.Wire(model="ollama", read=_read, error=_error_body, writer=OllamaWriter)
"""The API of `POST /api/chat`."""
