"""Makes records from rows of the database."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from heapq import heappop, heappush
from types import NoneType
from typing import TypeAlias

from tui_host.capture.record import (
    DIRECTIONS,
    KINDS,
    WIRES,
    Direction,
    Head,
    Kind,
    Place,
    Record,
    Redaction,
    Wire,
)
from tui_host.capture.store.answer_runs import Piece, unpack_run
from tui_host.capture.store.schema import SEQ_BITS
from tui_host.capture.store.stored_bodies import Bodies, Packed

SQLValue: TypeAlias = "int | str | bytes | None"
Text: TypeAlias = "str | None"
Number: TypeAlias = "int | None"
StoredRow: TypeAlias = """tuple[
    int, int, int, Kind, Direction | None, Text, Text, str | int | None, Text, Number, Number, Number, bytes,
    Wire, str, Text, Number, Number, Text, Text, Text, str
]"""

_S, _SN, _I, _IN = {str}, {str, NoneType}, {int}, {int, NoneType}
_TYPES: Sequence[set[type]] = (
    *(_I, _I, _I, _S, _SN, _SN, _SN, {str, int, NoneType}, _SN, _IN, _IN, _IN, {bytes}),
    *(_S, _S, _SN, _IN, _IN, _SN, _SN, _SN, _S),
)
"""What may stand in the columns of such a row, where the file is as it was written."""
_DAMAGED = "its row in the database is damaged"
_TIME_BITS = 62
"""No time has more; a negative one is none."""

Keyed: TypeAlias = "tuple[int, Record]"
"""A record with its key."""

SELECT = """
    SELECT records.key, time, mono, records.kind, direction, encoding, malformed, head, redacted, base, size, last, data,
        wire, peer, session, turn, step, call, connection, exchange, captures.id
    FROM records CROSS JOIN places ON places.key = records.place
        CROSS JOIN captures ON captures.key = places.capture
"""  # CROSS: records first, in their order

UNTOLD = -1
"""Stands in a row for a time that is not known; none that is known is negative."""


def storable(text: str) -> str:
    """Return the text with escapes for lone surrogates, which SQLite refuses."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def storable_or_none(text: str | None) -> str | None:
    """Return the text as `storable` does, None for none."""
    return None if text is None else storable(text)


def record_key(capture_key: int, seq: int) -> int:
    """Return a record's key in the database."""
    return (capture_key << SEQ_BITS) + seq


def in_order(rows: Iterable[Sequence[Keyed]]) -> Iterator[Keyed]:
    """Yield records in the order of keys, from rows in the order of first keys; a run may overlap later rows."""
    waiting: list[tuple[int, int, Record]] = []
    for row in rows:
        while waiting and waiting[0][0] < row[0][0]:
            key, _, record = heappop(waiting)
            yield key, record
        for key, record in row:
            heappush(waiting, (key, id(record), record))
    for key, _, record in sorted(waiting):
        yield key, record


def from_row(row: StoredRow, connection: sqlite3.Connection, bodies: Bodies) -> Sequence[Keyed]:
    """Return the records of a row, with keys. A record whose bytes are damaged says so and has no data."""
    if not _is_sound(*map(type, row)) or row[1] >> _TIME_BITS or (row[2] + 1) >> _TIME_BITS:
        row = _mended(row)
    (key, time, mono, kind, direction, encoding, malformed, head, redacted, base, size, last, data) = row[:13]
    (wire, peer, session, turn, step, call, connected, exchange, capture) = row[13:]
    heads: Sequence[Head | None] = ()
    taken_out: tuple[Redaction, ...] = ()
    try:
        taken_out = () if redacted is None else _redacted_from_json(redacted)
        data = bodies.unpack(connection, key, Packed(data=data, size=size, base=base))
        if isinstance(head, int):
            head, data = data[:head].decode(), data[head:]
        row_whole = Piece(key, time, mono, kind, encoding, head, data)
        pieces: Sequence[Piece] = [row_whole] if last is None else [*unpack_run(row_whole)]
        heads = [None if piece.head is None else _head_from_json(piece.head) for piece in pieces]
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        malformed = (
            f"{'what was kept of it is' if size is None else f'its {size} bytes are'} damaged on the disk: {error}"
        )
        pieces, heads = [Piece(key, time, mono, kind, encoding, None, b"")], [None]
    place = Place(session=session, turn=turn, step=step, call=call)
    records: list[Keyed] = []
    for piece, piece_head in zip(pieces, heads, strict=True):
        record = Record(
            capture=capture,
            seq=piece.key & ((1 << SEQ_BITS) - 1),
            time_ns=piece.time_ns,
            mono_ns=None if piece.mono_ns == UNTOLD else piece.mono_ns,
            wire=wire,
            kind=piece.kind,
            peer=peer,
            direction=direction,
            place=place,
            connection=connected,
            exchange=exchange,
            head=piece_head,
            data=piece.data,
            encoding=piece.encoding,
            malformed=malformed,
            redacted=taken_out,
        )
        records.append((piece.key, record))
    return records


@lru_cache(256)
def _is_sound(*types: type) -> bool:
    return all(kind in allowed for kind, allowed in zip(types, _TYPES, strict=True))


def _mended(row: Sequence[SQLValue]) -> StoredRow:
    """Return a damaged row with the columns that are sound; the bytes only where every column that they need is."""
    texts = [value if isinstance(value, str) else None for value in row]
    numbers = [value if isinstance(value, int) else None for value in row]
    data = row[12]
    is_head = isinstance(row[7], str | int | None)
    has_bytes = isinstance(data, bytes) and is_head and all(isinstance(number, int | None) for number in row[9:12])
    time_ns, mono_ns = numbers[1] or 0, UNTOLD if numbers[2] is None else numbers[2]
    return (
        numbers[0] or 0,
        0 if time_ns >> _TIME_BITS else time_ns,
        UNTOLD if (mono_ns + 1) >> _TIME_BITS else mono_ns,
        KINDS.get(texts[3] or "", "line"),
        DIRECTIONS.get(texts[4] or ""),
        texts[5],
        _DAMAGED,
        (numbers[7] if texts[7] is None else texts[7]) if has_bytes else None,
        texts[8],
        numbers[9] if has_bytes else None,
        numbers[10] if has_bytes else None,
        numbers[11] if has_bytes else None,
        data if has_bytes and isinstance(data, bytes) else b"",
        WIRES.get(texts[13] or "", "host"),
        texts[14] or "",
        texts[15],
        numbers[16],
        numbers[17],
        texts[18],
        texts[19],
        texts[20],
        texts[21] or "damaged",
    )


def head_to_json(head: Head) -> str:
    """Return a head as stored: in ASCII, since SQLite refuses the lone surrogates of headers without UTF-8."""
    return json.dumps((head.method, head.url, head.status, head.headers), separators=(",", ":"))


def _head_from_json(text: str) -> Head:
    match json.loads(text):
        case [str() | None as method, str() | None as url, int() | None as status, [*pairs]]:
            headers: list[tuple[str, str]] = []
            for pair in pairs:
                match pair:
                    case [str(name), str(value)]:
                        headers.append((name, value))
                    case _:
                        raise ValueError("this is no header")
            return Head(method=method, url=url, status=status, headers=tuple(headers))
        case _:
            raise ValueError("this is no head")


def redacted_to_json(redacted: tuple[Redaction, ...]) -> str:
    """Return redactions as stored."""
    return json.dumps(
        [(redaction.where, redaction.name, redaction.length) for redaction in redacted], separators=(",", ":")
    )


def _redacted_from_json(text: str) -> tuple[Redaction, ...]:
    return tuple(Redaction(where=where, name=name, length=length) for where, name, length in json.loads(text))
