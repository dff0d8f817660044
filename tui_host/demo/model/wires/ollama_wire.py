"""Serves /api/chat. Source: Ollama's API reference."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import assert_never

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.json_values import compact, limit_at, object_at, objects_at, text_at, texts_at
from tui_host.demo.model.plan import CallBegun, CallEnded, Ended, Fragment, Piece, Said, Thought
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
    gathered,
    json_line,
    object_in,
    picture,
    token_counts,
    tool_of,
)
from tui_host.errors import JSON

_LOAD_NANOSECONDS = 2_000_000
_PROMPT_TOKEN_NANOSECONDS = 150_000
_TOKEN_NANOSECONDS = 5_000_000


class OllamaWire:
    """Reads requests for `POST /api/chat` and writes their responses."""

    model = "ollama"
    request_id_header = ""

    def read(self, request: Request) -> Asked:
        """Read a request; without messages, a request only loads the model."""
        body = body_of(request)
        messages = tuple(_messages(objects_at(body, "messages")))
        tokens, cached = token_counts(request.body, messages)
        options, think = object_at(body, "options"), body.get("think")
        thinking: Thinking = "asked" if think is None else "always" if think else "never"
        functions = [object_at(tool, "function") for tool in objects_at(body, "tools")]
        tools = tuple(
            tool_of(text_at(function, "name"), text_at(function, "description"), function.get("parameters"))
            for function in functions
        )
        model = text_at(body, "model")
        return Asked(
            conversation=Conversation(messages=messages, tools=tools, thinking=thinking),
            model=model.removesuffix(":latest"),
            is_streamed=body.get("stream") is not False,
            most_tokens=limit_at(options, "num_predict"),
            prompt_tokens=tokens,
            cached_tokens=cached,
            stops=texts_at(options, "stop"),
            options={"model": model},
        )

    def refusal(self, refused: RequestRefused, *, identity: str = "", request: Request | None = None) -> bytes:
        """Write `{"error": TEXT}`."""
        del identity, request
        return json_line({"error": refused.words})

    def writer(self, asked: Asked, *, identity: str, created: int) -> OllamaWriter:
        """Make a writer for an answer."""
        return OllamaWriter(asked=asked, identity=identity, created=created)


def _messages(values: list[dict[str, object]]) -> Iterator[Message]:
    names_by_id: dict[str, str] = {}
    for index, value in enumerate(values):
        text, images = text_at(value, "content"), tuple(picture(image) for image in texts_at(value, "images"))
        match text_at(value, "role").lower():
            case "assistant":
                calls = tuple(
                    Call(
                        id=text_at(call, "id") or f"{index}.{place}",
                        name=text_at(function, "name"),
                        arguments=compact(object_at(function, "arguments")),
                    )
                    for place, call in enumerate(objects_at(value, "tool_calls"))
                    if (function := object_at(call, "function"))
                )
                names_by_id = {call.id: call.name for call in calls}
                yield AssistantSaid(text=text, calls=calls)
            case "tool":
                yield ToolSaid(call_id=_answered_call(value, names_by_id), text=text, images=images)
            case "user":
                yield UserSaid(text=text, images=images)
            case _:
                yield SystemSaid(text=text)


def _answered_call(value: dict[str, object], names_by_id: dict[str, str]) -> str:
    """Take the call of a result out of `names_by_id`: by id, else the first of its name, else the first."""
    identity, name = text_at(value, "tool_call_id"), text_at(value, "tool_name")
    by_name = (call_id for call_id, called in names_by_id.items() if called == name)
    if identity not in names_by_id:
        identity = next(itertools.chain(by_name, names_by_id), "")
    names_by_id.pop(identity, None)
    return identity


@dataclass(slots=True, kw_only=True)
class OllamaWriter:
    """Writes an answer as lines of JSON, or as a single object."""

    asked: Asked
    identity: str
    created: int
    stream_type: str = field(default="application/x-ndjson", init=False)
    _is_failed: bool = field(default=False, init=False)

    def begin(self) -> bytes:
        """Write nothing: the first line is the first piece."""
        return b""

    def piece(self, piece: Piece) -> bytes:
        """Write a line; a call is sent whole."""
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
                return (
                    self._line({"content": "", "tool_calls": [call]}) if call else self.failure(_unreadable(arguments))
                )
        assert_never(piece)

    def end(self, ended: Ended) -> bytes:
        """Write the line with the usage."""
        return b"" if self._is_failed else json_line({**self._head({"content": ""}), **self._done(ended)}) + b"\n"

    def failure(self, message: str) -> bytes:
        """Write a line with an error."""
        return json_line({"error": message}) + b"\n"

    def whole(self, pieces: Sequence[Piece], ended: Ended) -> bytes:
        """Write a single object."""
        answer = gathered(pieces)
        message: dict[str, JSON] = {"content": answer.text}
        if answer.thinking:
            message["thinking"] = answer.thinking
        calls: list[JSON] = []
        for piece in pieces:
            if isinstance(piece, CallEnded):
                call = self._call(piece.index, piece.name, piece.arguments)
                if call is None:
                    return self.failure(_unreadable(piece.arguments))
                calls.append(call)
        if calls:
            message["tool_calls"] = calls
        return json_line({**self._head(message), **self._done(ended)})

    def _call(self, index: int, name: str, arguments: str) -> JSON:
        """Return a call in the server's form. None if the arguments are no object."""
        values = object_in(arguments)
        if values is None:
            return None
        function: JSON = {"index": index, "name": name, "arguments": values}
        return {"id": f"call_{self.identity[-10:]}{index:02d}", "function": function}

    def _line(self, message: dict[str, JSON]) -> bytes:
        return json_line({**self._head(message), "done": False}) + b"\n"

    def _head(self, message: dict[str, JSON]) -> dict[str, JSON]:
        created = datetime.fromtimestamp(self.created, UTC).isoformat().replace("+00:00", ".000001Z")
        model = self.asked.options.get("model", self.asked.model)
        return {"model": model, "created_at": created, "message": {"role": "assistant", **message}}

    def _done(self, ended: Ended) -> dict[str, JSON]:
        if not self.asked.conversation.messages:
            return {"done_reason": "load", "done": True}
        # Durations come from the counts: the demo model has no speed of its own. What is cached takes no time.
        prompt = (self.asked.prompt_tokens - self.asked.cached_tokens) * _PROMPT_TOKEN_NANOSECONDS
        evaluated = ended.tokens * _TOKEN_NANOSECONDS
        return {
            "done_reason": "length" if ended.stop == "length" else "stop",
            "done": True,
            "total_duration": _LOAD_NANOSECONDS + prompt + evaluated,
            "load_duration": _LOAD_NANOSECONDS,
            "prompt_eval_count": self.asked.prompt_tokens,
            "prompt_eval_duration": prompt,
            "eval_count": ended.tokens,
            "eval_duration": evaluated,
        }


def _unreadable(arguments: str) -> str:
    return f"error parsing tool call: raw='{arguments}', err=invalid character in the arguments"
