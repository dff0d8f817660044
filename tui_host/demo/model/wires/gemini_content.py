"""The contents of a generateContent request, part by part. Source: Gemini API reference, Content, and its thought signatures."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tui_host.demo.model.narrow import is_array, is_object
from tui_host.demo.model.request_content import AssistantSaid, Call, Message, ToolSaid, UserSaid
from tui_host.demo.model.wires.seals import could_be_seal, seal
from tui_host.demo.model.wires.wire import RequestRefused
from tui_host.demo.model.wires.wire_reading import is_base64, picture

SIGNED = "functionCall"
"""What a call's signature is made of, beside its name."""

_SKIPS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
"""What a client may give for a call that this model never made."""
_DATA = (
    *("text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult"),
    *("toolCall", "toolResponse"),
)
_PART = frozenset((*_DATA, "thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"))
_Parts = list[dict[str, object]]


@dataclass(slots=True, kw_only=True)
class _Content:
    role: str
    parts: _Parts
    path: str
    ids: list[str] = field(default_factory=list[str])


def bad(message: str) -> RequestRefused:
    """A refusal with the status 400."""
    return RequestRefused(status=400, message=message)


def camel(name: str) -> str:
    """A field's name in the form of JSON; the service takes the other one, with underscores, as well."""
    return re.sub(r"_([a-z0-9])", lambda found: found[1].upper(), name)


def plain(value: dict[str, object]) -> dict[str, object]:
    """An object with its own names in camel case; what is inside stays as it is."""
    return {camel(name): inner for name, inner in value.items()}


def parts_of(content: dict[str, object], path: str) -> _Parts:
    """The parts of a content, each with one kind of data. Raises `RequestRefused`."""
    parts = content.get("parts")
    if is_object(parts):
        parts = [parts]  # the service takes a single one for a list
    if not is_array(parts) or not parts:
        raise bad(f"* GenerateContentRequest.{path}.parts: contents.parts must not be empty.")
    return [_part(part, f"{path}.parts[{index}]") for index, part in enumerate(parts)]


def messages_of(values: object) -> tuple[Message, ...]:
    """All contents as messages; the order of calls and results, and the signatures of the running turn, are checked.

    Raises:
        RequestRefused: The vendor would refuse it.
    """
    if is_object(values):
        values = [values]
    if not is_array(values) or not values:
        raise bad("* GenerateContentRequest.contents: contents is not specified")
    contents = [_content(value, f"contents[{index}]") for index, value in enumerate(values)]
    _check_order(contents)
    _check_signatures(contents)
    return tuple(_messages(contents))


def _content(value: object, path: str) -> _Content:
    if not is_object(value):
        raise bad(f"Invalid value at '{path}': expected an object.")
    content = plain(value)
    for name in content:
        if name not in ("role", "parts"):
            raise bad(f"Invalid JSON payload received. Unknown name \"{name[:100]}\" at '{path}': Cannot find field.")
    role = content.get("role", "user")
    if role not in ("user", "model", "function"):
        raise bad("Please use a valid role: user, model.")
    return _Content(role="model" if role == "model" else "user", parts=parts_of(content, path), path=path)


def _part(value: object, path: str) -> dict[str, object]:
    if not is_object(value):
        raise bad(f"Invalid value at '{path}': expected an object.")
    part = plain(value)
    for name in part:
        if name not in _PART:
            raise bad(f"Invalid JSON payload received. Unknown name \"{name[:100]}\" at '{path}': Cannot find field.")
    given = [name for name in _DATA if part.get(name) is not None]
    if len(given) != 1:
        what = "must have one initialized field" if not given else "is already set. Cannot set another one"
        raise bad(f"* GenerateContentRequest.{path}.data: required oneof field 'data' {what}")
    for name in ("functionCall", "functionResponse", "inlineData"):
        inner = part.get(name)
        if inner is not None:
            if not is_object(inner):
                raise bad(f"Invalid value at '{path}.{name}': expected an object.")
            part[name] = plain(inner)
    if not isinstance(part.get("text", ""), str):
        raise bad(f"Invalid value at '{path}.text' (TYPE_STRING)")
    _check_data(part, path)
    return part


def _inner(part: dict[str, object], name: str) -> dict[str, object]:
    inner = part.get(name)
    return inner if is_object(inner) else {}


def _check_data(part: dict[str, object], path: str) -> None:
    if "inlineData" in part:
        blob = _inner(part, "inlineData")
        if not isinstance(blob.get("mimeType"), str) or "/" not in str(blob["mimeType"]):
            raise bad(f"* GenerateContentRequest.{path}.inline_data.mime_type: Unsupported MIME type")
        if not is_base64(blob.get("data")):
            raise bad(f"Invalid value at '{path}.inline_data.data' (TYPE_BYTES), Base64 decoding failed")
    for name in ("functionCall", "functionResponse"):
        if name in part and not isinstance(_inner(part, name).get("name"), str):
            raise bad(f"* GenerateContentRequest.{path}.{name}.name: Name cannot be empty.")
    call, response = _inner(part, "functionCall"), _inner(part, "functionResponse")
    if call and call.get("args") is not None and not is_object(call["args"]):
        raise bad(f"Invalid value at '{path}.function_call.args' (type.googleapis.com/google.protobuf.Struct)")
    if response and not is_object(response.get("response")):
        raise bad(f"Invalid value at '{path}.function_response.response' (type.googleapis.com/google.protobuf.Struct)")
    if response:
        inner = response.get("parts")
        response["parts"] = [
            _part(one, f"{path}.function_response.parts[{place}]")
            for place, one in enumerate(inner if is_array(inner) else [])
        ]


def _all(content: _Content, name: str) -> _Parts:
    return [_inner(part, name) for part in content.parts if name in part]


def _check_order(contents: list[_Content]) -> None:
    """The responses to a content's calls are in the next one, as many and in the same order."""
    waiting: _Parts = []
    for index, content in enumerate(contents):
        calls, responses = _all(content, "functionCall"), _all(content, "functionResponse")
        if calls and (index == 0 or contents[index - 1].role == "model"):
            raise bad(
                "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
            )
        if waiting and not responses:
            raise bad("Please ensure that function response turn comes immediately after a function call turn.")
        if responses and not waiting:
            raise bad("Please ensure that function response turn comes immediately after a function call turn.")
        if len(responses) != len(waiting):
            raise bad(
                "Please ensure that the number of function response parts is equal to the number of function call parts of the "
                "function call turn."
            )
        for call, response in zip(waiting, responses, strict=True):
            if call["name"] != response["name"] or call.get("id") != response.get("id", call.get("id")):
                raise bad(
                    f"Please ensure that function response parts come in the order of their calls: {call['name']} was called, "
                    f"{response['name']} answers."
                )
        waiting = calls


def _check_signatures(contents: list[_Content]) -> None:
    """In the running turn the first call of each step brings the signature that it came with."""
    for index in range(len(contents) - 1, -1, -1):
        content = contents[index]
        if content.role == "user" and any("functionResponse" not in part for part in content.parts):
            # What came with results (their pictures) begins no turn.
            if not _all(content, "functionResponse"):
                return
            continue
        calls = [(place, part) for place, part in enumerate(content.parts) if "functionCall" in part]
        for number, (place, part) in enumerate(calls):
            _check_signature(part, number=number, place=f"{content.path}.parts[{place}]", position=index + 1)


def _check_signature(part: dict[str, object], *, number: int, place: str, position: int) -> None:
    call = _inner(part, "functionCall")
    given = part.get("thoughtSignature")
    if given is None:
        if number > 0:
            return
        raise bad(
            "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, "
            "and missing thought_signature may lead to degraded model performance. Additional data, function call "
            f"`default_api:{call['name']}` , position {position}."
        )
    # Bytes are base64 in JSON; the service takes both of its alphabets, and its own client sends the other one.
    usual = str(given).replace("-", "+").replace("_", "/")
    if given not in _SKIPS and usual != seal(SIGNED, str(call["name"])):
        words = "Corrupted" if could_be_seal(usual) else "Invalid"
        raise bad(f"{words} thought signature. ({place})")


def _messages(contents: list[_Content]) -> Iterator[Message]:
    asked: list[str] = []
    for index, content in enumerate(contents):
        said = [str(part["text"]) for part in content.parts if "text" in part and not part.get("thought")]
        if content.role == "model":
            calls = tuple(
                Call(
                    id=f"{index}.{place}",
                    name=str(call["name"]),
                    arguments=json.dumps(call.get("args") or {}, ensure_ascii=False, separators=(",", ":")),
                )
                for place, call in enumerate(_all(content, "functionCall"))
            )
            asked = [call.id for call in calls]
            yield AssistantSaid(text="".join(said), calls=calls)
            continue
        for identity, response in zip(asked, _all(content, "functionResponse"), strict=False):
            yield _told(identity, response)
        asked = []
        images = _pictures(content.parts)
        if said or images:
            yield UserSaid(text="\n".join(said), images=images)


def _told(identity: str, response: dict[str, object]) -> ToolSaid:
    values = _inner(response, "response")
    value = next((values[name] for name in ("output", "error", "result") if name in values), values)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    inner = response.get("parts")
    return ToolSaid(
        call_id=identity,
        text=text,
        images=_pictures([part for part in inner if is_object(part)]) if is_array(inner) else (),
        is_error="error" in values,
    )


def _pictures(parts: Sequence[dict[str, object]]) -> tuple[str, ...]:
    return tuple(
        picture(inner.get("data"), inner.get("mimeType")) if is_object(inner := part.get("inlineData")) else "at a URL"
        for part in parts
        if "inlineData" in part or "fileData" in part
    )
