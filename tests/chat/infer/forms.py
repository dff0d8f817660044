"""How hosts speak to models: bodies written by hand in each dialect, and in the words of hosts whose protocol is plain text."""

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


@dataclass(frozen=True)
class Results:
    """What the model is told, in this order."""

    told: Sequence[tuple[Call, str]]


Entry = User | Answer | Results


class Form(Protocol):
    """A way to speak."""

    url: str
    several: bool

    def request(self, entries: Sequence[Entry]) -> bytes:
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

    def request(self, entries: Sequence[Entry]) -> bytes:
        """All as messages."""
        messages: list[JSON] = [{"role": "system", "content": "You help."}]
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
        return dumped({"model": "gpt-x", "stream": True, "messages": messages})

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
        said = [chunk({"content": answer.text})] if answer.text else []
        return [*_events(*said, *calls, chunk({}, finish)), b"data: [DONE]\n\n"]


class Responses:
    """OpenAI's Responses, whole."""

    url = "https://api.example/v1/responses"
    several = True

    def request(self, entries: Sequence[Entry]) -> bytes:
        """All as items."""
        items: list[JSON] = []
        for entry in entries:
            match entry:
                case User():
                    items.append({"role": "user", "content": entry.text})
                case Answer():
                    if entry.text:
                        items.append(self._said(entry.text))
                    items += [self._call(call) for call in entry.calls]
                case Results():
                    items += [
                        {"type": "function_call_output", "call_id": call.id, "output": text}
                        for call, text in entry.told
                    ]
        return dumped({"model": "gpt-x", "instructions": "You help.", "input": items})

    def response(self, answer: Answer) -> Sequence[bytes]:
        """One value."""
        output: list[JSON] = [self._said(answer.text)] if answer.text else []
        output += [self._call(call) for call in answer.calls]
        return [dumped({"id": "resp_1", "object": "response", "status": "completed", "output": output})]

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

    def request(self, entries: Sequence[Entry]) -> bytes:
        """All as messages of blocks."""
        messages: list[dict[str, JSON]] = []
        for entry in entries:
            match entry:
                case User():
                    messages.append({"role": "user", "content": [{"type": "text", "text": entry.text}]})
                case Answer():
                    blocks: list[JSON] = [{"type": "text", "text": entry.text}] if entry.text else []
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
        return dumped({"model": "claude-x", "max_tokens": 99, "system": "You help.", "messages": [*messages]})

    def response(self, answer: Answer) -> Sequence[bytes]:
        """Its events."""
        blocks: list[tuple[JSON, JSON]] = []
        if answer.text:
            blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": answer.text}))
        for call in answer.calls:
            begun: JSON = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
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

    def request(self, entries: Sequence[Entry]) -> bytes:
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
        return dumped({"systemInstruction": {"parts": [{"text": "You help."}]}, "contents": contents})

    def response(self, answer: Answer) -> Sequence[bytes]:
        """One value."""
        content: JSON = {"role": "model", "parts": self._parts(answer)}
        return [dumped({"candidates": [{"content": content, "finishReason": "STOP"}]})]

    @staticmethod
    def _parts(answer: Answer) -> list[JSON]:
        parts: list[JSON] = [{"text": answer.text}] if answer.text else []
        calls: list[JSON] = [
            {"functionCall": {"name": call.name, "args": dict(call.arguments)}} for call in answer.calls
        ]
        return parts + calls


class GeminiCli(Gemini):
    """The same as Gemini CLI tells it: calls get ids of its own, results and what was asked are framed."""

    @override
    def request(self, entries: Sequence[Entry]) -> bytes:
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
        return dumped({"systemInstruction": {"parts": [{"text": "You help."}]}, "contents": contents})

    @staticmethod
    def _framed(call: Call, text: str) -> JSON:
        framed = f"<untrusted_context>\n{text}\n</untrusted_context>"
        return {"functionResponse": {"id": f"own_{call.id}", "name": call.name, "response": {"output": framed}}}


class Ollama:
    """`/api/chat`, lines; the server names its calls, and its SDKs drop that."""

    url = "http://127.0.0.1:11434/api/chat"
    several = True

    def request(self, entries: Sequence[Entry]) -> bytes:
        """All as messages."""
        messages: list[JSON] = [{"role": "system", "content": "You help."}]
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
        return {"role": "assistant", "content": answer.text, **({"tool_calls": calls} if calls else {})}


class Cline(OpenAI):
    """Cline's XML over Chat Completions, as it was seen to send it."""

    several = False
    system = (
        "You are Cline, a highly skilled software engineer.\n\n====\n\nTOOL USE\n\n## use_mcp_tool\nUsage:\n<use_mcp_tool>\n"
        "<server_name>server name here</server_name>\n<tool_name>tool name here</tool_name>\n<arguments>\n{}\n</arguments>\n"
        "</use_mcp_tool>\n\n====\n\nMCP SERVERS\n\n# Connected MCP Servers\n\n## math (`uvx math`)\n\n### Available Tools\n"
        "- add: Adds.\n    Input Schema:\n    {}\n\n====\n\nRULES\n"
    )
    details = "<environment_details>\n# VSCode Visible Files\n(none) 3 12 42\n# Current Mode\nACT MODE\n</environment_details>"

    @override
    def request(self, entries: Sequence[Entry]) -> bytes:
        """System prompt, and text parts."""
        messages: list[JSON] = [{"role": "system", "content": self.system}]
        for number, entry in enumerate(entries):
            match entry:
                case User():
                    tag = "task" if not number else "feedback"
                    texts = [f"<{tag}>\n{entry.text}\n</{tag}>", self.details]
                    messages.append({"role": "user", "content": [{"type": "text", "text": text} for text in texts]})
                case Answer():
                    messages.append({"role": "assistant", "content": self.words(entry)})
                case Results():
                    for call, text in entry.told:
                        server = call.name.partition("__")[0]
                        texts = [f"[use_mcp_tool for '{server}'] Result:", text, self.details]
                        messages.append({"role": "user", "content": [{"type": "text", "text": text} for text in texts]})
        return dumped({"model": "deepseek-chat", "stream": True, "temperature": 0, "messages": messages})

    @override
    def response(self, answer: Answer) -> Sequence[bytes]:
        """The words, in three pieces."""
        words = self.words(answer)
        third = len(words) // 3 + 1
        return self._said([words[start : start + third] for start in range(0, len(words), third)])

    def _said(self, pieces: Sequence[str]) -> Sequence[bytes]:
        deltas: list[JSON] = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
        last: JSON = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        return [*_events(*deltas, last), b"data: [DONE]\n\n"]

    def words(self, answer: Answer) -> str:
        """An answer as the model writes it."""
        for call in answer.calls:
            server, _, tool = call.name.partition("__")
            return (
                f"<thinking>I need {tool}.</thinking>\n\n<use_mcp_tool>\n<server_name>{server}</server_name>\n"
                f"<tool_name>{tool}</tool_name>\n<arguments>\n{call.text}\n</arguments>\n</use_mcp_tool>"
            )
        return f"<attempt_completion>\n<result>\n{answer.text}\n</result>\n</attempt_completion>"


class Cherry(Cline):
    """Cherry Studio's `<tool_use>`, with results as its prompt promises them."""

    several = True
    system = (
        "In this environment you have access to a set of tools.\n\n## Tool Use Formatting\n\n<tool_use>\n  <name>{tool_name}</name>\n"
        "  <arguments>{json_arguments}</arguments>\n</tool_use>\n\n## Tool Use Available Tools\n<tools>\n\n<tool>\n"
        "  <name>math__add</name>\n  <description>Adds.</description>\n  <arguments>\n    {}\n  </arguments>\n</tool>\n</tools>\n"
    )

    @override
    def request(self, entries: Sequence[Entry]) -> bytes:
        """System prompt, and plain texts."""
        messages: list[JSON] = [{"role": "system", "content": self.system}]
        for entry in entries:
            match entry:
                case User():
                    messages.append({"role": "user", "content": entry.text})
                case Answer():
                    messages.append({"role": "assistant", "content": self.words(entry)})
                case Results():
                    text = "\n\n".join(self.told(call, text) for call, text in entry.told)
                    messages.append({"role": "user", "content": text})
        return dumped({"model": "qwen-x", "stream": True, "messages": messages})

    def told(self, call: Call, text: str) -> str:
        """A result in words."""
        return f"<tool_use_result>\n  <name>{call.name}</name>\n  <result>{text}</result>\n</tool_use_result>"

    @override
    def words(self, answer: Answer) -> str:
        """An answer as the model writes it."""
        calls = [
            f"<tool_use>\n  <name>{call.name}</name>\n  <arguments>{call.text}</arguments>\n</tool_use>"
            for call in answer.calls
        ]
        return "\n\n".join(filter(None, [answer.text, *calls]))


class OlderCherry(Cherry):
    """The same, with results as its program has sent them."""

    @override
    def told(self, call: Call, text: str) -> str:
        """A result in words."""
        return f"Here is the result of mcp tool use `{call.name}`:\n\n{text}"


FORMS: Mapping[str, Form] = {
    "openai": OpenAI(),
    "openai-responses": Responses(),
    "anthropic": Anthropic(),
    "gemini": Gemini(),
    "gemini-cli": GeminiCli(),
    "ollama": Ollama(),
    "cline": Cline(),
    "cherry": Cherry(),
    "older cherry": OlderCherry(),
}
