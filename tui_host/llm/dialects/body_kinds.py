"""Recognises a JSON body without its address: a request in some dialect, an answer, or one event of a streamed answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from tui_host.capture.json.narrowing import items, mapping
from tui_host.errors import JSON

Fit: TypeAlias = Literal[0, 1, 2]
"""Whether a body is a request in a dialect: 0 no, 1 possibly (another dialect looks the same), 2 certainly."""

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
    """The part that a JSON object has in an answer.

    Attributes:
        is_event: It is one event of a stream, not a whole answer.
        stream: The id of the answer, which each event of some dialects repeats; empty if there is none.
        begins: It is the event with which every stream of this dialect begins.
        ends: It holds the reason why the message ended.
        is_empty: It adds no content to the message, only the end or the number of tokens.
    """

    is_event: bool = False
    stream: str = ""
    begins: bool = False
    ends: bool = False
    is_empty: bool = False


def are_objects(value: JSON) -> bool:
    """Tell whether a value is a non-empty list of objects."""
    # Comparing with a class is faster than asking an abstract one.
    return isinstance(value, list) and bool(value) and all(isinstance(item, (dict, Mapping)) for item in value)


def chat_messages(body: Mapping[str, JSON]) -> Sequence[Mapping[str, JSON]]:
    """Return the messages of a request that has a `messages` list; empty if the body is no such request.

    Some services have the model in the address (Azure, Bedrock); without a model the body needs another usual member.
    """
    messages = body.get("messages")
    if not are_objects(messages) or "jsonrpc" in body or "choices" in body:
        return ()
    found = [mapping(message) for message in items(messages)]
    has_roles = all({"role", "content"} <= message.keys() for message in found)
    return found if "model" in body or (body.keys() & _BESIDE_MESSAGES and has_roles) else ()


def first_object(value: JSON, *, index: str = "") -> Mapping[str, JSON]:
    """Return the first object of a list, or the first whose `index` member is 0 or absent; empty if there is none."""
    for item in map(mapping, items(value)):
        if not (index and item.get(index)):
            return item
    return {}


def error_object(body: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """Return the error in a body that holds only an error, else empty."""
    error = mapping(body.get("error"))
    is_alone = body.keys() <= {"type", "error", "request_id"} and isinstance(error.get("message"), str)
    return error if is_alone else {}
