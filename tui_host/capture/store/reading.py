"""Makes records from rows of the database. A record whose bytes are damaged says so, and hides no other."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from typing import TypeAlias

from tui_host.capture.record import Direction, Head, Kind, Place, Record, Redaction, Wire
from tui_host.capture.store.bodies import Bodies, Packed, Part, unpack_run
from tui_host.capture.store.rows import NO_TIME
from tui_host.capture.store.schema import SEQ_BITS

Text: TypeAlias = "str | None"
Number: TypeAlias = "int | None"
StoredRow: TypeAlias = """tuple[
    int, int, int, Kind, Direction | None, Text, Text, str | int | None, Text, Number, Number, Number, bytes,
    Wire, str, Text, Number, Number, Text, Text, Text, str
]"""
Keyed: TypeAlias = "tuple[int, Record]"
"""A record with its key."""

SELECT = """
    SELECT records.key, time, mono, records.kind, direction, encoding, malformed, head, redacted, base, size, last, data,
        wire, peer, session, turn, step, call, connection, exchange, captures.id
    FROM records CROSS JOIN places ON places.key = records.place
        CROSS JOIN captures ON captures.key = places.capture
"""  # CROSS: records first, in their order


def in_order(rows: Iterable[Sequence[Keyed]]) -> Iterator[Keyed]:
    """Yield records in the order of keys, from rows in the order of first keys; an answer may overlap later rows."""
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
    """Return the records of a row, with keys."""
    (key, time_ns, mono_ns, kind, direction, encoding, malformed, head, redacted, base, size, last, data) = row[:13]
    (wire, peer, session, turn, step, call, connected, exchange, capture) = row[13:]
    place = Place(session=session, turn=turn, step=step, call=call)
    marks: tuple[Redaction, ...] = ()
    try:
        if redacted is not None:
            texts = json.loads(redacted)
            marks = tuple(Redaction(where=where, name=name, length=length) for where, name, length in texts)
        data = bodies.unpack(connection, key, Packed(data, size, base))
        if isinstance(head, int):
            head, data = data[:head].decode(), data[head:]
        parts: Sequence[Part] = [(key, time_ns, mono_ns, kind, head, data)]
        if last is not None:
            parts = [*unpack_run(key, time_ns, mono_ns, data)]
        heads = [_head(part[4]) for part in parts]
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        what = "what was kept of it is" if size is None else f"its {size} bytes are"
        malformed = f"{what} damaged on the disk: {error}"
        parts = [(key, time_ns, mono_ns, kind, None, b"")]
        heads = [None]
    return [
        (
            part_key,
            Record(
                wire=wire,
                kind=part_kind,
                peer=peer,
                direction=direction,
                place=place,
                connection=connected,
                exchange=exchange,
                head=part_head,
                data=part_data,
                encoding=encoding,
                malformed=malformed,
                redacted=marks,
                capture=capture,
                seq=part_key & ((1 << SEQ_BITS) - 1),
                time_ns=part_time,
                mono_ns=None if part_mono == NO_TIME else part_mono,
            ),
        )
        for (part_key, part_time, part_mono, part_kind, _, part_data), part_head in zip(parts, heads, strict=True)
    ]


def _head(text: str | None) -> Head | None:
    if text is None:
        return None
    method, url, status, headers = json.loads(text)
    return Head(method=method, url=url, status=status, headers=tuple((name, value) for name, value in headers))
