"""Records as rows of the database, and back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import heappop, heappush
from types import NoneType
from typing import TypeAlias

from tui_host.capture.chain import read_object
from tui_host.capture.record import Direction, Draft, Head, Kind, Place, Record, Redaction, Wire
from tui_host.capture.store.bodies import LARGE, Bodies, Packed, Packer
from tui_host.capture.store.places import Places, SQLValue, Stamped, storable, storable_or_none
from tui_host.capture.store.runs import LONGEST, Piece, Runs, unpack_run
from tui_host.capture.store.schema import SEQ_BITS
from tui_host.errors import JSON

Row: TypeAlias = "tuple[SQLValue, ...]"
StoredRow: TypeAlias = tuple[
    int,
    int,
    int,
    Kind,
    Direction | None,
    str | None,
    str | None,
    str | int | None,
    str | None,
    int | None,
    int | None,
    int | None,
    bytes,
    Wire,
    str,
    str | None,
    int | None,
    int | None,
    str | None,
    str | None,
    str | None,
    str,
]

_TEXT, _TEXT_OR_NONE, _NUMBER, _NUMBER_OR_NONE = {str}, {str, NoneType}, {int}, {int, NoneType}
_TYPES: Sequence[set[type]] = (
    *(_NUMBER, _NUMBER, _NUMBER, _TEXT, _TEXT_OR_NONE, _TEXT_OR_NONE, _TEXT_OR_NONE),
    *({str, int, NoneType}, _TEXT_OR_NONE, _NUMBER_OR_NONE, _NUMBER_OR_NONE, _NUMBER_OR_NONE, {bytes}),
    *(
        _TEXT,
        _TEXT,
        _TEXT_OR_NONE,
        _NUMBER_OR_NONE,
        _NUMBER_OR_NONE,
        _TEXT_OR_NONE,
        _TEXT_OR_NONE,
        _TEXT_OR_NONE,
        _TEXT,
    ),
)
"""What may stand in the columns of such a row, where the file is as it was written."""
_LEAST: Sequence[SQLValue] = (0, 0, -1, "line", *[None] * 8, b"", "host", "", *[None] * 6, "damaged")
"""What is taken for what may not."""
_MALFORMED = 6
_TIMES = (1, 2)
_TIME_BITS = 62
"""No time has more; a negative one is none."""
_KEPT = (7, 9, 10, 11, 12)
"""The columns that hold the bytes, of which none says anything without the others."""

Keyed: TypeAlias = "tuple[int, Record]"
"""A record with its key."""

SELECT = """
    SELECT records.key, time, mono, records.kind, direction, encoding, malformed, head, redacted, base, size, last, data,
        places.wire, places.peer, session, turn, step, call, connections.id, places.exchange, captures.id
    FROM records CROSS JOIN places ON places.key = records.place
        CROSS JOIN captures ON captures.key = places.capture
        LEFT JOIN connections ON connections.key = places.connection
"""  # CROSS: records first, in their order

_PLAIN = "key, place, time, mono, kind, direction, data"
_WHOLE = f"{_PLAIN}, encoding, malformed, head, redacted, base, size"
_PLAIN_KINDS: frozenset[Kind] = frozenset(("response", "chunk", "end", "error", "frame", "line"))
_STREAM_KINDS: frozenset[Kind] = frozenset(("chunk", "end", "error"))
_UNTOLD = -1
"""Stands in a row for a time that is not known; none that is known is negative."""
_VALUES_AT_ONCE = 994
"""SQLite's older limit is 999; few enough, too, that a statement is soon over."""
_INSERT = f"INSERT INTO records ({_WHOLE}) VALUES ({', '.join('?' * 13)})"  # noqa: S608 - constants alone
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
        self._runs = Runs(connection, self._packer)
        self._plain: list[SQLValue] = []
        self._streamed: dict[int, int] = {}

    def forget(self) -> None:
        """The transaction was given up: what was made in it is not there."""
        self.places.forget()
        self._packer.forget()
        self._plain.clear()
        self._streamed.clear()

    def add(self, records: Sequence[Stamped]) -> None:
        """Insert records of one capture."""
        plain = self._plain
        at, exchange, connection, peer, wire = None, "", "", "", ""
        place = start = 0
        for record in records:
            draft = record.draft
            if not (  # mostly they have it from the same objects
                draft.place is at
                and draft.exchange is exchange
                and draft.connection is connection
                and draft.peer is peer
                and draft.wire is wire
            ):
                place, start = self.places.of(record)
                at, exchange, connection = draft.place, draft.exchange, draft.connection
                peer, wire = draft.peer, draft.wire
            kind, data = draft.kind, draft.data
            is_bare = draft.encoding is draft.malformed is draft.head is None and not draft.redacted
            if is_bare and kind in _PLAIN_KINDS and len(data) < LARGE:
                mono_ns = _UNTOLD if record.mono_ns is None else record.mono_ns
                plain += (start + record.seq, place, record.time_ns, mono_ns, kind, draft.direction, data)
                if len(plain) >= _VALUES_AT_ONCE:
                    self._insert_plain()
            else:
                self._insert_plain()
                self._insert_whole(record, start + record.seq, place)
            if wire == "llm" and kind in _STREAM_KINDS:
                self._streamed_on(place, draft)
        self._insert_plain()

    def _insert_plain(self) -> None:
        """Insert what waits."""
        if self._plain:
            # Many in one statement: after each, the thread waits for the interpreter's lock, 5 ms where another is busy.
            self._connection.execute(_insert_plain(len(self._plain) // 7), self._plain)
            self._plain.clear()

    def _streamed_on(self, place: int, draft: Draft) -> None:
        """A piece of a model's answer has come, or its end: what is over, or long enough, becomes one row."""
        count = self._streamed.get(place, 0) + 1
        if draft.kind == "chunk" and count < LONGEST:
            self._streamed[place] = count
            return
        self._streamed.pop(place, None)
        self._insert_plain()
        self._runs.pack(place, storable_or_none(draft.place.session))

    def _insert_whole(self, record: Stamped, key: int, place: int) -> None:
        draft = record.draft
        head: SQLValue = None if draft.head is None else _head_to_json(draft.head)
        if draft.kind == "request" and draft.wire == "llm":
            before = (head or "").encode()
            packed = self._packer.pack_request(key, storable_or_none(draft.place.session), before + draft.data)
            if packed.size is not None:
                head = len(before) or None
            else:
                packed = Packed(draft.data)
        else:
            packed = self._packer.pack(draft.data)
        row: Row = (
            key,
            place,
            record.time_ns,
            _UNTOLD if record.mono_ns is None else record.mono_ns,
            draft.kind,
            draft.direction,
            packed.data,
            storable_or_none(draft.encoding),
            storable_or_none(draft.malformed),
            head,
            _redacted_to_json(draft.redacted) if draft.redacted else None,
            packed.base,
            None if packed.size is None else len(draft.data),
        )
        self._connection.execute(_INSERT, row)
        if draft.kind == "decision":
            self._connection.execute(_DECISION, _decision_row(key, draft))
        elif draft.kind == "link":
            self._connection.execute(_LINK, _link_row(key, draft))


@lru_cache(_VALUES_AT_ONCE // 7)
def _insert_plain(rows: int) -> str:
    return f"INSERT INTO records ({_PLAIN}) VALUES {', '.join(['(?, ?, ?, ?, ?, ?, ?)'] * rows)}"  # noqa: S608 - constants alone


def record_key(capture_key: int, seq: int) -> int:
    """A record's key in the database."""
    return (capture_key << SEQ_BITS) + seq


def in_order(rows: Iterable[Sequence[Keyed]]) -> Iterator[Keyed]:
    """Records in the order of their keys, out of rows in the order of their first ones: what is between a run's is not in it."""
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
    """The records of a row that `SELECT` gave, with their keys; one whose kept bytes are damaged says so and has none.

    Args:
        row: The row.
        connection: Where to look for what its data stands against; in the same transaction.
        bodies: Those read last.
    """
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
    draft = Draft(
        wire=wire,
        kind=kind,
        peer=peer,
        direction=direction,
        place=Place(session=session, turn=turn, step=step, call=call),
        connection=connected,
        exchange=exchange,
        malformed=malformed,
        redacted=taken_out,
    )
    return [(piece.key, _record(piece, head, draft, capture)) for piece, head in zip(pieces, heads, strict=True)]


@lru_cache(256)
def _is_sound(*types: type) -> bool:
    return all(each in allowed for each, allowed in zip(types, _TYPES, strict=True))


def _mended(row: Sequence[SQLValue]) -> StoredRow:
    """A row in which something stands that nobody wrote so: with the least in its place, and with a word on it."""
    are_sound = [
        type(value) in allowed and not (column in _TIMES and isinstance(value, int) and (value + 1) >> _TIME_BITS)
        for column, (value, allowed) in enumerate(zip(row, _TYPES, strict=True))
    ]
    are_kept = all(are_sound[column] for column in _KEPT)
    mended = [
        value if is_sound and (are_kept or column not in _KEPT) else _LEAST[column]
        for column, (value, is_sound) in enumerate(zip(row, are_sound, strict=True))
    ]
    mended[_MALFORMED] = "its row in the database is damaged"
    return tuple(mended)  # pyright: ignore[reportReturnType] - each is of its column's type now


def _record(piece: Piece, head: Head | None, like: Draft, capture: str) -> Record:
    draft = Draft(
        wire=like.wire,
        kind=piece.kind,
        peer=like.peer,
        direction=like.direction,
        place=like.place,
        connection=like.connection,
        exchange=like.exchange,
        head=head,
        data=piece.data,
        encoding=piece.encoding,
        malformed=like.malformed,
        redacted=like.redacted,
    )
    seq = piece.key & ((1 << SEQ_BITS) - 1)
    mono_ns = None if piece.mono_ns == _UNTOLD else piece.mono_ns
    return Record(capture=capture, seq=seq, time_ns=piece.time_ns, mono_ns=mono_ns, draft=draft)


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


def _redacted_to_json(redacted: tuple[Redaction, ...]) -> str:
    return json.dumps([(each.where, each.name, each.length) for each in redacted], separators=(",", ":"))


def _redacted_from_json(text: str) -> tuple[Redaction, ...]:
    return tuple(Redaction(where=where, name=name, length=length) for where, name, length in json.loads(text))
