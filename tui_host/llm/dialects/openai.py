"""`openai`: Chat Completions, as OpenAI and many others take and answer it.

Source: OpenAI API reference, Chat; the APIs of DeepSeek, Mistral, Groq, OpenRouter and Azure where they differ.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.errors import JSON
from tui_host.llm.answer_state import AnswerState
from tui_host.llm.body_framing import count_of
from tui_host.llm.dialects.body_kinds import AnswerPart, Fit, chat_messages, error_object, first_object
from tui_host.llm.dialects.chat_shape import function_tool, written_messages
from tui_host.llm.dialects.dialect import AZURE, Dialect, Target, WireRequest, path_of
from tui_host.llm.events import ThinkingEcho
from tui_host.llm.fold import MOST_ARGUMENTS
from tui_host.llm.images import image_url, with_taken_images
from tui_host.llm.layout import Layout, Spot
from tui_host.llm.messages import Ask, Image, Message, Stop, Text, Thinking, ToolCall, ToolResult, ToolSpec, Usage
from tui_host.llm.provider_faults import fault_in
from tui_host.llm.request_writing import (
    CallIds,
    arguments_text,
    body_bytes,
    echo_for,
    echo_of,
    text_of,
    thinking_of,
    tools_text,
)
from tui_host.llm.schema_adaptation import OPENAI_SCHEMAS
from tui_host.llm.thinktags import ThinkTags
from tui_host.llm.tool_names import OPENAI_NAMES

NAME: Final = "openai"
LONGEST_ID: Final = 64
ECHOED: Final = "reasoning_content"
"""The member in which some services want the thinking sent back (DeepSeek, Moonshot)."""
DETAILS: Final = "reasoning_details"
"""The member in which OpenRouter sends thinking with signatures, and wants all of it back unchanged."""
_GROWING = frozenset(("text", "summary", "data"))
_MOST_STOPS = 4
_NEW_NAME = ("openai", AZURE)
"""The services known to take `max_completion_tokens`."""
_MISTRAL = "mistral"
"""Wants ids of nine letters and digits, and no user's message directly behind the results of tools. Source: Mistral API reference, Chat."""
_STOPS: Mapping[str, Stop] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refused",
    "sensitive": "refused",
    "error": "failed",
    "network_error": "failed",
    "insufficient_system_resource": "failed",
}
_WORDS = frozenset(("role", "content"))
"""The members of a delta that holds only text."""
_OF_CALL = frozenset(("index", "id", "type", "function", "name", "arguments"))
"""The members of a call that our own form holds; all others go back to the provider."""


# Requests


def write(ask: Ask, target: Target) -> WireRequest:
    """Write a request."""
    body: dict[str, JSON] = {"model": ask.model}
    if ask.stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    body |= _options(ask, target.service)
    messages = written_messages(ask, _Form(ask, target), shows_images=target.service != _MISTRAL)
    whole, growing = body_bytes(body, dict(ask.extra), tools=tools_text(ask.tools, _tool), messages=messages)
    return WireRequest(
        path=path_of("chat/completions", target), body=whole, growing=growing, unsent=ask.unsent(_stops(ask))
    )


def _stops(ask: Ask) -> list[str]:
    return list(ask.stops[:_MOST_STOPS])


def _options(ask: Ask, service: str) -> dict[str, JSON]:
    options = ask.options
    written: dict[str, JSON] = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "max_completion_tokens" if service in _NEW_NAME else "max_tokens": options.max_tokens,
        "reasoning_effort": options.reasoning_effort,
        "random_seed" if service == _MISTRAL else "seed": options.seed,
        "stop": _stops(ask) or None,
    }
    return {name: value for name, value in written.items() if value is not None} | dict(options.others)


def _tool(tool: ToolSpec) -> JSON:
    return function_tool(tool, OPENAI_SCHEMAS)


class _Form:
    """Writes the messages of one request."""

    def __init__(self, ask: Ask, target: Target) -> None:
        self._provider = target.provider
        self._model = ask.model
        self.ids = CallIds(LONGEST_ID)
        if target.service == _MISTRAL or target.has_short_ids:
            self.ids = CallIds(9, "A-Za-z0-9", least=9)
        has_calls = any(isinstance(part, ToolCall) for message in ask.messages for part in message.parts)
        # DeepSeek refuses a conversation with calls in which any answer lacks the thinking; without calls it ignores it.
        self._echoes = has_calls and any(
            thought.echo == ECHOED for message in ask.messages for thought in self._thoughts(message)
        )

    def _thoughts(self, message: Message) -> list[Thinking]:
        return thinking_of(message, provider=self._provider, model=self._model)

    def content(self, parts: Sequence[object]) -> dict[str, JSON]:
        if not any(isinstance(part, Image) for part in parts):
            return {"content": text_of(parts)}
        written: list[JSON] = []
        for part in with_taken_images(parts):
            if isinstance(part, Text):
                written.append({"type": "text", "text": part.text})
            elif isinstance(part, Image):
                written.append({"type": "image_url", "image_url": {"url": image_url(part), "detail": "auto"}})
        return {"content": written}

    def answer(self, message: Message, text: str, calls: Sequence[ToolCall]) -> dict[str, JSON]:
        del calls
        thoughts = self._thoughts(message)
        written: dict[str, JSON] = {"role": "assistant"}
        if self._echoes:
            written[ECHOED] = "".join(thought.text for thought in thoughts)
        details = [item for thought in thoughts for item in items(mapping(thought.echo).get(DETAILS))]
        if details:
            written[DETAILS] = details
        return {**written, "content": text or None}

    def call(self, call: ToolCall) -> JSON:
        echo = dict(echo_of(call, provider=self._provider, model=self._model, dialect=NAME))
        function: JSON = {
            "name": OPENAI_NAMES.clean(call.name),
            "arguments": arguments_text(call.arguments),
            **mapping(echo.pop("function", None)),
        }
        return {"id": self.ids.of(call), "type": "function", "function": function, **echo}

    def result(self, result: ToolResult, text: str) -> JSON:
        return {"role": "tool", "tool_call_id": self.ids.of(result.call), "content": text}


# Answers


class ChatReading:
    """Turns chunks, or a whole answer, into events."""

    def __init__(self) -> None:
        self.state = AnswerState()
        self._calls = _Calls(self.state)
        self._tags = ThinkTags(self.state)
        self._has_words = False
        self._refuses = False
        self._echoes = False
        self._details: list[dict[str, JSON]] = []

    def event(self, value: dict[str, JSON], data: bytes) -> None:
        """Read a chunk."""
        del data
        state, choice = self.state, _choice(value)
        if choice is None:
            state.has_read = state.has_read or "choices" in value
            self._around(value, {})
            return
        state.has_read = True
        delta = choice.get("delta")
        if not isinstance(delta, dict) and not self._has_words:
            delta = choice.get("message")  # of a whole answer; behind a stream it is a repetition
        if isinstance(delta, dict):
            content = delta.get("content")
            if isinstance(content, str) and _WORDS.issuperset(delta):  # the most frequent chunk
                self._has_words = self._has_words or bool(content)
                self._tags.feed(content)
            else:
                self._delta(delta)
        if choice.get("finish_reason") or "usage" in choice or value.get("usage") or "x_groq" in value:
            state.finish(choice.get("finish_reason"))
            self._around(value, choice)
        elif "error" in value:
            self._around(value, choice)

    def whole(self, value: dict[str, JSON], data: bytes) -> Sequence[dict[str, JSON]]:
        """Return an answer without streaming, which is one chunk with a message in it."""
        del data
        if _choice(value) is None:
            return ()
        self.state.mark = "[DONE]"
        return [value]

    def closing(self) -> None:
        """Add text that was held back as a possible tag for thinking, and the mark for thinking to send back."""
        self._tags.finish()
        details: list[JSON] = [*self._details]
        echo: JSON = {DETAILS: details} if details else ECHOED
        if details or self._echoes:
            self.state.events.append(ThinkingEcho(echo=echo, start=self.state.start, end=self.state.end))

    def stop(self) -> Stop:
        """Translate the finish reason; where the reason is unclear, calls decide."""
        stop = _STOPS.get(self.state.reason)
        if stop is not None:
            return stop
        if self.state.calls:
            return "tools"
        return "refused" if self._refuses else "end"

    def _around(self, value: Mapping[str, JSON], choice: Mapping[str, JSON]) -> None:
        """Read usage and errors, which stand outside the choices."""
        state = self.state
        usage = _usage_of(value, choice)
        state.report(usage)
        fault, reason = fault_in(value), state.reason
        if fault is None and _STOPS.get(reason) == "failed" and not state.has_failed:
            fault = f"the provider ended the answer with {reason!r}", reason
        if fault is not None:
            state.fail(*fault)
        elif usage is None and value and "choices" not in value:
            state.has_foreign = True

    def _delta(self, delta: Mapping[str, JSON]) -> None:
        thought, key = _thought(delta)
        self._echoes = self._echoes or key == ECHOED
        _join_details(self._details, delta.get(DETAILS))
        self._tags.thinking(thought)
        content, refusal = delta.get("content"), delta.get("refusal")
        for part in content if isinstance(content, list) else [content]:  # a list of parts, as Mistral sends them
            if isinstance(part, dict) and part.get("type") == "thinking":
                self._tags.thinking(_flat(part.get("thinking")))
            else:
                self._tags.feed(_flat(part))
        self.state.cite(delta.get("annotations"))
        if refusal:
            self._refuses = True
            self.state.text(refusal)
        calls = delta.get("tool_calls")
        if isinstance(calls, list):
            self._calls.add(calls)
        self._has_words = self._has_words or bool(thought or content or self._refuses or calls)


def _choice(value: Mapping[str, JSON]) -> Mapping[str, JSON] | None:
    """Return the first choice. Requests never ask for several, but LiteLLM before Bedrock gives calls an index of their own."""
    choices = value.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict) or (first.get("index") and not mapping(first.get("delta")).get("tool_calls")):
        return None
    return first


def _thought(delta: Mapping[str, JSON]) -> tuple[str, str]:
    """Return the thinking in a delta, and the member's name: services use several names, some two at once."""
    for key in (ECHOED, "reasoning"):
        value = delta.get(key)
        if isinstance(value, str) and value:
            return value, key
    details = delta.get(DETAILS)
    if not isinstance(details, list):
        return "", ECHOED if delta.get(ECHOED) == "" else ""
    pieces = [mapping(piece).get("text") or mapping(piece).get("summary") for piece in details]
    return "".join(piece for piece in pieces if isinstance(piece, str)), DETAILS


def _join_details(details: list[dict[str, JSON]], pieces: JSON) -> None:
    """Add the pieces of a stream to their items: texts grow, other members are replaced."""
    for piece in map(mapping, items(pieces)):
        last = details[-1] if details else {}
        if (piece.get("index"), piece.get("type")) != (last.get("index", -1), last.get("type")):
            details.append(dict(piece))
            continue
        for name, value in piece.items():
            before = last.get(name)
            if name in _GROWING and isinstance(value, str) and isinstance(before, str):
                last[name] = before + value
            elif value is not None:
                last[name] = value


def _flat(part: JSON) -> str:
    """Join the text of a part, or of parts within parts."""
    if isinstance(part, str):
        return part
    if isinstance(part, dict):
        return _flat(part.get("text"))
    return "".join(_flat(piece) for piece in part) if isinstance(part, list) else ""


def _usage_of(value: Mapping[str, JSON], choice: Mapping[str, JSON]) -> Usage | None:
    """Read the tokens reported by a chunk or an answer, wherever the service puts them. None if absent."""
    for place in (value, choice, mapping(value.get("x_groq"))):
        usage = place.get("usage")
        if isinstance(usage, dict):
            cost = usage.get("cost")
            return Usage(
                input_total=count_of(usage, "prompt_tokens"),
                input_cached=_first(
                    usage, ("prompt_tokens_details", "cached_tokens"), ("cached_tokens",), ("prompt_cache_hit_tokens",)
                ),
                cache_written=count_of(usage, "prompt_tokens_details", "cache_write_tokens"),
                output_total=count_of(usage, "completion_tokens"),
                reasoning=_first(usage, ("completion_tokens_details", "reasoning_tokens"), ("reasoning_tokens",)),
                cost=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
            )
    return None


def _first(usage: JSON, *paths: tuple[str, ...]) -> int | None:
    """Return the first count present at any of the paths: services put the same count in different places."""
    return next((count for path in paths if (count := count_of(usage, *path)) is not None), None)


@dataclass(frozen=True, slots=True)
class _Fragment:
    """A piece of a call."""

    index: int | None
    id: str
    name: str
    arguments: str
    echo: Mapping[str, JSON]


@dataclass(slots=True)
class _OpenCall:
    """A call as far as it was read; `number` is None until it has a name or arguments, -1 beyond the limit."""

    index: int | None
    number: int | None = None
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list[str])
    size: int = 0
    echo: dict[str, JSON] = field(default_factory=dict[str, JSON])

    def is_whole(self) -> bool:
        """Tell whether the arguments are a complete JSON object."""
        if not self.pieces or not self.pieces[-1].rstrip().endswith("}"):
            return False
        try:
            return isinstance(json.loads("".join(self.pieces), strict=False), dict)
        except (ValueError, RecursionError):
            return False


class _Calls:
    """The calls of a response, put together from fragments. A fragment names its call by index, by id, or not at all."""

    def __init__(self, state: AnswerState) -> None:
        self._state = state
        self._open: list[_OpenCall] = []

    def add(self, values: Sequence[JSON]) -> None:
        """Read the fragments of a chunk."""
        before = len(self._open)
        for value in values:
            fragment = _fragment(value)
            if fragment is None:
                self._state.unreadable("a tool call that is no object")
            elif fragment.id or fragment.name or fragment.arguments or fragment.echo:  # LM Studio sends empty calls
                call = self._target(fragment, before)
                if call is None:
                    call = _OpenCall(fragment.index)
                    self._open.append(call)
                elif call.id and call.id == fragment.id and fragment.arguments == "".join(call.pieces) != "":
                    self._state.repeat()
                    continue
                self._extend(call, fragment)

    def _target(self, fragment: _Fragment, before: int) -> _OpenCall | None:
        """Find the call that a fragment continues, None if it begins one. `before` calls are older than this chunk."""
        last = self._open[-1] if self._open else None
        near = [call for call in self._open if fragment.index is not None and call.index == fragment.index]
        if not fragment.id and not fragment.name:
            return near[-1] if near else last  # a new index alone begins no call
        if fragment.index is not None and fragment.name and not near:
            return None  # whatever its id: some services give all calls the same
        known = [call for call in near or self._open if fragment.id and call.id == fragment.id]
        call = next(iter(known), None) or (near[-1] if near else None)
        if call is None and fragment.index is None and last is not None:
            is_beside = len(self._open) > before and not last.id  # several calls without ids in one chunk
            if fragment.id and (fragment.name or last.is_whole()):
                return None
            call = None if fragment.name and is_beside else last
        if call is None or not fragment.name:
            return call
        if not known and fragment.id and call.id:
            # Another id under the same index: another call, or (GLM behind gateways) the same whose id changes.
            is_same = fragment.name == call.name and not call.is_whole()
            return call if is_same and (call.pieces or fragment.arguments) else None
        has_arguments = fragment.arguments.strip() and fragment.arguments != "".join(call.pieces)
        return None if has_arguments and call.is_whole() else call

    def _extend(self, call: _OpenCall, fragment: _Fragment) -> None:
        state, changed = self._state, bool(fragment.echo)
        call.echo.update(fragment.echo)
        if fragment.id and not call.id:
            call.id, changed = fragment.id, True
        name = call.name or fragment.name
        if call.name and fragment.name and not call.size and fragment.name != call.name:
            # Some services send the name in pieces; others repeat it, or send a longer name later.
            name = fragment.name if fragment.name.startswith(call.name) else call.name + fragment.name
        if name != call.name:
            call.name, changed = name[:1000], True
        if call.number is None and (call.name or fragment.arguments):
            number = state.open_call(call.id, call.name, echo_for(NAME, call.echo))
            call.number = -1 if number is None else number
        elif changed and call.number is not None and call.number >= 0:
            state.name_call(call.number, call.id, call.name, echo_for(NAME, call.echo))
        if fragment.arguments and call.number is not None and call.number >= 0:
            call.size += len(fragment.arguments)
            if call.size <= MOST_ARGUMENTS:
                call.pieces.append(fragment.arguments)
            state.arguments(call.number, fragment.arguments)


def _fragment(value: JSON) -> _Fragment | None:
    if not isinstance(value, dict):
        return None
    function = value.get("function") or value
    if not isinstance(function, dict):
        return None
    index, wire_id = value.get("index"), value.get("id")
    arguments = function.get("arguments")
    if not isinstance(arguments, str):  # some services send an object
        arguments = "" if arguments is None else json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    echo = {name: member for name, member in value.items() if name not in _OF_CALL and member is not None}
    inner = {name: member for name, member in function.items() if name not in _OF_CALL and member is not None}
    if inner and function is not value:
        echo["function"] = inner
    return _Fragment(
        index if isinstance(index, int) and not isinstance(index, bool) and index >= 0 else None,
        str(wire_id) if isinstance(wire_id, int) else text_or_empty(wire_id),
        text_or_empty(function.get("name")),
        arguments,
        echo,
    )


# Bodies without an address


def fits_request(body: Mapping[str, JSON]) -> Fit:
    """Return 1 for any list of messages, which Ollama and Anthropic have too."""
    return 1 if chat_messages(body) else 0


def answer_part(body: Mapping[str, JSON]) -> AnswerPart | None:
    """Recognise a completion, a chunk of a completion, and an error."""
    if "choices" not in body or "messages" in body:
        error = error_object(body)
        return AnswerPart() if error.keys() & {"type", "code", "param"} and "status" not in error else None
    choice = first_object(body["choices"], index="index")
    delta = mapping(choice.get("delta"))
    has_words = any(value for name, value in delta.items() if name != "role")
    return AnswerPart(
        is_event=body.get("object") == "chat.completion.chunk" or "delta" in choice or not choice,
        stream=text_or_empty(body.get("id")),
        ends=bool(choice.get("finish_reason")),
        is_empty="message" not in choice and not choice.get("text") and not has_words,
    )


OPENAI: Final = Dialect(
    name=NAME,
    paths=("/chat/completions",),
    write=write,
    reading=ChatReading,
    schema_rules=OPENAI_SCHEMAS,
    fits_request=fits_request,
    answer_part=answer_part,
    layout=Layout(
        messages="messages",
        tool="function",
        calls="tool_calls",
        thoughts=(ECHOED, "reasoning"),
        call=Spot(members=("function",), text=("arguments",)),
        result=Spot(roles=("tool",), id=("tool_call_id",), text=("content",)),
        image=Spot(members=("image_url",)),
        thought=Spot(),
    ),
)
