"""Writes requests for Chat Completions, as OpenAI and many others take them. Source: OpenAI API reference, Chat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

from typing_extensions import override

from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON
from tui_host.llm.dialects.body_kinds import AnswerPart, Fit, chat_messages, error_object, first_object, text_member
from tui_host.llm.dialects.dialect import Dialect, Target, WireRequest
from tui_host.llm.dialects.openai.outline import OpenAIParts
from tui_host.llm.dialects.openai.read import DETAILS, ECHOED, OpenAIReading
from tui_host.llm.dialects.openai_service import AZURE, LONGEST_ID, credential_headers, image_url, path_of
from tui_host.llm.messages import Ask, Image, Message, Text, Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.llm.request_writing import (
    CallIds,
    arguments_text,
    body_bytes,
    is_from,
    result_texts,
    results_in,
    text_of,
    tools_text,
    with_taken_images,
)
from tui_host.llm.schema_adaptation import OPENAI_SCHEMAS, adapt
from tui_host.llm.tool_names import OPENAI_NAMES
from tui_host.settings.environment_references import Secret

_MOST_STOPS = 4
_NEW_NAME = ("openai", AZURE)
"""The services known to take `max_completion_tokens`."""


_MISTRAL = "mistral"
"""Wants ids of nine letters and digits, and no user's message directly behind the results of tools. Source: Mistral API reference, Chat."""


class OpenAI(Dialect):
    """Chat Completions."""

    name = "openai"
    schema_rules = OPENAI_SCHEMAS
    paths = ("/chat/completions",)
    part_reader = OpenAIParts
    answer_reader = OpenAIReading

    @override
    def write(self, ask: Ask, target: Target) -> WireRequest:
        body: dict[str, JSON] = {"model": ask.model}
        if ask.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        body |= _options(ask, target.service)
        tools = tools_text(ask.tools, _tool)
        messages = _Writer(ask, target).messages()
        whole, growing = body_bytes(body, dict(ask.extra), tools=tools, messages=messages)
        return WireRequest(
            path=path_of("chat/completions", target),
            body=whole,
            growing=growing,
            unsent=ask.unsent(_stops(ask)),
        )

    @override
    def headers(self, secret: Secret | None, target: Target) -> tuple[tuple[str, str], ...]:
        """Return the credential."""
        return credential_headers(secret, target)

    @override
    def fits_request(self, body: Mapping[str, JSON]) -> Fit:
        """Return 1 for any list of messages, which Ollama and Anthropic have too."""
        return 1 if chat_messages(body) else 0

    @override
    def answer_part(self, body: Mapping[str, JSON]) -> AnswerPart | None:
        """Recognise a completion, a chunk of a completion, and an error."""
        if "choices" not in body or "messages" in body:
            error = error_object(body)
            return AnswerPart() if error.keys() & {"type", "code", "param"} and "status" not in error else None
        choice = first_object(body["choices"], index="index")
        delta = mapping(choice.get("delta"))
        return AnswerPart(
            is_event=body.get("object") == "chat.completion.chunk" or "delta" in choice or not choice,
            stream=text_member(body, "id"),
            ends=bool(choice.get("finish_reason")),
            is_empty="message" not in choice
            and not choice.get("text")
            and not any(value for name, value in delta.items() if name != "role"),
        )


def _stops(ask: Ask) -> list[str]:
    return list(ask.stops[:_MOST_STOPS])


def _options(ask: Ask, service: str) -> dict[str, JSON]:
    options = ask.options
    most = "max_completion_tokens" if service in _NEW_NAME else "max_tokens"
    written: dict[str, JSON] = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        most: options.max_tokens,
        "reasoning_effort": options.reasoning_effort,
        "random_seed" if service == _MISTRAL else "seed": options.seed,
        "stop": _stops(ask) or None,
    }
    return {name: value for name, value in written.items() if value is not None} | dict(options.others)


def _tool(tool: ToolSpec) -> JSON:
    function: dict[str, JSON] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = adapt(tool.schema, OPENAI_SCHEMAS).schema
    return {"type": "function", "function": function}


class _Writer:
    """Writes the conversation of a request."""

    def __init__(self, ask: Ask, target: Target) -> None:
        self._ask = ask
        self._provider = target.provider
        self._is_mistral = target.service == _MISTRAL
        self._ids = CallIds(9, "A-Za-z0-9", least=9) if self._is_mistral else CallIds(LONGEST_ID)
        parts = [part for message in ask.messages for part in message.parts]
        # DeepSeek refuses a conversation with calls that lacks the thinking; without calls it ignores thinking.
        self._echoes = any(isinstance(part, ToolCall) for part in parts) and any(map(self._is_echo, parts))

    def messages(self) -> list[JSON]:
        """Write all messages, oldest first."""
        return [written for message in self._ask.messages for written in self._message(message)]

    def _message(self, message: Message) -> Iterator[JSON]:
        match message.role:
            case "system":
                yield {"role": "system", "content": text_of(message.parts)}
            case "user":
                yield {"role": "user", "content": _content(message.parts)}
            case "assistant":
                yield from self._assistant(message)
            case "tool":
                yield from self._results(results_in(message))

    def _assistant(self, message: Message) -> Iterator[JSON]:
        text = text_of(message.parts)
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        if not text and not calls:
            return  # the API refuses an empty answer; it is only stored
        written: dict[str, JSON] = {"role": "assistant"}
        if self._echoes and (calls or any(map(self._is_echo, message.parts))):
            thoughts = [part.text for part in message.parts if self._is_ours(part)]
            written[ECHOED] = "".join(thoughts)
        details = [item for part in message.parts if self._is_ours(part) for item in _details(part.echo)]
        if details:
            written[DETAILS] = details
        written["content"] = text or None
        if calls:
            self._ids.begin_message()
            written["tool_calls"] = [self._call(call) for call in calls]
        yield written

    def _call(self, call: ToolCall) -> JSON:
        name = OPENAI_NAMES.clean(call.name)
        function: JSON = {"name": name, "arguments": arguments_text(call.arguments)}
        return {"id": self._ids.of(call), "type": "function", "function": function}

    def _results(self, results: Sequence[ToolResult]) -> Iterator[JSON]:
        texts, images = result_texts(results, shows_images=not self._is_mistral)
        for result, text in texts:
            yield {"role": "tool", "tool_call_id": self._ids.of(result.call), "content": text}
        if images:  # a tool's message holds only text, and no message may stand between those of one step
            yield {"role": "user", "content": [_image(image) for image in images]}

    def _is_ours(self, part: object) -> TypeGuard[Thinking]:
        return is_from(part, provider=self._provider, model=self._ask.model)

    def _is_echo(self, part: object) -> bool:
        return self._is_ours(part) and part.echo == ECHOED


def _details(echo: JSON) -> Sequence[JSON]:
    details = echo.get(DETAILS) if isinstance(echo, Mapping) else None
    return details if isinstance(details, list) else ()


def _content(parts: Sequence[object]) -> JSON:
    if not any(isinstance(part, Image) for part in parts):
        return text_of(parts)
    written: list[JSON] = []
    for part in with_taken_images(parts):
        if isinstance(part, Text):
            written.append({"type": "text", "text": part.text})
        elif isinstance(part, Image):
            written.append(_image(part))
    return written


def _image(image: Image) -> JSON:
    return {"type": "image_url", "image_url": {"url": image_url(image), "detail": "auto"}}
