"""A request to /api/chat, read as the server does: types are checked, the order of messages is not. Source: Ollama's docs/api.md."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

from tui_host.demo.model.narrow import is_array, is_object, texts_of
from tui_host.demo.model.request_content import (
    AssistantSaid,
    Call,
    Conversation,
    Message,
    SystemSaid,
    Thinking,
    Tool,
    ToolSaid,
    UserSaid,
)
from tui_host.demo.model.token_estimate import estimate, repeated
from tui_host.demo.model.wires.wire import Asked, RequestRefused
from tui_host.demo.model.wires.wire_reading import is_base64, parameters, parse, picture

_ROLES = ("system", "user", "assistant", "tool")
_LEVELS = ("high", "medium", "low", "max")
_KINDS: dict[type, str] = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}


def read_request(body: bytes) -> Asked:
    """A request's body; without messages it only loads the model.

    Raises:
        RequestRefused: With the status 400 and the server's kind of words.
    """
    if not body:
        raise _bad("missing request body")
    request = parse(body, not_json="{}", no_object="json: cannot unmarshal array into Go value of type api.ChatRequest")
    model = _text(request, "model", "ChatRequest.model")
    if not model:
        raise _bad("model is required")
    options = _options(request)
    messages = tuple(_messages(request))
    tools = _tools(request)
    tokens = estimate(body.decode("utf-8", "replace"))
    window = options.get("num_ctx")
    if isinstance(window, int):
        # What does not fit is left out without a word, oldest first; only the count shows it.
        messages, tokens = _fitting(messages, tokens, window, is_cut=_flag(request, "truncate", default=True))
    most = options.get("num_predict")
    return Asked(
        conversation=Conversation(messages=messages, tools=tools, thinking=_thinking(request)),
        model=model.removesuffix(":latest"),
        is_streamed=_flag(request, "stream", default=True),
        with_usage=True,
        most_tokens=most if isinstance(most, int) and most > 0 else None,
        prompt_tokens=tokens,
        cached_tokens=min(tokens, repeated(messages)),
        stops=_stops(options),
        options={"model": model},
    )


def _bad(message: str) -> RequestRefused:
    return RequestRefused(status=400, message=message)


def mismatch(value: object, place: str, wanted: str) -> RequestRefused:
    """A refusal of a value of another type, in the words of the server's language."""
    return _bad(
        f"json: cannot unmarshal {_KINDS.get(type(value), 'null')} into Go struct field {place} of type {wanted}"
    )


def _text(values: dict[str, object], name: str, place: str) -> str:
    value = values.get(name)
    if value is not None and not isinstance(value, str):
        raise mismatch(value, place, "string")
    return value or ""


def _flag(values: dict[str, object], name: str, *, default: bool) -> bool:
    value = values.get(name)
    if value is not None and not isinstance(value, bool):
        raise mismatch(value, f"ChatRequest.{name}", "bool")
    return default if value is None else value


def _thinking(request: dict[str, object]) -> Thinking:
    value = request.get("think")
    if value is None:
        return "asked"
    if not isinstance(value, bool) and value not in _LEVELS:
        listed = ", ".join(f'"{name}"' for name in _LEVELS)
        raise _bad(f"invalid think value: {json.dumps(value)[:40]} (must be {listed}, true, or false)")
    return "always" if value else "never"


def _options(request: dict[str, object]) -> dict[str, object]:
    options = request.get("options")
    if options is None:
        return {}
    if not is_object(options):
        raise mismatch(options, "ChatRequest.options", "map[string]interface {}")
    for name in ("num_ctx", "num_predict", "seed", "top_k"):
        value = options.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise _bad(f'option "{name}" must be of type integer')
    for name in ("temperature", "top_p", "min_p"):
        value = options.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise _bad(f'option "{name}" must be of type float32')
    return options


def _stops(options: dict[str, object]) -> tuple[str, ...]:
    texts = texts_of(options.get("stop"))
    if texts is None:
        raise _bad('option "stop" must be of type array')
    return texts


def _tools(request: dict[str, object]) -> tuple[Tool, ...]:
    tools = request.get("tools")
    if tools is None:
        return ()
    if not is_array(tools):
        raise mismatch(tools, "ChatRequest.tools", "api.Tools")
    found: list[Tool] = []
    for tool in tools:
        function = tool.get("function") if is_object(tool) else None
        if not is_object(function):
            raise mismatch(function if is_object(tool) else tool, "ChatRequest.tools.function", "api.ToolFunction")
        schema = function.get("parameters")
        if schema is not None and not is_object(schema):
            raise mismatch(schema, "ToolFunction.tools.function.parameters", "api.ToolFunctionParameters")
        types, required = parameters(schema)
        name = _text(function, "name", "ToolFunction.tools.function.name")
        description = _text(function, "description", "ToolFunction.tools.function.description")
        found.append(Tool(name=name, description=description, types=types, required=required))
    return tuple(found)


def _messages(request: dict[str, object]) -> Iterator[Message]:
    values = request.get("messages")
    if values is None:
        return
    if not is_array(values):
        raise mismatch(values, "ChatRequest.messages", "[]api.Message")
    waiting: dict[str, str] = {}
    for index, value in enumerate(values):
        if not is_object(value):
            raise mismatch(value, "ChatRequest.messages", "api.Message")
        role = _text(value, "role", "Message.messages.role").lower()
        text = _text(value, "content", "Message.messages.content")
        _text(value, "thinking", "Message.messages.thinking")
        images = _images(value)
        match role:
            case "system":
                yield SystemSaid(text=text)
            case "assistant":
                calls = tuple(_calls(value, index))
                waiting = {call.id: call.name for call in calls}
                yield AssistantSaid(text=text, calls=calls)
            case "tool":
                yield ToolSaid(call_id=_called(value, waiting), text=text, images=images)
            case "user":
                yield UserSaid(text=text, images=images)
            case _:
                listed = ", ".join(_ROLES)
                raise _bad(f"invalid role: {role[:40]!r}, must be one of [{listed}]")


def _images(value: dict[str, object]) -> tuple[str, ...]:
    images = value.get("images")
    if images is None:
        return ()
    if not is_array(images):
        raise mismatch(images, "Message.messages.images", "[]api.ImageData")
    for image in images:
        if not is_base64(image):
            at = str(image).find(":") if isinstance(image, str) else 0
            raise _bad(f"illegal base64 data at input byte {max(at, 0)}")
    return tuple(map(picture, images))


def _calls(value: dict[str, object], index: int) -> Iterator[Call]:
    calls = value.get("tool_calls")
    if calls is not None and not is_array(calls):
        raise mismatch(calls, "Message.messages.tool_calls", "[]api.ToolCall")
    for place, call in enumerate(calls or []):
        function = call.get("function") if is_object(call) else None
        if not is_object(call) or not is_object(function):
            raise mismatch(
                function if is_object(call) else call, "ToolCall.messages.tool_calls.function", "api.ToolCallFunction"
            )
        arguments = function.get("arguments")
        if arguments is not None and not is_object(arguments):
            where = "ToolCallFunction.messages.tool_calls.function.arguments"
            raise mismatch(arguments, where, "api.ToolCallFunctionArguments")
        yield Call(
            id=_text(call, "id", "ToolCall.messages.tool_calls.id") or f"{index}.{place}",
            name=_text(function, "name", "ToolCallFunction.messages.tool_calls.function.name"),
            arguments=json.dumps(arguments or {}, ensure_ascii=False, separators=(",", ":")),
        )


def _called(value: dict[str, object], waiting: dict[str, str]) -> str:
    """The call that a result belongs to: by its id, else the first one of that name, else the first one."""
    identity = _text(value, "tool_call_id", "Message.messages.tool_call_id")
    name = _text(value, "tool_name", "Message.messages.tool_name")
    named = (known for known, called in waiting.items() if called == name)
    found = identity if identity in waiting else next(itertools.chain(named, waiting), "")
    waiting.pop(found, None)
    return found


def _fitting(
    messages: tuple[Message, ...], tokens: int, window: int, *, is_cut: bool
) -> tuple[tuple[Message, ...], int]:
    if tokens <= window:
        return messages, tokens
    if not is_cut:
        raise _bad("the input length exceeds the context length")
    kept = list(messages)
    while tokens > window:
        place = next((place for place, one in enumerate(kept[:-1]) if not isinstance(one, SystemSaid)), None)
        if place is None:
            break
        tokens -= estimate(kept.pop(place).text)
    return tuple(kept), min(tokens, window)
