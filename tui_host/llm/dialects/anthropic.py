"""`anthropic`: the Messages API. Source: Anthropic API reference, Messages and Streaming.

A request is `write`: options, then the conversation as messages of blocks. An answer is read by `MessagesReading`, event
by event: it opens and closes blocks, and turns each into text, thinking or a call. Blocks that our own form cannot hold
(signed thinking, runs of the vendor's own tools) are kept verbatim as an echo, and go back only to where they came from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tui_host.capture.json.narrowing import items, mapping, said, text_or_empty
from tui_host.errors import JSON, ModelError
from tui_host.llm.answer_state import AnswerState
from tui_host.llm.body_framing import count_of, source
from tui_host.llm.dialects.body_kinds import AnswerPart, Fit, chat_messages, error_object
from tui_host.llm.dialects.dialect import Dialect, Target, WireRequest
from tui_host.llm.images import with_taken_images
from tui_host.llm.layout import Layout, Spot
from tui_host.llm.messages import Ask, Image, Message, Stop, Text, Thinking, ToolCall, ToolResult, ToolSpec, Usage
from tui_host.llm.provider_faults import fault_in
from tui_host.llm.request_writing import (
    CallIds,
    arguments_object,
    body_bytes,
    echo_for,
    echo_of,
    results_in,
    system_text,
    tools_text,
)
from tui_host.llm.schema_adaptation import SchemaRules, adapt
from tui_host.llm.tool_names import OPENAI_NAMES
from tui_host.settings.environment_references import Secret

NAME: Final = "anthropic"
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
_STOPS: Mapping[str, Stop] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
    "pause_turn": "paused",
}
_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_OF_CALL = frozenset(("type", "id", "name", "input"))
"""The members of a call that our own form holds."""


# Requests


def write(ask: Ask, target: Target) -> WireRequest:
    """Write a request."""
    version = _version(target)
    body: dict[str, JSON] = {"model": ask.model, **_options(ask, version)}
    if ask.stream:
        body["stream"] = True
    system = system_text(ask.messages)
    if system:
        body["system"] = system
    messages = _Writer(ask, target).messages()
    whole, growing = body_bytes(body, dict(ask.extra), tools=tools_text(ask.tools, _tool), messages=messages)
    return WireRequest(
        path="messages", body=whole, growing=growing, unsent=ask.unsent(_stops(ask), **_missing_options(version))
    )


def headers(secret: Secret | None, target: Target) -> tuple[tuple[str, str], ...]:
    """Return the key in a header of its own, and the version, which is mandatory."""
    version = ("anthropic-version", _version(target))
    return (version,) if secret is None else (("x-api-key", secret.reveal()), version)


def refine(error: ModelError, body: bytes) -> ModelError:
    """Tell a spending limit set by the account's owner, which is not worth a retry."""
    if b'"enforced_spend_limit_reached"' in body:
        error.passes, error.remedy = False, "the account has reached a limit that was set to its spending"
    return error


def _version(target: Target) -> str:
    return target.api_version or (_NEW_VERSION if target.service == NAME else _OLD_VERSION)


def _missing_options(version: str) -> dict[str, str]:
    """Return the options that this version of the API lacks, each with the reason."""
    no_choice = f"version {_NEW_VERSION} of this API does not have it: an api_version before it does"
    new = {"temperature": no_choice, "top_p": no_choice} if version >= _NEW_VERSION else {}
    return {"seed": "this API has no seed", **new}


def _stops(ask: Ask) -> list[str]:
    return [stop for stop in ask.stops if stop.strip()]  # the API refuses stop sequences of white space


def _options(ask: Ask, version: str) -> dict[str, JSON]:
    options, effort = ask.options, ask.options.reasoning_effort
    thinks = effort is not None and effort not in _NO_THINKING
    otherwise = MOST_TOKENS_THINKING if thinks else MOST_TOKENS
    written: dict[str, JSON] = {"max_tokens": otherwise if options.max_tokens is None else options.max_tokens}
    if thinks:
        written["thinking"] = {"type": "adaptive", "display": "summarized"}
        written["output_config"] = {"effort": effort}
    elif effort is not None:
        written["thinking"] = {"type": "disabled"}
    missing, chosen = _missing_options(version), {"temperature": options.temperature, "top_p": options.top_p}
    written |= {name: value for name, value in chosen.items() if value is not None and name not in missing}
    stops = _stops(ask)
    return {**written, **({"stop_sequences": stops} if stops else {}), **options.others}


def _tool(tool: ToolSpec) -> JSON:
    described: dict[str, JSON] = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "input_schema": adapt(tool.schema, _SCHEMAS).schema}


class _Writer:
    """Writes the conversation of one request."""

    def __init__(self, ask: Ask, target: Target) -> None:
        self._ask = ask
        self._target = target
        self._ids = CallIds(_LONGEST_ID, "A-Za-z0-9_-")
        answers = [message for message in ask.messages if message.role == "assistant"]
        self._last = answers[-1] if answers else None
        echoes = [self._echo(part) for message in answers for part in message.parts]
        self._answered = {text_or_empty(echo.get("tool_use_id")) for echo in echoes}

    def messages(self) -> list[JSON]:
        """Write all messages, oldest first, except messages that hold only thinking, which is no answer."""
        written: list[JSON] = []
        for message in self._ask.messages:
            blocks = list(self._blocks(message))
            while blocks and mapping(blocks[-1]).get("type") in _THINKING:
                blocks.pop()  # the API refuses an answer that ends in thinking, as one that was stopped may
            if blocks:
                written.append({"role": "assistant" if message.role == "assistant" else "user", "content": blocks})
        return written

    def _blocks(self, message: Message) -> Iterator[JSON]:
        match message.role:
            case "system":
                return  # written as the `system` member
            case "user":
                yield from _content(message.parts)
            case "assistant":
                yield from self._answer(message)
            case "tool":
                yield from map(self._result, results_in(message))

    def _answer(self, message: Message) -> Iterator[JSON]:
        """Write the blocks in order: the API refuses changed or moved thinking."""
        self._ids.begin_message()
        has_calls = any(isinstance(part, ToolCall) for part in message.parts)
        for part in message.parts:
            echo = self._echo(part)
            if isinstance(part, Text) and part.text.strip():
                yield {"type": "text", "text": part.text}
            elif isinstance(part, ToolCall):
                name, given = OPENAI_NAMES.clean(part.name), arguments_object(part.arguments)
                yield {"type": "tool_use", "id": self._ids.of(part), "name": name, "input": given, **echo}
            elif echo.get("type") == "thinking":
                # Anthropic refuses unsigned thinking; DeepSeek's and Kimi's services demand it back beside calls.
                text = part.text if isinstance(part, Thinking) else ""
                if "signature" in echo or (has_calls and self._target.service != NAME):
                    yield {"type": "thinking", "thinking": text, **echo}
            elif echo and not self._is_open(echo, message):
                yield echo

    def _echo(self, part: object) -> Mapping[str, JSON]:
        return echo_of(part, provider=self._target.provider, model=self._ask.model, dialect=NAME)

    def _is_open(self, block: Mapping[str, JSON], message: Message) -> bool:
        """Tell whether a run of the vendor's own tool never ended: only the next answer of the same step may end it."""
        if block.get("type") != "server_tool_use" or block.get("id") in self._answered:
            return False
        return message is not self._last or message.stop not in {"paused", "tools"}

    def _result(self, result: ToolResult) -> JSON:
        written: dict[str, JSON] = {"type": "tool_result", "tool_use_id": self._ids.of(result.call)}
        content = list(_content(result.content))
        if content:
            written["content"] = content
        if result.is_error:
            written["is_error"] = True
        return written


def _content(parts: Sequence[object]) -> Iterator[JSON]:
    """Write texts and images, without blank texts, which the API refuses."""
    for part in with_taken_images(parts):
        if isinstance(part, Image):
            image: JSON = {"type": "base64", "media_type": part.media_type, "data": part.data}
            yield {"type": "image", "source": image}
        elif isinstance(part, Text) and part.text.strip():
            yield {"type": "text", "text": part.text}


# Answers


@dataclass(slots=True)
class _Block:
    """A content block being streamed.

    Attributes:
        value: The block as it began.
        call: The number of the call; None if the block is no call, or a call beyond the limit.
        begun: The text with which the block began, until the first piece came.
        pieces: The streamed pieces of the input as JSON text.
        given: The text of the input in the event that began the block.
    """

    value: dict[str, JSON]
    kind: str
    call: int | None = None
    begun: str = ""
    pieces: list[str] = field(default_factory=list[str])
    given: str = ""
    has_ended: bool = False


class MessagesReading:
    """Turns the vendor's events, or a whole answer, into ours."""

    def __init__(self) -> None:
        self.state = AnswerState()
        self._blocks: dict[int, _Block] = {}
        self._last: _Block | None = None
        self._counts: dict[str, JSON] = {}
        self._begins_again = False

    def event(self, value: dict[str, JSON], data: bytes) -> None:
        """Read an event by the `type` in the data, since not all services name their events."""
        state, kind = self.state, value.get("type")
        match kind:
            case "content_block_delta":  # the most frequent event
                self._delta(value)
            case "message_start":
                self._begins_again = bool(self._blocks)
                self._count(mapping(value.get("message")).get("usage"), without="output_tokens")  # a placeholder as yet
            case "content_block_start":
                self._open(value, data)
            case "content_block_stop":
                self._close(self._block_of(value))
            case "message_delta":
                state.finish(_reason(mapping(value.get("delta"))))
                self._count(value.get("usage"))
            case "message_stop":
                state.mark, state.is_over = "message_stop", True
            case "ping":
                pass
            case _:
                fault = fault_in(value)
                if fault is None:
                    state.has_foreign = True
                else:
                    state.fail(*fault)
                return
        state.has_read = True

    def whole(self, value: dict[str, JSON], data: bytes) -> Sequence[dict[str, JSON]]:
        """Return the events that would have streamed an answer."""
        content = value.get("content")
        if not isinstance(content, list):
            return ()
        events: list[dict[str, JSON]] = []
        for number, block in enumerate(content):
            if not isinstance(block, dict):
                continue
            piece = source(data, "content", number, "input")
            events.append({"type": "content_block_start", "index": number, "content_block": block})
            if piece:
                delta: JSON = {"type": "input_json_delta", "partial_json": piece}
                events.append({"type": "content_block_delta", "index": number, "delta": delta})
            for citation in items(block.get("citations")):
                cited: JSON = {"type": "citations_delta", "citation": citation}
                events.append({"type": "content_block_delta", "index": number, "delta": cited})
            events.append({"type": "content_block_stop", "index": number})
        events.append({"type": "message_delta", "delta": value, "usage": value.get("usage")})
        self.state.mark = "message"
        return events

    def closing(self) -> None:
        """Report the usage with all counts, if the answer came to its end."""
        if self.state.mark:
            self.state.report(_usage_of(self._counts))

    def stop(self) -> Stop:
        """Translate the stop reason. If there are calls, they decide."""
        stop = _STOPS.get(self.state.reason.partition(":")[0])
        return stop or ("tools" if self.state.calls else "end")

    def _block_of(self, event: Mapping[str, JSON]) -> _Block | None:
        """Find the block of an event: by index, else the last block. None if the block has not begun."""
        index = event.get("index")
        return self._blocks.get(index) if type(index) is int else self._last

    def _add(self, event: Mapping[str, JSON], value: Mapping[str, JSON]) -> _Block:
        index = event.get("index")
        block = _Block(dict(value), text_or_empty(value.get("type")))
        self._blocks[index if type(index) is int else len(self._blocks)] = self._last = block
        return block

    def _open(self, event: Mapping[str, JSON], data: bytes) -> None:
        state, value = self.state, mapping(event.get("content_block"))
        if self._begins_again and self._block_of(event) is not None:
            # A proxy asked again: the blocks come anew from the first on, perhaps with other words.
            state.repeat(restarts=True)
            self._blocks.clear()
        self._begins_again = False
        block = self._add(event, value)
        if block.kind in {"text", "thinking"}:
            block.begun = text_or_empty(value.get(block.kind))
            self._words(block, block.begun)
        elif block.kind == "tool_use":
            echo = {name: member for name, member in value.items() if name not in _OF_CALL and member is not None}
            block.call = state.open_call(value.get("id"), value.get("name"), echo_for(NAME, echo))
            block.given = source(data, "content_block", "input")

    def _delta(self, event: Mapping[str, JSON]) -> None:
        delta, block = event.get("delta"), self._block_of(event)
        if not isinstance(delta, dict):
            self.state.unreadable("a piece of nothing")
            return
        kind = delta.get("type")
        if block is None:  # the event that begins the block is missing
            is_thinking = kind in {"thinking_delta", "signature_delta"}
            block = self._add(event, {"type": "thinking" if is_thinking else "text"})
        match kind:
            case "text_delta":
                self._piece(block, delta.get("text"))
            case "thinking_delta":
                self._piece(block, delta.get("thinking"))
            case "signature_delta":
                block.value["signature"] = delta.get("signature")
            case "input_json_delta":
                piece = text_or_empty(delta.get("partial_json"))
                block.pieces += [piece] if piece else []
                self.state.arguments(block.call, piece)
            case "citations_delta":
                self.state.cite(delta.get("citation"))
            case _:
                pass  # kinds to come: they stay in the record

    def _piece(self, block: _Block, text: JSON) -> None:
        """Add a piece of a block's words, unless the first one repeats what the block began with, as some gateways do."""
        begun, block.begun = block.begun, ""
        if begun and text == begun:
            self.state.repeat()
        else:
            self._words(block, text)

    def _words(self, block: _Block, text: JSON) -> None:
        if block.kind == "thinking":
            self.state.thinking(text)
        else:
            self.state.text(text)

    def _close(self, block: _Block | None) -> None:
        if block is None or block.has_ended:
            return
        state, kind = self.state, block.kind
        block.has_ended = True
        if kind == "tool_use":
            if not block.pieces:
                state.arguments(block.call, block.given)
            return
        if kind == "text":
            state.end_part("text")
            return
        if block.pieces:
            block.value["input"] = _parsed("".join(block.pieces))
        if kind == "server_tool_use":
            state.used(block.value.get("name"), block.value.get("input"))
        elif kind.endswith("_tool_result"):
            state.cite(block.value.get("content"))
        state.end_part("thinking", echo_for(NAME, _echo_of(block)))

    def _count(self, usage: JSON, *, without: str = "") -> None:
        """Add counts, of which later ones replace earlier ones, and report them."""
        self._counts |= {name: count for name, count in mapping(usage).items() if count is not None}
        self.state.report(_usage_of({name: count for name, count in self._counts.items() if name != without}))


def _reason(delta: Mapping[str, JSON]) -> str:
    """Return the stop reason, with the details of a refusal; empty if absent."""
    reason, details = text_or_empty(delta.get("stop_reason")), mapping(delta.get("stop_details"))
    texts = [text for name in ("category", "explanation") if (text := text_or_empty(details.get(name)))]
    return f"{reason}: {', '.join(texts)}" if reason and texts else reason


def _usage_of(usage: Mapping[str, JSON]) -> Usage:
    """Read the tokens of a `usage` object, whose `input_tokens` does not include tokens read and written by the cache."""
    counts = [count_of(usage, name) for name in _INPUT]
    reported = [count for count in counts if count is not None]
    return Usage(
        input_total=sum(reported) if reported else None,
        input_cached=counts[2],
        cache_written=counts[1],
        output_total=count_of(usage, "output_tokens"),
        reasoning=count_of(usage, "output_tokens_details", "thinking_tokens"),
    )


def _echo_of(block: _Block) -> Mapping[str, JSON] | None:
    """Return what goes back of a block beside its text, None for nothing. Unknown kinds of blocks go back whole."""
    if not block.kind:
        return None
    if block.kind != "thinking":
        return block.value
    signature = block.value.get("signature")
    signed: dict[str, JSON] = {"signature": signature} if isinstance(signature, str) and signature else {}
    return {"type": "thinking", **signed}


def _parsed(text: str) -> JSON:
    try:
        value: JSON = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value


# Bodies without an address


def fits_request(body: Mapping[str, JSON]) -> Fit:
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


def answer_part(body: Mapping[str, JSON]) -> AnswerPart | None:
    """Recognise a message, an event of a stream, and an error."""
    kind = text_or_empty(body.get("type"))
    if kind.startswith(("message_", "content_block_")):
        ends = kind == "message_stop"
        return AnswerPart(is_event=True, begins=kind == "message_start", ends=ends, is_empty=ends)
    if kind == "message" and body.get("role") == "assistant":
        return AnswerPart(stream=text_or_empty(body.get("id")))
    return AnswerPart(ends=True) if kind == "error" and error_object(body) else None


ANTHROPIC: Final = Dialect(
    name=NAME,
    paths=("/messages",),
    versions=("v1",),
    models_path="models?limit=1000",
    write=write,
    headers=headers,
    reading=MessagesReading,
    refine=refine,
    schema_rules=_SCHEMAS,
    fits_request=fits_request,
    answer_part=answer_part,
    layout=Layout(
        messages="messages",
        system=("system",),
        schemas=("input_schema",),
        call=Spot(types=("tool_use",), text=("input",)),
        result=Spot(types=("tool_result",), id=("tool_use_id",), text=("content",)),
        image=Spot(types=("image",)),
        thought=Spot(types=_THINKING, text=("thinking",)),
    ),
)
