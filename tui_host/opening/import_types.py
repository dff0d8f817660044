"""Values shared by the readers of foreign files: a file, a draft with its time, notes for a person."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import NamedTuple

from tui_host.capture.json.reading import LEVELS, is_deeper, load_tolerantly
from tui_host.capture.json.scan import Data
from tui_host.capture.record import Draft
from tui_host.errors import JSON, TuiHostError

VALUE_LIMIT = 64 << 20
"""Bytes of one JSON value at most; no model and no server sends a larger one."""
LATEST_NS = 4_102_444_800 * 10**9
"""The end of the year 2099. A later time is a mistake."""
TOO_LATE = "times after the year 2099"
PROGRESS_SECONDS = 0.1
"""The shortest time between two calls of `Progress.watch`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file to read.

    Attributes:
        name: The name to show. It is never opened.
        time_ns: The time to give to records without one.
        changed_ns: When the file was last changed; 0 if unknown.
    """

    name: str
    data: Data
    time_ns: int = 0
    changed_ns: int = 0


class Moment(NamedTuple):
    """When something was captured.

    Attributes:
        ns: Nanoseconds since 1970.
        is_told: The file tells this time. If not, `ns` only gives a place in the order.
    """

    ns: int
    is_told: bool = True


class TimedDraft(NamedTuple):
    """A draft and the moment of its capture."""

    at: Moment
    draft: Draft


@dataclass(slots=True)
class Progress:
    """How much of the files has been read.

    Attributes:
        watch: Called now and then with this object. An exception that it raises ends the import.
        expected: Bytes to read. Grows when a file must be read twice.
    """

    watch: Callable[[Progress], None] = lambda _: None
    expected: int = 0
    done: int = 0
    records: int = 0
    _next_watch: float = 0.0

    def advance(self, size: int) -> None:
        """Count bytes as read, and call `watch` if its time has come."""
        self.done += size
        now = time.monotonic()
        if now >= self._next_watch:
            self._next_watch = now + PROGRESS_SECONDS
            self.watch(self)


@dataclass(slots=True)
class Notes:
    """Ids, progress and messages of one import.

    Attributes:
        are_several: More than one file is read, so messages name the file.
        exchange_keys: The request id that a log gives for an exchange, by the exchange's id.
    """

    progress: Progress = field(default_factory=Progress)
    are_several: bool = False
    messages: list[str] = field(default_factory=list[str])
    exchange_keys: dict[str, str] = field(default_factory=dict[str, str])
    _left_out: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    _first_places: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    _exchanges: Iterator[int] = field(default_factory=lambda: count(1))
    _connections: Iterator[int] = field(default_factory=lambda: count(1))

    def leave_out(self, what: str, name: str, where: Callable[[], str] = str) -> None:
        """Count something left out of the file `name`. `where` is called only for the first of its kind."""
        counts = self._left_out.setdefault(name, Counter())
        if what not in counts:
            self._first_places[name, what] = where()
        counts[what] += 1

    def apart(self) -> Notes:
        """Make notes with the same progress and ids of exchanges, for a file read ahead of the decision how to use it."""
        return replace(self, messages=[], exchange_keys={}, _left_out={}, _first_places={}, _connections=count(1))

    def add(self, other: Notes) -> None:
        """Take over the messages of notes made by `apart`."""
        self.messages += other.messages
        self._left_out |= other._left_out
        self._first_places |= other._first_places

    @property
    def left_out(self) -> str:
        """Count by kind, with the first place of each, what was left out; empty if nothing was."""
        by_file = ((name, ", ".join(self._counted(name))) for name in self._left_out)
        return "; ".join(f"in {name} {words}" if self.are_several else words for name, words in by_file)

    def _counted(self, name: str) -> Iterator[str]:
        for what, times in self._left_out[name].items():
            place = self._first_places[name, what]
            yield f"{what} ({times:,}{f', first {place}' if place else ''})"

    def new_exchange(self) -> str:
        """Make an id for an exchange."""
        return f"x{next(self._exchanges)}"

    def new_connection(self, peer: str) -> str:
        """Make an id for a connection."""
        return f"{peer}#{next(self._connections)}"


def read_value(data: bytes, *, is_shallow: bool = False) -> JSON:
    """Read foreign JSON. None also for anything but JSON, and for JSON that is too large or nested too deeply.

    Args:
        data: The bytes. Those that are no UTF-8 are replaced.
        is_shallow: The nesting has been checked already, as `elements` does.
    """
    if len(data) > VALUE_LIMIT:
        return None
    try:
        text = data.decode("utf-8", "replace")
        value = load_tolerantly(text)
    except (ValueError, RecursionError):
        return None
    return None if not is_shallow and len(data) > LEVELS and is_deeper(text, LEVELS) else value


def unreadable(file: File, what: str, where: str = "") -> TuiHostError:
    """Make the error for a file that cannot be read, with the place of the reason."""
    place = f"{file.name}, {where}" if where else file.name
    return TuiHostError(what, place, "see tui-host open --help for what can be read")


def line_of(data: Data, at: int) -> int:
    """The number of the line, from 1, in which a byte stands."""
    number, end = 1, data.find(b"\n")
    while 0 <= end < at:
        number, end = number + 1, data.find(b"\n", end + 1)
    return number


def place_of(file: File, at: int) -> str:
    """The place of a byte, for a message: `line 3`."""
    return f"line {line_of(file.data, at)}"
