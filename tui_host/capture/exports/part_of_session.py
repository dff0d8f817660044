"""Limits an export to a turn, a call or some rows of a session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tui_host.capture.exports.exported import Exported
from tui_host.capture.json.narrowing import number_or_zero, text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.link import read_link
from tui_host.capture.record import Record
from tui_host.errors import StoreError

_Key = tuple[str, str]


@dataclass(slots=True)
class _Members:
    """What belongs to a part: exchanges, single records and connections, and the first and last place among all records."""

    exchanges: set[_Key] = field(default_factory=set[_Key])
    keys: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    connections: set[_Key] = field(default_factory=set[_Key])
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
        """Return the records of the part in order. Reads the session's records twice.

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
        if self.keys:
            return chosen
        turn = 0
        for text in self.source.session_items(session):
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
        members = _Members(keys={*self.keys})
        if self.keys:
            for record, _ in self.source.session_records(session):
                if record.key in members.keys and record.exchange is not None:
                    members.exchanges.add((record.capture, record.exchange))
        elif self.call is not None:
            for record, _ in self.source.session_records(session):
                link = read_link(record.data) if record.kind == "link" else None
                if link is not None and link.call == self.call and link.span.exchange is not None:
                    members.exchanges.add((record.capture, link.span.exchange))
                elif link is not None and link.call == self.call and link.span.seq is not None:
                    members.keys.add((record.capture, link.span.seq))
        for number, (record, _) in enumerate(self.source.session_records(session)):
            if not self._is_own(record, members):
                continue
            if record.connection:
                members.connections.add((record.capture, record.connection))
            if record.kind != "link":  # a story's links come after all other records
                members.first = number if members.first < 0 else members.first
                members.last = number
        return members

    def _is_own(self, record: Record, members: _Members) -> bool:
        if self.call is None and not self.keys:
            return record.place.turn == self.turn
        link = read_link(record.data) if record.kind == "link" else None
        call = record.place.call or (link.call if link is not None else "")
        if call and not self.keys:
            return call == self.call
        exchange = record.exchange if link is None else link.span.exchange
        return record.key in members.keys or (record.capture, exchange or "") in members.exchanges
