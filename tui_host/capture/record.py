"""The record: one captured thing with its exact bytes, and its place in a conversation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

Wire: TypeAlias = Literal["llm", "mcp", "stderr", "host"]
Direction: TypeAlias = Literal["out", "in"]
MISSING: Final = "not in the file"
"""Mark of a body that an imported file does not contain."""
NOT_KNOWN: Final = "(not in the file)"
"""Name of a header that no message has; its value says which parts of an imported head are unknown."""
TAP: Final = "tui-host tap"
"""The `Server` header of answers that a tap itself gives."""
Kind: TypeAlias = Literal["request", "response", "chunk", "end", "error", "frame", "line", "decision", "link"]
WIRES: Mapping[str, Wire] = {wire: wire for wire in get_args(Wire)}
KINDS: Mapping[str, Kind] = {kind: kind for kind in get_args(Kind)}
DIRECTIONS: Mapping[str, Direction] = {direction: direction for direction in get_args(Direction)}
Shift: TypeAlias = tuple[int, int, int]
"""Where a secret was removed from a body: first byte, one past the last byte, and length of the mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The head of an HTTP request or response."""

    method: str | None = None
    url: str | None = None
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def value(self, name: str) -> str:
        """Return the first value of a header; empty without the header. The name is in lower case."""
        return value_of(self.headers, name)

    @property
    def lines(self) -> tuple[str, ...]:
        """The headers as lines, `name: value`."""
        return tuple(f"{name}: {value}" for name, value in self.headers)


def value_of(headers: Iterable[tuple[str, str]], name: str) -> str:
    """Return the first value of a header as written; empty without the header. The name is in lower case."""
    return next((value for header, value in headers if header.lower() == name), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """A secret removed from a record before storing, or a content coding undone in order to remove a secret.

    Attributes:
        name: The secret's name; `was gzip` for a body that is stored decoded.
        length: Length of the secret, or of the coded body so far, in characters or bytes.
    """

    where: Literal["data", "head"]
    name: str
    length: int

    @property
    def coding(self) -> str:
        """The content coding that was undone; empty for a secret."""
        return self.name[4:] if self.name.startswith("was ") else ""


def decoded_mark(coding: str, length: int) -> Redaction:
    """Return the mark for data that is stored decoded, with the number of its coded bytes."""
    return Redaction(where="data", name=f"was {coding}", length=length)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place in a conversation; every field may be unknown. Turns of a session and steps of a turn are numbered from 1."""

    session: str | None = None
    turn: int | None = None
    step: int | None = None
    call: str | None = None


NOWHERE = Place()
current_place: ContextVar[Place] = ContextVar("current_place", default=NOWHERE)
"""The place for records of the running task. Set around a model's request or a call; subtasks inherit it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A captured thing, from the wire to the store, the rows and the exports.

    A wire fills in what it saw; the recorder stamps the number and the times.

    Attributes:
        kind: The kind of record, as in the lines of an export: `request`, `response` (a head), `chunk`, `end`, `error`, `frame`,
            `line` (of standard error), `decision` or `link`.
        direction: `out` for bytes from the host, `in` for bytes to it; None for neither.
        place: The place in the conversation.
        connection: The id of the connection to a server, unique in the capture.
        exchange: The id of the HTTP exchange, unique in the capture.
        head: The head of a `request` or `response`.
        data: The exact bytes.
        encoding: The body's content coding, such as `gzip`; None without one.
        malformed: What is wrong with the bytes, None if nothing is.
        seq: The record's number in the capture, from 1, without gaps; 0 before it is stamped.
        time_ns: Wall-clock time in nanoseconds since 1970 (UTC); only for display.
        mono_ns: Monotonic clock of the capture's process; what durations are made of. None where nothing tells when it was,
            as in a log without times: then `time_ns` is no more than its place in the order.
    """

    wire: Wire
    kind: Kind
    peer: str = ""
    direction: Direction | None = None
    place: Place = NOWHERE
    connection: str | None = None
    exchange: str | None = None
    head: Head | None = None
    data: bytes = b""
    encoding: str | None = None
    malformed: str | None = None
    redacted: tuple[Redaction, ...] = ()
    capture: str = ""
    seq: int = 0
    time_ns: int = 0
    mono_ns: int | None = None

    @property
    def key(self) -> tuple[str, int]:
        """Capture and number, unique among all records."""
        return self.capture, self.seq


def lasted(start_ns: int | None, end_ns: int | None) -> int | None:
    """Return the nanoseconds between two times; None if either is unknown."""
    return None if start_ns is None or end_ns is None else end_ns - start_ns
