"""How hosts speak to models: bodies written by hand in each dialect. What hosts say in plain text stands in `worded`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from typing_extensions import override

from tui_host.errors import JSON


@dataclass(frozen=True)
class Call:
    """A call as a model writes it."""

    id: str
    name: str
    arguments: Mapping[str, JSON]

    @property
    def text(self) -> str:
        """The arguments as JSON, with white space as a model puts it."""
        return json.dumps(self.arguments, separators=(", ", ": "))


@dataclass(frozen=True)
class User:
    """What a person says."""

    text: str


@dataclass(frozen=True)
class Answer:
    """What a model answers."""

    text: str
    calls: Sequence[Call] = ()
    thinking: str = ""


@dataclass(frozen=True)
class Results:
    """What the model is told, in this order."""

    told: Sequence[tuple[Call, str]]


Entry = User | Answer | Results
SYSTEM = "You help."


class Form(Protocol):
    """A way to speak."""

    url: str
    several: bool

    def request(self, entries: Sequence[Entry], system: str = SYSTEM) -> bytes:
        """The body of a request."""
        ...

    def response(self, answer: Answer) -> Sequence[bytes]:
        """The chunks of its response."""
        ...


def dumped(value: JSON) -> bytes:
    """JSON as bytes."""
    return json.dumps(value, ensure_ascii=False).encode()


def _events(*values: JSON) -> list[bytes]:
    return [b"data: " + dumped(value) + b"\n\n" for value in values]


class OpenAI:
    """Chat Completions, streamed."""

    url = "https://api.example/v1/chat/completions"
    several = True

    def __init__(self, model: str = "gpt-x") -> None:
        self._model = model

    def request(self, entries: Sequence[Entry], system: str = SYSTEM) -> bytes:
        """All as messages."""
        messages: list[JSON] = [{"role": "system", "content": system}]
        for entry in entries:
            match entry:
                case User():
                    messages.append({"role": "user", "content": [{"type": "text", "text": entry.text}]})
                case Answer():
                    message: dict[str, JSON] = {"role": "assistant", "content": entry.text or None}
                    if entry.calls:
                        message["tool_calls"] = [
                            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}}
                            for call in entry.calls
                        ]
                    messages.append(message)
                case Results():
                    messages += [
                        {"role": "tool", "tool_call_id": call.id, "content": text} for call, text in entry.told
                    ]
        return dumped({"model": self._model, "stream": True, "messages": messages})

    def response(self, answer: Answer) -> Sequence[bytes]:
        """A chunk each."""

        def chunk(delta: JSON, finish: JSON = None) -> JSON:
            return {
                "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
            }

        calls: list[JSON] = []
        for number, call in enumerate(answer.calls):
            half = len(call.text) // 2
            begun: JSON = {"index": number, "id": call.id, "type": "function", "function": {"name": call.name}}
            calls.append(chunk({"tool_calls": [begun]}))
            pieces: list[JSON] = [{"arguments": piece} for piece in (call.text[:half], call.text[half:])]
            calls += [chunk({"tool_calls": [{"index": number, "function": piece}]}) for piece in pieces]
        finish = "tool_calls" if answer.calls else "stop"
        thought = [chunk({"reasoning_content": answer.thinking})] if answer.thinking else []
        said = [chunk({"content": answer.text})] if answer.text else []
        return [*_events(*thought, *said, *calls, chunk({}, finish)), b"data: [DONE]\n\n"]


class Offering(OpenAI):
    """Chat Completions with tools."""

    def __init__(self, offered: Mapping[str, str]) -> None:
        super().__init__()
        self._offered = offered

    @override
    def request(self, entries: Sequence[Entry], system: str = SYSTEM) -> bytes:
        """All as messages, and the tools."""
        body: dict[str, JSON] = json.loads(super().request(entries, system))
        functions: list[dict[str, JSON]] = [{"name": each, "description": of} for each, of in self._offered.items()]
        return dumped({**body, "tools": [{"type": "function", "function": function} for function in functions]})


class Responses:
    """OpenAI's Responses, whole."""

    url = "https://api.example/v1/responses"
    several = True

    def request(self, entries: Sequence[Entry], system: str = SYSTEM) -> bytes:
        """All as items."""
        items: list[JSON] = []
        for entry in entries:
            match entry:
                case User():
                    items.append({"role": "user", "content": entry.text})
                case Answer():
                    if entry.thinking:
                        items.append(self._thought(entry.thinking))
                    if entry.text:
                        items.append(self._said(entry.text))
                    items += [self._call(call) for call in entry.calls]
                case Results():
                    items += [
                        {"type": "function_call_output", "call_id": call.id, "output": text}
                        for call, text in entry.told
                    ]
        return dumped({"model": "gpt-x", "instructions": system, "input": items})

    def response(self, answer: Answer) -> Sequence[bytes]:
        """One value."""
        output: list[JSON] = [self._thought(answer.thinking)] if answer.thinking else []
        output += [self._said(answer.text)] if answer.text else []
        output += [self._call(call) for call in answer.calls]
        return [dumped({"id": "resp_1", "object": "response", "status": "completed", "output": output})]

    @staticmethod
    def _thought(text: str) -> JSON:
        return {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": text}]}

    @staticmethod
    def _said(text: str) -> JSON:
        return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}

    @staticmethod
    def _call(call: Call) -> JSON:
        return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.text}


class Anthropic:
    """Messages, streamed, with the mark for the cache moving along."""

    url = "https://api.example/v1/messages"
    several = True

    def request(self, entries: Sequence[Entry], system: str = SYSTEM) -> bytes:
        """All as messages of blocks."""
        messages: list[dict[str, JSON]] = []
        for entry in entries:
            match entry:
                case User():
                    messages.append({"role": "user", "content": [{"type": "text", "text": entry.text}]})
                case Answer():
                    blocks: list[JSON] = []
                    if entry.thinking:
                        blocks.append({"type": "thinking", "thinking": entry.thinking, "signature": "c2lnbmVk"})
                    blocks += [{"type": "text", "text": entry.text}] if entry.text else []
                    blocks += [
                        {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)}
                        for call in entry.calls
                    ]
                    messages.append({"role": "assistant", "content": blocks})
                case Results():
                    told: list[JSON] = [
                        {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": text}]}
                        for call, text in entry.told
                    ]
                    messages.append({"role": "user", "content": told})
        last = messages[-1]["content"]
        if isinstance(last, list) and isinstance(last[-1], dict):
            last[-1]["cache_control"] = {"type": "ephemeral"}
        return dumped({"model": "claude-x", "max_tokens": 99, "system": system, "messages": [*messages]})

    def response(self, answer: Answer) -> Sequence[bytes]:
        """Its events."""
        blocks: list[tuple[JSON, JSON]] = []
        if answer.thinking:
            begun: JSON = {"type": "thinking", "thinking": "", "signature": ""}
            blocks.append((begun, {"type": "thinking_delta", "thinking": answer.thinking}))
        if answer.text:
            blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": answer.text}))
        for call in answer.calls:
            begun = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
            blocks.append((begun, {"type": "input_json_delta", "partial_json": call.text}))
        events: list[JSON] = [{"type": "message_start", "message": {"role": "assistant", "content": []}}]
        for number, (begun, delta) in enumerate(blocks):
            events.append({"type": "content_block_start", "index": number, "content_block": begun})
            events.append({"type": "content_block_delta", "index": number, "delta": delta})
            events.append({"type": "content_block_stop", "index": number})
        events.append({"type": "message_delta", "delta": {"stop_reason": "tool_use" if answer.calls else "end_turn"}})
        events.append({"type": "message_stop"})
        return _events(*events)


class Gemini:
    """generateContent, whole; without ids."""

    url = "https://api.example/v1beta/models/gemini-x:generateContent"
    several = True

    def request(self, entries: Sequence[Entry], system: str = SYSTEM) -> bytes:
        """All as contents of parts."""
        contents: list[JSON] = []
        for entry in entries:
            match entry:
                case User():
                    contents.append({"role": "user", "parts": [{"text": entry.text}]})
                case Answer():
                    contents.append({"role": "model", "parts": self._parts(entry)})
                case Results():
                    parts: list[JSON] = [
                        {"functionResponse": {"name": call.name, "response": {"result": text}}}
                        for call, text in entry.told
                    ]
                    contents.append({"role": "user", "parts": parts})
        return dumped({"systemInstruction": {"parts": [{"text": system}]}, "contents": contents})

    def response(self, answer: Answer) -> Sequence[bytes]:
        """One value."""
        content: JSON = {"role": "model", "parts": self._parts(answer)}
        return [dumped({"candidates": [{"content": content, "finishReason": "STOP"}]})]

    @staticmethod
    def _parts(answer: Answer) -> list[JSON]:
        parts: list[JSON] = [{"text": answer.thinking, "thought": True}] if answer.thinking else []
        parts += [{"text": answer.text}] if answer.text else []
        calls: list[JSON] = [
            {"functionCall": {"name": call.name, "args": dict(call.arguments)}} for call in answer.calls
        ]
        return parts + calls


class GeminiCli(Gemini):
    """The same as Gemini CLI tells it: calls get ids of its own, results and what was asked are framed."""

    @override
    def request(self, entries: Sequence[Entry], system: str = SYSTEM) -> bytes:
        """All as contents of parts."""
        contents: list[JSON] = []
        for entry in entries:
            match entry:
                case User():
                    told = f"<session_context>\nToday is Monday.\n</session_context>\n\n{entry.text}"
                    contents.append({"role": "user", "parts": [{"text": told}]})
                case Answer():
                    said: list[JSON] = [{"text": entry.text}] if entry.text else []
                    said += [
                        {"functionCall": {"id": f"own_{call.id}", "name": call.name, "args": dict(call.arguments)}}
                        for call in entry.calls
                    ]
                    contents.append({"role": "model", "parts": said})
                case Results():
                    parts: list[JSON] = [self._framed(call, text) for call, text in entry.told]
                    contents.append({"role": "user", "parts": parts})
        return dumped({"systemInstruction": {"parts": [{"text": system}]}, "contents": contents})

    @staticmethod
    def _framed(call: Call, text: str) -> JSON:
        framed = f"<untrusted_context>\n{text}\n</untrusted_context>"
        return {"functionResponse": {"id": f"own_{call.id}", "name": call.name, "response": {"output": framed}}}


class Ollama:
    """`/api/chat`, lines; the server names its calls, and its SDKs drop that."""

    url = "http://127.0.0.1:11434/api/chat"
    several = True

    def request(self, entries: Sequence[Entry], system: str = SYSTEM) -> bytes:
        """All as messages."""
        messages: list[JSON] = [{"role": "system", "content": system}]
        for entry in entries:
            match entry:
                case User():
                    messages.append({"role": "user", "content": entry.text})
                case Answer():
                    messages.append(self._message(entry))
                case Results():
                    messages += [{"role": "tool", "tool_name": call.name, "content": text} for call, text in entry.told]
        return dumped({"model": "qwen-x", "messages": messages})

    def response(self, answer: Answer) -> Sequence[bytes]:
        """Two lines."""
        lines: list[JSON] = [
            {"model": "qwen-x", "message": self._message(answer, named=True), "done": False},
            {"model": "qwen-x", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"},
        ]
        return [dumped(line) + b"\n" for line in lines]

    @staticmethod
    def _message(answer: Answer, *, named: bool = False) -> JSON:
        calls: list[JSON] = [
            {**({"id": call.id} if named else {}), "function": {"name": call.name, "arguments": dict(call.arguments)}}
            for call in answer.calls
        ]
        thought: dict[str, JSON] = {"thinking": answer.thinking} if answer.thinking and named else {}
        return {"role": "assistant", "content": answer.text, **thought, **({"tool_calls": calls} if calls else {})}


DIALECTS: Mapping[str, Form] = {
    "openai": OpenAI(),
    "openai-responses": Responses(),
    "anthropic": Anthropic(),
    "gemini": Gemini(),
    "gemini-cli": GeminiCli(),
    "ollama": Ollama(),
}
