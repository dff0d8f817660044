"""`ollama`: Ollama's `/api/chat`. Source: Ollama's API reference, Generate a chat completion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tui_host.capture.json.narrowing import items, mapping
from tui_host.errors import JSON, ModelError
from tui_host.llm.answer_state import AnswerState
from tui_host.llm.body_framing import count_of, source
from tui_host.llm.dialects.body_kinds import AnswerPart, Fit, chat_messages
from tui_host.llm.dialects.chat_shape import function_tool, image_data, written_messages
from tui_host.llm.dialects.dialect import Dialect, Target, Window, WireRequest
from tui_host.llm.images import with_taken_images
from tui_host.llm.layout import Layout, Spot
from tui_host.llm.messages import Ask, Message, Stop, ToolCall, ToolResult, ToolSpec, Usage
from tui_host.llm.provider_faults import fault_in
from tui_host.llm.request_writing import CallIds, arguments_object, body_bytes, text_of, thinking_of, tools_text
from tui_host.llm.schema_adaptation import SchemaRules
from tui_host.llm.thinktags import ThinkTags
from tui_host.llm.tool_names import OPENAI_NAMES

_LONGEST_ID = 64
_BESIDE = ("think", "format", "keep_alive", "truncate", "shift", "logprobs", "top_logprobs")
"""Members of the body outside `options`; any other option without a neutral name (`num_ctx`) goes into `options`."""
_WINDOW_TOKENS = 4096
"""The default of `num_ctx` on servers with less than 24 GiB of video memory."""
_YES_AND_NO: Mapping[str, bool] = {"true": True, "on": True, "false": False, "off": False, "none": False}
_NANOSECONDS = 1e9
_REMEDIES: tuple[tuple[str, str], ...] = (
    ("does not support tools", "choose another model, or a tool protocol that needs none of the model's own"),
    ("does not support thinking", "choose another model, or take reasoning_effort out of its options"),
    ("try pulling it", "pull it (ollama pull NAME), or choose another model"),
    ("context length", "give it more room (options.num_ctx), or start a new session"),
)
"""Remedies by words in the server's refusal."""


# Requests


def write(ask: Ask, target: Target) -> WireRequest:
    """Write a request.

    `truncate` and `shift` make the server refuse a conversation longer than the model's window; else the server cuts the
    tools and the oldest messages silently. Older servers ignore both.
    """
    body: dict[str, JSON] = {"model": ask.model, "stream": ask.stream, "truncate": False, "shift": False}
    body |= _options(ask)
    added, own = dict(ask.extra), body.get("options")
    more = added.get("options")
    if isinstance(more, Mapping) and isinstance(own, Mapping):
        added["options"] = {**own, **more}
    messages = written_messages(ask, _Form(ask, target.provider))
    whole, growing = body_bytes(body, added, tools=tools_text(ask.tools, _tool), messages=messages)
    return WireRequest(
        path="chat",
        body=whole,
        growing=growing,
        headers=(("Content-Type", "application/json"), ("Accept", "application/x-ndjson")),
        window=_window(added.get("options", body.get("options"))),
    )


def _window(options: JSON) -> Window:
    size = mapping(options).get("num_ctx")
    if isinstance(size, int) and size > 0:
        return Window(tokens=size, remedy="give it more room (options.num_ctx), or start a new session")
    most = f"most servers take {_WINDOW_TOKENS:,} tokens where nothing is said"
    return Window(tokens=_WINDOW_TOKENS, remedy=f"say how much room there is (options.num_ctx): {most}")


def _options(ask: Ask) -> dict[str, JSON]:
    options, effort = ask.options, ask.options.reasoning_effort
    inside: dict[str, JSON] = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "num_predict": options.max_tokens,
        "seed": options.seed,
        "stop": list(ask.stops) or None,
    }
    inside = {name: value for name, value in inside.items() if value is not None}
    inside |= {name: value for name, value in options.others.items() if name not in _BESIDE}
    written: dict[str, JSON] = {}
    if effort is not None:
        written["think"] = _YES_AND_NO.get(effort, effort)
    if inside:
        written["options"] = inside
    return written | {name: value for name, value in options.others.items() if name in _BESIDE}


def _tool(tool: ToolSpec) -> JSON:
    return function_tool(tool, SchemaRules())


class _Form:
    """Writes the messages of one request."""

    def __init__(self, ask: Ask, provider: str) -> None:
        self._provider = provider
        self._model = ask.model
        self.ids = CallIds(_LONGEST_ID)
        asked = [message for message in ask.messages if message.role == "user" and not message.source]
        # The server ignores the thinking before the current turn.
        begins = max((n for n, message in enumerate(ask.messages) if asked and message is asked[-1]), default=-1)
        self._thinks = {id(message) for message in ask.messages[begins + 1 :]}

    def content(self, parts: Sequence[object]) -> dict[str, JSON]:
        parts = with_taken_images(parts)
        images: list[JSON] = [image.data for image in image_data(parts)]
        return {"content": text_of(parts), **({"images": images} if images else {})}

    def answer(self, message: Message, text: str, calls: Sequence[ToolCall]) -> dict[str, JSON]:
        del calls
        thoughts = [part.text for part in thinking_of(message, provider=self._provider, model=self._model)]
        written: dict[str, JSON] = {"role": "assistant", "content": text}
        if id(message) in self._thinks and any(thoughts):
            written["thinking"] = "".join(thoughts)
        return written

    def call(self, call: ToolCall) -> JSON:
        name = OPENAI_NAMES.clean(call.name)
        function: JSON = {"name": name, "arguments": arguments_object(call.arguments)}
        return {"id": self.ids.of(call), "function": function} if call.wire_id else {"function": function}

    def result(self, result: ToolResult, text: str) -> JSON:
        written: dict[str, JSON] = {"role": "tool", "tool_name": OPENAI_NAMES.clean(result.call.name)}
        if result.call.wire_id:
            written["tool_call_id"] = self.ids.of(result.call)
        return {**written, "content": text}


# Answers


class OllamaReading:
    """Turns lines into events."""

    def __init__(self) -> None:
        self.state = AnswerState()
        self._tags = ThinkTags(self.state)

    def event(self, value: dict[str, JSON], data: bytes) -> None:
        """Read a line."""
        state, message = self.state, value.get("message")
        if isinstance(message, dict):
            state.has_read = True
            thought = message.get("thinking") or message.get("reasoning_content")  # some imitating servers name it so
            self._tags.thinking(thought)
            text, calls = message.get("content"), message.get("tool_calls")
            if isinstance(text, str):
                self._tags.feed(text)
            for number, call in enumerate(calls if isinstance(calls, list) else ()):
                self._call(call, number, data)
        elif not isinstance(value.get("done"), bool):
            self._error(value)
            return
        if value.get("error"):
            self._error(value)
        elif value.get("done") is True:
            self._done(value)

    def whole(self, value: dict[str, JSON], data: bytes) -> Sequence[dict[str, JSON]]:
        """Return an answer without streaming, which is a single line."""
        del data
        return [value] if isinstance(value.get("message"), dict) or isinstance(value.get("done"), bool) else ()

    def closing(self) -> None:
        """Add text that was held back because it might begin a tag for thinking."""
        self._tags.finish()

    def stop(self) -> Stop:
        """Translate `done_reason`, which is `stop` even if there are calls."""
        if self.state.reason == "length":
            return "length"
        return "tools" if self.state.calls else "end"

    def _error(self, value: Mapping[str, JSON]) -> None:
        fault, status = fault_in(value), value.get("status")
        if fault is None:
            self.state.has_foreign = True
        else:
            self.state.fail(fault[0], fault[1] or (str(status) if isinstance(status, int) else ""))

    def _call(self, value: JSON, number: int, data: bytes) -> None:
        """Read a call, which is never split. Its index is ignored, because older servers give 0 to all calls."""
        function = mapping(mapping(value).get("function"))
        if not function:
            self.state.unreadable("a tool call that is no object")
            return
        index = self.state.open_call(mapping(value).get("id"), function.get("name"))
        arguments = function.get("arguments")
        if isinstance(arguments, str):  # servers that imitate OpenAI send a text
            self.state.arguments(index, arguments)
        elif index is not None:
            path = ("message", "tool_calls", number, "function", "arguments")
            self.state.arguments(index, source(data, *path))

    def _done(self, value: Mapping[str, JSON]) -> None:
        state, reason = self.state, value.get("done_reason")
        state.is_over = state.has_read = True
        state.finish(reason if isinstance(reason, str) and reason else "done")
        self._tags.finish()
        state.report(
            Usage(
                input_total=count_of(value, "prompt_eval_count"),
                output_total=count_of(value, "eval_count"),
                loading=_seconds(value, "load_duration"),
                reading=_seconds(value, "prompt_eval_duration"),
                writing=_seconds(value, "eval_duration"),
            )
        )


def _seconds(value: Mapping[str, JSON], name: str) -> float | None:
    nanoseconds = count_of(value, name)
    return None if nanoseconds is None else nanoseconds / _NANOSECONDS


def refine(error: ModelError, body: bytes) -> ModelError:
    """Add a remedy for the server's message."""
    del body
    error.remedy = next((remedy for words, remedy in _REMEDIES if words in error.what), error.remedy)
    return error


# Bodies without an address


def fits_request(body: Mapping[str, JSON]) -> Fit:
    """Return 2 for members that only this API has, and for arguments as an object; else 1."""
    messages = chat_messages(body)
    calls = (mapping(mapping(call).get("function")) for each in messages for call in items(each.get("tool_calls")))
    is_own = bool(body.keys() & {"options", "keep_alive", "think", "format", "raw"})
    if messages and (is_own or any(isinstance(call.get("arguments"), Mapping) for call in calls)):
        return 2
    return 1 if messages else 0


def answer_part(body: Mapping[str, JSON]) -> AnswerPart | None:
    """Recognise a line of an answer; an unstreamed answer is a single line."""
    message = body.get("message")
    if "done" not in body or not isinstance(message, Mapping):
        return None
    says = any(message.get(name) for name in ("content", "thinking", "tool_calls"))
    return AnswerPart(is_event=True, ends=body["done"] is True, is_empty=not says)


OLLAMA: Final = Dialect(
    name="ollama",
    paths=("/api/chat",),
    versions=("api",),
    models_path="tags",
    write=write,
    reading=OllamaReading,
    framing="lines",
    refine=refine,
    fits_request=fits_request,
    answer_part=answer_part,
    layout=Layout(
        messages="messages",
        tool="function",
        calls="tool_calls",
        images="images",
        thoughts=("thinking",),
        call=Spot(members=("function",), text=("arguments",)),
        result=Spot(roles=("tool",), name=("tool_name",), id=("tool_call_id",), text=("content",)),
        image=Spot(),
        thought=Spot(),
    ),
)
