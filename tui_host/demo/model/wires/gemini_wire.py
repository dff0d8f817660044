"""Serves generateContent. Source: Gemini API reference, v1beta."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import assert_never
from urllib.parse import parse_qs, unquote

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.json_values import (
    compact,
    is_array,
    is_object,
    limit_at,
    object_at,
    objects_at,
    text_at,
    texts_at,
)
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
    check_seal,
    event,
    json_line,
    object_in,
    picture,
    seal,
    token_counts,
    tool_of,
)
from tui_host.errors import JSON

PATH = re.compile(r"/(?:v1|v1beta)/((?:models|tunedModels)/[^/:]+):(\w+)")

_SIGNED = "functionCall"
_STATUSES: dict[int, str] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_FOREIGN = ("args", "response", "parameters", "parametersJsonSchema")
"""The fields with foreign names inside, which are left alone."""


class GeminiWire:
    """Reads requests for `POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent`, and writes their responses."""

    model = "gemini"
    request_id_header = ""

    def read(self, request: Request) -> Asked:
        """Read a request; the path names the model."""
        body = _with_camel_names(body_of(request))
        path = PATH.fullmatch(unquote(request.path))
        system = "".join(text_at(part, "text") for part in objects_at(object_at(body, "systemInstruction"), "parts"))
        messages = (
            *((SystemSaid(text=system),) if system else ()),
            *_messages(objects_at(body, "contents")),
        )
        tokens, cached = token_counts(request.body, messages)
        generation = object_at(body, "generationConfig")
        config = generation.get("thinkingConfig")
        thinking: Thinking = "asked" if config is None else "always"
        if is_object(config) and config.get("thinkingBudget") == 0:
            thinking = "never"
        declared = [tool for group in objects_at(body, "tools") for tool in objects_at(group, "functionDeclarations")]
        tools = tuple(
            tool_of(text_at(tool, "name"), text_at(tool, "description"), _schema(tool))
            for tool in declared
            if text_at(tool, "name")
        )
        mode = text_at(object_at(object_at(body, "toolConfig"), "functionCallingConfig"), "mode").upper()
        return Asked(
            conversation=Conversation(messages=messages, tools=() if mode == "NONE" else tools, thinking=thinking),
            model=path[1].removeprefix("models/") if path else "",
            is_streamed=request.path.endswith(":streamGenerateContent"),
            most_tokens=limit_at(generation, "maxOutputTokens"),
            prompt_tokens=tokens,
            cached_tokens=cached,
            stops=texts_at(generation, "stopSequences"),
            shows_thinking=config is None or (is_object(config) and config.get("includeThoughts") is True),
            options={"array": _wants_array(request)},
        )

    def refusal(self, refused: RequestRefused, *, identity: str = "", request: Request | None = None) -> bytes:
        """Write `{"error": {"code", "message", "status", "details"}}`, in a list for requests for a list."""
        del identity
        error = _error(refused.status, refused.words)
        return json_line([error] if request is not None and _wants_array(request) else error) + b"\n"

    def writer(self, asked: Asked, *, identity: str, created: int) -> GeminiWriter:
        """Make a writer for an answer."""
        del created
        return GeminiWriter(asked=asked, identity=identity)


def _wants_array(request: Request) -> bool:
    """Tell whether a streamed answer is a JSON array in pieces, instead of events."""
    return request.path.endswith(":streamGenerateContent") and parse_qs(request.query).get("alt") != ["sse"]


def _with_camel_names(value: dict[str, object]) -> dict[str, object]:
    """Return the object with the API's own names in camel case; the service takes both spellings."""
    names = {name: re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), name) for name in value}
    return {camel: value[name] if camel in _FOREIGN else _renamed(value[name]) for name, camel in names.items()}


def _renamed(value: object) -> object:
    if is_object(value):
        return _with_camel_names(value)
    return [_renamed(item) for item in value] if is_array(value) else value


def _schema(declaration: dict[str, object]) -> object:
    schema = declaration.get("parametersJsonSchema", declaration.get("parameters"))
    properties = object_at(schema, "properties")
    lower = {name: {"type": text_at(definition, "type").lower()} for name, definition in properties.items()}
    return {"properties": lower, "required": list(texts_at(schema, "required"))}


def _messages(contents: list[dict[str, object]]) -> Iterator[Message]:
    calls: tuple[Call, ...] = ()
    for index, content in enumerate(contents):
        parts = objects_at(content, "parts")
        texts = [text_at(part, "text") for part in parts if "text" in part and not part.get("thought")]
        if content.get("role") == "model":
            for part in parts:
                if "functionCall" in part:
                    check_seal(part.get("thoughtSignature"), _SIGNED, text_at(part["functionCall"], "name"))
            asked = [object_at(part, "functionCall") for part in parts if "functionCall" in part]
            calls = tuple(
                Call(id=f"{index}.{place}", name=text_at(call, "name"), arguments=compact(object_at(call, "args")))
                for place, call in enumerate(asked)
            )
            yield AssistantSaid(text="".join(texts), calls=calls)
            continue
        responses = [object_at(part, "functionResponse") for part in parts if "functionResponse" in part]
        for call, response in zip(calls, responses, strict=False):
            values = object_at(response, "response")
            value = next((values[name] for name in ("output", "error", "result") if name in values), values)
            yield ToolSaid(
                call_id=call.id,
                text=value if isinstance(value, str) else compact(value),
                images=_pictures(objects_at(response, "parts")),
                is_error="error" in values,
            )
        images = _pictures(parts)
        if texts or images:
            yield UserSaid(text="\n".join(texts), images=images)


def _pictures(parts: list[dict[str, object]]) -> tuple[str, ...]:
    return tuple(
        picture(inner.get("data"), inner.get("mimeType")) if (inner := object_at(part, "inlineData")) else "at a URL"
        for part in parts
        if "inlineData" in part or "fileData" in part
    )


@dataclass(slots=True, kw_only=True)
class GeminiWriter:
    """Writes an answer as responses with new parts each, as events or in an array, or as a single response."""

    asked: Asked
    identity: str
    _calls: int = field(default=0, init=False)
    _sequence: int = field(default=0, init=False)
    _malformed: str = field(default="", init=False)
    _tokens: int = field(default=0, init=False)
    _thoughts: int = field(default=0, init=False)

    @property
    def stream_type(self) -> str:
        """The content type for events, or for JSON."""
        return "application/json; charset=UTF-8" if self._is_array else "text/event-stream"

    @property
    def _is_array(self) -> bool:
        return bool(self.asked.options.get("array"))

    def begin(self) -> bytes:
        """Write the array's bracket, if the answer is an array."""
        return b"[" if self._is_array else b""

    def piece(self, piece: Piece) -> bytes:
        """Write a response with a single part; calls are sent whole."""
        self._tokens += not isinstance(piece, CallEnded)
        self._thoughts += isinstance(piece, Thought)
        part = self._part(piece)
        return self._framed(self._response([part], "", None)) if part else b""

    def end(self, ended: Ended) -> bytes:
        """Write the finish reason and the usage."""
        data = self._framed(self._response(_closing(ended), self._finish(ended), ended))
        return data + (b"]" if self._is_array else b"")

    def failure(self, message: str) -> bytes:
        """Write an error among the responses."""
        return self._framed(_error(500, message)) + (b"]" if self._is_array else b"")

    def whole(self, pieces: Sequence[Piece], ended: Ended) -> bytes:
        """Write a response with all parts."""
        parts: list[JSON] = []
        for kind in (Thought, Said):
            text = "".join(piece.text for piece in pieces if isinstance(piece, kind))
            part = self._part(kind(text=text)) if text else None
            parts += [part] if part else []
        parts += [part for piece in pieces if isinstance(piece, CallEnded) and (part := self._part(piece))]
        return json_line(self._response(parts or _closing(ended), self._finish(ended), ended))

    def _part(self, piece: Piece) -> JSON:
        """Return the part for a piece. None for no part."""
        match piece:
            case Thought(text=text):
                return {"text": text, "thought": True} if self.asked.shows_thinking else None
            case Said(text=text):
                return {"text": text}
            case CallBegun() | Fragment():
                return None
            case CallEnded(name=name, arguments=arguments):
                values = object_in(arguments)
                if values is None:
                    self._malformed = f"Malformed function call: {name}({arguments})"
                    return None
                self._calls += 1
                part: dict[str, JSON] = {"functionCall": {"name": name, "args": values}}
                # The first of several calls carries the signature for all.
                return {**part, "thoughtSignature": seal(_SIGNED, name)} if self._calls == 1 else part
        assert_never(piece)

    def _finish(self, ended: Ended) -> str:
        if self._malformed:
            return "MALFORMED_FUNCTION_CALL"
        return "MAX_TOKENS" if ended.stop == "length" else "STOP"

    def _framed(self, value: JSON) -> bytes:
        if not self._is_array:
            return event(value)
        data = (b",\r\n" if self._sequence else b"") + json_line(value)
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


def _closing(ended: Ended) -> list[JSON]:
    """Return the last part: empty, and signed after thinking without calls."""
    part: dict[str, JSON] = {"text": ""}
    if ended.thinking_tokens and ended.stop != "calls":
        part["thoughtSignature"] = seal("text", "")
    return [part]


def _error(status: int, words: str) -> JSON:
    name = _STATUSES.get(status, "INTERNAL" if status >= 500 else "FAILED_PRECONDITION")
    error: dict[str, JSON] = {"code": status, "message": words, "status": name}
    if status == 429:
        error["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}]
    return {"error": error}
