"""Define calls, frames, answers and results before joining. All times are nanoseconds on one wall clock."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tui_host.capture.json.narrowing import items, mapping
from tui_host.capture.json.reading import read_json
from tui_host.errors import JSON

READING = "resources/read"  # the method that stands in for a tool's name where a model reads a resource
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,399})")
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
FrameKey: TypeAlias = tuple[str, int]
"""A frame's key: capture and record."""
Line: TypeAlias = tuple[str, str]
"""A connection's key: the capture, and the connection's name there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call that a model made."""

    key: str  # in the story
    capture: str
    exchange: str
    number: int  # its place among the calls of the answer, from 0
    wire_id: str  # from the vendor's API, empty if none
    name: str  # as the model wrote it, as are the arguments
    arguments: str
    at_ns: int  # when its last byte arrived
    spans: tuple[tuple[int, int], ...]  # in the decoded response
    host: str = ""  # empty if unknown
    agent: Hashable = ""  # what tells the host's requests from others: capture, name and headers
    until_ns: int | None = None  # when the conversation continued
    results: tuple[Result, ...] = ()  # the first first
    offered: tuple[str, ...] = ()  # the tools' names in the request


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A server's answer to a call: a result or an error."""

    seq: int
    # In which a host may repeat it verbatim; none for more than text, or where it is very large.
    texts: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()  # then the texts beside other content
    contents: str = ""  # then what there is in words, a line each
    is_error: bool = False
    mono_ns: int | None = None  # on the tap's own clock


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFrame:
    """A frame with `tools/call` or `resources/read`."""

    key: FrameKey
    line: Line
    server: str  # its name in the tap
    tool: str  # its own name; `READING` for a resource
    arguments: str  # in canonical form
    at_ns: int
    answer: Answer | None = None
    rpc_id: str = ""
    ids: frozenset[str] = frozenset()  # the texts in `_meta`, where some hosts put the model's call id
    is_dropped: bool = False  # the host cancelled it before an answer came
    mono_ns: int | None = None  # on the tap's own clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A result's place in the body of a request."""

    capture: str
    exchange: str
    start: int
    end: int
    text: str
    by_id: bool  # an id, the vendor's or the host's own, leads to the call; else name, order and text do
    by_name: bool = False  # the result names the call's tool


def canonical(value: JSON) -> str:
    """Encode JSON so that equal values give equal texts: sorted keys, no white space, `1.0` as `1`, null as `{}` at the top."""
    return _CANONICAL.encode(_plain({} if value is None else value))


def canonical_text(arguments: str) -> str | None:
    """Encode arguments as a model wrote them in canonical form; None if the arguments are not JSON."""
    try:
        return canonical(read_json(arguments)) if arguments.strip() else "{}"
    except ValueError:
        return None


def lean(arguments: str, defaults: Mapping[str, str]) -> str:
    """Reduce canonical arguments to a form that stays equal however a host writes them anew.

    Hosts leave out nulls and defaults, add defaults, turn texts into the numbers that a schema asks for, and write large
    numbers as doubles.
    """
    value: JSON = json.loads(arguments)
    if not isinstance(value, Mapping):
        return arguments
    kept = {
        key: item
        for key, item in value.items()
        if item is not None and (key not in defaults or canonical(item) != defaults[key])
    }
    return canonical(_plain(kept, loosely=True))


def _plain(value: JSON, *, loosely: bool = False) -> JSON:
    """Write whole doubles as integers; loosely, texts as the values that they name, and large numbers as doubles."""
    if value is not None and not isinstance(value, (str, int, float)):
        if isinstance(value, (dict, Mapping)):
            return {key: _plain(item, loosely=loosely) for key, item in value.items()}
        return [_plain(item, loosely=loosely) for item in value]
    if loosely and isinstance(value, str):
        value = int(value) if _NUMBER.fullmatch(value) else {"true": True, "false": False}.get(value, value)
    if loosely and isinstance(value, int) and 1 << 53 <= abs(value) < 1 << 1000:
        return float(value)
    if not loosely and isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53:
        return int(value)
    return value


def block_texts(result: JSON) -> list[str]:
    """Return the texts in a result's blocks."""
    members = mapping(result)
    blocks = items(members.get("content", members.get("contents")))
    return [text for block in blocks if isinstance(text := mapping(block).get("text"), str)]


def result_texts(result: JSON) -> tuple[str, ...]:
    """Return the forms in which a host may repeat a result verbatim: texts joined, or JSON; none if it holds more than text."""
    members, texts = mapping(result), block_texts(result)
    structured, content = members.get("structuredContent"), members.get("content", members.get("contents"))
    if len(texts) != len(items(content)) or (structured is None and not isinstance(content, list)):
        return ()
    ways = [joint.join(texts) for joint in ("\n\n", "\n", "") if texts]
    ways += [] if structured is None else [canonical(structured)]
    return tuple(dict.fromkeys((*(ways or [""]), canonical(content), canonical(result))))
