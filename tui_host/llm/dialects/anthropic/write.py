"""Writes requests for Anthropic's Messages API. Source: Anthropic API reference, Messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from typing_extensions import override

from tui_host.capture.json.narrowing import items, mapping, said
from tui_host.errors import JSON, ModelError
from tui_host.llm.dialects.anthropic.outline import AnthropicParts
from tui_host.llm.dialects.anthropic.read import AnthropicReading
from tui_host.llm.dialects.body_kinds import AnswerPart, Fit, chat_messages, error_object, text_member
from tui_host.llm.dialects.dialect import Dialect, Target, WireRequest
from tui_host.llm.messages import Ask, Image, Message, Text, Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.llm.provider_faults import refusal
from tui_host.llm.request_writing import (
    CallIds,
    arguments_object,
    body_bytes,
    echo_of,
    results_in,
    system_text,
    tools_text,
    with_taken_images,
)
from tui_host.llm.schema_adaptation import SchemaRules, adapt
from tui_host.llm.tool_names import OPENAI_NAMES
from tui_host.settings.environment_references import Secret

MOST_TOKENS: Final = 8192
"""The default for `max_tokens`, which the API requires; every model allows this many."""
MOST_TOKENS_THINKING: Final = 32_768
"""The default for `max_tokens` with thinking, allowed by every model that has efforts."""

_NEW_VERSION = "2026-10-21"
_OLD_VERSION = "2023-06-01"
_LONGEST_ID = 64
_THINKING = ("thinking", "redacted_thinking")
_NO_THINKING = ("none", "off")
_SCHEMAS = SchemaRules(root=frozenset({"oneOf", "allOf", "anyOf"}), property_name=re.compile(r"[a-zA-Z0-9_.-]{1,64}"))


class Anthropic(Dialect):
    """Messages."""

    name = "anthropic"
    schema_rules = _SCHEMAS
    versions = ("v1",)
    paths = ("/messages",)
    models_path = "models?limit=1000"
    part_reader = AnthropicParts
    answer_reader = AnthropicReading

    @override
    def write(self, ask: Ask, target: Target) -> WireRequest:
        body: dict[str, JSON] = {"model": ask.model, **_options(ask, _version(target))}
        if ask.stream:
            body["stream"] = True
        system = system_text(ask.messages)
        if system:
            body["system"] = system
        tools = tools_text(ask.tools, _tool)
        messages = _Writer(ask, target.provider).messages()
        whole, growing = body_bytes(body, dict(ask.extra), tools=tools, messages=messages)
        return WireRequest(
            path="messages",
            body=whole,
            growing=growing,
            unsent=ask.unsent(_stops(ask), **_lacks(_version(target))),
        )

    @override
    def headers(self, secret: Secret | None, target: Target) -> tuple[tuple[str, str], ...]:
        """Return the key in a header of its own, and the version, which is mandatory."""
        version = ("anthropic-version", _version(target))
        return (version,) if secret is None else (("x-api-key", secret.reveal()), version)

    @override
    def error(self, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> ModelError:
        """Read a refusal. A spending limit set by the account's owner is not worth a retry."""
        error = refusal(status, headers, body)
        if b'"enforced_spend_limit_reached"' in body:
            error.passes, error.remedy = False, "the account has reached a limit that was set to its spending"
        return error

    @override
    def fits_request(self, body: Mapping[str, JSON]) -> Fit:
        """Return 2 for members or blocks that only this API has, 1 for a limit of tokens and only two roles."""
        messages = chat_messages(body)
        if not messages:
            return 0
        tools = [mapping(tool) for tool in items(body.get("tools"))]
        kinds = {said(mapping(block).get("type")) for message in messages for block in items(message.get("content"))}
        if any("input_schema" in tool for tool in tools) or kinds & {"tool_use", "tool_result", "thinking"}:
            return 2
        if "max_tokens" not in body:
            return 0
        if body.keys() & {"system", "anthropic_version", "stop_sequences", "thinking", "top_k"}:
            return 2
        return 1 if not tools and {said(message.get("role")) for message in messages} <= {"user", "assistant"} else 0

    @override
    def answer_part(self, body: Mapping[str, JSON]) -> AnswerPart | None:
        """Recognise a message, an event of a stream, and an error."""
        kind = text_member(body, "type")
        if kind.startswith(("message_", "content_block_")):
            ends = kind == "message_stop"
            return AnswerPart(is_event=True, begins=kind == "message_start", ends=ends, is_empty=ends)
        if kind == "message" and body.get("role") == "assistant":
            return AnswerPart(stream=text_member(body, "id"))
        return AnswerPart(ends=True) if kind == "error" and error_object(body) else None


def _version(target: Target) -> str:
    return target.api_version or (_NEW_VERSION if target.service == "anthropic" else _OLD_VERSION)


def _lacks(version: str) -> dict[str, str]:
    """Return the options that this version of the API lacks, each with the reason."""
    no_choice = f"version {_NEW_VERSION} of this API does not have it: an api_version before it does"
    new = {"temperature": no_choice, "top_p": no_choice} if version >= _NEW_VERSION else {}
    return {"seed": "this API has no seed", **new}


def _stops(ask: Ask) -> list[str]:
    return [stop for stop in ask.stops if stop.strip()]  # the API refuses stop sequences of white space


def _options(ask: Ask, version: str) -> dict[str, JSON]:
    """Return the options known to the API, which has no seed, and in its newest version no sampling options."""
    options, effort = ask.options, ask.options.reasoning_effort
    thinks = effort is not None and effort not in _NO_THINKING
    otherwise = MOST_TOKENS_THINKING if thinks else MOST_TOKENS
    written: dict[str, JSON] = {"max_tokens": otherwise if options.max_tokens is None else options.max_tokens}
    if thinks:
        written["thinking"] = {"type": "adaptive", "display": "summarized"}
        written["output_config"] = {"effort": effort}
    elif effort is not None:
        written["thinking"] = {"type": "disabled"}
    chosen = {"temperature": options.temperature, "top_p": options.top_p}
    lacks = _lacks(version)
    written |= {name: value for name, value in chosen.items() if value is not None and name not in lacks}
    stops = _stops(ask)
    return {**written, **({"stop_sequences": stops} if stops else {}), **options.others}


def _tool(tool: ToolSpec) -> JSON:
    described: dict[str, JSON] = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "input_schema": adapt(tool.schema, _SCHEMAS).schema}


class _Writer:
    """Writes the conversation of a request."""

    def __init__(self, ask: Ask, provider: str) -> None:
        self._ask = ask
        self._provider = provider
        self._ids = CallIds(_LONGEST_ID, "A-Za-z0-9_-")

    def messages(self) -> list[JSON]:
        """Write all messages, oldest first, except messages that hold only thinking."""
        written: list[JSON] = []
        for message in self._ask.messages:
            blocks = list(self._blocks(message))
            if not all(map(_is_thinking, blocks)):  # thinking is no answer; such a message is only stored
                written.append({"role": "assistant" if message.role == "assistant" else "user", "content": blocks})
        return written

    def _blocks(self, message: Message) -> Iterator[JSON]:
        match message.role:
            case "system":
                return  # written as the `system` member
            case "user":
                yield from _content(message.parts)
            case "assistant":
                yield from self._assistant(message)
            case "tool":
                yield from map(self._result, results_in(message))

    def _assistant(self, message: Message) -> Iterator[JSON]:
        """Write the blocks in order: the API refuses changed or moved thinking."""
        self._ids.begin_message()
        for part in message.parts:
            if isinstance(part, Text) and part.text.strip():
                yield {"type": "text", "text": part.text}
            elif isinstance(part, ToolCall):
                yield self._call(part)
            elif isinstance(part, Thinking):
                echo = echo_of(part, provider=self._provider, model=self._ask.model, dialect="anthropic")
                if echo:
                    yield _thinking(echo, part.text)

    def _call(self, call: ToolCall) -> JSON:
        name = OPENAI_NAMES.clean(call.name)
        return {"type": "tool_use", "id": self._ids.of(call), "name": name, "input": arguments_object(call.arguments)}

    def _result(self, result: ToolResult) -> JSON:
        written: dict[str, JSON] = {"type": "tool_result", "tool_use_id": self._ids.of(result.call)}
        content = list(_content(result.content))
        if content:
            written["content"] = content
        if result.is_error:
            written["is_error"] = True
        return written


def _is_thinking(block: JSON) -> bool:
    return isinstance(block, Mapping) and block.get("type") in _THINKING


def _thinking(echo: Mapping[str, JSON], text: str) -> JSON:
    if echo.get("type") != "thinking":
        return echo
    return {"type": "thinking", "thinking": text, "signature": echo.get("signature")}


def _content(parts: Sequence[object]) -> Iterator[JSON]:
    """Write texts and images, without blank texts, which the API refuses."""
    for part in with_taken_images(parts):
        if isinstance(part, Image):
            yield _image(part)
        elif isinstance(part, Text) and part.text.strip():
            yield {"type": "text", "text": part.text}


def _image(image: Image) -> JSON:
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}
