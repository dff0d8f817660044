"""`openai`: Chat Completions, as OpenAI and many others speak it. Source: llm-dialects.md, sections 2 and 3."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence

from tui_host.errors import JSON, ModelError
from tui_host.llm.dialects.dialect import WireRequest
from tui_host.llm.dialects.openai_forms import ECHOED
from tui_host.llm.dialects.openai_outline import outline_of
from tui_host.llm.dialects.openai_read import OpenAIDecoder
from tui_host.llm.faults import refusal
from tui_host.llm.jsonspans import read_json
from tui_host.llm.messages import Ask, Image, Message, Text, Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.llm.names import OPENAI_NAMES, NameRule
from tui_host.llm.outline import Outline
from tui_host.settings.secrets import Secret

_LONGEST_ID = 64
UNREADABLE = "unreadable_arguments"
"""The key under which arguments go back that are no JSON object."""
_SURROGATE = re.compile("[\ud800-\udfff]")


class OpenAI:
    """Chat Completions."""

    name: str = "openai"
    models_path: str = "models"
    name_rule: NameRule = OPENAI_NAMES

    def write(self, ask: Ask, *, provider: str) -> WireRequest:
        """The request. Messages stand last: so the request of a step begins with all the bytes of the one before it.

        That common beginning is what the inspector shows, what the store saves, and what a person reads; providers' caches
        do not mind, since they go by the prompt that a request becomes, where the tools come first anyway.
        """
        body: dict[str, JSON] = {"model": ask.model}
        if ask.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        body |= dict(ask.options)
        if ask.stop_sequences:
            body["stop"] = list(ask.stop_sequences)
        body |= {name: value for name, value in ask.extra if name not in {"tools", "messages"}}
        if ask.tools:
            body["tools"] = [_tool(tool) for tool in ask.tools]
        body["messages"] = _Writer(ask, provider).messages()
        body |= {name: value for name, value in ask.extra if name in {"tools", "messages"}}
        return WireRequest(
            path="chat/completions",
            body=_bytes(body),
            headers=(("Content-Type", "application/json"), ("Accept", "application/json")),
        )

    def auth(self, secret: Secret | None) -> tuple[tuple[str, str], ...]:
        """A bearer token."""
        return (("Authorization", f"Bearer {secret.reveal()}"),) if secret is not None else ()

    def decoder(self, content_type: str) -> OpenAIDecoder:
        """A reader for one response."""
        return OpenAIDecoder(content_type)

    def error(self, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> ModelError:
        """What a refusal says."""
        return refusal(status, headers, body)

    def outline(self, body: bytes, names: Mapping[str, tuple[str, str]] | None = None) -> Outline | None:
        """A request as a tree."""
        return outline_of(body, names or {})

    def models(self, body: bytes) -> tuple[str, ...]:
        """The names in a list of models, in the provider's order."""
        try:
            value = read_json(body)
        except ValueError:
            return ()
        found = value.get("data", value.get("models")) if isinstance(value, Mapping) else value
        names = [_id_of(entry) for entry in found] if isinstance(found, list) else []
        return tuple(dict.fromkeys(name for name in names if name))


def _id_of(entry: JSON) -> str:
    value = (entry.get("id") or entry.get("name")) if isinstance(entry, Mapping) else entry
    return value if isinstance(value, str) else ""


def _bytes(value: JSON) -> bytes:
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:  # a server's schema or a configured option holds what JSON cannot say
        text = json.dumps(_sayable(value), ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a character, which a model may write; no provider takes it back
        return _SURROGATE.sub("\ufffd", text).encode()


def _sayable(value: JSON) -> JSON:
    """The value with NaN and the infinities taken out."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {name: _sayable(inner) for name, inner in value.items()}
    return [_sayable(inner) for inner in value] if isinstance(value, list | tuple) else value


def _tool(tool: ToolSpec) -> JSON:
    function: dict[str, JSON] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = _schema(tool.schema)
    return {"type": "function", "function": function}


def _schema(schema: JSON) -> JSON:
    """The server's schema, untouched but for what is refused: a root that is no object, or one that names no properties."""
    if not isinstance(schema, Mapping):
        return {"type": "object", "properties": {}}
    added: dict[str, JSON] = {}
    if "type" not in schema:
        added["type"] = "object"
    if "properties" not in schema:
        added["properties"] = {}
    return {**schema, **added} if added else schema


class _Writer:
    """Writes the conversation of one request."""

    def __init__(self, ask: Ask, provider: str) -> None:
        self._ask = ask
        self._provider = provider
        self._ids: dict[str, str] = {}
        parts = [part for message in ask.messages for part in message.parts]
        # Once there are calls, DeepSeek refuses a conversation in which the thinking is not given back; before, nobody reads it.
        self._echoes = any(isinstance(part, ToolCall) for part in parts) and any(map(self._is_echo, parts))

    def messages(self) -> list[JSON]:
        """All of them, oldest first."""
        return [written for message in self._ask.messages for written in self._message(message)]

    def _message(self, message: Message) -> Iterator[JSON]:
        match message.role:
            case "system":
                yield {"role": "system", "content": _text(message.parts)}
            case "user":
                yield {"role": "user", "content": _content(message.parts)}
            case "assistant":
                yield from self._assistant(message)
            case "tool":
                yield from self._results([part for part in message.parts if isinstance(part, ToolResult)])

    def _assistant(self, message: Message) -> Iterator[JSON]:
        text = _text(message.parts)
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        if not text and not calls:
            return  # an answer without words is refused; it stays in the session
        written: dict[str, JSON] = {"role": "assistant"}
        if self._echoes and (calls or any(map(self._is_echo, message.parts))):
            thoughts = [part.text for part in message.parts if isinstance(part, Thinking) and self._is_ours(part)]
            written[ECHOED] = "".join(thoughts)
        written["content"] = text or None
        if calls:
            taken: set[str] = set()
            written["tool_calls"] = [self._call(call, taken) for call in calls]
        yield written

    def _call(self, call: ToolCall, taken: set[str]) -> JSON:
        self._ids[call.id] = _wire_id(call, taken)
        name = call.name if OPENAI_NAMES.allows(call.name) else OPENAI_NAMES.clean(call.name)
        function: JSON = {"name": name, "arguments": _arguments(call.arguments)}
        return {"id": self._ids[call.id], "type": "function", "function": function}

    def _results(self, results: Sequence[ToolResult]) -> Iterator[JSON]:
        images: list[JSON] = []
        for result in results:
            wire_id = self._ids.get(result.call.id) or _wire_id(result.call, set())
            texts: list[str] = []
            for part in result.content:
                if isinstance(part, Text):
                    texts.append(part.text)
                else:
                    images.append(_image(part))
                    texts.append(f"(image {len(images)} of this step, {part.media_type}: see the next message)")
            yield {"role": "tool", "tool_call_id": wire_id, "content": "\n".join(texts)}
        if images:  # a tool's message takes text alone, and nothing may come between those of one step
            yield {"role": "user", "content": images}

    def _is_ours(self, thinking: Thinking) -> bool:
        return thinking.provider == self._provider and thinking.model == self._ask.model

    def _is_echo(self, part: object) -> bool:
        return isinstance(part, Thinking) and part.echo == ECHOED and self._is_ours(part)


def _arguments(text: str) -> str:
    """A call's arguments as the model wrote them; wrapped where they are no object, for vLLM and llama.cpp parse them."""
    if not text.strip():
        return "{}"
    try:
        value: JSON = json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        value = text
    if value is None:
        return "{}"
    return text if isinstance(value, dict) else json.dumps({UNREADABLE: text}, ensure_ascii=False)


def _refused(word: str) -> JSON:
    raise ValueError(word)


def _wire_id(call: ToolCall, taken: set[str]) -> str:
    """The vendor's id for a call, or one of our own where it gave none; different from all in the same message."""
    wire_id = call.wire_id or call.id
    if len(wire_id) > _LONGEST_ID:
        wire_id = "call_" + hashlib.sha256(wire_id.encode("utf-8", "replace")).hexdigest()[:24]
    found, number = wire_id, 1
    while found in taken:
        number += 1
        found = f"{wire_id[: _LONGEST_ID - 8]}_{number}"
    taken.add(found)
    return found


def _text(parts: Sequence[object]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text))


def _content(parts: Sequence[object]) -> JSON:
    if not any(isinstance(part, Image) for part in parts):
        return _text(parts)
    found: list[JSON] = []
    for part in parts:
        if isinstance(part, Text):
            found.append({"type": "text", "text": part.text})
        elif isinstance(part, Image):
            found.append(_image(part))
    return found


def _image(image: Image) -> JSON:
    return {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{image.data}", "detail": "auto"}}
