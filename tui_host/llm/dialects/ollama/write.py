"""Writes requests for Ollama's `/api/chat`. Source: Ollama's API reference, Generate a chat completion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tui_host.capture.json.narrowing import items, mapping
from tui_host.errors import JSON, ModelError
from tui_host.llm.body_framing import BodyDecoder
from tui_host.llm.dialects.body_kinds import AnswerPart, Fit, chat_messages
from tui_host.llm.dialects.dialect import Target, Window, WireRequest, names_in
from tui_host.llm.dialects.ollama.outline import outline_of
from tui_host.llm.dialects.ollama.read import OllamaReading
from tui_host.llm.messages import Ask, Image, Message, Text, Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.llm.outline import Outline
from tui_host.llm.provider_faults import refusal
from tui_host.llm.request_writing import (
    CallIds,
    arguments_object,
    body_bytes,
    object_schema,
    text_of,
    tools_text,
    with_taken_images,
)
from tui_host.llm.tool_names import OPENAI_NAMES, NameRule
from tui_host.settings.environment_references import Secret

_LONGEST_ID = 64
_BESIDE = ("think", "format", "keep_alive", "truncate", "shift", "logprobs", "top_logprobs")
"""Members beside `options`; all other options without a neutral name (`num_ctx`) go into `options`."""
_WINDOW = 4096
"""Tokens that a server with less than 24 GiB of video memory reads where `num_ctx` is not said."""
_YES_AND_NO: Mapping[str, bool] = {"true": True, "on": True, "false": False, "off": False, "none": False}

_REMEDIES: tuple[tuple[str, str], ...] = (
    ("does not support tools", "choose another model, or a tool protocol that needs none of the model's own"),
    ("does not support thinking", "choose another model, or take reasoning_effort out of its options"),
    ("try pulling it", "pull it (ollama pull NAME), or choose another model"),
    ("context length", "give it more room (options.num_ctx), or start a new session"),
)
"""The remedies for some refusals, by words in the refusal."""


class Ollama:
    """`/api/chat`."""

    name: str = "ollama"
    versions: tuple[str, ...] = ("api",)
    paths: tuple[str, ...] = ("/api/chat",)
    models_path: str = "tags"
    name_rule: NameRule = OPENAI_NAMES

    def write(self, ask: Ask, target: Target) -> WireRequest:
        """Write the request, with the messages last, so that each step's request begins with all bytes of the previous request.

        What is longer than the model's window is to be refused (`truncate`, `shift`): the server would cut it unsaid, the
        tools and the oldest messages first. Older servers do so all the same.
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

    def headers(self, secret: Secret | None, target: Target) -> tuple[tuple[str, str], ...]:
        """Return a bearer token, used by ollama.com alone."""
        del target
        return () if secret is None else (("Authorization", f"Bearer {secret.reveal()}"),)

    def decoder(self, content_type: str) -> BodyDecoder:
        """Make a reader for a response; a whole answer is a stream of a single line."""
        return BodyDecoder(OllamaReading(), content_type, framing="lines")

    def error(self, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> ModelError:
        """Read a refusal; the remedy depends on the server's own words."""
        error = refusal(status, headers, body)
        error.remedy = next((remedy for words, remedy in _REMEDIES if words in error.what), error.remedy)
        return error

    def outline(self, body: bytes, names: Mapping[str, tuple[str, str]] | None = None) -> Outline | None:
        """A request as a tree."""
        return outline_of(body, names or {})

    def fits_request(self, body: Mapping[str, JSON]) -> Fit:
        """Certain where a member of this API alone is there, or the arguments of a call are an object; else possible."""
        messages = chat_messages(body)
        calls = (mapping(mapping(call).get("function")) for each in messages for call in items(each.get("tool_calls")))
        is_own = bool(body.keys() & {"options", "keep_alive", "think", "format", "raw"})
        if messages and (is_own or any(isinstance(call.get("arguments"), Mapping) for call in calls)):
            return 2
        return 1 if messages else 0

    def answer_part(self, body: Mapping[str, JSON]) -> AnswerPart | None:
        """A line of an answer; the whole answer is one line, too."""
        message = body.get("message")
        if "done" not in body or not isinstance(message, Mapping):
            return None
        says = any(message.get(name) for name in ("content", "thinking", "tool_calls"))
        return AnswerPart(is_event=True, ends=body["done"] is True, is_empty=not says)

    def models(self, body: bytes) -> tuple[str, ...]:
        """Return the names of the pulled models."""
        return names_in(body)


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
        "function": {"name": tool.name, **described, "parameters": object_schema(tool.schema)},
    }


class _Writer:
    """Writes the conversation of a request."""

    def __init__(self, ask: Ask, provider: str) -> None:
        self._ask = ask
        self._provider = provider
        self._ids = CallIds(_LONGEST_ID)
        asked = (number for number, message in enumerate(ask.messages) if message.role == "user" and not message.source)
        self._loop = max(asked, default=-1)  # the start of the running turn: the server reads thinking only there

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
                yield from self._results([part for part in message.parts if isinstance(part, ToolResult)])

    def _assistant(self, message: Message, *, thinks: bool) -> Iterator[JSON]:
        text = text_of(message.parts)
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        if not text and not calls:
            return  # an answer without words says nothing; it stays in the session
        written: dict[str, JSON] = {"role": "assistant", "content": text}
        thoughts = [part.text for part in message.parts if isinstance(part, Thinking) and self._is_ours(part)]
        if thinks and any(thoughts):
            written["thinking"] = "".join(thoughts)
        if calls:
            self._ids.begin_message()
            written["tool_calls"] = [self._call(call) for call in calls]
        yield written

    def _call(self, call: ToolCall) -> JSON:
        name = call.name if OPENAI_NAMES.allows(call.name) else OPENAI_NAMES.clean(call.name)
        function: JSON = {"name": name, "arguments": arguments_object(call.arguments)}
        return {"id": self._ids.of(call), "function": function} if call.wire_id else {"function": function}

    def _results(self, results: Sequence[ToolResult]) -> Iterator[JSON]:
        images: list[Image] = []
        for result in results:
            texts: list[str] = []
            for part in with_taken_images(result.content):
                if isinstance(part, Text):
                    texts.append(part.text)
                elif isinstance(part, Image):
                    images.append(part)
                    texts.append(f"(image {len(images)} of this step, {part.media_type}: see the next message)")
            name = result.call.name if OPENAI_NAMES.allows(result.call.name) else OPENAI_NAMES.clean(result.call.name)
            written: dict[str, JSON] = {"role": "tool", "tool_name": name}
            if result.call.wire_id:
                written["tool_call_id"] = self._ids.of(result.call)
            yield {**written, "content": "\n".join(texts)}
        if images:  # a tool's message may carry them, but not every model's template shows them there
            yield {"role": "user", "content": "", **_images(images)}

    def _is_ours(self, thinking: Thinking) -> bool:
        return thinking.provider == self._provider and thinking.model == self._ask.model


def _images(parts: Sequence[object]) -> dict[str, JSON]:
    images: list[JSON] = [part.data for part in parts if isinstance(part, Image)]
    return {"images": images} if images else {}
