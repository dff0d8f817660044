"""Writes requests for OpenAI's Responses API, without state at the provider. Source: OpenAI API reference, Responses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from typing_extensions import override

from tui_host.errors import JSON
from tui_host.llm.dialects.body_kinds import AnswerPart, Fit, are_objects, text_member
from tui_host.llm.dialects.dialect import Dialect, Target, WireRequest
from tui_host.llm.dialects.openai_responses.outline import ResponsesParts
from tui_host.llm.dialects.openai_responses.read import ResponsesReading
from tui_host.llm.dialects.openai_service import LONGEST_ID, credential_headers, image_url, path_of
from tui_host.llm.messages import Ask, Image, Message, Part, Text, Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.llm.request_writing import (
    CallIds,
    arguments_text,
    body_bytes,
    echo_of,
    results_in,
    system_text,
    text_of,
    tools_text,
    with_taken_images,
)
from tui_host.llm.schema_adaptation import OPENAI_SCHEMAS, adapt
from tui_host.llm.tool_names import OPENAI_NAMES
from tui_host.settings.environment_references import Secret

_THINKS_NOT = re.compile(r"(^|[/:])(gpt-3|gpt-4|chatgpt|gpt-5[\w.-]*-chat)")
"""Models that refuse any option about thinking."""
_THINKS = re.compile(r"(^|[/:])(o\d|gpt-[5-9]|gpt-oss|codex)")


_LACKS = {"seed": "this API has no seed", "stop": "this API has no texts to stop at"}


class OpenAIResponses(Dialect):
    """The Responses API without stored state: every request holds all items."""

    name = "openai-responses"
    schema_rules = OPENAI_SCHEMAS
    paths = ("/responses",)
    part_reader = ResponsesParts
    answer_reader = ResponsesReading

    @override
    def write(self, ask: Ask, target: Target) -> WireRequest:
        body: dict[str, JSON] = {"model": ask.model, "store": False}
        if ask.stream:
            body["stream"] = True
        body |= _thinking(ask)
        system = system_text(ask.messages)
        if system:
            body["instructions"] = system
        body |= _options(ask)
        tools = tools_text(ask.tools, _tool)
        whole, growing = body_bytes(body, dict(ask.extra), tools=tools, input=_Writer(ask, target.provider).items())
        return WireRequest(
            path=path_of("responses", target),
            body=whole,
            growing=growing,
            unsent=ask.unsent((), **_LACKS),
        )

    @override
    def headers(self, secret: Secret | None, target: Target) -> tuple[tuple[str, str], ...]:
        """Return the credential."""
        return credential_headers(secret, target)

    @override
    def fits_request(self, body: Mapping[str, JSON]) -> Fit:
        """Return 2 for a body with `model` and `input`."""
        asked = body.get("input")
        is_asked = "model" in body and "jsonrpc" not in body and (isinstance(asked, str) or are_objects(asked))
        return 2 if is_asked else 0

    @override
    def answer_part(self, body: Mapping[str, JSON]) -> AnswerPart | None:
        """Recognise a response and the events of a response."""
        kind = text_member(body, "type")
        if not kind.startswith("response."):
            return AnswerPart(stream=text_member(body, "id")) if body.get("object") == "response" else None
        ends = kind in {"response.completed", "response.failed", "response.incomplete"}
        return AnswerPart(is_event=True, begins=kind == "response.created", ends=ends, is_empty=ends)


def _thinking(ask: Ask) -> dict[str, JSON]:
    """Ask for summaries of the thinking and for encrypted thinking to send back, as the vendor's own client does.

    Models that do not think refuse both. For other vendors' models only the options set by the user are sent.
    """
    effort = ask.options.reasoning_effort
    if effort is None and _THINKS_NOT.search(ask.model):
        return {}
    written: dict[str, JSON] = {"include": ["reasoning.encrypted_content"]}
    if effort is not None:
        written["reasoning"] = {"effort": "none" if effort == "off" else effort, "summary": "auto"}
    elif _THINKS.search(ask.model):
        written["reasoning"] = {"summary": "auto"}
    return written


def _options(ask: Ask) -> dict[str, JSON]:
    """Return the options known to the API, which has no seed and no stop sequences."""
    options = ask.options
    written: dict[str, JSON] = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "max_output_tokens": options.max_tokens,
    }
    return {name: value for name, value in written.items() if value is not None} | dict(options.others)


def _tool(tool: ToolSpec) -> JSON:
    written: dict[str, JSON] = {"type": "function", "name": tool.name}
    if tool.description:
        written["description"] = tool.description
    # `strict` defaults to true, and the service would then change or refuse the schema.
    return written | {"parameters": adapt(tool.schema, OPENAI_SCHEMAS).schema, "strict": False}


class _Writer:
    """Writes the conversation of a request as a list of items."""

    def __init__(self, ask: Ask, provider: str) -> None:
        self._ask = ask
        self._provider = provider
        self._ids = CallIds(LONGEST_ID)

    def items(self) -> list[JSON]:
        """Write all items, oldest first."""
        return [item for message in self._ask.messages for item in self._message(message)]

    def _message(self, message: Message) -> Iterator[JSON]:
        match message.role:
            case "system":
                return  # written as `instructions`
            case "user":
                yield {"role": "user", "content": _content(message.parts, newline="")}
            case "assistant":
                yield from self._assistant(message)
            case "tool":
                yield from map(self._result, results_in(message))

    def _assistant(self, message: Message) -> Iterator[JSON]:
        """Write the items in order: the service refuses a reasoning item without its next item, and the reverse."""
        self._ids.begin_message()
        last = max((n for n, part in enumerate(message.parts) if not isinstance(part, Thinking)), default=-1)
        parts = message.parts[: last + 1]
        is_whole = all(_is_complete(self._echo(part)) for part in parts if isinstance(part, Thinking))
        for part in parts:
            item = self._item(part, self._echo(part))
            if not is_whole:
                item.pop("id", None)  # an id would make the service demand the missing thought
            if item:
                yield item

    def _item(self, part: Part, echo: Mapping[str, JSON]) -> dict[str, JSON]:
        match part:
            case Thinking():
                return dict(echo) if _is_complete(echo) else {}
            case ToolCall():
                name = OPENAI_NAMES.clean(part.name)
                arguments = arguments_text(part.arguments)
                asked: dict[str, JSON] = {"call_id": self._ids.of(part), "name": name, "arguments": arguments}
                return {"type": "function_call", **echo, **asked}
            case Text() if echo.get("type") == "message":
                content: JSON = [{"type": "output_text", "text": part.text, "annotations": []}]
                return {"role": "assistant", "content": content, **echo}
            case Text() if echo:
                return dict(echo)
            case Text() if part.text:
                return {"role": "assistant", "content": part.text}
            case _:
                return {}

    def _echo(self, part: Part) -> Mapping[str, JSON]:
        return echo_of(part, provider=self._provider, model=self._ask.model, dialect="openai-responses")

    def _result(self, result: ToolResult) -> JSON:
        output = _content(result.content, newline="\n")
        return {"type": "function_call_output", "call_id": self._ids.of(result.call), "output": output}


def _is_complete(thought: Mapping[str, JSON]) -> bool:
    """Tell whether a reasoning item can be sent back: it must hold the encrypted thinking, as the service stores none."""
    return bool(thought.get("encrypted_content") or thought.get("content"))


def _content(parts: Sequence[object], *, newline: str) -> JSON:
    """Write a text, or a list if there are images. Used for results too."""
    if not any(isinstance(part, Image) for part in parts):
        return newline.join(part.text for part in parts if isinstance(part, Text)) if newline else text_of(parts)
    written: list[JSON] = []
    for part in with_taken_images(parts):
        if isinstance(part, Text) and part.text:
            written.append({"type": "input_text", "text": part.text})
        elif isinstance(part, Image):
            written.append({"type": "input_image", "image_url": image_url(part), "detail": "auto"})
    return written
