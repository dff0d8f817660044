"""The record: one captured thing with exact bytes. Values only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

Wire: TypeAlias = Literal["llm", "mcp", "stderr", "host"]
Direction: TypeAlias = Literal["out", "in"]
MISSING: Final = "not in the file"
"""Why a body is not what it should be: what others captured does not have it. Of an answer, its ending says so."""
NOT_KNOWN: Final = "(not in the file)"
"""Stands among the headers, where no header has such a name, and says what of a head is not known: so it is of what was read out of a file."""
TAP: Final = "tui-host tap"
"""What a tap calls itself: as `User-Agent` where it asks, as `Server` where it answers."""
BY_THE_TAP: Final = "by the tap itself"
Kind: TypeAlias = Literal["request", "response", "chunk", "end", "error", "frame", "line", "decision", "link"]
Shift: TypeAlias = tuple[int, int, int]
"""Where a secret stood in a body: its first byte, one past its last, and how many bytes stand there instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The head of an HTTP request or response."""

    method: str | None = None
    url: str | None = None
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def value(self, name: str) -> str:
        """Return the first value of a header, as `value_of` does."""
        return value_of(self.headers, name)


def value_of(headers: Iterable[tuple[str, str]], name: str) -> str:
    """Return the first value of a header as written; empty without the header. The name is in lower case."""
    return next((value for header, value in headers if header.lower() == name), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """A secret taken out of a record before storing, or a content coding undone for taking out a secret.

    Attributes:
        name: The secret's name; `was gzip` for a body that is kept decoded.
        length: How many characters or bytes the secret, or the coded body up to there, has.
    """

    where: Literal["data", "head"]
    name: str
    length: int

    @property
    def coding(self) -> str:
        """The undone content coding; empty for a secret."""
        return self.name[len(_WAS) :] if self.name.startswith(_WAS) else ""


_WAS = "was "


def decoded_mark(coding: str, length: int) -> Redaction:
    """Return the mark of data kept decoded, with the number of coded bytes."""
    return Redaction(where="data", name=f"{_WAS}{coding}", length=length)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where in a conversation something belongs; every field may be unknown.

    Attributes:
        turn: The turn's number in its session, from 1.
        step: The step's number in its turn, from 1.
    """

    session: str | None = None
    turn: int | None = None
    step: int | None = None
    call: str | None = None


NOWHERE = Place()


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A record without stamps, as taps hand over to the recorder.

    Attributes:
        kind: The kind of record, as in the lines of an export: `request`, `response` (a head), `chunk`, `end`, `error`, `frame`,
            `line` (of standard error), `decision` or `link`.
        direction: `out` from the host, `in` to it; None where there is none.
        place: The conversation's place it belongs to.
        encoding: The body's content coding (such as `gzip`), None if it was sent as it is.
        malformed: Why the bytes are not what they should be, None if they are.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A draft with stamps: stored, shown and exported.

    Attributes:
        seq: Its number in the capture, from 1, without gaps.
        time_ns: Wall clock, nanoseconds since 1970 (UTC); only ever shown.
        mono_ns: Monotonic clock of the capture's process; what durations are made of. None where nothing tells when it was,
            as in a log without times: then `time_ns` is no more than its place in the order.
    """

    capture: str
    seq: int
    time_ns: int
    mono_ns: int | None
    draft: Draft = field()

    @property
    def key(self) -> tuple[str, int]:
        """Capture and number, unique among all records."""
        return self.capture, self.seq


def lasted(start_ns: int | None, end_ns: int | None) -> int | None:
    """Return the nanoseconds between two times; None if a time is not known."""
    return None if start_ns is None or end_ns is None else end_ns - start_ns
