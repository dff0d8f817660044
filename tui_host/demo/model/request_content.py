"""A request's content in neutral values, made by the wires and read by the brain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """An offered tool.

    Attributes:
        name: The name for calls.
        types: The JSON Schema `type` of each parameter, empty where none is given.
        required: The required parameters.
        is_of_host: Whether it is one of the protocol's own, and of no server.
    """

    name: str
    description: str
    types: Mapping[str, str]
    required: tuple[str, ...]
    is_of_host: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call in the conversation; `arguments` is its text, JSON or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSaid:
    """A user message.

    Attributes:
        text: All its text.
        images: The images with the message, described by type and size.
    """

    text: str
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantSaid:
    """An assistant message."""

    text: str
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSaid:
    """The host's message about a call.

    Attributes:
        images: The images that came with it, each in words: its type and size.
        is_error: Whether the host marked an error, in APIs with such a mark.
    """

    call_id: str
    text: str
    images: tuple[str, ...] = ()
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemSaid:
    """A system or developer message."""

    text: str


Thinking: TypeAlias = Literal["asked", "always", "never"]
Message: TypeAlias = UserSaid | AssistantSaid | ToolSaid | SystemSaid


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A request.

    Attributes:
        parallel: Whether several calls may be asked for at once.
        thinking: Whether it is thought before the answer: where the question asks for it, by an option of the request, or
            not at all by such an option.
    """

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    parallel: bool = True
    thinking: Thinking = "asked"
