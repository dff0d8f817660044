"""What a tool protocol of plain text is to its reader: where a call may begin, and a pure function that parses held text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tui_host.errors import JSON
from tui_host.llm.messages import ToolSpec
from tui_host.llm.request_writing import refuse_constant
from tui_host.llm.tool_names import tool_meant

_AROUND = 40
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\]]', re.DOTALL)

Ending: TypeAlias = Literal["open", "end", "length"]
"""Whether more text may come, the answer has ended, or it was cut at the token limit."""
CUT = "the call was cut at the token limit"


class BrokenCall(Exception):  # noqa: N818 - a finding, whose text is a reason that the model can understand
    """A call too broken to run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCall:
    """A call: the tool's name and the arguments as the model wrote them, and its own words if several share a block."""

    name: str
    arguments: str
    written: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadText:
    """A text that is the answer, or a question to the user with proposed answers."""

    text: str
    options: tuple[str, ...] = ()


Found: TypeAlias = ReadCall | ReadText


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What the first `size` characters of held text are; mere words if nothing was found."""

    size: int
    found: tuple[Found, ...] = ()
    fault: str = ""  # why nothing counts, if they should be a call
    is_dropped: bool = False  # the words are no part of the answer, such as «no action»
    closing: str = ""  # the closing tag that the model left out, for the history


Parse: TypeAlias = Callable[[str, Sequence[ToolSpec], Ending], Parsed | None]
"""Parses held text; None if more text must come first, never once the answer has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Syntax:
    """A tool protocol as its reader sees it.

    `signs` matches what may stand at the beginning of a line. The last named group says what it is: a `call`, the
    tag of `thinking`, the label of a `thought`, the `answer`, or a result that is `made_up`.
    """

    signs: re.Pattern[str]
    begins: re.Pattern[str]  # matches a whole short text that may grow into a sign
    parse: Parse
    has_tags: bool = False  # a sign may also follow another tag on its line, and results are made up only after a call
    several: bool = False  # an answer may hold more than one call


def read_call(name: str, given: str, tools: Sequence[ToolSpec], *, spoken: str = "") -> ReadCall:
    """Return the call of a tool. Raises `BrokenCall`."""
    try:
        return ReadCall(name=name, arguments=read_arguments(given))
    except BrokenCall as broken:
        tool = tool_meant(name, tools)  # the correction then shows the schema of what the model meant
        raise BrokenCall(f"{spoken or (name if tool is None else tool.name)}: {broken}") from broken


def read_arguments(text: str, what: str = "the arguments are") -> str:
    """Return the arguments as written. Raises `BrokenCall` with the fault and its place unless they are a JSON object."""
    text = text.strip() or "{}"
    try:
        value: JSON = json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise BrokenCall(f"{what} not JSON: {json_fault(text, error)}") from error
    if not isinstance(value, dict):
        raise BrokenCall(f"{what} no JSON object but {text[:_AROUND]!r}")
    return text


def json_fault(text: str, error: Exception) -> str:
    """Say why and where a text is not JSON."""
    if not isinstance(error, json.JSONDecodeError):
        return str(error)
    near = text[max(0, error.pos - _AROUND // 2) : error.pos + _AROUND // 2]
    return f"{error.msg.removesuffix(' at')}, line {error.lineno}, column {error.colno}, near {near!r}"


def end_of_value(text: str, start: int = 0) -> int:
    """Return the end of the JSON object or array that begins at a place, by its brackets; -1 if it does not end."""
    depth = 0
    for found in _BRACKETS.finditer(text, start):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(found[0], 0)
        if depth <= 0 and found[0] in "}]":
            return found.end()
    return -1


def parameters(tool: ToolSpec | None) -> dict[str, JSON]:
    """Return the schemas of a tool's parameters."""
    schema = tool.schema if tool is not None and isinstance(tool.schema, dict) else {}
    properties = schema.get("properties")
    return dict(properties) if isinstance(properties, dict) else {}
