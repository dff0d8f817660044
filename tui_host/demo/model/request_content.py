"""The content of a request, independent of the API: read by the wires, used by the rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tui_host.demo.model.json_values import object_at, text_at, texts_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """An offered tool.

    Attributes:
        name: The name by which the tool is called.
        types: The JSON Schema `type` of each parameter, empty if none is given.
        required: The names of the required parameters.
        is_of_host: Whether the tool belongs to the tool protocol itself and not to a server.
    """

    name: str
    description: str
    types: Mapping[str, str]
    required: tuple[str, ...]
    is_of_host: bool = False


def parameters(schema: object) -> tuple[dict[str, str], tuple[str, ...]]:
    """Read a tool's JSON Schema: the `type` of each parameter, empty if none is given, and the required parameters."""
    types = {name: text_at(definition, "type").lower() for name, definition in object_at(schema, "properties").items()}
    return types, texts_at(schema, "required")


def tool_of(name: str, description: str, schema: object) -> Tool:
    """Make a tool from its name, description and JSON Schema."""
    types, required = parameters(schema)
    return Tool(name=name, description=description, types=types, required=required)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call in the conversation. `arguments` is its text, JSON or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSaid:
    """A user message.

    Attributes:
        text: The whole text of the message.
        images: The images in the message, described by type and size.
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
        images: The images in the result, each described by type and size.
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
    """The content of a request for an answer.

    Attributes:
        parallel: Whether an answer may contain several calls.
        thinking: Whether to think before the answer: if the question asks for it, always, or never, as an option of the
            request says.
    """

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    parallel: bool = True
    thinking: Thinking = "asked"
