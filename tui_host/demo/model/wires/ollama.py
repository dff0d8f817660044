"""/api/chat, from the server's side. Source: Ollama's docs/api.md and its types, as its Python client 0.6 reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import assert_never

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.plan import CallBegun, Ended, Fragment, Piece, Said, Thought
from tui_host.demo.model.wires.ollama_request import read_request
from tui_host.demo.model.wires.wire import Asked, RequestRefused
from tui_host.demo.model.wires.wire_writing import GatheredCall, gathered, line, object_in
from tui_host.errors import JSON

MODEL = "ollama"
_WORDS: dict[int, str] = {
    401: "unauthorized",
    429: "too many requests",
    500: "an error was encountered while running the model",
    503: "server busy, please try again. maximum pending requests exceeded",
}
_LOAD = 2_000_000
_A_PROMPT_TOKEN = 150_000
_A_TOKEN = 5_000_000
"""Nanoseconds, as a middling machine takes them: they make the rates, and the clock says nothing else about this model."""


class OllamaWire:
    """Reads requests for `POST /api/chat` and writes their responses."""

    def read(self, request: Request) -> Asked:
        """The body of a request. Raises `RequestRefused`."""
        asked = read_request(request.body)
        if asked.model != MODEL:
            raise unknown_model(asked.model)
        return asked

    def headers(self, identity: str, status: int) -> list[tuple[str, str]]:
        """None: this server numbers nothing."""
        del identity, status
        return []

    def refusal(self, refused: RequestRefused, *, identity: str = "", request: Request | None = None) -> bytes:
        """`{"error": TEXT}`."""
        del identity, request
        usual = _WORDS.get(refused.status, f"error {refused.status}")
        return line({"error": refused.message or f"{usual} (the demo model was asked for this)"})

    def writer(self, asked: Asked, *, identity: str, created: int) -> OllamaWriter:
        """A writer for one answer."""
        return OllamaWriter(asked=asked, identity=identity, created=created)


def unknown_model(asked: str) -> RequestRefused:
    """A model that is not there."""
    return RequestRefused(status=404, message=f'model "{asked[:100]}" not found, try pulling it first')


@dataclass(slots=True, kw_only=True)
class OllamaWriter:
    """One answer as a line of JSON for each piece, or as one object."""

    asked: Asked
    identity: str
    created: int
    stream_type: str = field(default="application/x-ndjson", init=False)
    _call: CallBegun | None = field(default=None, init=False)
    _arguments: list[str] = field(default_factory=list[str], init=False)

    def begin(self) -> bytes:
        """Nothing: the first line is the first piece."""
        return b""

    def piece(self, piece: Piece) -> bytes:
        """A line; a call goes out whole, when its arguments are there."""
        match piece:
            case Thought(text=text):
                return self._line({"content": "", "thinking": text})
            case Said(text=text):
                return self._line({"content": text})
            case CallBegun():
                data = self._pending_call()
                self._call, self._arguments = piece, []
                return data
            case Fragment(text=text):
                self._arguments.append(text)
                return b""
        assert_never(piece)

    def end(self, ended: Ended) -> bytes:
        """The last call, and the line with what it took."""
        data = self._pending_call(is_whole=ended.stop != "length")
        if data.startswith(b'{"error"'):
            return data
        return data + line({**self._head({"content": ""}), **self._done(ended)}) + b"\n"

    def failure(self, message: str) -> bytes:
        """A line with an error."""
        return line({"error": message}) + b"\n"

    def whole(self, pieces: Sequence[Piece], ended: Ended) -> bytes:
        """One object."""
        said = gathered(pieces)
        message: dict[str, JSON] = {"content": said.text}
        if said.thinking:
            message["thinking"] = said.thinking
        calls = [written for call in said.calls if (written := self._written(call)) is not None]
        if len(calls) < len(said.calls) and ended.stop != "length":
            return line({"error": _unreadable(said.calls)})
        if calls:
            message["tool_calls"] = calls
        return line({**self._head(message), **self._done(ended)})

    def _pending_call(self, *, is_whole: bool = True) -> bytes:
        if self._call is None:
            return b""
        arguments = "".join(self._arguments)
        call = GatheredCall(index=self._call.index, name=self._call.name, arguments=arguments)
        self._call = None
        written = self._written(call)
        if written is not None:
            return self._line({"content": "", "tool_calls": [written]})
        return self.failure(_unreadable((call,))) if is_whole else b""

    def _written(self, call: GatheredCall) -> JSON:
        """The call as the server tells it; None where its arguments are no object."""
        values = object_in(call.arguments)
        if values is None:
            return None
        function: JSON = {"index": call.index, "name": call.name, "arguments": values}
        return {"id": f"call_{self.identity[-10:]}{call.index:02d}", "function": function}

    def _line(self, message: dict[str, JSON]) -> bytes:
        return line({**self._head(message), "done": False}) + b"\n"

    def _head(self, message: dict[str, JSON]) -> dict[str, JSON]:
        created = datetime.fromtimestamp(self.created, UTC).isoformat().replace("+00:00", ".000001Z")
        model = self.asked.options.get("model", self.asked.model)
        return {"model": model, "created_at": created, "message": {"role": "assistant", **message}}

    def _done(self, ended: Ended) -> dict[str, JSON]:
        if not self.asked.conversation.messages:
            return {"done_reason": "load", "done": True}
        # What is in the cache is read at once.
        prompt = (self.asked.prompt_tokens - self.asked.cached_tokens) * _A_PROMPT_TOKEN
        evaluated = ended.tokens * _A_TOKEN
        return {
            "done_reason": "length" if ended.stop == "length" else "stop",
            "done": True,
            "total_duration": _LOAD + prompt + evaluated,
            "load_duration": _LOAD,
            "prompt_eval_count": self.asked.prompt_tokens,
            "prompt_eval_duration": prompt,
            "eval_count": ended.tokens,
            "eval_duration": evaluated,
        }


def _unreadable(calls: Sequence[GatheredCall]) -> str:
    bad = next(call for call in calls if object_in(call.arguments) is None)
    return f"error parsing tool call: raw='{bad.arguments}', err=invalid character in the arguments of {bad.name}"
