"""What an export reads: a whole session, or a turn, a call or some rows of it, without keys of vendors.

Such a key stays on the disk, since its form alone is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from tui_host.capture.content_codings import decode_records
from tui_host.capture.json.narrowing import number_or_zero, text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.link import Link, read_link
from tui_host.capture.record import Record, Redaction
from tui_host.capture.redact.known_secrets import Redacted, mark
from tui_host.errors import JSON, StoreError
from tui_host.settings.sensitivity import VENDOR_KEY, pieces

Records: TypeAlias = Iterable[tuple[Record, bool]]
"""Records in order, each with whether it belongs to a connection's preamble."""


class Exported(Protocol):
    """Where the exported session comes from: the store, a story of several taps, or a part of either.

    It has records in order, each with whether it belongs to a connection's preamble, and the chat's items as JSON.
    """

    def session_records(self, session: str) -> Iterator[tuple[Record, bool]]: ...

    def session_items(self, session: str) -> Sequence[str]: ...


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
    """

    source: Exported
    turn: int | None = None  # the turn's number; None for all
    call: str | None = None  # the call's id; None for all. The turn then does not count.
    keys: frozenset[tuple[str, int]] = frozenset()  # a record of each row, or all; turn and call then do not count

    def session_records(self, session: str) -> Iterator[tuple[Record, bool]]:
        """Return the records of the part in order, read twice, to hold none; raises StoreError where it has no such turn or call."""
        if self.turn is None and self.call is None and not self.keys:
            return self.source.session_records(session)
        bare: list[tuple[Record, Link | None, bool]] = []
        keys, exchanges = {*self.keys}, set[tuple[str, str | None]]()
        for record, is_preamble in self.source.session_records(session):
            link = read_link(record.data) if record.kind == "link" else None
            bare.append((replace(record, data=b"", head=None), link, is_preamble))
            if record.key in self.keys:
                exchanges.add((record.capture, record.exchange))
            elif link is not None and link.call == self.call and not self.keys:
                exchanges.add((record.capture, link.span.exchange))
                keys.add((record.capture, link.span.seq or 0))
        own: set[int] = set()  # the places of the part's records among those of the session
        # only now, since a story's links come after all that they join
        for number, (record, link, _) in enumerate(bare):
            call, exchange = record.place.call, record.exchange
            if link is not None:
                call, exchange = call or link.call, link.span.exchange
            if self.call is None and not self.keys:
                is_own = record.place.turn == self.turn
            elif call and not self.keys:
                is_own = call == self.call
            else:
                is_own = record.key in keys or (exchange is not None and (record.capture, exchange) in exchanges)
            if is_own:
                own.add(number)
        used = {(bare[number][0].capture, bare[number][0].connection) for number in own}
        came = [number for number in own if bare[number][0].kind != "link"] or [0]
        for number, (record, _, is_preamble) in enumerate(bare):
            is_meanwhile = record.place.turn is None and (is_preamble or min(came) < number < max(came))
            if is_meanwhile and record.connection and (record.capture, record.connection) in used:
                own.add(number)
        if not own and not self.session_items(session):
            what = f"there is no call {self.call}" if self.call is not None else f"there is no turn {self.turn}"
            raise StoreError(what, session, f"look at `tui-host sessions show {session} --json`")
        return (pair for number, pair in enumerate(self.source.session_records(session)) if number in own)

    def session_items(self, session: str) -> Sequence[str]:
        """Return the items of the turn, or the item of the call; none for rows."""
        texts = self.source.session_items(session) if not self.keys else ()
        return [
            text
            for text, (turn, _, item) in zip(texts, placed_items(texts), strict=True)
            if self.turn in {None, turn} and self.call in {None, text_or_empty(item.get("call"))}
        ]


def present(members: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """Return the members that are not null."""
    return {name: item for name, item in members.items() if item is not None}


def keyless(text: str) -> str:
    """Return a text with a mark in place of each vendor's key."""
    return "".join(mark(VENDOR_KEY) if is_key else piece for piece, is_key in pieces(text))


def keyless_bytes(data: bytes) -> Redacted:
    """Return bytes with a mark in place of each vendor's key, and what was removed."""
    text = data.decode("latin-1")  # a character for each byte: no byte changes on the way
    keys = tuple(Redaction(where="data", name=VENDOR_KEY, length=len(key)) for key in _keys(text))
    if not keys:
        return data, ()
    cut = pieces(text)
    return b"".join(mark(VENDOR_KEY).encode() if is_key else piece.encode("latin-1") for piece, is_key in cut), keys


def keyless_record(record: Record) -> Record:
    """Return a record with a mark in place of each vendor's key in its data; compressed data stays as it is."""
    data, keys = keyless_bytes(record.data) if record.encoding is None else (record.data, ())
    return replace(record, data=data, redacted=(*record.redacted, *keys)) if keys else record


def keys_in_words(source: Exported, session: str) -> str:
    """Return what to tell before an export is written: how many of its texts look like vendors' keys. Empty without any."""
    keys = {key for text in source.session_items(session) for key in _keys(text)}
    bodies: dict[tuple[str, str, str | None], list[Record]] = {}
    for record, _ in source.session_records(session):
        if record.kind in {"chunk", "request"}:
            bodies.setdefault((record.capture, record.kind, record.exchange), []).append(record)
        else:
            keys.update(_keys(record.data.decode("latin-1")))
    for body in bodies.values():
        keys.update(_keys(decode_records(body)[0].decode("latin-1")))
    if not keys:
        return ""
    words = "1 text looks like a key of a vendor" if len(keys) == 1 else f"{len(keys)} texts look like keys of vendors"
    return f"{words}: {mark(VENDOR_KEY)} is written instead, save that raw and jsonl write compressed or cut bodies as they are"


def _keys(text: str) -> list[str]:
    return [piece for piece, is_key in pieces(text) if is_key]
