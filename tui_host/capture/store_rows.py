"""Records as rows of the database, and back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

from tui_host.capture.chain import read_object
from tui_host.capture.record import Direction, Draft, Head, Kind, Place, Record, Redaction, Wire
from tui_host.capture.schema import SEQ_BITS
from tui_host.capture.store_bodies import LARGE, Bodies, Packed, Packer
from tui_host.capture.store_places import Places, SQLValue, storable, storable_or_none
from tui_host.errors import JSON

Row: TypeAlias = "tuple[SQLValue, ...]"
StoredRow: TypeAlias = tuple[
    int,
    int,
    int,
    Kind,
    str | None,
    str | None,
    str | None,
    str | None,
    int | None,
    int | None,
    bytes,
    Wire,
    str,
    Direction | None,
    str | None,
    int | None,
    int | None,
    str | None,
    str | None,
    str | None,
    str,
]

SELECT = """
    SELECT records.key, time, mono, records.kind, encoding, malformed, head, redacted, base, size, data,
        places.wire, places.peer, direction, session, turn, step, call, connections.id, exchanges.id, captures.id
    FROM records CROSS JOIN places ON places.key = records.place
        CROSS JOIN captures ON captures.key = places.capture
        LEFT JOIN connections ON connections.key = places.connection
        LEFT JOIN exchanges ON exchanges.key = places.exchange
"""  # CROSS: records first, in their order

_PLAIN = "key, place, time, mono, kind, data"
_WHOLE = f"{_PLAIN}, encoding, malformed, head, redacted, base, size"
_PLAIN_KINDS: frozenset[Kind] = frozenset(("response", "chunk", "end", "error", "frame", "line"))
_VALUES_AT_ONCE = 960
"""SQLite's older limit is 999; few enough, too, that a statement is soon over."""
_INSERT = f"INSERT INTO records ({_WHOLE}) VALUES ({', '.join('?' * 12)})"  # noqa: S608 - constants alone
_DECISION = "INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_LINK = "INSERT INTO links VALUES (?, ?, ?, ?, ?, ?)"


class RecordTable:
    """Inserts records, with all that they refer to, in the writer's open transaction.

    Args:
        connection: The writer's.
        owner: The lock that this process holds.

    Attributes:
        places: Where the keys come from.
    """

    def __init__(self, connection: sqlite3.Connection, owner: str) -> None:
        self.places = Places(connection, owner)
        self._connection = connection
        self._packer = Packer(connection)
        self._plain: list[SQLValue] = []

    def forget(self) -> None:
        """The transaction was given up: what was made in it is not there."""
        self.places.forget()
        self._packer.forget()
        self._plain.clear()

    def add(self, record: Record) -> None:
        """Insert a record, at the latest with `finish`."""
        draft = record.draft
        place = self.places.place(record)
        key = record_key(self.places.capture(record.capture), record.seq)
        kind, data = draft.kind, draft.data
        is_bare = draft.encoding is draft.malformed is draft.head is None and not draft.redacted
        if is_bare and kind in _PLAIN_KINDS and len(data) < LARGE:
            self._plain += (key, place, record.time_ns, record.mono_ns, kind, data)
            if len(self._plain) >= _VALUES_AT_ONCE:
                self.finish()
        else:
            self.finish()
            self._insert_whole(record, key, place)

    def finish(self) -> None:
        """Insert what waits."""
        if self._plain:
            # Many in one statement: after each, the thread waits for the interpreter's lock, 5 ms where another is busy.
            self._connection.execute(_insert_plain(len(self._plain) // 6), self._plain)
            self._plain.clear()

    def _insert_whole(self, record: Record, key: int, place: int) -> None:
        draft = record.draft
        if draft.kind == "request" and draft.wire == "llm":
            packed = self._packer.pack_request(key, storable_or_none(draft.place.session), draft.data)
        else:
            packed = self._packer.pack(draft.data)
        row: Row = (
            key,
            place,
            record.time_ns,
            record.mono_ns,
            draft.kind,
            packed.data,
            storable_or_none(draft.encoding),
            storable_or_none(draft.malformed),
            None if draft.head is None else _head_to_json(draft.head),
            _redacted_to_json(draft.redacted) if draft.redacted else None,
            packed.base,
            packed.size,
        )
        self._connection.execute(_INSERT, row)
        if draft.kind == "decision":
            self._connection.execute(_DECISION, _decision_row(key, draft))
        elif draft.kind == "link":
            self._connection.execute(_LINK, _link_row(key, draft))


@lru_cache(_VALUES_AT_ONCE // 6)
def _insert_plain(rows: int) -> str:
    return f"INSERT INTO records ({_PLAIN}) VALUES {', '.join(['(?, ?, ?, ?, ?, ?)'] * rows)}"  # noqa: S608 - constants alone


def record_key(capture_key: int, seq: int) -> int:
    """A record's key in the database."""
    return (capture_key << SEQ_BITS) + seq


def from_row(row: StoredRow, connection: sqlite3.Connection, bodies: Bodies) -> Record:
    """The record of a row that `SELECT` gave; one whose kept bytes are damaged says so and has none.

    Args:
        row: The row.
        connection: Where to look for what its data stands against; in the same transaction.
        bodies: Those read last.
    """
    (key, time, mono, kind, encoding, malformed, head, redacted, base, size, data, wire, peer, direction) = row[:14]
    (session, turn, step, call, connected, exchange, capture) = row[14:]
    try:
        data = bodies.unpack(connection, key, Packed(data=data, size=size, base=base))
    except ValueError as error:
        data, malformed = b"", f"its {size} bytes are damaged on the disk: {error}"
    draft = Draft(
        wire=wire,
        kind=kind,
        peer=peer,
        direction=direction,
        place=Place(session=session, turn=turn, step=step, call=call),
        connection=connected,
        exchange=exchange,
        head=None if head is None else _head_from_json(head),
        data=data,
        encoding=encoding,
        malformed=malformed,
        redacted=() if redacted is None else _redacted_from_json(redacted),
    )
    return Record(capture=capture, seq=key & ((1 << SEQ_BITS) - 1), time_ns=time, mono_ns=mono, draft=draft)


def _decision_row(key: int, draft: Draft) -> Row:
    said, place = read_object(draft.data), draft.place
    texts = (_said(said, name) for name in ("server", "tool", "decision", "by"))
    return key, storable_or_none(place.session), place.turn, storable_or_none(place.call), *texts


def _link_row(key: int, draft: Draft) -> Row:
    said = read_object(draft.data)
    span = said.get("span")
    exchange = _said(span, "exchange") if isinstance(span, Mapping) else None
    session = storable_or_none(draft.place.session)
    return key, session, _said(said, "call"), _said(said, "relation"), exchange, _said(said, "known")


def _said(said: Mapping[str, JSON], name: str) -> str | None:
    value = said.get(name)
    return storable(value) if isinstance(value, str) else None


def _head_to_json(head: Head) -> str:
    # ASCII alone: a header that is no UTF-8 has lone surrogates, which SQLite would refuse
    return json.dumps((head.method, head.url, head.status, head.headers), separators=(",", ":"))


def _head_from_json(text: str) -> Head:
    method, url, status, headers = json.loads(text)
    return Head(method=method, url=url, status=status, headers=tuple((name, value) for name, value in headers))


def _redacted_to_json(redacted: tuple[Redaction, ...]) -> str:
    return json.dumps([(each.where, each.name, each.length) for each in redacted], separators=(",", ":"))


def _redacted_from_json(text: str) -> tuple[Redaction, ...]:
    return tuple(Redaction(where=where, name=name, length=length) for where, name, length in json.loads(text))
