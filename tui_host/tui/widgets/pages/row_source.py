"""What the inspector reads from. The host implements it over a live capture or over what the store keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row import Row
from tui_host.capture.record import Record

if TYPE_CHECKING:
    from tui_host.llm.dialects.dialect import Dialect

_LOOK_BACK = 2000
"""Rows that are looked through for the request before."""


class InspectorSource(Protocol):
    """One session's rows and bytes. Every call is quick: it is made on the screen's own thread."""

    @property
    def ladder(self) -> Ladder:
        """The rows."""
        ...

    @property
    def live(self) -> bool:
        """Whether more may come."""
        ...

    @property
    def why_empty(self) -> str:
        """Why there is no row, while there is none."""
        ...

    @property
    def user(self) -> str:
        """Who asks the model in it: `you`, or what the user of another host is called."""
        ...

    def record(self, key: tuple[str, int]) -> Record | None:
        """The record of a capture and a number; None if it is not kept."""
        ...

    def records_of(self, row: Row) -> Sequence[Record]:
        """A row's records in order: those of its whole exchange, both directions; else the row's own."""
        ...

    def pages_of(self, row: Row) -> Iterator[Sequence[Record]]:
        """The same, a few hundred at a time: there may be very many, and they may have to come from the disk."""
        ...

    def body(self, row: Row) -> bytes:
        """A row's bytes as they were on the wire: the request's or the response's body, the frame, the lines of standard error."""
        ...

    def started_mono_ns(self, row: Row) -> int | None:
        """When the row's turn began, on the monotonic clock of the row's capture; for turn 0 when the capture did.

        None where no time of it is known.
        """
        ...

    def dialect(self, row: Row) -> Dialect | None:
        """What an exchange with a model is written in; None if that is not known."""
        ...

    @property
    def has_talks(self) -> bool:
        """Whether several conversations may go on in it, and it is known which request belongs to which."""
        ...

    def before(self, row: Row) -> Row | None:
        """The request that came before a row's in its conversation; None for the first."""
        ...

    def hide(self, text: str) -> str:
        """A text that was joined from several records, with masks for the secrets in it: in none of them was there a whole one."""
        ...

    def marks(self, text: str) -> str:
        """Words of a record that secrets were taken out of, with masks for the marks that were left."""
        ...

    def names(self, row: Row) -> Mapping[str, tuple[str, str]]:
        """Server and tool for each tool name that a model was given; empty where that is not known."""
        ...


def request_above(source: InspectorSource, row: Row) -> Row | None:
    """The request to a model that stands next above a row, asked of the same provider in the same dialect."""
    rows, dialect = source.ladder.rows, source.dialect(row)
    for number in range(row.number - 1, max(-1, row.number - _LOOK_BACK), -1):
        other = rows[number]
        is_request = other.kind == "request" and other.lane == "llm" and not other.missing
        is_alike = is_request and other.method == row.method and other.peer == row.peer
        if is_alike and source.dialect(other) == dialect:
            return other
    return None
