"""Values shared by the readers of files: a file, a draft with its time, notes for the user."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from tui_host.capture.json.file_values import Data
from tui_host.capture.record import NOWHERE, Place, Record
from tui_host.errors import TuiHostError

LATEST_NS = 4_102_444_800 * 10**9
"""The end of the year 2099. A later time counts as a mistake."""
TOO_LATE = "times after the year 2099"
PROGRESS_SECONDS = 0.1
"""The shortest time between two calls of `Progress.watch`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file to read.

    Attributes:
        name: The name to show; never used as a path.
        time_ns: The time for records that have none.
    """

    name: str
    data: Data
    time_ns: int = 0


class Moment(NamedTuple):
    """When a record was captured.

    Attributes:
        ns: Nanoseconds since 1970.
        is_told: Whether the file states this time. If not, `ns` only gives a place in the order.
    """

    ns: int
    is_told: bool = True


class TimedDraft(NamedTuple):
    """A record with the time of its capture."""

    at: Moment
    record: Record


@dataclass(slots=True)
class Progress:
    """How many bytes of the files have been read.

    Attributes:
        watch: Called now and then with this object. An exception raised in it ends the import.
        expected: Number of bytes to read. Grows if a file must be read twice.
    """

    watch: Callable[[Progress], None] = lambda _: None
    expected: int = 0
    done: int = 0
    records: int = 0
    _next_watch: float = 0.0

    def advance(self, size: int) -> None:
        """Count bytes as read, and call `watch` if it is due."""
        self.done += size
        now = time.monotonic()
        if now >= self._next_watch:
            self._next_watch = now + PROGRESS_SECONDS
            self.watch(self)

    def finish(self) -> None:
        """Count all bytes as read, and call `watch`."""
        self.done = self.expected
        self.watch(self)


@dataclass(slots=True)
class Notes:
    """New ids, progress and messages of an import.

    Attributes:
        place: The place of all drafts.
        are_several: Whether more than one file is read, so that messages name the file.
    """

    progress: Progress = field(default_factory=Progress)
    place: Place = NOWHERE
    are_several: bool = False
    messages: list[str] = field(default_factory=list[str])
    _left_out: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    _first_places: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    _exchanges: Iterator[int] = field(default_factory=lambda: count(1))
    _connections: Iterator[int] = field(default_factory=lambda: count(1))

    def leave_out(self, what: str, name: str, where: Callable[[], str] = str) -> None:
        """Count an item left out of the file `name`. `where` is called only for the first item of its kind."""
        counts = self._left_out.setdefault(name, Counter())
        if what not in counts:
            self._first_places[name, what] = where()
        counts[what] += 1

    @property
    def left_out(self) -> str:
        """Say what was left out: counts by kind, with the first place of each; empty if nothing was."""
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


def unreadable(
    file: File, what: str, where: str = "", remedy: str = "see tui-host open --help for what can be read"
) -> TuiHostError:
    """Make the error for an unreadable file, with the place of the fault."""
    return TuiHostError(what, f"{file.name}, {where}" if where else file.name, remedy)


def line_of(data: Data, at: int) -> int:
    """Return the number of the line, from 1, that contains a byte."""
    number, end = 1, data.find(b"\n")
    while 0 <= end < at:
        number, end = number + 1, data.find(b"\n", end + 1)
    return number


def place_of(file: File, at: int) -> str:
    """Return the place of a byte for a message: `line 3`."""
    return f"line {line_of(file.data, at)}"
