"""The input of a Responses request, item by item. Source: OpenAI API reference, Responses; its words of refusal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from tui_host.demo.model.narrow import is_array, is_object
from tui_host.demo.model.request_content import AssistantSaid, Call, Message, SystemSaid, ToolSaid, UserSaid
from tui_host.demo.model.wires.seals import seal
from tui_host.demo.model.wires.wire import RequestRefused
from tui_host.demo.model.wires.wire_reading import picture_at
from tui_host.errors import JSON

SEALED = "reasoning"
"""What sealed reasoning is made of, beside its id."""
THOUGHT_CALL = "fc_t"
"""How the id of a call's item begins that was thought about: the item of that thinking is wanted back before it."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_STATUSES = ("completed", "in_progress", "incomplete")
_USER_PARTS = ("input_text", "input_image", "input_file")
_ASSISTANT_PARTS = ("output_text", "refusal")
_LONGEST_ID = 64


def bad(message: str, param: str | None = None, code: str | None = None) -> RequestRefused:
    """A refusal with the status 400."""
    return RequestRefused(status=400, message=message, param=param, code=code)


def wrong_type(param: str, wanted: str, value: object) -> RequestRefused:
    """A refusal of a value that is of another type."""
    given = "null" if value is None else type(value).__name__
    return bad(f"Invalid type for '{param}': expected {wanted}, but got {given} instead.", param, "invalid_type")


def joined(namespace: object, name: str) -> str:
    """The one name that the rules know a tool by which a namespace holds."""
    return f"{namespace}__{name}" if namespace else name


def taken_apart(name: str, namespaces: JSON) -> dict[str, JSON]:
    """The same as a call has it."""
    for space in namespaces if isinstance(namespaces, list) else ():
        if name.startswith(f"{space}__"):
            return {"name": name.removeprefix(f"{space}__"), "namespace": space}
    return {"name": name}


def messages_of(value: object, *, is_stored: bool) -> tuple[Message, ...]:
    """The items as messages; that calls have results, and thinking stands before what it led to, is checked.

    Args:
        value: What stands under `input`.
        is_stored: Whether the request asks the service to store responses: then thinking may come back without its seal.

    Raises:
        RequestRefused: The vendor would refuse it.
    """
    if value is None:
        raise bad("Missing required parameter: 'input'.", "input", "missing_required_parameter")
    if isinstance(value, str):
        return (UserSaid(text=value),)
    if not is_array(value):
        raise wrong_type("input", "a string or an array of objects", value)
    if not value:
        raise bad("Invalid 'input': empty array. Expected an array with minimum length 1.", "input", "empty_array")
    items = [_item(item, f"input[{index}]", is_stored=is_stored) for index, item in enumerate(value)]
    _check_calls(items)
    _check_thinking(items)
    return tuple(_messages(items))


def _item(value: object, path: str, *, is_stored: bool) -> dict[str, object]:
    if not is_object(value):
        raise wrong_type(path, "an object", value)
    if "status" in value and value["status"] not in _STATUSES:
        listed = ", ".join(f"'{name}'" for name in _STATUSES)
        raise bad(f"Invalid type for '{path}.status': expected one of {listed}.", f"{path}.status", "invalid_type")
    match value.get("type", "message"):
        case "message":
            _check_message(value, path)
        case "function_call":
            _check_call(value, path)
        case "function_call_output":
            _text_of(value, "call_id", path)
            output = value.get("output")
            if not isinstance(output, str):
                _check_parts(output, _USER_PARTS, f"{path}.output")
        case "reasoning":
            _check_reasoning(value, path, is_stored=is_stored)
        case kind:
            raise bad(
                f"Invalid value: {json.dumps(kind)[:80]}. Supported values are: 'message', 'function_call', "
                "'function_call_output' and 'reasoning'.",
                path,
                "invalid_value",
            )
    return value


def _text_of(value: dict[str, object], name: str, path: str) -> str:
    text = value.get(name)
    if text is None:
        raise bad(f"Missing required parameter: '{path}.{name}'.", f"{path}.{name}", "missing_required_parameter")
    if not isinstance(text, str):
        raise wrong_type(f"{path}.{name}", "a string", text)
    if name == "call_id" and not 0 < len(text) <= _LONGEST_ID:
        raise bad(
            f"Invalid '{path}.{name}': string too long. Expected a string with maximum length {_LONGEST_ID}.",
            f"{path}.{name}",
            "string_above_max_length",
        )
    return text


def _check_message(value: dict[str, object], path: str) -> None:
    role = value.get("role")
    if role not in ("user", "assistant", "system", "developer"):
        raise bad(
            f"Invalid value: {json.dumps(role)[:80]}. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
            f"{path}.role",
            "invalid_value",
        )
    content = value.get("content")
    if content is None:
        raise bad(f"Missing required parameter: '{path}.content'.", f"{path}.content", "missing_required_parameter")
    if not isinstance(content, str):
        _check_parts(content, _ASSISTANT_PARTS if role == "assistant" else _USER_PARTS, f"{path}.content")


def _check_parts(parts: object, kinds: Sequence[str], path: str) -> None:
    if not is_array(parts):
        raise wrong_type(path, "a string or an array of objects", parts)
    for index, part in enumerate(parts):
        kind = part.get("type") if is_object(part) else None
        if not is_object(part) or kind not in kinds:
            listed = ", ".join(f"'{name}'" for name in kinds)
            raise bad(
                f"Invalid value: {json.dumps(kind)[:80]}. Supported values are: {listed}.",
                f"{path}[{index}].type",
                "invalid_value",
            )
        if kind in ("input_text", "output_text"):
            _text_of(part, "text", f"{path}[{index}]")
        if kind == "input_image" and not isinstance(part.get("image_url", part.get("file_id")), str):
            # Chat Completions nests the address in an object; here it is a string.
            raise wrong_type(f"{path}[{index}].image_url", "a string", part.get("image_url"))


def _check_call(value: dict[str, object], path: str) -> None:
    _text_of(value, "call_id", path)
    _text_of(value, "arguments", path)
    if not _NAME.fullmatch(_text_of(value, "name", path)):
        raise bad(f"Invalid '{path}.name': string does not match pattern.", f"{path}.name", "invalid_value")
    identity = value.get("id")
    if identity is not None and not str(identity).startswith("fc"):
        raise bad(
            f"Invalid '{path}.id': '{str(identity)[:80]}'. Expected an ID that begins with 'fc'.",
            f"{path}.id",
            "invalid_value",
        )


def _check_reasoning(value: dict[str, object], path: str, *, is_stored: bool) -> None:
    identity = _text_of(value, "id", path)
    if not is_array(value.get("summary")):
        raise bad(f"Missing required parameter: '{path}.summary'.", f"{path}.summary", "missing_required_parameter")
    sealed = value.get("encrypted_content")
    if sealed is None:
        if not is_stored:
            raise RequestRefused(
                status=404,
                message=f"Item with id '{identity}' not found. Items are not persisted when `store` is set to false. Try again "
                "with `store` set to true, or remove this item from your input.",
                param="input",
            )
    elif sealed != seal(SEALED, identity):
        raise bad(
            f"The encrypted content for item {identity} could not be verified. Reason: Encrypted content could not be "
            "decrypted or parsed.",
            code="invalid_encrypted_content",
        )


def _check_calls(items: list[dict[str, object]]) -> None:
    """Every call has its result after it, and every result its call before it."""
    waiting: dict[str, None] = {}
    for item in items:
        identity = str(item.get("call_id"))
        if item.get("type") == "function_call":
            waiting[identity] = None
        elif item.get("type") == "function_call_output":
            if identity not in waiting:
                raise bad(f"No tool call found for function call output with call_id {identity}.", "input")
            del waiting[identity]
    if waiting:
        raise bad(f"No tool output found for function call {next(iter(waiting))}.", "input")


def _check_thinking(items: list[dict[str, object]]) -> None:
    """Ids tie a call to what was thought before it: one without the other is refused. Without ids there is no such tie."""
    thought: set[str] = set()
    for place, item in enumerate(items):
        identity = str(item.get("id", ""))
        if item.get("type") == "reasoning":
            thought.add(identity)
            following = items[place + 1].get("type", "message") if place + 1 < len(items) else ""
            is_led_on = following == "function_call" or (
                following == "message" and items[place + 1].get("role") == "assistant"
            )
            if not is_led_on:
                raise bad(
                    f"Item '{identity}' of type 'reasoning' was provided without its required following item.", "input"
                )
        elif item.get("type") == "function_call" and identity.startswith(THOUGHT_CALL):
            wanted = reasoning_id(identity[len(THOUGHT_CALL) : -2])
            if wanted not in thought:
                raise bad(
                    f"Item '{identity}' of type 'function_call' was provided without its required 'reasoning' item: "
                    f"'{wanted}'.",
                    "input",
                )


def reasoning_id(identity: str) -> str:
    """The id of the thinking in a response."""
    return f"rs_{identity}"


def _messages(items: list[dict[str, object]]) -> Iterator[Message]:
    said: list[str] = []
    calls: list[Call] = []
    for item in items:
        kind, role = item.get("type", "message"), item.get("role")
        if kind == "function_call":
            name = joined(item.get("namespace"), str(item["name"]))
            calls.append(Call(id=str(item["call_id"]), name=name, arguments=str(item["arguments"])))
            continue
        if kind == "reasoning":
            continue
        if calls or (said and role != "assistant"):
            yield AssistantSaid(text="\n".join(said), calls=tuple(calls))
            said, calls = [], []
        if kind == "function_call_output":
            text, images = _content(item.get("output"))
            yield ToolSaid(call_id=str(item["call_id"]), text=text, images=images)
        elif role == "assistant":
            said.append(_content(item.get("content"))[0])
        else:
            text, images = _content(item.get("content"))
            yield UserSaid(text=text, images=images) if role == "user" else SystemSaid(text=text)
    if calls or said:
        yield AssistantSaid(text="\n".join(said), calls=tuple(calls))


def _content(content: object) -> tuple[str, tuple[str, ...]]:
    if isinstance(content, str):
        return content, ()
    parts = [part for part in content if is_object(part)] if is_array(content) else []
    texts = [str(part["text"]) for part in parts if part.get("type") in ("input_text", "output_text")]
    images = tuple(picture_at(part.get("image_url")) for part in parts if part.get("type") == "input_image")
    return "\n".join(texts), images
