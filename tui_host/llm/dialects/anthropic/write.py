"""Writes requests for Anthropic's Messages API. Source: Anthropic API reference, Messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tui_host.capture.json.narrowing import items, mapping, said
from tui_host.errors import JSON, ModelError
from tui_host.llm.body_framing import BodyDecoder
from tui_host.llm.dialects.anthropic.outline import outline_of
from tui_host.llm.dialects.anthropic.read import AnthropicReading
from tui_host.llm.dialects.body_kinds import AnswerPart, Fit, chat_messages, error_object, text_member
from tui_host.llm.dialects.dialect import Target, WireRequest, names_in
from tui_host.llm.messages import Ask, Image, Message, Text, Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.llm.outline import Outline
from tui_host.llm.provider_faults import refusal
from tui_host.llm.request_writing import (
    CallIds,
    arguments_object,
    body_bytes,
    echo_of,
    object_schema,
    system_text,
    tools_text,
    with_taken_images,
)
from tui_host.llm.tool_names import OPENAI_NAMES, NameRule
from tui_host.settings.environment_references import Secret

MOST_TOKENS: Final = 8192
"""The default limit of an answer: the API wants a number, and every model allows this many."""
MOST_TOKENS_THINKING: Final = 32_768
"""The default limit with thinking, allowed by every model with efforts."""

_NEW_VERSION = "2026-10-21"
_OLD_VERSION = "2023-06-01"
_LONGEST_ID = 64
_THINKING = ("thinking", "redacted_thinking")
_NO_THINKING = ("none", "off")
_NOT_AT_THE_ROOT = ("oneOf", "allOf", "anyOf")


class Anthropic:
    """Messages."""

    name: str = "anthropic"
    versions: tuple[str, ...] = ("v1",)
    paths: tuple[str, ...] = ("/messages",)
    models_path: str = "models?limit=1000"
    name_rule: NameRule = OPENAI_NAMES

    def write(self, ask: Ask, target: Target) -> WireRequest:
        """Write the request, with the messages last, so that each step's request begins with all bytes of the previous request."""
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
            headers=(("Content-Type", "application/json"), ("Accept", "application/json")),
            unsent=ask.unsent(_stops(ask), **_lacks(_version(target))),
        )

    def headers(self, secret: Secret | None, target: Target) -> tuple[tuple[str, str], ...]:
        """Return the key in a header of its own, and the version, which is mandatory."""
        version = ("anthropic-version", _version(target))
        return (version,) if secret is None else (("x-api-key", secret.reveal()), version)

    def decoder(self, content_type: str) -> BodyDecoder:
        """Make a reader for a response."""
        return BodyDecoder(AnthropicReading(), content_type)

    def error(self, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> ModelError:
        """Read a refusal; a spending limit set by the account's owner does not pass by itself."""
        error = refusal(status, headers, body)
        if b'"enforced_spend_limit_reached"' in body:
            error.passes, error.remedy = False, "the account has reached a limit that was set to its spending"
        return error

    def outline(self, body: bytes, names: Mapping[str, tuple[str, str]] | None = None) -> Outline | None:
        """A request as a tree."""
        return outline_of(body, names or {})

    def fits_request(self, body: Mapping[str, JSON]) -> Fit:
        """Certain where a member or a block of this API alone is there; possible for two roles and a limit of tokens."""
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

    def answer_part(self, body: Mapping[str, JSON]) -> AnswerPart | None:
        """A message, one event of its stream, or an error."""
        kind = text_member(body, "type")
        if kind.startswith(("message_", "content_block_")):
            ends = kind == "message_stop"
            return AnswerPart(is_event=True, begins=kind == "message_start", ends=ends, is_empty=ends)
        if kind == "message" and body.get("role") == "assistant":
            return AnswerPart(stream=text_member(body, "id"))
        return AnswerPart(ends=True) if kind == "error" and error_object(body) else None

    def models(self, body: bytes) -> tuple[str, ...]:
        """The names in a list of models, in the provider's order."""
        return names_in(body)


def _version(target: Target) -> str:
    return target.api_version or (_NEW_VERSION if target.service == "anthropic" else _OLD_VERSION)


def _lacks(version: str) -> dict[str, str]:
    """Return the options missing from the API, and why."""
    no_choice = f"version {_NEW_VERSION} of this API does not have it: an api_version before it does"
    new = {"temperature": no_choice, "top_p": no_choice} if version >= _NEW_VERSION else {}
    return {"seed": "this API has no seed", **new}


def _stops(ask: Ask) -> list[str]:
    return [stop for stop in ask.stops if stop.strip()]  # white space alone is refused


def _options(ask: Ask, version: str) -> dict[str, JSON]:
    """Return the options known to the API: no seed, and no sampling in the newest version."""
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
    schema = object_schema(tool.schema)
    if schema.get("type") != "object" or any(name in schema for name in _NOT_AT_THE_ROOT):
        # Refused at the root alone; what a call's arguments have to be, the server's own schema says all the same.
        schema = {name: value for name, value in schema.items() if name not in _NOT_AT_THE_ROOT} | {"type": "object"}
    described: dict[str, JSON] = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "input_schema": schema}


class _Writer:
    """Writes the conversation of a request."""

    def __init__(self, ask: Ask, provider: str) -> None:
        self._ask = ask
        self._provider = provider
        self._ids = CallIds(_LONGEST_ID, "A-Za-z0-9_-")

    def messages(self) -> list[JSON]:
        """Write all messages, oldest first, without messages of thinking alone."""
        written: list[JSON] = []
        for message in self._ask.messages:
            blocks = list(self._blocks(message))
            if not all(map(_is_thinking, blocks)):  # thinking alone is no answer; it stays in the session
                written.append({"role": "assistant" if message.role == "assistant" else "user", "content": blocks})
        return written

    def _blocks(self, message: Message) -> Iterator[JSON]:
        match message.role:
            case "system":
                return  # stands beside the conversation
            case "user":
                yield from _content(message.parts)
            case "assistant":
                yield from self._assistant(message)
            case "tool":
                yield from (self._result(part) for part in message.parts if isinstance(part, ToolResult))

    def _assistant(self, message: Message) -> Iterator[JSON]:
        """Write the blocks in their order: the service refuses changed or moved thinking."""
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
        name = call.name if OPENAI_NAMES.allows(call.name) else OPENAI_NAMES.clean(call.name)
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
    """Write texts and images; the service refuses blank texts."""
    for part in with_taken_images(parts):
        if isinstance(part, Image):
            yield _image(part)
        elif isinstance(part, Text) and part.text.strip():
            yield {"type": "text", "text": part.text}


def _image(image: Image) -> JSON:
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}
