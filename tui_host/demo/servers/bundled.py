"""The content of a bundled server: its tools, resources and prompts, without the SDK."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tui_host.errors import JSON


class ToolFailed(Exception):  # noqa: N818 - it is told to the model as a result, not raised to a person
    """Raised by a tool that fails. The text goes to the model as a result with `isError`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A tool's result: a text for the model, and data for programs."""

    text: str
    structured: dict[str, JSON]


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledTool:
    """A tool that its annotations call read-only and idempotent.

    Attributes:
        properties: JSON Schema of each parameter. All are required, and others are not accepted.
        output: JSON Schema of each field of the structured result; all fields are always present.
        answer: Makes the result from arguments whose names were checked.
    """

    name: str
    title: str
    description: str
    properties: dict[str, JSON]
    output: dict[str, JSON]
    answer: Callable[[Mapping[str, object]], Answer]

    def call(self, arguments: Mapping[str, object]) -> Answer:
        """Answer a call with unchecked arguments. Raises `ToolFailed`."""
        _check_names(arguments, self.properties)
        return self.answer(arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledResource:
    """A resource with its whole content, a text or bytes."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str
    read: Callable[[], str | bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledPrompt:
    """A prompt with one required argument.

    Attributes:
        argument: Name and description of the argument.
        write: Returns the user message for a value of the argument.
    """

    name: str
    title: str
    description: str
    argument: tuple[str, str]
    write: Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledServer:
    """A server's name and content."""

    name: str
    title: str
    instructions: str
    tools: tuple[BundledTool, ...]
    resources: tuple[BundledResource, ...] = ()
    prompts: tuple[BundledPrompt, ...] = field(default=())


def object_schema(properties: dict[str, JSON]) -> dict[str, object]:
    """Return the JSON Schema of an object with exactly these properties, all required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _check_names(arguments: Mapping[str, object], properties: Mapping[str, JSON]) -> None:
    takes = f"it takes {', '.join(properties)}" if properties else "it takes none"
    for name in arguments:
        if name not in properties:
            raise ToolFailed(f"unknown parameter {name!r}: {takes}")
    for name in properties:
        if name not in arguments:
            raise ToolFailed(f"missing parameter {name!r}: {takes}")


def text_argument(arguments: Mapping[str, object], name: str) -> str:
    """Return an argument that is a text and not blank. Raises `ToolFailed`."""
    value = arguments[name]
    if not isinstance(value, str) or not value.strip():
        raise ToolFailed(f"{name!r} must be a text that is not empty, got {value!r:.80}")
    return value.strip()


def whole_argument(arguments: Mapping[str, object], name: str) -> int:
    """Return an argument that is a whole number. Raises `ToolFailed`."""
    value = number_argument(arguments, name)
    if value != int(value):
        raise ToolFailed(f"{name!r} must be a whole number, got {value!r}")
    return int(value)


def number_argument(arguments: Mapping[str, object], name: str) -> int | float:
    """Return an argument that is a finite number within the range of a double. Raises `ToolFailed`."""
    value = arguments[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ToolFailed(f"{name!r} must be a number, got {value!r:.80}")
    if abs(value) > 1e300 or not math.isfinite(value):
        raise ToolFailed(f"{name!r} is too large: numbers up to 1e300 are taken")
    return value
