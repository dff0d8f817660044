"""What is known of calls on either wire before they are joined. Values only; times are nanoseconds on one wall clock."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from tui_host.capture.json.narrowing import items, mapping
from tui_host.capture.json.reading import read_json
from tui_host.errors import JSON
from tui_host.infer.clock_offsets import SURE_NS

READING = "resources/read"
"""A request that a model may ask for beside calls of tools; it stands in for a tool's name."""
_DIGITS = 400
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
FrameKey: TypeAlias = tuple[str, int, int]
"""Names a call's frame: its capture, its record, and its place there among the messages of a batch."""
Line: TypeAlias = tuple[str, str]
"""Names a connection: its capture, and what it is called there."""
BEGINNING = 2000
"""Characters of a very long text by which it is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A call that a model asked for.

    Attributes:
        key: Names it in its story.
        capture: Where it was asked.
        exchange: In which exchange.
        number: Its place among the calls of its answer, from 0.
        wire_id: The id that the vendor's API gave it, empty if none.
        name: The name as the model wrote it.
        arguments: The arguments as the model wrote them.
        at_ns: When the last byte of it had come.
        spans: Where it stands in the response's decoded body.
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


class Says(NamedTuple):
    """What an answer says, in the words of its attributes: those that say the same are read as one."""

    texts: tuple[str, ...]
    beside: tuple[str, ...]
    is_error: bool
    is_whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a server answered to a call: a result, or an error.

    Attributes:
        seq: The frame's record.
        at_ns: When it came.
        mono_ns: The same on its own clock, None where that is not known.
        texts: The ways in which a host may tell it to a model word for word; none where it holds more than text.
        beside: The texts that stand beside what is no text.
        is_error: It is an error, or a result that has `isError`.
        is_whole: The texts are that; else they are beginnings, as what came was very long.
    """

    seq: int
    at_ns: int
    texts: tuple[str, ...]
    beside: tuple[str, ...] = ()
    is_error: bool = False
    is_whole: bool = True
    mono_ns: int | None = None

    @property
    def says(self) -> Says:
        """What it says, whenever that was."""
        return Says(self.texts, self.beside, self.is_error, self.is_whole)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A `tools/call` frame, or one of `resources/read`.

    Attributes:
        capture: The tap's capture.
        seq: The frame's record.
        connection: The connection in it.
        server: The server's name, as the tap has it.
        tool: The tool's own name; `READING` for a resource.
        arguments: The arguments in the one form that equal arguments have.
        at_ns: When it was sent.
        mono_ns: The same on its own clock, None where that is not known.
        answer: What came back, None if nothing has.
        rpc_id: Its JSON-RPC id.
        ids: What stands in its `_meta`: some hosts put the model's id of the call there.
        defaults: The tool's arguments that have a default, which hosts may add or leave out.
        dropped: When the host cancelled it, and in which record; None if it has not.
        since_ns: When its connection began.
        is_from_start: That is known from its first frame on.
        within_ns: How exact its times are, on the clock of the model's side.
        number: Its place among the messages of a batch, from 0.
        cut_ns: How much later at most things happened to it than is told, as its clock leaves out what is smaller.
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
    dropped: tuple[int, int] | None = None
    since_ns: int = 0
    is_from_start: bool = False
    within_ns: int = SURE_NS
    mono_ns: int | None = None
    number: int = 0
    cut_ns: int = 0

    @property
    def boot_ns(self) -> int | None:
        """When its own clock stood at nothing; None where that is not known."""
        return None if self.mono_ns is None else self.at_ns - self.mono_ns

    @property
    def line(self) -> Line:
        """The connection that it was sent on."""
        return self.capture, self.connection

    @property
    def over(self) -> tuple[int, int] | None:
        """When the host no longer waited for it, and by which record; None while it does. An answer may still come later."""
        answered = None if self.answer is None else (self.answer.at_ns, self.answer.seq)
        return self.dropped or answered

    @property
    def key(self) -> FrameKey:
        """Names it."""
        return self.capture, self.seq, self.number


@dataclass(frozen=True, slots=True)
class Carried:
    """A frame, with those before it that carried the same because no answer came."""

    frames: tuple[Sent, ...]

    @property
    def last(self) -> Sent:
        """The one that counts."""
        return self.frames[-1]

    @property
    def key(self) -> FrameKey:
        """Names it."""
        return self.last.key

    @property
    def sent(self) -> tuple[int, int]:
        """When it was sent at first, and by which record."""
        return self.frames[0].at_ns, self.frames[0].seq

    @property
    def over(self) -> tuple[int, int]:
        """When its host no longer waited for it, and by which record; nothing while it does."""
        return self.last.over or (0, 0)

    @property
    def first_line(self) -> Line:
        """The connection that it was sent on at first."""
        return self.frames[0].line

    @property
    def line(self) -> Line:
        """The connection."""
        return self.last.line

    @property
    def lines(self) -> set[Line]:
        """All its connections."""
        return {each.line for each in self.frames}


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A result's place in a request.

    Attributes:
        capture: The request's capture.
        exchange: The request's exchange.
        start: Its first byte in the body.
        end: One past its last.
        text: What the model is told.
        at_ns: When the request was sent.
        by_id: An id, the vendor's or the host's own, leads to the call; else name, order and text do.
        by_name: It names the call's tool just as the call does.
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
    """The one text that equal JSON has: keys in order, no white space, `1.0` as `1`; nothing and null are no arguments."""
    return _CANONICAL.encode(_plain({} if value is None else value))


def canonical_text(arguments: str) -> str | None:
    """The same of arguments as a model wrote them; None if they are no JSON."""
    if not arguments.strip():
        return "{}"
    try:
        return canonical(read_json(arguments))
    except ValueError:
        return None


def lean(arguments: str, defaults: Mapping[str, str]) -> str:
    """Arguments in the form that those have which may be sent for each other.

    Hosts leave out what is null or what is the default, add defaults, read numbers out of texts where the schema wants them, and
    write large numbers as doubles.

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
    match value:
        case str() if len(value) < _DIGITS and value.removeprefix("-").isdecimal() and value.isascii():
            return _loose(int(value)) if str(int(value)) == value else value
        case "true" | "false":
            return value == "true"
        case bool() | None | str():
            return value
        case int() if abs(value) >= 1 << 53:
            return float(value) if abs(value) < 1 << 1000 else value
        case Mapping():
            return {key: _loose(item) for key, item in value.items()}
        case Sequence():
            return [_loose(item) for item in value]
        case _:
            return value


def block_texts(result: JSON) -> list[str]:
    """The texts of a result's blocks."""
    found = mapping(result)
    blocks = items(found.get("content") if "content" in found else found.get("contents"))
    return [text for block in blocks if isinstance(text := mapping(block).get("text"), str)]


def result_texts(result: JSON) -> tuple[str, ...]:
    """The ways in which a host may tell a result word for word: its texts joined, or itself as JSON."""
    found = mapping(result)
    content = found.get("content") if "content" in found else found.get("contents")
    blocks = items(content)
    texts = block_texts(result)
    if len(texts) != len(blocks) or not (texts or "structuredContent" in found or isinstance(content, list)):
        return ()
    ways = [joint.join(texts) for joint in ("\n\n", "\n", "")] if len(texts) > 1 else texts
    if found.get("structuredContent") is not None:
        ways.append(canonical(found["structuredContent"]))
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
