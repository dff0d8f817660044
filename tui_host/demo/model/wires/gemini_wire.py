"""Serves Gemini's generateContent. Source: Gemini API reference, v1beta."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import assert_never
from urllib.parse import unquote

from typing_extensions import override

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.json_values import compact, is_array, is_object, object_at, objects_at, text_at, texts_at
from tui_host.demo.model.plan import CallBegun, CallEnded, Ended, Fragment, Piece, Said, Thought, gathered
from tui_host.demo.model.request_content import (
    AssistantSaid,
    Call,
    Conversation,
    Message,
    SystemSaid,
    ToolSaid,
    UserSaid,
)
from tui_host.demo.model.wires import wire
from tui_host.demo.model.wires.wire import SIGNATURE, ChatRequest, RequestRefused, event
from tui_host.errors import JSON

PATH = re.compile(r"/(?:v1|v1beta)/((?:models|tunedModels)/[^/:]+):(\w+)")

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
"""Fields whose content has names that are not the API's; left unchanged."""


def _read(request: Request) -> ChatRequest:
    body = _with_camel_names(wire.body_of(request))
    path = PATH.fullmatch(unquote(request.path))
    system = "".join(text_at(part, "text") for part in objects_at(object_at(body, "systemInstruction"), "parts"))
    declared = (tool for group in objects_at(body, "tools") for tool in objects_at(group, "functionDeclarations"))
    described = ({**tool, "parameters": tool.get("parametersJsonSchema", tool.get("parameters"))} for tool in declared)
    mode = text_at(object_at(object_at(body, "toolConfig"), "functionCallingConfig"), "mode").upper()
    generation = object_at(body, "generationConfig")
    has_off = object_at(generation, "thinkingConfig").get("thinkingBudget") == 0
    conversation = Conversation(
        messages=(*((SystemSaid(text=system),) if system else ()), *_messages(objects_at(body, "contents"))),
        tools=() if mode == "NONE" else wire.tools_of(described, "parameters"),
        thinking="never" if has_off else wire.thinking_for(generation.get("thinkingConfig")),
    )
    return wire.chat_request(
        request,
        conversation,
        model=path[1].removeprefix("models/") if path else "",
        is_streamed=request.path.endswith(":streamGenerateContent"),
        limits=(generation, "maxOutputTokens"),
        stops=texts_at(generation, "stopSequences"),
    )


def _with_camel_names(value: dict[str, object]) -> dict[str, object]:
    """Return the object with the API's names in camel case: the service accepts two spellings."""
    names = {name: re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), name) for name in value}
    return {camel: value[name] if camel in _FOREIGN else _renamed(value[name]) for name, camel in names.items()}


def _renamed(value: object) -> object:
    if is_object(value):
        return _with_camel_names(value)
    return [_renamed(item) for item in value] if is_array(value) else value


def _messages(contents: list[dict[str, object]]) -> Iterator[Message]:
    calls: list[Call] = []
    for index, content in enumerate(contents):
        parts = objects_at(content, "parts")
        texts = [text_at(part, "text") for part in parts if "text" in part and not part.get("thought")]
        if content.get("role") == "model":
            asked = [object_at(part, "functionCall") for part in parts if "functionCall" in part]
            calls = [
                wire.call_of(f"{index}.{place}", text_at(call, "name"), call.get("args"))
                for place, call in enumerate(asked)
            ]
            yield AssistantSaid(text="".join(texts), calls=tuple(calls))
            continue
        responses = [object_at(part, "functionResponse") for part in parts if "functionResponse" in part]
        for call, response in zip(calls, responses, strict=False):
            values = object_at(response, "response")
            value = next((values[name] for name in ("output", "error", "result") if name in values), values)
            text, images = value if isinstance(value, str) else compact(value), _pictures(objects_at(response, "parts"))
            yield ToolSaid(call_id=call.id, text=text, images=images, is_error="error" in values)
        images = _pictures(parts)
        if texts or images:
            yield UserSaid(text="\n".join(texts), images=images)


def _pictures(parts: list[dict[str, object]]) -> tuple[str, ...]:
    return tuple(
        wire.picture(data.get("data"), data.get("mimeType")) if (data := object_at(part, "inlineData")) else "at a URL"
        for part in parts
        if "inlineData" in part or "fileData" in part
    )


class GeminiWriter(wire.ResponseWriter):
    """Writes an answer as events with the new parts, also without `alt=sse`, or as a single response."""

    _calls = 0
    _malformed = ""

    @override
    def piece(self, piece: Piece) -> bytes:
        match piece:
            case Thought(text=text):
                return event(self._response([{"text": text, "thought": True}]))
            case Said(text=text):
                return event(self._response([{"text": text}]))
            case CallBegun() | Fragment():
                return b""
            case CallEnded(name=name, arguments=arguments):
                part = self._call(name, arguments)
                return event(self._response([part])) if part else b""
        assert_never(piece)

    @override
    def end(self, ended: Ended) -> bytes:
        return event(self._response([], ended))

    @override
    def failure(self, message: str) -> bytes:
        return event(_error_body(RequestRefused(status=500, message=message)))

    @override
    def whole(self, pieces: Sequence[Piece], ended: Ended) -> JSON:
        answer = gathered(pieces)
        parts: list[JSON] = [{"text": answer.thinking, "thought": True}] if answer.thinking else []
        parts += [{"text": answer.text}] if answer.text else []
        parts += [part for call in answer.calls if (part := self._call(call.name, call.arguments))]
        return self._response(parts, ended)

    def _call(self, name: str, arguments: str) -> JSON:
        """Return the part for a call; None if the arguments are not an object."""
        values = wire.object_in(arguments)
        if values is None:
            self._malformed = f"Malformed function call: {name}({arguments})"
            return None
        self._calls += 1
        part: dict[str, JSON] = {"functionCall": {"name": name, "args": values}}
        # The first of several calls has the signature for all of them.
        return {**part, "thoughtSignature": SIGNATURE} if self._calls == 1 else part

    def _response(self, parts: list[JSON], ended: Ended | None = None) -> JSON:
        """Return a response. The last one has the reason for the end, and at least an empty part."""
        candidate: dict[str, JSON] = {"content": {"parts": parts, "role": "model"}, "index": 0}
        if ended is not None:
            candidate["content"] = {"parts": parts or [{"text": ""}], "role": "model"}
            candidate["finishReason"] = "MAX_TOKENS" if ended.stop == "length" else "STOP"
            if self._malformed:
                candidate |= {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": self._malformed}
        response: dict[str, JSON] = {"candidates": [candidate], "usageMetadata": self._usage(ended)}
        return {**response, "modelVersion": self.chat.model, "responseId": self.identity}

    def _usage(self, ended: Ended | None) -> JSON:
        tokens, thoughts = (ended.tokens, ended.thinking_tokens) if ended else (0, 0)
        usage: dict[str, JSON] = {
            "promptTokenCount": self.chat.prompt_tokens,
            "candidatesTokenCount": tokens - thoughts,
            "totalTokenCount": self.chat.prompt_tokens + tokens,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": self.chat.prompt_tokens}],
        }
        if thoughts:
            usage["thoughtsTokenCount"] = thoughts
        if self.chat.cached_tokens:
            usage["cachedContentTokenCount"] = self.chat.cached_tokens
        return usage


def _error_body(refused: RequestRefused, identity: str = "") -> JSON:
    del identity
    name = _STATUSES.get(refused.status, "INTERNAL" if refused.status >= 500 else "FAILED_PRECONDITION")
    error: dict[str, JSON] = {"code": refused.status, "message": refused.words, "status": name}
    if refused.status == 429:
        error["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}]
    return {"error": error}


GEMINI = wire.Wire(model="gemini", read=_read, error=_error_body, writer=GeminiWriter)
"""The API of `POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent`; the path names the model."""
