"""A record as a row of the database, and back."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TypeAlias

from tui_host.capture.record import Direction, Draft, Head, Kind, Place, Record, Redaction, Wire
from tui_host.capture.schema import SEQ_BITS

SQLValue: TypeAlias = "int | str | bytes | None"
Row: TypeAlias = "tuple[SQLValue, ...]"
StoredRow: TypeAlias = tuple[
    int,
    int,
    int,
    Wire,
    Kind,
    str,
    Direction | None,
    str | None,
    int | None,
    int | None,
    str | None,
    str | None,
    str | None,
    str | None,
    str | None,
    str | None,
    str | None,
    bytes,
    str,
]

COLUMNS = (
    "key, time, mono, wire, kind, peer, direction, session, turn, step, call, connection, exchange, encoding, malformed,"
    " head, redacted, data"
)
ROWS_AT_ONCE = 32
"""Rows in one statement: SQLite's older limit of 999 values, and few enough that a statement is soon over."""

_VALUES = f"({', '.join('?' * 18)})"
SELECT = (
    f"SELECT {', '.join('records.' + name.strip() for name in COLUMNS.split(','))}, captures.id"  # noqa: S608 - constants alone
    f" FROM records JOIN captures ON captures.key = records.key >> {SEQ_BITS}"
)


def storable(text: str) -> str:
    """The text without lone surrogates, which SQLite refuses (PRO-12)."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


@lru_cache(ROWS_AT_ONCE)
def insert(rows: int) -> str:
    """The statement that inserts so many records."""
    return f"INSERT INTO records ({COLUMNS}) VALUES {', '.join([_VALUES] * rows)}"  # noqa: S608 - constants alone


def record_key(capture_key: int, seq: int) -> int:
    """A record's key in the database."""
    return (capture_key << SEQ_BITS) + seq


def to_row(record: Record, capture_key: int) -> Row:
    """What `insert` takes for one record."""
    draft = record.draft
    place = draft.place
    return (
        record_key(capture_key, record.seq),
        record.time_ns,
        record.mono_ns,
        draft.wire,
        draft.kind,
        storable(draft.peer),
        draft.direction,
        _storable(place.session),
        place.turn,
        place.step,
        _storable(place.call),
        _storable(draft.connection),
        _storable(draft.exchange),
        _storable(draft.encoding),
        _storable(draft.malformed),
        None if draft.head is None else _head_to_json(draft.head),
        _redacted_to_json(draft.redacted) if draft.redacted else None,
        draft.data,
    )


def from_row(row: StoredRow) -> Record:
    """The record of a row that `SELECT` gave."""
    (key, time, mono, wire, kind, peer, direction, session, turn, step, call, connection, exchange) = row[:13]
    (encoding, malformed, head, redacted, data, capture) = row[13:]
    draft = Draft(
        wire=wire,
        kind=kind,
        peer=peer,
        direction=direction,
        place=Place(session=session, turn=turn, step=step, call=call),
        connection=connection,
        exchange=exchange,
        head=None if head is None else _head_from_json(head),
        data=data,
        encoding=encoding,
        malformed=malformed,
        redacted=() if redacted is None else _redacted_from_json(redacted),
    )
    return Record(capture=capture, seq=key & ((1 << SEQ_BITS) - 1), time_ns=time, mono_ns=mono, draft=draft)


def _storable(text: str | None) -> str | None:
    return None if text is None else storable(text)


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
