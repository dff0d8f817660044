"""The record: one captured thing with its exact bytes, and its place in a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

Wire: TypeAlias = Literal["llm", "mcp", "stderr", "host"]
Direction: TypeAlias = Literal["out", "in"]
MISSING: Final = "not in the file"  # marks a body that an imported file does not contain
# A header that no message has: it says which parts of an imported head are unknown.
NOT_KNOWN: Final = "(not in the file)"
TAP: Final = "tui-host tap"  # the `Server` header of answers that a tap itself gives
Kind: TypeAlias = Literal["request", "response", "chunk", "end", "error", "frame", "line", "decision", "link"]
WIRES: Mapping[str, Wire] = {wire: wire for wire in get_args(Wire)}
KINDS: Mapping[str, Kind] = {kind: kind for kind in get_args(Kind)}
DIRECTIONS: Mapping[str, Direction] = {direction: direction for direction in get_args(Direction)}
Shift: TypeAlias = tuple[int, int, int]  # where a secret was removed: first byte, one past the last, length of the mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The head of an HTTP request or response."""

    method: str | None = None
    url: str | None = None
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def value(self, name: str) -> str:
        """Return the first value of a header as written; empty without the header. The name is in lower case."""
        return next((value for header, value in self.headers if header.lower() == name), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """A secret removed from a record before storing, or a content coding undone in order to remove a secret."""

    where: Literal["data", "head"]
    name: str  # the secret's; `was gzip` for a body that is stored decoded
    length: int  # of the secret, or of the coded body so far, in characters or bytes

    @property
    def coding(self) -> str:
        """The content coding that was undone; empty for a secret."""
        return self.name[4:] if self.name.startswith("was ") else ""


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
    """

    wire: Wire
    kind: Kind
    peer: str = ""
    direction: Direction | None = None  # `out` for bytes from the host, `in` for bytes to it; None for neither
    place: Place = NOWHERE
    connection: str | None = None  # the id of the connection to a server, unique in the capture
    exchange: str | None = None  # the id of the HTTP exchange, unique in the capture
    head: Head | None = None  # of a `request` or `response`
    data: bytes = b""  # the exact bytes
    encoding: str | None = None  # the body's content coding, such as `gzip`
    malformed: str | None = None  # what is wrong with the bytes
    redacted: tuple[Redaction, ...] = ()
    capture: str = ""
    seq: int = 0  # the record's number in the capture, from 1, without gaps; 0 before it is stamped
    # Wall-clock time since 1970 (UTC), for display alone; without `mono_ns` no more than a place in the order.
    time_ns: int = 0
    # Of the process' own clock, what durations are made of; None where nothing tells when it was.
    mono_ns: int | None = None

    @property
    def key(self) -> tuple[str, int]:
        """Capture and number, unique among all records."""
        return self.capture, self.seq


def lasted(start_ns: int | None, end_ns: int | None) -> int | None:
    """Return the nanoseconds between two times; None if either is unknown."""
    return None if start_ns is None or end_ns is None else end_ns - start_ns
