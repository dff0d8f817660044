"""What a JSON body is when nothing but the body is known: a request in a dialect, an answer, or one event of a streamed answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from tui_host.capture.json.narrowing import items, mapping
from tui_host.errors import JSON

Fit: TypeAlias = Literal[0, 1, 2]
"""Whether a body is a request in a dialect: no, possibly (another dialect writes the same), or without doubt."""
_BESIDE_MESSAGES = frozenset(
    {
        "stream",
        "temperature",
        "max_tokens",
        "max_completion_tokens",
        "top_p",
        "tools",
        "tool_choice",
        "anthropic_version",
    }
)


class AnswerPart(NamedTuple):
    """What one JSON object is of an answer.

    Attributes:
        is_event: It is one event of a stream, not a whole answer.
        stream: The id of the answer, which each event of some dialects repeats; empty if there is none.
        begins: It is the event with which every stream of this dialect begins.
        ends: It says why the message ends.
        is_empty: It adds nothing to the message: the end alone, or the tokens used.
    """

    is_event: bool = False
    stream: str = ""
    begins: bool = False
    ends: bool = False
    is_empty: bool = False


def are_objects(value: JSON) -> bool:
    """Whether a value is a list of objects, and not an empty one."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def chat_messages(body: Mapping[str, JSON]) -> Sequence[Mapping[str, JSON]]:
    """The messages of a request that has a `messages` list; empty if the body is no such request.

    Some services have the model in the address (Azure, Bedrock): then another usual member must stand beside the messages.
    """
    messages = body.get("messages")
    if not are_objects(messages) or "jsonrpc" in body or "choices" in body:
        return ()
    found = [mapping(message) for message in items(messages)]
    if "model" in body or (
        body.keys() & _BESIDE_MESSAGES and all({"role", "content"} <= each.keys() for each in found)
    ):
        return found
    return ()


def first_object(value: JSON, *, index: str = "") -> Mapping[str, JSON]:
    """The first object of a list, of which a member of that name, if one is given, is no number but 0; empty if there is none."""
    for item in items(value):
        if not (index and mapping(item).get(index)):
            return mapping(item)
    return {}


def text_member(body: Mapping[str, JSON], name: str) -> str:
    """A member that is a text; empty if it is none."""
    value = body.get(name)
    return value if isinstance(value, str) else ""


def error_object(body: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """The error that a body is about, where it holds nothing else; else empty."""
    error = mapping(body.get("error"))
    is_alone = body.keys() <= {"type", "error", "request_id"} and isinstance(error.get("message"), str)
    return error if is_alone else {}
