"""A Chat Completions request, checked as strictly as the vendor does. Source: OpenAI API reference, Chat, Create."""

from __future__ import annotations

import json
import re

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
from tui_host.demo.model.wires.wire_reading import parameters, parse, picture_at

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def read_request(body: bytes) -> Asked:
    """A request's body.

    Raises:
        RequestRefused: With the status 400 and the vendor's kind of words.
    """
    request = parse(body)
    model = request.get("model")
    if not isinstance(model, str) or not model:
        raise _bad("you must provide a model parameter", "model")
    is_streamed = _flag(request, "stream", default=False)
    options = request.get("stream_options")
    if options is not None and not is_streamed:
        raise _bad("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    if request.get("n", 1) not in {None, 1}:
        raise _bad("The demo model gives one choice only.", "n")
    choice = request.get("tool_choice", "auto")
    if choice not in ("auto", "none", None):
        raise _bad("The demo model follows its own rules: 'tool_choice' may be 'auto' or 'none'.", "tool_choice")
    tools = _tools(request)
    messages = _messages(request)
    prompt_tokens = estimate(body.decode("utf-8", "replace"))
    return Asked(
        conversation=Conversation(
            messages=messages,
            tools=() if choice == "none" else tools,
            parallel=_flag(request, "parallel_tool_calls", default=True),
            thinking=thinking_of(request.get("reasoning_effort"), "reasoning_effort"),
        ),
        model=model,
        is_streamed=is_streamed,
        with_usage=is_object(options) and _flag(options, "include_usage", default=False),
        most_tokens=_limit(request),
        prompt_tokens=prompt_tokens,
        cached_tokens=min(prompt_tokens, repeated(messages)),
        stops=_stops(request),
    )


def _bad(message: str, param: str | None = None, code: str | None = None) -> RequestRefused:
    return RequestRefused(status=400, message=message, param=param, code=code)


def thinking_of(effort: object, param: str) -> Thinking:
    """Whether the request wants it thought: any effort but `none`. Raises `RequestRefused`."""
    if effort is None:
        return "asked"
    if effort not in _EFFORTS:
        listed = ", ".join(f"'{name}'" for name in _EFFORTS)
        raise _bad(f"Invalid value for '{param}'. Supported values are: {listed}.", param, "invalid_value")
    return "never" if effort == "none" else "always"


def _stops(request: dict[str, object]) -> tuple[str, ...]:
    stop = request.get("stop")
    texts = (stop,) if isinstance(stop, str) else texts_of(stop)
    if texts is None:
        raise _type_error("stop", "a string or an array of strings", stop)
    if len(texts) > 4:
        raise _bad("Invalid 'stop': array too long. Expected an array with maximum length 4.", "stop")
    return texts


def _flag(values: dict[str, object], name: str, *, default: bool) -> bool:
    value = values.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise _type_error(name, "a boolean", value)
    return value


def _limit(request: dict[str, object]) -> int | None:
    for name in ("max_completion_tokens", "max_tokens"):
        value = request.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            raise _type_error(name, "an integer", value)
        if value < 1:
            raise _bad(f"Invalid '{name}': integer below minimum value. Expected a value >= 1.", name)
        return value
    return None


def _type_error(param: str, wanted: str, value: object) -> RequestRefused:
    given = "null" if value is None else type(value).__name__
    return _bad(f"Invalid type for '{param}': expected {wanted}, but got {given} instead.", param, "invalid_type")


def _tools(request: dict[str, object]) -> tuple[Tool, ...]:
    tools = request.get("tools")
    if tools is None:
        return ()
    if not is_array(tools):
        raise _type_error("tools", "an array of objects", tools)
    if not tools:
        raise _bad("Invalid 'tools': empty array. Expected an array with minimum length 1.", "tools", "empty_array")
    return tuple(_tool(tool, f"tools[{index}]") for index, tool in enumerate(tools))


def _tool(value: object, path: str) -> Tool:
    if not is_object(value):
        raise _type_error(path, "an object", value)
    if value.get("type") != "function":
        raise _bad(f"Invalid value for '{path}.type': expected 'function'.", f"{path}.type", "invalid_value")
    function = value.get("function")
    if not is_object(function):
        raise _type_error(f"{path}.function", "an object", function)
    name = function.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _bad(
            f"Invalid '{path}.function.name': string does not match pattern. Expected '^[a-zA-Z0-9_-]{{1,64}}$'.",
            f"{path}.function.name",
            "invalid_value",
        )
    description = function.get("description")
    if description is not None and not isinstance(description, str):
        raise _type_error(f"{path}.function.description", "a string", description)
    types, required = _parameters(function.get("parameters"), name, f"{path}.function.parameters")
    return Tool(name=name, description=description or "", types=types, required=required)


def _parameters(schema: object, name: str, path: str) -> tuple[dict[str, str], tuple[str, ...]]:
    if schema is None:
        return {}, ()
    if not is_object(schema) or schema.get("type") != "object":
        raise _bad(
            f"Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"'.",
            path,
            "invalid_function_parameters",
        )
    return parameters(schema)


def _messages(request: dict[str, object]) -> tuple[Message, ...]:
    values = request.get("messages")
    if values is None:
        raise _bad("Missing required parameter: 'messages'.", "messages", "missing_required_parameter")
    if not is_array(values):
        raise _type_error("messages", "an array of objects", values)
    if not values:
        raise _bad("Invalid 'messages': empty array. Expected at least one message.", "messages", "empty_array")
    messages = tuple(_message(value, f"messages[{index}]") for index, value in enumerate(values))
    _check_calls(messages)
    return messages


def _message(value: object, path: str) -> Message:
    if not is_object(value):
        raise _type_error(path, "an object", value)
    match value.get("role"):
        case "system" | "developer":
            return SystemSaid(text=_content(value, path)[0])
        case "user":
            text, images = _content(value, path)
            return UserSaid(text=text, images=images)
        case "assistant":
            return _assistant(value, path)
        case "tool":
            identity = value.get("tool_call_id")
            if not isinstance(identity, str):
                raise _bad(f"Missing parameter 'tool_call_id': messages with role 'tool' need one. ({path})", path)
            return ToolSaid(call_id=identity, text=_content(value, path, takes_images=False)[0])
        case role:
            raise _bad(
                f"Invalid value: {json.dumps(role)[:80]}. Supported values are: 'system', 'developer', 'assistant', "
                "'user' and 'tool'.",
                f"{path}.role",
                "invalid_value",
            )


def _assistant(value: dict[str, object], path: str) -> AssistantSaid:
    calls = value.get("tool_calls")
    if calls is None:
        return AssistantSaid(text=_content(value, path, takes_images=False)[0])
    if not is_array(calls):
        raise _type_error(f"{path}.tool_calls", "an array of objects", calls)
    if not calls:
        raise _bad(
            f"Invalid '{path}.tool_calls': empty array. Expected minimum length 1.", f"{path}.tool_calls", "empty_array"
        )
    text = "" if value.get("content") is None else _content(value, path, takes_images=False)[0]
    read = tuple(_call(call, f"{path}.tool_calls[{index}]") for index, call in enumerate(calls))
    return AssistantSaid(text=text, calls=read)


def _call(value: object, path: str) -> Call:
    function = value.get("function") if is_object(value) else None
    if not is_object(value) or not is_object(function):
        raise _type_error(f"{path}.function", "an object", function)
    identity, name, arguments = value.get("id"), function.get("name"), function.get("arguments")
    if not isinstance(identity, str) or not identity:
        raise _type_error(f"{path}.id", "a string", identity)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _bad(
            f"Invalid '{path}.function.name': string does not match pattern.", f"{path}.function.name", "invalid_value"
        )
    if not isinstance(arguments, str):
        raise _type_error(f"{path}.function.arguments", "a string", arguments)
    return Call(id=identity, name=name, arguments=arguments)


def _content(value: dict[str, object], path: str, *, takes_images: bool = True) -> tuple[str, tuple[str, ...]]:
    """The text of a message, and the images that it has."""
    content = value.get("content")
    if isinstance(content, str):
        return content, ()
    if not is_array(content) or not content:
        raise _type_error(f"{path}.content", "a string or an array of objects that is not empty", content)
    texts: list[str] = []
    images: list[str] = []
    for index, part in enumerate(content):
        kind = part.get("type") if is_object(part) else None
        text = part.get("text") if is_object(part) else None
        if kind == "text" and isinstance(text, str):
            texts.append(text)
        elif kind == "image_url" and takes_images:
            url = part.get("image_url") if is_object(part) else None
            images.append(picture_at(url.get("url") if is_object(url) else url))
        else:
            raise _bad(
                f"Invalid value for '{path}.content[{index}]': this role takes parts of type 'text'"
                f"{' and image_url' if takes_images else ''}.",
                f"{path}.content[{index}].type",
                "invalid_value",
            )
    return "\n".join(texts), tuple(images)


def _check_calls(messages: tuple[Message, ...]) -> None:
    """Every call needs one result, directly after the message that asked for it, and every result its call."""
    waiting: dict[str, None] = {}
    for index, message in enumerate(messages):
        if isinstance(message, ToolSaid):
            if message.call_id not in waiting:
                raise _bad(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
                    f"messages[{index}].role",
                )
            del waiting[message.call_id]
            continue
        if waiting:
            break
        if isinstance(message, AssistantSaid):
            waiting = dict.fromkeys(call.id for call in message.calls)
    if waiting:
        raise _bad(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
            f"The following tool_call_ids did not have response messages: {', '.join(waiting)}",
            "messages",
        )
