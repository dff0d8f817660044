"""Serves Gemini's generateContent. Source: Gemini API reference, v1beta."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from typing_extensions import override

from tui_host.demo.model.conversation import DemoConversation, DemoMessage
from tui_host.demo.model.json_values import compact, object_at, objects_at, parsed_object, text_at
from tui_host.demo.model.wires import wire
from tui_host.demo.model.wires.wire import SIGNATURE, ChatRequest, ModelAnswer, RequestRefused
from tui_host.errors import JSON

GEMINI_PATH = re.compile(r"/(?:v1|v1beta)/models/([^/:]+):(?:generateContent|streamGenerateContent)")
_STATUSES = {400: "INVALID_ARGUMENT", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}


class GeminiWire(wire.VendorWire):
    """`POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent`; the path names the model."""

    model = "gemini"

    @override
    def read(self, path: str, body: bytes) -> ChatRequest:
        values = wire.object_of(body)
        messages = [*wire.paired(_messages(objects_at(values, "contents")))]
        system = "".join(text_at(part, "text") for part in objects_at(object_at(values, "systemInstruction"), "parts"))
        if system:
            messages.insert(0, DemoMessage(role="system", text=system))
        tools = [tool for group in objects_at(values, "tools") for tool in objects_at(group, "functionDeclarations")]
        has_no_tools = object_at(object_at(values, "toolConfig"), "functionCallingConfig").get("mode") == "NONE"
        generation = object_at(values, "generationConfig")
        thinking = wire.thinking_for(generation.get("thinkingConfig"))
        if object_at(generation, "thinkingConfig").get("thinkingBudget") == 0:
            thinking = "never"
        conversation = DemoConversation(
            messages=tuple(messages),
            tools=() if has_no_tools else wire.tools_of(tools),
            thinking=thinking,
        )
        match = GEMINI_PATH.fullmatch(unquote(path))
        return ChatRequest(
            conversation=conversation,
            model=match[1] if match else "",
            is_streamed=path.endswith(":streamGenerateContent"),
            most_tokens=generation.get("maxOutputTokens"),
        )

    @override
    def stream(self, answer: ModelAnswer) -> Iterator[bytes]:
        for piece in answer.pieces.thinking:
            yield self.framed(_response(answer, [{"text": piece, "thought": True}]))
        for piece in answer.pieces.text:
            yield self.framed(_response(answer, [{"text": piece}]))
        for part in _calls(answer):
            yield self.framed(_response(answer, [part]))
        yield self.framed(_response(answer, [{"text": ""}], is_last=True))

    @override
    def whole(self, answer: ModelAnswer) -> JSON:
        parts: list[JSON] = []
        if answer.pieces.thinking:
            parts.append({"text": "".join(answer.pieces.thinking), "thought": True})
        if answer.pieces.text:
            parts.append({"text": "".join(answer.pieces.text)})
        return _response(answer, [*parts, *_calls(answer)] or [{"text": ""}], is_last=True)

    @override
    def error(self, refused: RequestRefused, identity: str) -> dict[str, JSON]:
        status = _STATUSES.get(refused.status, "INTERNAL")
        error: dict[str, JSON] = {"code": refused.status, "message": refused.message, "status": status}
        if refused.status == 429:
            error["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}]
        return {"error": error}


def _messages(contents: list[dict[str, object]]) -> Iterator[DemoMessage]:
    for content in contents:
        parts = objects_at(content, "parts")
        texts = [text_at(part, "text") for part in parts if "text" in part and not part.get("thought")]
        if content.get("role") == "model":
            asked = [object_at(part, "functionCall") for part in parts if "functionCall" in part]
            calls = tuple(wire.call_of("", text_at(call, "name"), call.get("args")) for call in asked)
            yield DemoMessage(role="assistant", text="".join(texts), calls=calls)
            continue
        for part in parts:
            if "functionResponse" in part:
                values = object_at(object_at(part, "functionResponse"), "response")
                value = next((values[name] for name in ("output", "error", "result") if name in values), values)
                text = value if isinstance(value, str) else compact(value)
                yield DemoMessage(role="tool", text=text, is_error="error" in values)
        images = sum("inlineData" in part for part in parts)
        if texts or images:
            yield DemoMessage(role="user", text="\n".join(texts), images=images)


def _calls(answer: ModelAnswer) -> list[JSON]:
    parts: list[JSON] = []
    for call in answer.pieces.calls:
        # This API carries objects: what is none cannot be sent.
        part: dict[str, JSON] = {"functionCall": {"name": call.name, "args": parsed_object(call.arguments) or {}}}
        if not parts:  # the first of several calls has the signature for all of them
            part["thoughtSignature"] = SIGNATURE
        parts.append(part)
    return parts


def _response(answer: ModelAnswer, parts: list[JSON], *, is_last: bool = False) -> dict[str, JSON]:
    candidate: dict[str, JSON] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    response: dict[str, JSON] = {"candidates": [candidate], "modelVersion": answer.chat.model}
    response["responseId"] = answer.identity
    if is_last:
        candidate["finishReason"] = "MAX_TOKENS" if answer.pieces.stop == "length" else "STOP"
        thoughts = len(answer.pieces.thinking)
        response["usageMetadata"] = {
            "promptTokenCount": answer.prompt_tokens,
            "candidatesTokenCount": answer.pieces.tokens - thoughts,
            "totalTokenCount": answer.prompt_tokens + answer.pieces.tokens,
            "thoughtsTokenCount": thoughts,
        }
    return response


GEMINI = GeminiWire()
