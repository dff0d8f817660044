"""Writes requests for Ollama's `/api/chat`. Source: Ollama's API reference, Generate a chat completion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

from typing_extensions import override

from tui_host.capture.json.narrowing import items, mapping
from tui_host.errors import JSON, ModelError
from tui_host.llm.dialects.body_kinds import AnswerPart, Fit, chat_messages
from tui_host.llm.dialects.dialect import Dialect, Target, Window, WireRequest
from tui_host.llm.dialects.ollama.outline import OllamaParts
from tui_host.llm.dialects.ollama.read import OllamaReading
from tui_host.llm.messages import Ask, Image, Message, Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.llm.provider_faults import refusal
from tui_host.llm.request_writing import (
    CallIds,
    arguments_object,
    body_bytes,
    is_from,
    result_texts,
    results_in,
    text_of,
    tools_text,
    with_taken_images,
)
from tui_host.llm.schema_adaptation import SchemaRules, adapt
from tui_host.llm.tool_names import OPENAI_NAMES

_LONGEST_ID = 64
_BESIDE = ("think", "format", "keep_alive", "truncate", "shift", "logprobs", "top_logprobs")
"""Members of the body outside `options`; any other option without a neutral name (`num_ctx`) goes into `options`."""
_WINDOW = 4096
"""The default of `num_ctx` on servers with less than 24 GiB of video memory."""
_YES_AND_NO: Mapping[str, bool] = {"true": True, "on": True, "false": False, "off": False, "none": False}

_REMEDIES: tuple[tuple[str, str], ...] = (
    ("does not support tools", "choose another model, or a tool protocol that needs none of the model's own"),
    ("does not support thinking", "choose another model, or take reasoning_effort out of its options"),
    ("try pulling it", "pull it (ollama pull NAME), or choose another model"),
    ("context length", "give it more room (options.num_ctx), or start a new session"),
)
"""Remedies by words in the server's refusal."""


class Ollama(Dialect):
    """`/api/chat`."""

    name = "ollama"
    versions = ("api",)
    paths = ("/api/chat",)
    models_path = "tags"
    part_reader = OllamaParts
    answer_reader = OllamaReading
    framing = "lines"

    @override
    def write(self, ask: Ask, target: Target) -> WireRequest:
        """Write the request.

        `truncate` and `shift` make the server refuse a conversation longer than the model's window; else the server
        cuts the tools and the oldest messages silently. Older servers ignore both.
        """
        body: dict[str, JSON] = {"model": ask.model, "stream": ask.stream, "truncate": False, "shift": False}
        body |= _options(ask)
        added, own = dict(ask.extra), body.get("options")
        more = added.get("options")
        if isinstance(more, Mapping) and isinstance(own, Mapping):
            added["options"] = {**own, **more}
        tools = tools_text(ask.tools, _tool)
        messages = _Writer(ask, target.provider).messages()
        whole, growing = body_bytes(body, added, tools=tools, messages=messages)
        return WireRequest(
            path="chat",
            body=whole,
            growing=growing,
            headers=(("Content-Type", "application/json"), ("Accept", "application/x-ndjson")),
            window=_window(added.get("options", body.get("options"))),
        )

    @override
    def error(self, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> ModelError:
        """Make the error for a refusal, with a remedy for the server's message."""
        error = refusal(status, headers, body)
        error.remedy = next((remedy for words, remedy in _REMEDIES if words in error.what), error.remedy)
        return error

    @override
    def fits_request(self, body: Mapping[str, JSON]) -> Fit:
        """Return 2 for members that only this API has, and for arguments as an object; else 1."""
        messages = chat_messages(body)
        calls = (mapping(mapping(call).get("function")) for each in messages for call in items(each.get("tool_calls")))
        is_own = bool(body.keys() & {"options", "keep_alive", "think", "format", "raw"})
        if messages and (is_own or any(isinstance(call.get("arguments"), Mapping) for call in calls)):
            return 2
        return 1 if messages else 0

    @override
    def answer_part(self, body: Mapping[str, JSON]) -> AnswerPart | None:
        """Recognise a line of an answer; an unstreamed answer is a single line."""
        message = body.get("message")
        if "done" not in body or not isinstance(message, Mapping):
            return None
        says = any(message.get(name) for name in ("content", "thinking", "tool_calls"))
        return AnswerPart(is_event=True, ends=body["done"] is True, is_empty=not says)


def _window(options: JSON) -> Window:
    size = options.get("num_ctx") if isinstance(options, Mapping) else None
    if isinstance(size, int) and size > 0:
        return Window(tokens=size, remedy="give it more room (options.num_ctx), or start a new session")
    remedy = f"say how much room there is (options.num_ctx): most servers take {_WINDOW:,} tokens where nothing is said"
    return Window(tokens=_WINDOW, remedy=remedy)


def _options(ask: Ask) -> dict[str, JSON]:
    options, effort = ask.options, ask.options.reasoning_effort
    beside = {name: value for name, value in options.others.items() if name in _BESIDE}
    inside: dict[str, JSON] = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "num_predict": options.max_tokens,
        "seed": options.seed,
        "stop": list(ask.stops) or None,
    }
    inside = {name: value for name, value in inside.items() if value is not None}
    inside |= {name: value for name, value in options.others.items() if name not in _BESIDE}
    written: dict[str, JSON] = {} if effort is None else {"think": _YES_AND_NO.get(effort, effort)}
    return {**written, **({"options": inside} if inside else {}), **beside}


def _tool(tool: ToolSpec) -> JSON:
    described: dict[str, JSON] = {"description": tool.description} if tool.description else {}
    return {
        "type": "function",
        "function": {"name": tool.name, **described, "parameters": adapt(tool.schema, SchemaRules()).schema},
    }


class _Writer:
    """Writes the conversation of a request."""

    def __init__(self, ask: Ask, provider: str) -> None:
        self._ask = ask
        self._provider = provider
        self._ids = CallIds(_LONGEST_ID)
        asked = (number for number, message in enumerate(ask.messages) if message.role == "user" and not message.source)
        self._loop = max(asked, default=-1)  # where the current turn begins: the server ignores earlier thinking

    def messages(self) -> list[JSON]:
        """Write all messages, oldest first."""
        numbered = enumerate(self._ask.messages)
        return [written for number, message in numbered for written in self._message(message, number)]

    def _message(self, message: Message, number: int) -> Iterator[JSON]:
        match message.role:
            case "system":
                yield {"role": "system", "content": text_of(message.parts)}
            case "user":
                parts = with_taken_images(message.parts)
                yield {"role": "user", "content": text_of(parts), **_images(parts)}
            case "assistant":
                yield from self._assistant(message, thinks=number > self._loop)
            case "tool":
                yield from self._results(results_in(message))

    def _assistant(self, message: Message, *, thinks: bool) -> Iterator[JSON]:
        text = text_of(message.parts)
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        if not text and not calls:
            return  # an empty answer is only stored
        written: dict[str, JSON] = {"role": "assistant", "content": text}
        thoughts = [part.text for part in message.parts if self._is_ours(part)]
        if thinks and any(thoughts):
            written["thinking"] = "".join(thoughts)
        if calls:
            self._ids.begin_message()
            written["tool_calls"] = [self._call(call) for call in calls]
        yield written

    def _call(self, call: ToolCall) -> JSON:
        name = OPENAI_NAMES.clean(call.name)
        function: JSON = {"name": name, "arguments": arguments_object(call.arguments)}
        return {"id": self._ids.of(call), "function": function} if call.wire_id else {"function": function}

    def _results(self, results: Sequence[ToolResult]) -> Iterator[JSON]:
        texts, images = result_texts(results)
        for result, text in texts:
            written: dict[str, JSON] = {"role": "tool", "tool_name": OPENAI_NAMES.clean(result.call.name)}
            if result.call.wire_id:
                written["tool_call_id"] = self._ids.of(result.call)
            yield {**written, "content": text}
        if images:  # many models' templates ignore images in a tool's message
            yield {"role": "user", "content": "", **_images(images)}

    def _is_ours(self, part: object) -> TypeGuard[Thinking]:
        return is_from(part, provider=self._provider, model=self._ask.model)


def _images(parts: Sequence[object]) -> dict[str, JSON]:
    images: list[JSON] = [part.data for part in parts if isinstance(part, Image)]
    return {"images": images} if images else {}
