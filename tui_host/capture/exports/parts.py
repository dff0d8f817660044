"""What an export reads: a whole session, or a turn, a call or some rows of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from tui_host.capture.json.narrowing import number_or_zero, text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.link import Link, read_link
from tui_host.capture.record import Record
from tui_host.errors import JSON, StoreError

Records: TypeAlias = Iterable[tuple[Record, bool]]
"""Records in order, each with whether it belongs to a connection's preamble."""


class Exported(Protocol):
    """Where the exported session comes from: the store, a story of several taps, or a part of either."""

    def session_records(self, session: str) -> Iterator[tuple[Record, bool]]:
        """Return the records of a session in order, each with True if it belongs to a connection's preamble."""
        ...

    def session_items(self, session: str) -> Sequence[str]:
        """Return the chat's items as JSON, in order."""
        ...


def placed_items(items: Iterable[str]) -> Iterator[tuple[int, int, Mapping[str, JSON]]]:
    """Yield turn, step and members of each item; none for one that cannot be read. A note belongs where it was made."""
    turn = step = 0
    for text in items:
        item = read_object(text.encode("utf-8", "surrogatepass"))
        before, turn = turn, number_or_zero(item.get("turn")) or turn
        step = number_or_zero(item.get("step")) or (step if turn == before else 0)
        yield turn, step, item


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
        """Return the records of the part in order. Reads the session's records twice, to hold none of them.

        Raises:
            StoreError: The session has no such turn or call.
        """
        if self.turn is None and self.call is None and not self.keys:
            return self.source.session_records(session)
        chosen = self._chosen(session)
        if not chosen and not self.session_items(session):
            what = f"there is no call {self.call}" if self.call is not None else f"there is no turn {self.turn}"
            raise StoreError(what, session, f"look at `tui-host sessions show {session} --json`")
        return (pair for number, pair in enumerate(self.source.session_records(session)) if number in chosen)

    def session_items(self, session: str) -> Sequence[str]:
        """Return the items of the turn, or the item of the call; none for rows."""
        texts = self.source.session_items(session) if not self.keys else ()
        return [
            text
            for text, (turn, _, item) in zip(texts, placed_items(texts), strict=True)
            if self.turn in {None, turn} and self.call in {None, text_or_empty(item.get("call"))}
        ]

    def _chosen(self, session: str) -> set[int]:
        """Return the places of the part's records among those of the session."""
        bare: list[tuple[Record, Link | None, bool]] = []
        for record, is_preamble in self.source.session_records(session):
            link = read_link(record.data) if record.kind == "link" else None
            bare.append((replace(record, data=b"", head=None), link, is_preamble))
        keys, exchanges = {*self.keys}, set[tuple[str, str | None]]()
        for record, link, _ in bare:  # a story's links come after all that they join
            if record.key in self.keys:
                exchanges.add((record.capture, record.exchange))
            elif link is not None and link.call == self.call and not self.keys:
                exchanges.add((record.capture, link.span.exchange))
                keys.add((record.capture, link.span.seq or 0))

        def is_own(record: Record, link: Link | None) -> bool:
            if self.call is None and not self.keys:
                return record.place.turn == self.turn
            call = record.place.call or (link.call if link is not None else "")
            if call and not self.keys:
                return call == self.call
            exchange = record.exchange if link is None else link.span.exchange
            return record.key in keys or (exchange is not None and (record.capture, exchange) in exchanges)

        own = {number for number, (record, link, _) in enumerate(bare) if is_own(record, link)}
        used = {(bare[number][0].capture, bare[number][0].connection) for number in own}
        came = [number for number in own if bare[number][0].kind != "link"] or [0]
        for number, (record, _, is_preamble) in enumerate(bare):
            is_meanwhile = record.place.turn is None and (is_preamble or min(came) < number < max(came))
            if is_meanwhile and record.connection and (record.capture, record.connection) in used:
                own.add(number)
        return own
