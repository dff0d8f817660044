"""Serves Ollama's /api/chat. Source: Ollama's API reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

from typing_extensions import override

from tui_host.demo.model.conversation import DemoConversation
from tui_host.demo.model.json_values import json_line, object_at, objects_at, parsed_object, text_at, texts_at
from tui_host.demo.model.wires import wire
from tui_host.demo.model.wires.openai import message_of
from tui_host.demo.model.wires.wire import ChatRequest, ModelAnswer, RequestRefused
from tui_host.errors import JSON


class OllamaWire(wire.VendorWire):
    """`POST /api/chat`: lines of JSON, or a single object."""

    model = "ollama"
    stream_type = "application/x-ndjson"

    @override
    def read(self, path: str, body: bytes) -> ChatRequest:
        values = wire.object_of(body)
        options = object_at(values, "options")
        functions = (object_at(tool, "function") for tool in objects_at(values, "tools"))
        sent = objects_at(values, "messages")
        messages = (replace(message_of(each), images=len(texts_at(each, "images"))) for each in sent)
        conversation = DemoConversation(
            messages=wire.paired(messages),
            tools=wire.tools_of(functions),
            thinking=wire.thinking_for(values.get("think"), off=False),
        )
        return ChatRequest(
            conversation=conversation,
            model=text_at(values, "model").removesuffix(":latest"),
            is_streamed=values.get("stream") is not False,
            most_tokens=options.get("num_predict"),
        )

    @override
    def stream(self, answer: ModelAnswer) -> Iterator[bytes]:
        for piece in answer.pieces.thinking:
            yield self.framed({**_head(answer, {"content": "", "thinking": piece}), "done": False})
        for piece in answer.pieces.text:
            yield self.framed({**_head(answer, {"content": piece}), "done": False})
        for call in _calls(answer):
            yield self.framed({**_head(answer, {"content": "", "tool_calls": [call]}), "done": False})
        yield self.framed({**_head(answer, {"content": ""}), **_done(answer)})

    @override
    def whole(self, answer: ModelAnswer) -> JSON:
        message: dict[str, JSON] = {"content": "".join(answer.pieces.text)}
        if answer.pieces.thinking:
            message["thinking"] = "".join(answer.pieces.thinking)
        if answer.pieces.calls:
            message["tool_calls"] = _calls(answer)
        return {**_head(answer, message), **_done(answer)}

    @override
    def error(self, refused: RequestRefused, identity: str) -> dict[str, JSON]:
        return {"error": refused.message}

    @override
    def framed(self, value: dict[str, JSON]) -> bytes:
        return json_line(value) + b"\n"


def _calls(answer: ModelAnswer) -> list[JSON]:
    calls: list[JSON] = []
    for index, call in enumerate(answer.pieces.calls):
        # This API carries objects: what is none cannot be sent.
        function: JSON = {"index": index, "name": call.name, "arguments": parsed_object(call.arguments) or {}}
        calls.append({"id": f"call_{answer.identity[-10:]}{index:02d}", "function": function})
    return calls


def _head(answer: ModelAnswer, message: dict[str, JSON]) -> dict[str, JSON]:
    created = datetime.fromtimestamp(answer.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.000001Z")
    return {"model": answer.chat.model, "created_at": created, "message": {"role": "assistant", **message}}


def _done(answer: ModelAnswer) -> dict[str, JSON]:
    return {
        "done_reason": "length" if answer.pieces.stop == "length" else "stop",
        "done": True,
        "prompt_eval_count": answer.prompt_tokens,
        "eval_count": answer.pieces.tokens,
        "eval_duration": answer.pieces.tokens * 5_000_000,  # computed: the demo model has no speed of its own
        "total_duration": (answer.pieces.tokens + 1) * 5_000_000,
    }


OLLAMA = OllamaWire()
