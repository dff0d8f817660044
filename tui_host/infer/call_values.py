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

READING = "resources/read"
"""The method that stands in for a tool's name where a model reads a resource."""
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,399})")
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
FrameKey: TypeAlias = tuple[str, int, int]
"""A frame's key: capture, record, and place among the messages of a batch."""
Line: TypeAlias = tuple[str, str]
"""A connection's key: the capture, and the connection's name there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call that a model made.

    Attributes:
        key: The call's key in the story.
        capture: The capture of the exchange.
        exchange: The exchange's id.
        number: The call's place among the calls of the answer, from 0.
        wire_id: The id from the vendor's API, empty if none.
        name: The name as the model wrote it.
        arguments: The arguments as the model wrote them.
        at_ns: When the last byte of the call arrived.
        spans: Where the call stands in the decoded response.
        conversation: The key of the conversation's first exchange.
        host: The host's name; empty if unknown.
        agent: What tells the host's requests from others, as its headers.
        until_ns: When the conversation continued; None while waiting.
        results: The places of the result in requests, the first first.
        offered: The names of the tools that the request offers.
    """

    key: str
    capture: str
    exchange: str
    number: int
    wire_id: str
    name: str
    arguments: str
    at_ns: int
    spans: tuple[tuple[int, int], ...]
    conversation: tuple[str, str] = ("", "")
    host: str = ""
    agent: Hashable = ""
    until_ns: int | None = None
    results: tuple[Result, ...] = ()
    offered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A server's answer to a call: a result or an error.

    Attributes:
        seq: The frame's record.
        at_ns: When the answer arrived.
        mono_ns: The same on the tap's monotonic clock, None if unknown.
        texts: The forms in which a host may repeat the answer verbatim; none where the answer holds more than text, or is very large.
        beside: The texts beside content that is not text.
        is_error: Whether the answer is an error, or a result with `isError`.
        contents: What the result contains besides plain text, a line each.
    """

    seq: int
    at_ns: int
    texts: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    is_error: bool = False
    mono_ns: int | None = None
    contents: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFrame:
    """A frame with `tools/call` or `resources/read`.

    Attributes:
        capture: The tap's capture.
        seq: The frame's record.
        connection: The connection's name in the capture.
        server: The server's name in the tap.
        tool: The tool's own name; `READING` for a resource.
        arguments: The arguments in canonical form.
        at_ns: When the frame was sent.
        mono_ns: The same on the tap's monotonic clock, None if unknown.
        answer: The server's answer, None if there is none yet.
        rpc_id: The JSON-RPC id.
        ids: The texts in the frame's `_meta`, where some hosts put the model's call id.
        defaults: Arguments with defaults, which hosts may add or leave out.
        is_dropped: Whether the host cancelled it before an answer came.
        number: The place among the messages of a batch, from 0.
    """

    capture: str
    seq: int
    connection: str
    server: str
    tool: str
    arguments: str
    at_ns: int
    answer: Answer | None = None
    rpc_id: str = ""
    ids: frozenset[str] = frozenset()
    defaults: tuple[tuple[str, str], ...] = ()
    is_dropped: bool = False
    mono_ns: int | None = None
    number: int = 0

    @property
    def line(self) -> Line:
        """The frame's connection."""
        return self.capture, self.connection

    @property
    def key(self) -> FrameKey:
        """The frame's key."""
        return self.capture, self.seq, self.number


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A result's place in a request.

    Attributes:
        capture: The request's capture.
        exchange: The request's exchange.
        start: The first byte in the body.
        end: One past the last byte.
        text: The result's text.
        at_ns: When the request was sent.
        by_id: An id, the vendor's or the host's own, leads to the call; else name, order and text do.
        by_name: Whether the result names the call's tool.
    """

    capture: str
    exchange: str
    start: int
    end: int
    text: str
    at_ns: int
    by_id: bool
    by_name: bool = False


def canonical(value: JSON) -> str:
    """Encode JSON so that equal values give equal texts: sorted keys, no white space, `1.0` as `1`, null as `{}` at the top."""
    return _CANONICAL.encode(_plain({} if value is None else value))


def canonical_text(arguments: str) -> str | None:
    """Encode arguments as a model wrote them in canonical form; None if the arguments are not JSON."""
    if not arguments.strip():
        return "{}"
    try:
        return canonical(read_json(arguments))
    except ValueError:
        return None


def lean(arguments: str, defaults: Mapping[str, str]) -> str:
    """Reduce arguments to a form that stays equal however a host writes them anew.

    Hosts leave out nulls and defaults, add defaults, turn texts into the numbers that a schema asks for, and write large
    numbers as doubles.

    Args:
        arguments: In canonical form.
        defaults: The defaults of the tool's arguments, in canonical form.
    """
    value: JSON = json.loads(arguments)
    if not isinstance(value, Mapping):
        return arguments
    kept = {key: item for key, item in value.items() if item is not None and canonical(item) != defaults.get(key)}
    return canonical({key: _loose(item) for key, item in kept.items()})


def _loose(value: JSON) -> JSON:
    if isinstance(value, Mapping):
        return {key: _loose(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_loose(item) for item in value]
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return _loose(int(value))
    if isinstance(value, int) and not isinstance(value, bool) and 1 << 53 <= abs(value) < 1 << 1000:
        return float(value)
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


def block_texts(result: JSON) -> list[str]:
    """Return the texts in a result's blocks."""
    content = mapping(result)
    blocks = items(content.get("content") if "content" in content else content.get("contents"))
    return [text for block in blocks if isinstance(text := mapping(block).get("text"), str)]


def result_texts(result: JSON) -> tuple[str, ...]:
    """Return the forms in which a host may repeat a result verbatim: texts joined, or JSON."""
    members, texts = mapping(result), block_texts(result)
    content = members.get("content") if "content" in members else members.get("contents")
    if len(texts) != len(items(content)) or not (texts or "structuredContent" in members or isinstance(content, list)):
        return ()
    ways = [joint.join(texts) for joint in ("\n\n", "\n", "")] if len(texts) > 1 else texts
    if members.get("structuredContent") is not None:
        ways.append(canonical(members["structuredContent"]))
    ways = ways or [""]
    return tuple(dict.fromkeys((*ways, canonical(content), canonical(result))))


def _plain(value: JSON) -> JSON:
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1 << 53 else value
    if isinstance(value, (dict, Mapping)):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value]
