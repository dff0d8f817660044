"""Writes requests for OpenAI's Responses API, without state at the provider. Source: OpenAI API reference, Responses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tui_host.errors import JSON, ModelError
from tui_host.llm.body_framing import BodyDecoder
from tui_host.llm.dialects.body_kinds import AnswerPart, Fit, are_objects, text_member
from tui_host.llm.dialects.dialect import Target, WireRequest, names_in
from tui_host.llm.dialects.openai_responses.outline import outline_of
from tui_host.llm.dialects.openai_responses.read import ResponsesReading
from tui_host.llm.dialects.openai_service import HEADERS, LONGEST_ID, credential_headers, image_url, path_of
from tui_host.llm.messages import Ask, Image, Message, Part, Text, Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.llm.outline import Outline
from tui_host.llm.provider_faults import refusal
from tui_host.llm.request_writing import (
    CallIds,
    arguments_text,
    body_bytes,
    echo_of,
    object_schema,
    system_text,
    text_of,
    tools_text,
    with_taken_images,
)
from tui_host.llm.tool_names import OPENAI_NAMES, NameRule
from tui_host.settings.environment_references import Secret

_THINKS_NOT = re.compile(r"(^|[/:])(gpt-3|gpt-4|chatgpt|gpt-5[\w.-]*-chat)")
"""The models that refuse a word about thinking."""
_THINKS = re.compile(r"(^|[/:])(o\d|gpt-[5-9]|gpt-oss|codex)")


_LACKS = {"seed": "this API has no seed", "stop": "this API has no texts to stop at"}


class OpenAIResponses:
    """Responses, with all items in every request: the model sees nothing else."""

    name: str = "openai-responses"
    versions: tuple[str, ...] = ()
    paths: tuple[str, ...] = ("/responses",)
    models_path: str = "models"
    name_rule: NameRule = OPENAI_NAMES

    def write(self, ask: Ask, target: Target) -> WireRequest:
        """Write the request, with the input last, so that each step's request begins with all bytes of the previous request."""
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
            headers=HEADERS,
            unsent=ask.unsent((), **_LACKS),
        )

    def headers(self, secret: Secret | None, target: Target) -> tuple[tuple[str, str], ...]:
        """The credential."""
        return credential_headers(secret, target)

    def decoder(self, content_type: str) -> BodyDecoder:
        """Make a reader for a response."""
        return BodyDecoder(ResponsesReading(), content_type)

    def error(self, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> ModelError:
        """Read a refusal."""
        return refusal(status, headers, body)

    def outline(self, body: bytes, names: Mapping[str, tuple[str, str]] | None = None) -> Outline | None:
        """A request as a tree."""
        return outline_of(body, names or {})

    def fits_request(self, body: Mapping[str, JSON]) -> Fit:
        """Certain where a model and an input stand beside each other."""
        asked = body.get("input")
        is_asked = "model" in body and "jsonrpc" not in body and (isinstance(asked, str) or are_objects(asked))
        return 2 if is_asked else 0

    def answer_part(self, body: Mapping[str, JSON]) -> AnswerPart | None:
        """A response, or one of its events."""
        kind = text_member(body, "type")
        if not kind.startswith("response."):
            return AnswerPart(stream=text_member(body, "id")) if body.get("object") == "response" else None
        ends = kind in {"response.completed", "response.failed", "response.incomplete"}
        return AnswerPart(is_event=True, begins=kind == "response.created", ends=ends, is_empty=ends)

    def models(self, body: bytes) -> tuple[str, ...]:
        """The names in a list of models, in the provider's order."""
        return names_in(body)


def _thinking(ask: Ask) -> dict[str, JSON]:
    """Ask for thoughts in words and in a form to be sent back, as the vendor's own client does.

    Both are refused for models that do not think; of others' models only what a person asked for is known.
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
    """Return the options known to the API: neither a seed nor stop sequences."""
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
    # Left out, `strict` means true, and the service would change the schema, or refuse it.
    return written | {"parameters": object_schema(tool.schema), "strict": False}


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
                return  # stands beside the conversation
            case "user":
                yield {"role": "user", "content": _content(message.parts, newline="")}
            case "assistant":
                yield from self._assistant(message)
            case "tool":
                for part in message.parts:
                    if isinstance(part, ToolResult):
                        yield self._result(part)

    def _assistant(self, message: Message) -> Iterator[JSON]:
        """Write the items in their order: the service refuses a thought without the item after it, and the reverse."""
        self._ids.begin_message()
        last = max((n for n, part in enumerate(message.parts) if not isinstance(part, Thinking)), default=-1)
        parts = message.parts[: last + 1]
        is_whole = all(_is_complete(self._echo(part)) for part in parts if isinstance(part, Thinking))
        for part in parts:
            item = self._item(part, self._echo(part))
            if not is_whole:
                item.pop("id", None)  # with an id the service would demand the missing thought
            if item:
                yield item

    def _item(self, part: Part, echo: Mapping[str, JSON]) -> dict[str, JSON]:
        match part:
            case Thinking():
                return dict(echo) if _is_complete(echo) else {}
            case ToolCall():
                name = part.name if OPENAI_NAMES.allows(part.name) else OPENAI_NAMES.clean(part.name)
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
    """Tell whether a thought can go back: the service keeps no thoughts."""
    return bool(thought.get("encrypted_content") or thought.get("content"))


def _content(parts: Sequence[object], *, newline: str) -> JSON:
    """Write a text, or a list with images, also for results."""
    if not any(isinstance(part, Image) for part in parts):
        return newline.join(part.text for part in parts if isinstance(part, Text)) if newline else text_of(parts)
    written: list[JSON] = []
    for part in with_taken_images(parts):
        if isinstance(part, Text) and part.text:
            written.append({"type": "input_text", "text": part.text})
        elif isinstance(part, Image):
            written.append({"type": "input_image", "image_url": image_url(part), "detail": "auto"})
    return written
