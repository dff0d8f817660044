"""`openai-responses`: OpenAI's Responses API, without state at the provider: every request holds all items.

Source: OpenAI API reference, Responses and streaming events.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.errors import JSON
from tui_host.llm.answer_state import AnswerState
from tui_host.llm.body_framing import count_of
from tui_host.llm.dialects.body_kinds import AnswerPart, Fit, are_objects
from tui_host.llm.dialects.dialect import Dialect, Target, WireRequest, path_of
from tui_host.llm.images import image_url, with_taken_images
from tui_host.llm.layout import Layout, Spot, full_name
from tui_host.llm.messages import Ask, Image, Message, Part, Stop, Text, Thinking, ToolCall, ToolResult, ToolSpec, Usage
from tui_host.llm.provider_faults import fault_in
from tui_host.llm.request_writing import (
    CallIds,
    arguments_text,
    body_bytes,
    echo_for,
    echo_of,
    results_in,
    system_text,
    text_of,
    tools_text,
)
from tui_host.llm.schema_adaptation import OPENAI_SCHEMAS, adapt
from tui_host.llm.tool_names import OPENAI_NAMES

NAME: Final = "openai-responses"
_LONGEST_ID = 64
_THINKS_NOT = re.compile(r"(^|[/:])(gpt-3|gpt-4|chatgpt|gpt-5[\w.-]*-chat)")
"""Models that refuse any option about thinking."""
_THINKS = re.compile(r"(^|[/:])(o\d|gpt-[5-9]|gpt-oss|codex)")
_MISSING_OPTIONS = {"seed": "this API has no seed", "stop": "this API has no texts to stop at"}
_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")
_FINAL = ("completed", "incomplete", "failed", "cancelled")
_REFUSAL = "response.refusal.delta"
_DELTAS: Mapping[str, Literal["text", "thinking"]] = {
    "response.output_text.delta": "text",
    _REFUSAL: "text",
    "response.reasoning_summary_text.delta": "thinking",
    "response.reasoning_text.delta": "thinking",
    "response.reasoning.delta": "thinking",
}
_CALL = "function_call"
_RUNS = frozenset(("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"))
"""Items of tools that the vendor itself has run."""
_NEVER_OFFERED = ("custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call")
"""Kinds of calls that cannot be sent back, because they have no results."""
_OWN: Mapping[str, tuple[str, ...]] = {
    "message": ("role", "content"),
    _CALL: ("call_id", "name", "arguments"),
}
"""The members of each kind of item that our own form already holds."""


# Requests


def write(ask: Ask, target: Target) -> WireRequest:
    """Write a request."""
    body: dict[str, JSON] = {"model": ask.model, "store": False}
    if ask.stream:
        body["stream"] = True
    body |= _thinking_options(ask)
    system = system_text(ask.messages)
    if system:
        body["instructions"] = system
    body |= _options(ask)
    tools = tools_text(ask.tools, _tool)
    whole, growing = body_bytes(body, dict(ask.extra), tools=tools, input=_Writer(ask, target.provider).items())
    path, unsent = path_of("responses", target), ask.unsent((), **_MISSING_OPTIONS)
    return WireRequest(path=path, body=whole, growing=growing, unsent=unsent)


def _thinking_options(ask: Ask) -> dict[str, JSON]:
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
    options = ask.options
    written: dict[str, JSON] = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "max_output_tokens": options.max_tokens,
    }
    return {name: value for name, value in written.items() if value is not None} | dict(options.others)


def _tool(tool: ToolSpec) -> JSON:
    described: dict[str, JSON] = {"description": tool.description} if tool.description else {}
    schema = adapt(tool.schema, OPENAI_SCHEMAS).schema
    # `strict` defaults to true, and the service would then change or refuse the schema.
    return {"type": "function", "name": tool.name, **described, "parameters": schema, "strict": False}


class _Writer:
    """Writes the conversation of one request as a list of items."""

    def __init__(self, ask: Ask, provider: str) -> None:
        self._ask = ask
        self._provider = provider
        self._ids = CallIds(_LONGEST_ID)

    def items(self) -> list[JSON]:
        """Write all items, oldest first."""
        return [item for message in self._ask.messages for item in self._message(message)]

    def _message(self, message: Message) -> Iterator[JSON]:
        match message.role:
            case "system":
                return  # written as `instructions`
            case "user":
                yield {"role": "user", "content": _content(message.parts, text_of(message.parts))}
            case "assistant":
                yield from self._answer(message)
            case "tool":
                yield from map(self._result, results_in(message))

    def _answer(self, message: Message) -> Iterator[JSON]:
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
                name, arguments = OPENAI_NAMES.clean(part.name), arguments_text(part.arguments)
                asked: dict[str, JSON] = {"call_id": self._ids.of(part), "name": name, "arguments": arguments}
                return {"type": _CALL, **echo, **asked}
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
        return echo_of(part, provider=self._provider, model=self._ask.model, dialect=NAME)

    def _result(self, result: ToolResult) -> JSON:
        text = "\n".join(part.text for part in result.content if isinstance(part, Text))
        output = _content(result.content, text)
        return {"type": "function_call_output", "call_id": self._ids.of(result.call), "output": output}


def _is_complete(thought: Mapping[str, JSON]) -> bool:
    """Tell whether a reasoning item can be sent back: it must hold the encrypted thinking, as the service stores none."""
    return bool(thought.get("encrypted_content") or thought.get("content"))


def _content(parts: Sequence[object], text: str) -> JSON:
    """Write the text, or a list if there are images."""
    if not any(isinstance(part, Image) for part in parts):
        return text
    written: list[JSON] = []
    for part in with_taken_images(parts):
        if isinstance(part, Text) and part.text:
            written.append({"type": "input_text", "text": part.text})
        elif isinstance(part, Image):
            written.append({"type": "input_image", "image_url": image_url(part), "detail": "auto"})
    return written


# Answers


@dataclass(slots=True)
class _Item:
    """An item of the output being streamed.

    Attributes:
        call: The number of the call; None if the item is no call, or a call beyond the limit.
        pieces: The text, or the arguments, that were streamed.
    """

    id: str = ""
    call: int | None = None
    pieces: list[str] = field(default_factory=list[str])
    is_done: bool = False


class ResponsesReading:
    """Turns the vendor's events, or a whole answer, into ours.

    Complete items are authoritative; the pieces before them only serve to draw the answer early.
    """

    def __init__(self) -> None:
        self.state = AnswerState()
        self._by_index: dict[int, _Item] = {}
        self._by_id: dict[str, _Item] = {}
        self._last: _Item | None = None
        self._refuses = False
        self._is_whole = False

    def event(self, value: dict[str, JSON], data: bytes) -> None:
        """Read an event by the `type` in the data."""
        del data
        state, kind = self.state, text_or_empty(value.get("type"))
        words = _DELTAS.get(kind)
        if words is not None:  # the most frequent event
            state.has_read = True
            self._refuses = self._refuses or kind == _REFUSAL
            self._words(self._find(value) or self._add(value, {}), value.get("delta"), words)
        elif kind in _ENDS or self._is_whole:
            state.has_read = state.is_over = True
            self._end(mapping(value.get("response")), kind.removeprefix("response."))
        elif kind.startswith("response."):
            state.has_read = True
            self._item_event(kind, value)
        else:
            fault = fault_in(value) or (("", "") if kind == "error" else None)
            if fault is None:
                state.has_foreign = True
            else:
                state.fail(*fault)

    def whole(self, value: dict[str, JSON], data: bytes) -> Sequence[dict[str, JSON]]:
        """Return the event that ends a streamed answer, which holds all items."""
        del data
        if not isinstance(value.get("output"), list) and "status" not in value:
            return ()
        self._is_whole = True
        return [{"type": f"response.{text_or_empty(value.get('status')) or 'completed'}", "response": value}]

    def closing(self) -> None:
        """Add nothing: every event was given out before."""

    def stop(self) -> Stop:
        """Translate the status, or the reason why the response is incomplete."""
        match self.state.reason or self.state.mark:
            case "queued" | "in_progress":
                return "cut"
            case "failed" | "cancelled":
                return "failed"
            case "content_filter":
                return "refused"
            case "completed" | "[DONE]" if self.state.calls:
                return "tools"
            case "completed" | "[DONE]":
                return "refused" if self._refuses else "end"
            case _:
                return "length"  # incomplete for any reason

    def _item_event(self, kind: str, value: Mapping[str, JSON]) -> None:
        state, opened = self.state, self._find(value)
        match kind:
            case "response.output_item.added":
                item = mapping(value.get("item"))
                opened = self._add(value, item)
                if item.get("type") == _CALL:
                    self._call(opened, item, None)
            case "response.output_item.done":
                self._done(value)
            case "response.function_call_arguments.delta" if opened is not None and opened.call is not None:
                piece = text_or_empty(value.get("delta"))
                opened.pieces.append(piece)
                state.arguments(opened.call, piece)
            case "response.function_call_arguments.done" if opened is not None and opened.call is not None:
                state.name_call(opened.call, "", "")  # the repeated arguments count as bytes of the call
                self._arguments(opened, text_or_empty(value.get("arguments")))
            case "response.reasoning_summary_part.added" if opened is not None and opened.pieces:
                self._words(opened, "\n\n", "thinking")
            case _:
                pass  # ends of parts, progress, the vendor's own tools: only recorded

    def _add(self, event: Mapping[str, JSON], item: Mapping[str, JSON]) -> _Item:
        """Begin an item with the first event about it."""
        index, opened = event.get("output_index"), _Item(id=text_or_empty(item.get("id")))
        self._last = opened
        if type(index) is int:
            self._by_index[index] = opened
        for name in (opened.id, text_or_empty(event.get("item_id"))):
            if name:
                self._by_id[name] = opened
        return opened

    def _find(self, event: Mapping[str, JSON], item: Mapping[str, JSON] | None = None) -> _Item | None:
        """Find the item of an event: by id (some services make a new id each time), by index, else the last item."""
        name = event.get("item_id") if item is None else item.get("id")
        by_id = self._by_id.get(name) if isinstance(name, str) else None
        if by_id is not None:
            return by_id
        index = event.get("output_index")
        return self._by_index.get(index) if type(index) is int else self._last

    def _done(self, value: Mapping[str, JSON]) -> None:
        item = value.get("item")
        if not isinstance(item, Mapping):
            return
        opened = self._find(value, item)
        if opened is not None and opened.is_done:
            if opened.id and opened.id == item.get("id"):
                return  # sent twice
            opened = None
        self._whole_item(opened or self._add(value, item), item)

    def _whole_item(self, opened: _Item, item: Mapping[str, JSON]) -> None:
        """Read a complete item: whatever was not streamed before, and the members to send back."""
        opened.is_done = True
        state, echo = self.state, echo_for(NAME, _echo_of(item))
        match item.get("type"):
            case "function_call":
                self._call(opened, item, echo)
            case "message":
                parts = list(map(mapping, items(item.get("content"))))
                refusals = [part for part in parts if text_or_empty(part.get("refusal"))]
                self._refuses = self._refuses or bool(refusals)
                said = [text_or_empty(part.get("text")) or text_or_empty(part.get("refusal")) for part in parts]
                self._rest(opened, "".join(said), "text")
                for part in parts:
                    state.cite(part.get("annotations"))
                state.end_part("text", echo)
            case "reasoning":
                self._rest(opened, _thinking(item), "thinking")
                state.end_part("thinking", echo)
            case _:
                kind, action = text_or_empty(item.get("type")), mapping(item.get("action")) or item
                if kind in _RUNS:
                    state.used(kind.removesuffix("_call"), action)
                state.cite(action.get("sources"))
                if echo:
                    state.end_part("text", echo)

    def _call(self, opened: _Item, item: Mapping[str, JSON], echo: JSON) -> None:
        """Begin a call, or complete a call that has begun."""
        name = full_name(text_or_empty(item.get("name")), text_or_empty(item.get("namespace")))
        if opened.call is None:
            opened.call = self.state.open_call(item.get("call_id"), name, echo)
        else:
            self.state.name_call(opened.call, item.get("call_id"), name, echo)
        self._arguments(opened, text_or_empty(item.get("arguments")))

    def _arguments(self, opened: _Item, arguments: str) -> None:
        """Take all arguments of a call, if they differ from the streamed pieces."""
        if arguments and arguments != "".join(opened.pieces):
            self.state.arguments(opened.call, arguments, anew=bool(opened.pieces))
            opened.pieces = [arguments]

    def _words(self, opened: _Item, piece: JSON, kind: Literal["text", "thinking"]) -> None:
        if isinstance(piece, str) and piece:
            opened.pieces.append(piece)
            if kind == "text":
                self.state.text(piece)
            else:
                self.state.thinking(piece)

    def _rest(self, opened: _Item, text: str, kind: Literal["text", "thinking"]) -> None:
        """Add the part of a text that was not streamed."""
        streamed = "".join(opened.pieces)
        if text.startswith(streamed):
            self._words(opened, text[len(streamed) :], kind)

    def _end(self, response: Mapping[str, JSON], event_status: str) -> None:
        """Read the end of the response: items that did not come before, the reason, the usage, and an error."""
        state, is_first = self.state, self._last is None
        for number, item in enumerate(map(mapping, items(response.get("output")))):
            opened = _Item() if is_first else self._find({"output_index": number}, item)
            if item and opened is not None and not opened.is_done:
                self._whole_item(opened, item)
        reason = _reason(response, event_status)
        state.finish(reason)
        state.report(_usage(response))
        fault = fault_in({"error": response.get("error")}) if response.get("error") else None
        if fault is None and reason in {"failed", "cancelled"}:
            fault = f"the provider ended the answer with {reason!r}", reason
        if fault is not None and not state.has_failed:
            state.fail(*fault)


def _echo_of(item: Mapping[str, JSON]) -> Mapping[str, JSON] | None:
    """Return the members of an item that our own form lacks, to send them back. None if there are none."""
    kind = item.get("type")
    if not isinstance(kind, str) or kind in _NEVER_OFFERED:
        return None
    own = _OWN.get(kind, ())
    if kind == "message" and any(mapping(part).get("refusal") for part in items(item.get("content"))):
        own = ()  # our form cannot hold refusals
    return {name: value for name, value in item.items() if name not in own and value is not None}


def _thinking(item: Mapping[str, JSON]) -> str:
    """Return the summary of the thinking, or the thinking itself of open models."""
    for name in ("summary", "content"):
        texts = [text for part in items(item.get(name)) if (text := text_or_empty(mapping(part).get("text")))]
        if texts:
            return "\n\n".join(texts)
    return ""


def _usage(response: Mapping[str, JSON]) -> Usage:
    usage = response.get("usage")
    return Usage(
        input_total=count_of(usage, "input_tokens"),
        input_cached=count_of(usage, "input_tokens_details", "cached_tokens"),
        cache_written=count_of(usage, "input_tokens_details", "cache_write_tokens"),
        output_total=count_of(usage, "output_tokens"),
        reasoning=count_of(usage, "output_tokens_details", "reasoning_tokens"),
    )


def _reason(response: Mapping[str, JSON], event_status: str) -> str:
    """Return why a response ended: the reason for incompleteness, or the status, for some services in the event's name."""
    status = text_or_empty(response.get("status"))
    reason = status if status in _FINAL else event_status
    details = text_or_empty(mapping(response.get("incomplete_details")).get("reason"))
    return details if reason == "incomplete" and details else reason


# Bodies without an address


def fits_request(body: Mapping[str, JSON]) -> Fit:
    """Return 2 for a body with `model` and `input`."""
    asked = body.get("input")
    is_asked = "model" in body and "jsonrpc" not in body and (isinstance(asked, str) or are_objects(asked))
    return 2 if is_asked else 0


def answer_part(body: Mapping[str, JSON]) -> AnswerPart | None:
    """Recognise a response and the events of a response."""
    kind = text_or_empty(body.get("type"))
    if not kind.startswith("response."):
        return AnswerPart(stream=text_or_empty(body.get("id"))) if body.get("object") == "response" else None
    ends = kind in {"response.completed", "response.failed", "response.incomplete"}
    return AnswerPart(is_event=True, begins=kind == "response.created", ends=ends, is_empty=ends)


OPENAI_RESPONSES: Final = Dialect(
    name=NAME,
    paths=("/responses",),
    write=write,
    reading=ResponsesReading,
    schema_rules=OPENAI_SCHEMAS,
    fits_request=fits_request,
    answer_part=answer_part,
    layout=Layout(
        messages="input",
        system=("instructions",),
        tool_lists=("tools",),
        call=Spot(types=(_CALL,), id=("call_id",), text=("arguments",)),
        result=Spot(types=("function_call_output",), id=("call_id",), text=("output",)),
        image=Spot(types=("input_image", "input_file")),
        thought=Spot(types=("reasoning",)),
    ),
)
