"""What an export reads: a whole session, or a turn, a call or some rows of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from tui_host.capture.json.narrowing import number_or_zero, text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.link import read_link
from tui_host.capture.record import Record
from tui_host.errors import StoreError

Records: TypeAlias = Iterable[tuple[Record, bool]]
"""Records in order, each with whether it belongs to a connection's preamble."""
_Id: TypeAlias = tuple[str, str]


class Exported(Protocol):
    """Where the exported session comes from: the store, a story of several taps, or a part of either."""

    def session_records(self, session: str) -> Iterator[tuple[Record, bool]]:
        """Return the records of a session in order, each with True if it belongs to a connection's preamble."""
        ...

    def session_items(self, session: str) -> Sequence[str]:
        """Return the chat's items as JSON, in order."""
        ...


@dataclass(slots=True)
class _Members:
    """What belongs to a part: exchanges, single records and connections, and the first and last place among all records."""

    keys: set[tuple[str, int]]
    exchanges: set[_Id] = field(default_factory=set[_Id])
    connections: set[_Id] = field(default_factory=set[_Id])
    first: int = -1
    last: int = -1


@dataclass(frozen=True, slots=True)
class PartOfSession:
    """A turn, a call or some rows of a session, with the start of each connection that the part used.

    A call has the exchange in which the model asked, the decision, the frames, and the exchanges that told its result. Records of
    no turn, such as standard error, belong to a part if they came during the part, on a connection that the part used.

    Attributes:
        turn: The turn's number; None for all.
        call: The call's id; None for all. The turn then does not count.
        keys: A record of each row, or all records of rows without an exchange. With these, turn and call do not count.
    """

    source: Exported
    turn: int | None = None
    call: str | None = None
    keys: frozenset[tuple[str, int]] = frozenset()

    def session_records(self, session: str) -> Iterator[tuple[Record, bool]]:
        """Return the records of the part in order. Reads the session's records up to three times, to hold none of them.

        Raises:
            StoreError: The session has no such turn or call.
        """
        if self.turn is None and self.call is None and not self.keys:
            return self.source.session_records(session)
        members = self._members(session)
        if members.first < 0 and not self.session_items(session):
            what = f"there is no call {self.call}" if self.call is not None else f"there is no turn {self.turn}"
            raise StoreError(what, session, f"look at `tui-host sessions show {session} --json`")
        return self._records(session, members)

    def session_items(self, session: str) -> Sequence[str]:
        """Return the items of the turn, or the item of the call; none for rows. A note belongs to the turn in which it was made."""
        chosen: list[str] = []
        turn = 0
        for text in self.source.session_items(session) if not self.keys else ():
            item = read_object(text.encode("utf-8", "surrogatepass"))
            turn = number_or_zero(item.get("turn")) or turn
            if self.turn in {None, turn} and self.call in {None, text_or_empty(item.get("call"))}:
                chosen.append(text)
        return chosen

    def _records(self, session: str, members: _Members) -> Iterator[tuple[Record, bool]]:
        for number, (record, is_preamble) in enumerate(self.source.session_records(session)):
            is_meanwhile = record.place.turn is None and (is_preamble or members.first < number < members.last)
            is_used = (record.capture, record.connection or "") in members.connections
            if self._is_own(record, members) or (is_meanwhile and is_used):
                yield record, is_preamble

    def _members(self, session: str) -> _Members:
        members = _Members({*self.keys})
        if self.keys or self.call is not None:  # a story's links come after all that they join
            for record, _ in self.source.session_records(session):
                self._take_named(record, members)
        for number, (record, _) in enumerate(self.source.session_records(session)):
            if not self._is_own(record, members):
                continue
            if record.connection:
                members.connections.add((record.capture, record.connection))
            if record.kind != "link":
                members.first = number if members.first < 0 else members.first
                members.last = number
        return members

    def _take_named(self, record: Record, members: _Members) -> None:
        """Take the exchange of a row, or the exchange or record to which a link joins the call."""
        link = read_link(record.data) if record.kind == "link" and not self.keys else None
        if record.key in self.keys and record.exchange is not None:
            members.exchanges.add((record.capture, record.exchange))
        elif link is not None and link.call == self.call and link.span.exchange is not None:
            members.exchanges.add((record.capture, link.span.exchange))
        elif link is not None and link.call == self.call and link.span.seq is not None:
            members.keys.add((record.capture, link.span.seq))

    def _is_own(self, record: Record, members: _Members) -> bool:
        if self.call is None and not self.keys:
            return record.place.turn == self.turn
        link = read_link(record.data) if record.kind == "link" else None
        call = record.place.call or (link.call if link is not None else "")
        if call and not self.keys:
            return call == self.call
        exchange = record.exchange if link is None else link.span.exchange
        return record.key in members.keys or (record.capture, exchange or "") in members.exchanges
