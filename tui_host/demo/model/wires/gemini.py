"""generateContent, from the vendor's side. Source: Gemini API reference, v1beta, as the SDK google-genai 3.4 reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.plan import CallBegun, Ended, Fragment, Piece, Said, Thought
from tui_host.demo.model.wires.gemini_content import SIGNED
from tui_host.demo.model.wires.gemini_request import read_request, wants_array
from tui_host.demo.model.wires.seals import seal
from tui_host.demo.model.wires.wire import Asked, RequestRefused
from tui_host.demo.model.wires.wire_writing import event, line, object_in
from tui_host.errors import JSON

MODEL = "gemini"
_STATUSES: dict[int, str] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_WORDS: dict[int, str] = {
    401: "Request had invalid authentication credentials.",
    403: "The caller does not have permission",
    429: "You exceeded your current quota. Please retry in 1s.",
    500: "An internal error has occurred.",
    503: "The model is overloaded. Please try again later.",
}


class GeminiWire:
    """Reads requests for `POST /v1beta/models/MODEL:generateContent` and its streaming twin, and writes their responses."""

    def read(self, request: Request) -> Asked:
        """The body of a request, and its path. Raises `RequestRefused`."""
        asked = read_request(request)
        if asked.model != MODEL:
            raise unknown_model(asked.model)
        return asked

    def headers(self, identity: str, status: int) -> list[tuple[str, str]]:
        """None: this vendor says in the body when to come again."""
        del identity, status
        return []

    def refusal(self, refused: RequestRefused, *, identity: str = "", request: Request | None = None) -> bytes:
        """`{"error": {"code", "message", "status", "details"}}`, in a list where the answer would have been one."""
        del identity
        error = _error(refused.status, refused.message)
        return line([error] if request is not None and wants_array(request) else error) + b"\n"

    def writer(self, asked: Asked, *, identity: str, created: int) -> GeminiWriter:
        """A writer for one answer."""
        del created
        return GeminiWriter(asked=asked, identity=identity)


def unknown_model(asked: str) -> RequestRefused:
    """A model that is not there."""
    return RequestRefused(
        status=404,
        message=f"models/{asked[:100]} is not found for API version v1beta, or is not supported for generateContent.",
    )


@dataclass(slots=True, kw_only=True)
class GeminiWriter:
    """One answer as responses with new parts each, as events or in one array, or as one response."""

    asked: Asked
    identity: str
    _call: CallBegun | None = field(default=None, init=False)
    _arguments: list[str] = field(default_factory=list[str], init=False)
    _sent: int = field(default=0, init=False)
    _sequence: int = field(default=0, init=False)
    _malformed: str = field(default="", init=False)
    _tokens: int = field(default=0, init=False)
    _thoughts: int = field(default=0, init=False)

    @property
    def stream_type(self) -> str:
        """Events where they were asked for, else JSON."""
        return "application/json; charset=UTF-8" if self._is_array else "text/event-stream"

    @property
    def _is_array(self) -> bool:
        return bool(self.asked.options.get("array"))

    def begin(self) -> bytes:
        """The array's bracket, if it is one."""
        return b"[" if self._is_array else b""

    def piece(self, piece: Piece) -> bytes:
        """A response with one part; a call goes out whole, when its arguments are there."""
        self._tokens += 1
        match piece:
            case Thought(text=text):
                self._thoughts += 1
                return self._chunk([_thought(text)]) if self.asked.shows_thinking else b""
            case Said(text=text):
                return self._chunk([{"text": text}])
            case CallBegun():
                data = self._call_chunk()
                self._call, self._arguments = piece, []
                return data
            case Fragment(text=text):
                self._arguments.append(text)
                return b""
        assert_never(piece)

    def end(self, ended: Ended) -> bytes:
        """The last call, why it ended, and what it took."""
        data = self._call_chunk(is_whole=ended.stop != "length")
        data += self._chunk(_closing(ended), finish=self._finish(ended), ended=ended)
        return data + (b"]" if self._is_array else b"")

    def failure(self, message: str) -> bytes:
        """An error among the responses."""
        return self._framed(_error(500, message)) + (b"]" if self._is_array else b"")

    def whole(self, pieces: Sequence[Piece], ended: Ended) -> bytes:
        """One response with all parts."""
        parts: list[JSON] = []
        thoughts = "".join(piece.text for piece in pieces if isinstance(piece, Thought))
        text = "".join(piece.text for piece in pieces if isinstance(piece, Said))
        if thoughts and self.asked.shows_thinking:
            parts.append(_thought(thoughts))
        if text:
            parts.append({"text": text})
        for piece in pieces:
            if isinstance(piece, CallBegun):
                parts += self._call_part()
                self._call, self._arguments = piece, []
            elif isinstance(piece, Fragment):
                self._arguments.append(piece.text)
        parts += self._call_part(is_whole=ended.stop != "length")
        return line(self._response(parts or _closing(ended), self._finish(ended), ended))

    def _finish(self, ended: Ended) -> str:
        if self._malformed:
            return "MALFORMED_FUNCTION_CALL"
        return "MAX_TOKENS" if ended.stop == "length" else "STOP"

    def _call_part(self, *, is_whole: bool = True) -> list[JSON]:
        """The call that was begun, with the signature if it is the first; nothing if its arguments are no object."""
        if self._call is None:
            return []
        name, arguments = self._call.name, "".join(self._arguments)
        self._call = None
        values = object_in(arguments)
        if values is None:
            if is_whole:
                self._malformed = f"Malformed function call: {name}({arguments})"
            return []
        call: dict[str, JSON] = {"name": name, "args": values}
        part: dict[str, JSON] = {"functionCall": call}
        if self._sent == 0:
            part["thoughtSignature"] = seal(SIGNED, name)
        self._sent += 1
        return [part]

    def _call_chunk(self, *, is_whole: bool = True) -> bytes:
        parts = self._call_part(is_whole=is_whole)
        return self._chunk(parts) if parts else b""

    def _chunk(self, parts: list[JSON], *, finish: str = "", ended: Ended | None = None) -> bytes:
        return self._framed(self._response(parts, finish, ended))

    def _framed(self, value: JSON) -> bytes:
        if not self._is_array:
            return event(value)
        # The first element follows the bracket, the others a comma.
        data = (b",\r\n" if self._sequence else b"") + line(value)
        self._sequence += 1
        return data

    def _response(self, parts: list[JSON], finish: str, ended: Ended | None) -> dict[str, JSON]:
        candidate: dict[str, JSON] = {"content": {"parts": parts, "role": "model"}, "index": 0}
        if finish:
            candidate["finishReason"] = finish
        if finish and self._malformed:
            candidate["finishMessage"] = self._malformed
        return {
            "candidates": [candidate],
            "usageMetadata": self._usage(ended),
            "modelVersion": self.asked.model,
            "responseId": self.identity,
        }

    def _usage(self, ended: Ended | None) -> JSON:
        tokens = ended.tokens if ended else self._tokens
        thoughts = ended.thinking_tokens if ended else self._thoughts
        prompt = self.asked.prompt_tokens
        usage: dict[str, JSON] = {
            "promptTokenCount": prompt,
            "candidatesTokenCount": tokens - thoughts,
            "totalTokenCount": prompt + tokens,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": prompt}],
        }
        if thoughts:
            usage["thoughtsTokenCount"] = thoughts
        if self.asked.cached_tokens:
            usage["cachedContentTokenCount"] = self.asked.cached_tokens
        return usage


def _thought(text: str) -> JSON:
    return {"text": text, "thought": True}


def _closing(ended: Ended) -> list[JSON]:
    """The last part: empty, and signed where something was thought that no call carries."""
    part: dict[str, JSON] = {"text": ""}
    if ended.thinking_tokens and ended.stop != "calls":
        part["thoughtSignature"] = seal("text", "")
    return [part]


def _error(status: int, message: str) -> JSON:
    words = message or f"{_WORDS.get(status, f'Error {status}.')} (The demo model was asked for this.)"
    error: dict[str, JSON] = {
        "code": status,
        "message": words,
        "status": _STATUSES.get(status, "INTERNAL" if status >= 500 else "FAILED_PRECONDITION"),
    }
    if status == 429:
        error["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}]
    return {"error": error}
