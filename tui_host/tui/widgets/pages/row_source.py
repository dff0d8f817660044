"""The source of the inspector's rows, over a live capture or the store."""

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
    """The rows and bytes of a session. Calls are quick: they run in the screen's thread."""

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
        """Why the list is empty."""
        ...

    @property
    def user(self) -> str:
        """Who asks the model: `you`, or another host's user."""
        ...

    def record(self, key: tuple[str, int]) -> Record | None:
        """Return the record with a capture and a number; None if missing."""
        ...

    def records_of(self, row: Row) -> Sequence[Record]:
        """Return a row's records in order: of the whole exchange, or the row's own."""
        ...

    def pages_of(self, row: Row) -> Iterator[Sequence[Record]]:
        """Yield a row's records by a few hundred, perhaps from the disk."""
        ...

    def body(self, row: Row) -> bytes:
        """Return a row's bytes on the wire: body, frame, or lines of standard error."""
        ...

    def started_mono_ns(self, row: Row) -> int | None:
        """When the row's turn began, on the monotonic clock of the row's capture; for turn 0 when the capture did.

        None where no time of it is known.
        """
        ...

    def dialect(self, row: Row) -> Dialect | None:
        """Return the dialect of a model exchange; None if unknown."""
        ...

    @property
    def has_talks(self) -> bool:
        """Whether the session may have several conversations, with requests assigned to them."""
        ...

    def before(self, row: Row) -> Row | None:
        """Return the previous request of a row's conversation; None for the first."""
        ...

    def hide(self, text: str) -> str:
        """Mask secrets in a text joined from several records."""
        ...

    def marks(self, text: str) -> str:
        """Mask the marks of removed secrets in a record's words."""
        ...

    def names(self, row: Row) -> Mapping[str, tuple[str, str]]:
        """Return server and tool for each tool name given to the model; empty if unknown."""
        ...


def request_above(source: InspectorSource, row: Row) -> Row | None:
    """Return the nearest request above a row with equal provider and dialect."""
    rows, dialect = source.ladder.rows, source.dialect(row)
    for number in range(row.number - 1, max(-1, row.number - _LOOK_BACK), -1):
        candidate = rows[number]
        is_request = candidate.kind == "request" and candidate.lane == "llm" and not candidate.missing
        is_alike = is_request and candidate.method == row.method and candidate.peer == row.peer
        if is_alike and source.dialect(candidate) == dialect:
            return candidate
    return None
