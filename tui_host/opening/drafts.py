"""What a format makes of a file: drafts with their times, in order, and words on what it left out."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from tui_host.capture.json.reading import LEVELS, integer, is_deeper, load_tolerantly
from tui_host.capture.json.scan import Data
from tui_host.capture.record import Draft
from tui_host.capture.redact.redaction import Redactor
from tui_host.errors import JSON, TuiHostError

MOST = 64 << 20
"""Bytes of one value that is read whole; what is larger is no model's and no server's."""
LATEST_NS = 4_102_444_800 * 10**9
"""The end of the year 2099: what is later is taken as no time. Records have 16 years more, for what is counted from there."""
LATER = "times after the year 2099"
_DECODER = json.JSONDecoder(strict=False)
_PATIENT = json.JSONDecoder(parse_int=integer, strict=False)
TOLD_SECONDS = 0.1
"""How often at most it is told how far an import has come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """What is read.

    Attributes:
        name: What a person calls it; shown, and never opened.
        data: Its bytes.
        time_ns: The time of what tells none.
        changed_ns: When it was last changed itself; 0 where that is not known.
    """

    name: str
    data: Data
    time_ns: int = 0
    changed_ns: int = 0


class Moment(NamedTuple):
    """When something was captured.

    Attributes:
        ns: Nanoseconds since 1970.
        is_told: It is told when; else it was after all that stands before it, and that is its place in the order.
    """

    ns: int
    is_told: bool = True


@dataclass(frozen=True, slots=True)
class Seen:
    """A draft, and when it was captured."""

    at: Moment
    draft: Draft


@dataclass(slots=True)
class Progress:
    """How far an import has come.

    Attributes:
        watch: Told of it now and then; may raise to end it.
        expected: Bytes that will be read, those that are read twice counted twice; it grows with what is found in the files.
        done: How many of them were.
        records: How many records have come of it.
    """

    watch: Callable[[Progress], None] = lambda _: None
    expected: int = 0
    done: int = 0
    records: int = 0
    _next: float = 0.0

    def advance(self, size: int) -> None:
        """So many bytes more were read."""
        self.done += size
        now = time.monotonic()
        if now >= self._next:
            self._next = now + TOLD_SECONDS
            self.watch(self)


@dataclass(slots=True)
class Notes:
    """What all files of one import share: ids, progress, what was left out, counted by its kind, and what else a person should be told.

    Attributes:
        progress: How far it has come.
        are_several: There are several files, so that it is told in which of them something was.
        told: What else a person should be told.
        names: What names exchanges in two files, by their ids, where that is known.
    """

    progress: Progress = field(default_factory=Progress)
    are_several: bool = False
    told: list[str] = field(default_factory=list[str])
    names: dict[str, str] = field(default_factory=dict[str, str])
    _left_out: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    _firsts: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    _exchanges: Iterator[int] = field(default_factory=lambda: count(1))
    _connections: Iterator[int] = field(default_factory=lambda: count(1))

    def leave_out(self, what: str, name: str, where: Callable[[], str] = str) -> None:
        """Something of this kind is left out of the file of this name; asked once for each kind where the first was."""
        counts = self._left_out.setdefault(name, Counter())
        if what not in counts:
            self._firsts[name, what] = where()
        counts[what] += 1

    @property
    def words(self) -> str:
        """What was left out, how often, and where the first stands; empty if nothing was."""
        listed = ((name, ", ".join(self._counted(name))) for name in self._left_out)
        return "; ".join(f"in {name} {words}" if self.are_several else words for name, words in listed)

    def _counted(self, name: str) -> Iterator[str]:
        for what, times in self._left_out[name].items():
            place = self._firsts[name, what]
            yield f"{what} ({times:,}{f', first {place}' if place else ''})"

    def new_exchange(self) -> str:
        """An id for an exchange."""
        return f"x{next(self._exchanges)}"

    def new_connection(self, peer: str) -> str:
        """An id for a connection."""
        return f"{peer}#{next(self._connections)}"


class Gathered:
    """Takes drafts as a recorder would, for those who fold frames out of bodies, and gives each the present time.

    Attributes:
        at: That time.
        seen: What was taken, in order.
    """

    def __init__(self, notes: Notes) -> None:
        self.at = Moment(0)
        self.seen: list[Seen] = []
        self.redactor = Redactor()
        self.new_exchange: Callable[[], str] = notes.new_exchange

    def append(self, draft: Draft) -> int:
        """Take a draft."""
        self.seen.append(Seen(self.at, draft))
        return len(self.seen)

    def take(self) -> list[Seen]:
        """What was taken since."""
        seen, self.seen = self.seen, []
        return seen


def read_value(data: bytes, *, is_shallow: bool = False) -> JSON:
    """A value out of foreign JSON, None also for what is no JSON, or too deep.

    Args:
        data: Its bytes; None for more than are read whole.
        is_shallow: It goes no deeper than it may: its end was found by `elements`, which looks.
    """
    if len(data) > MOST:
        return None
    try:
        text = _text_of(data)
        value = load_tolerantly(text)
    except (ValueError, RecursionError):  # what goes deeper than a parser may is none, either
        return None
    return None if not is_shallow and len(data) > LEVELS and is_deeper(text, LEVELS) else value


def _text_of(data: bytes) -> str:
    """Bytes as text: some that are no UTF-8 make nothing else of what stands around them."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def begins_with(data: bytes) -> tuple[bytes, JSON] | None:
    """The value that foreign bytes begin with, as it stands and as it is read, where they are text that one look can read."""
    try:
        text = data.decode()
        if len(data) > LEVELS and is_deeper(text, LEVELS):
            return None
        read = _begin(text)
    except (ValueError, RecursionError):
        return None
    value, end = read
    return data if end == len(text) else text[:end].encode(), value


def _begin(text: str) -> tuple[JSON, int]:
    """The value that a text begins with, and where it ends."""
    try:
        read: tuple[JSON, int] = _DECODER.raw_decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError:  # a number of more digits than Python computes with
        read = _PATIENT.raw_decode(text)
    return read


def unreadable(file: File, what: str, where: str = "") -> TuiHostError:
    """The error that a file cannot be taken in, and where in it."""
    place = f"{file.name}, {where}" if where else file.name
    return TuiHostError(what, place, "see tui-host open --help for what can be read")


def line_of(data: Data, at: int) -> int:
    """The number of the line that a byte stands in, from 1."""
    number, found = 1, data.find(b"\n")
    while 0 <= found < at:
        number, found = number + 1, data.find(b"\n", found + 1)
    return number
