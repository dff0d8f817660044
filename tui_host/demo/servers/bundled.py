"""The content of a bundled server, independent of the SDK."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tui_host.errors import JSON


class ToolFailed(Exception):  # noqa: N818 - it is told to the model as a result, not raised to a person
    """The tool failed; the text goes back to the model as a result with `isError`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A tool's result, as text for a model and as data for a program."""

    text: str
    structured: dict[str, JSON]


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledTool:
    """A tool, read-only and idempotent as its annotations say.

    Attributes:
        properties: JSON Schema of each parameter; all are required, no others are taken.
        output: JSON Schema of each field of the structured result; all are there.
        answer: Works on arguments whose names have been checked.
    """

    name: str
    title: str
    description: str
    properties: dict[str, JSON]
    output: dict[str, JSON]
    answer: Callable[[Mapping[str, object]], Answer]

    def call(self, arguments: Mapping[str, object]) -> Answer:
        """Answer raw arguments. Raises `ToolFailed`."""
        _check_names(arguments, self.properties)
        return self.answer(arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledResource:
    """A resource, read whole: a text, or bytes."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str
    read: Callable[[], str | bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledPrompt:
    """A prompt with a required argument.

    Attributes:
        argument: Name and description of the argument.
        write: The user message for a value of the argument.
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
    """Return a non-blank text argument. Raises `ToolFailed`."""
    value = arguments[name]
    if not isinstance(value, str) or not value.strip():
        raise ToolFailed(f"{name!r} must be a text that is not empty, got {value!r:.80}")
    return value.strip()


def whole_argument(arguments: Mapping[str, object], name: str) -> int:
    """A whole number. Raises `ToolFailed`."""
    value = number_argument(arguments, name)
    if value != int(value):
        raise ToolFailed(f"{name!r} must be a whole number, got {value!r}")
    return int(value)


def number_argument(arguments: Mapping[str, object], name: str) -> int | float:
    """A finite number within the range of a double. Raises `ToolFailed`."""
    value = arguments[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ToolFailed(f"{name!r} must be a number, got {value!r:.80}")
    if abs(value) > 1e300 or not math.isfinite(value):
        raise ToolFailed(f"{name!r} is too large: numbers up to 1e300 are taken")
    return value
