"""Writes requests for Chat Completions, as OpenAI and many others take them. Source: OpenAI API reference, Chat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON, ModelError
from tui_host.llm.body_framing import BodyDecoder
from tui_host.llm.dialects.body_kinds import AnswerPart, Fit, chat_messages, error_object, first_object, text_member
from tui_host.llm.dialects.dialect import Target, WireRequest, names_in
from tui_host.llm.dialects.openai.outline import outline_of
from tui_host.llm.dialects.openai.read import ECHOED, OpenAIReading
from tui_host.llm.dialects.openai_service import AZURE, HEADERS, LONGEST_ID, credential_headers, image_url, path_of
from tui_host.llm.messages import Ask, Image, Message, Text, Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.llm.outline import Outline
from tui_host.llm.provider_faults import refusal
from tui_host.llm.request_writing import (
    CallIds,
    arguments_text,
    body_bytes,
    object_schema,
    text_of,
    tools_text,
    with_taken_images,
)
from tui_host.llm.tool_names import OPENAI_NAMES, NameRule
from tui_host.settings.environment_references import Secret

_MOST_STOPS = 4
_NEW_NAME = ("openai", AZURE)
"""The services known to take `max_completion_tokens`."""


_MISTRAL = "mistral"
"""Wants ids of nine letters and digits, and no user's message directly behind the results of tools. Source: section 3."""


class OpenAI:
    """Chat Completions."""

    name: str = "openai"
    paths: tuple[str, ...] = ("/chat/completions",)
    models_path: str = "models"
    name_rule: NameRule = OPENAI_NAMES

    versions: tuple[str, ...] = ()

    def write(self, ask: Ask, target: Target) -> WireRequest:
        """Write the request, with the messages last, so that each step's request begins with all bytes of the previous request.

        That common beginning is what the inspector shows, what the store saves, and what a person reads; providers' caches
        do not mind, since they go by the prompt that a request becomes, where the tools come first anyway.
        """
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
            headers=HEADERS,
            unsent=ask.unsent(_stops(ask)),
        )

    def headers(self, secret: Secret | None, target: Target) -> tuple[tuple[str, str], ...]:
        """The credential."""
        return credential_headers(secret, target)

    def decoder(self, content_type: str) -> BodyDecoder:
        """Make a reader for a response."""
        return BodyDecoder(OpenAIReading(), content_type)

    def error(self, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> ModelError:
        """Read a refusal."""
        return refusal(status, headers, body)

    def outline(self, body: bytes, names: Mapping[str, tuple[str, str]] | None = None) -> Outline | None:
        """A request as a tree."""
        return outline_of(body, names or {})

    def fits_request(self, body: Mapping[str, JSON]) -> Fit:
        """Possible for any list of messages: Ollama and Anthropic take the same where neither has a member of its own."""
        return 1 if chat_messages(body) else 0

    def answer_part(self, body: Mapping[str, JSON]) -> AnswerPart | None:
        """A completion, a chunk of one, or an error."""
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

    def models(self, body: bytes) -> tuple[str, ...]:
        """The names in a list of models, in the provider's order."""
        return names_in(body)


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
    function["parameters"] = object_schema(tool.schema)
    return {"type": "function", "function": function}


class _Writer:
    """Writes the conversation of a request."""

    def __init__(self, ask: Ask, target: Target) -> None:
        self._ask = ask
        self._provider = target.provider
        self._is_mistral = target.service == _MISTRAL
        self._ids = CallIds(9, "A-Za-z0-9", least=9) if self._is_mistral else CallIds(LONGEST_ID)
        parts = [part for message in ask.messages for part in message.parts]
        # Once there are calls, DeepSeek refuses a conversation in which the thinking is not given back; before, nobody reads it.
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
                yield from self._results([part for part in message.parts if isinstance(part, ToolResult)])

    def _assistant(self, message: Message) -> Iterator[JSON]:
        text = text_of(message.parts)
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        if not text and not calls:
            return  # an answer without words is refused; it stays in the session
        written: dict[str, JSON] = {"role": "assistant"}
        if self._echoes and (calls or any(map(self._is_echo, message.parts))):
            thoughts = [part.text for part in message.parts if isinstance(part, Thinking) and self._is_ours(part)]
            written[ECHOED] = "".join(thoughts)
        written["content"] = text or None
        if calls:
            self._ids.begin_message()
            written["tool_calls"] = [self._call(call) for call in calls]
        yield written

    def _call(self, call: ToolCall) -> JSON:
        name = call.name if OPENAI_NAMES.allows(call.name) else OPENAI_NAMES.clean(call.name)
        function: JSON = {"name": name, "arguments": arguments_text(call.arguments)}
        return {"id": self._ids.of(call), "type": "function", "function": function}

    def _results(self, results: Sequence[ToolResult]) -> Iterator[JSON]:
        images: list[JSON] = []
        for result in results:
            texts: list[str] = []
            for part in with_taken_images(result.content):
                if isinstance(part, Text):
                    texts.append(part.text)
                elif isinstance(part, Image) and self._is_mistral:
                    texts.append(f"(an image, {part.media_type}, which cannot be shown to you)")
                elif isinstance(part, Image):
                    images.append(_image(part))
                    texts.append(f"(image {len(images)} of this step, {part.media_type}: see the next message)")
            yield {"role": "tool", "tool_call_id": self._ids.of(result.call), "content": "\n".join(texts)}
        if images:  # a tool's message takes text alone, and nothing may come between those of one step
            yield {"role": "user", "content": images}

    def _is_ours(self, thinking: Thinking) -> bool:
        return thinking.provider == self._provider and thinking.model == self._ask.model

    def _is_echo(self, part: object) -> bool:
        return isinstance(part, Thinking) and part.echo == ECHOED and self._is_ours(part)


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
