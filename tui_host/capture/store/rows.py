"""Writes records as rows, many in one statement, each at its place."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from tui_host.capture.record import Head, Kind, Record, Redaction
from tui_host.capture.store.answers import KINDS, LONGEST, Answers, Piece
from tui_host.capture.store.bodies import LARGE, Packed, Packer
from tui_host.capture.store.pending_records import Slot
from tui_host.capture.store.schema import SEQ_BITS

SQLValue: TypeAlias = "int | str | bytes | None"
Row: TypeAlias = "tuple[SQLValue, ...]"
PlaceKey: TypeAlias = "tuple[str, str | None, str | None, str, str, str | None, int | None, int | None, str | None]"
"""What makes a place: capture, exchange, connection, peer and wire; session, turn, step, call."""

NO_TIME = -1
"""Stands in a row for a time that is not known; none that is known is negative."""
KNOWN = 512
"""Places remembered at most."""

_CAPTURE = "INSERT INTO captures (id, kind, started, pid, owner) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO"
_TAKE_OVER = f"{_CAPTURE} UPDATE SET pid = excluded.pid, owner = excluded.owner"
_LEAVE = f"{_CAPTURE} NOTHING"
_PLACE = """
    INSERT INTO places (capture, wire, peer, session, turn, step, call, connection, exchange)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_PLAIN = "key, place, time, mono, kind, direction, encoding, head, data"
_COLUMNS = 9
_AT_ONCE = 110
"""SQLite's older limit is 999 values; few enough rows, too, that a statement is soon over."""
_WHOLE = f"INSERT INTO records ({_PLAIN}, malformed, redacted, base, size) VALUES ({', '.join('?' * 13)})"  # noqa: S608 - constants alone
_PLAIN_KINDS: frozenset[Kind] = frozenset(("response", "chunk", "end", "error", "frame", "line"))


def storable(text: str) -> str:
    """Return the text with escapes for lone surrogates, which SQLite refuses."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _storable_or_none(text: str | None) -> str | None:
    return None if text is None else storable(text)


def head_to_json(head: Head) -> str:
    """Return a head as stored: in ASCII, since SQLite refuses the lone surrogates of headers without UTF-8."""
    return json.dumps((head.method, head.url, head.status, head.headers), separators=(",", ":"))


def _redacted_to_json(redacted: Sequence[Redaction]) -> str | None:
    if not redacted:
        return None
    return json.dumps([(each.where, each.name, each.length) for each in redacted], separators=(",", ":"))


def begin_capture(capture: str, kind: str, time_ns: int, owner: str) -> tuple[str, Row]:
    """Return the statement and values that make a capture this process's own, whether new or continued."""
    return _TAKE_OVER, (capture, kind, time_ns, os.getpid(), owner)


class Places:
    """Finds or creates the keys of captures and places, in the writer's transaction."""

    def __init__(self, connection: sqlite3.Connection, owner: str) -> None:
        self._connection = connection
        self._owner = owner
        self._captures: dict[str, int] = {}
        self._known: dict[PlaceKey, int] = {}
        self._seen: set[int] = set()
        """Places that were looked up in this transaction."""

    def begin(self) -> None:
        """Begin a transaction: what was there in the one before, another process may have deleted since."""
        self._seen.clear()
        self._captures.clear()

    def forget(self) -> None:
        """Forget all keys: a transaction was rolled back, or rows may have been deleted."""
        self._captures.clear()
        self._known.clear()

    def capture(self, name: str) -> int:
        """Return the key of a capture, made if nobody has begun the capture."""
        key = self._captures.get(name)
        if key is None:
            self._connection.execute(_LEAVE, (name, "app", time.time_ns(), os.getpid(), self._owner))
            key = self._connection.execute("SELECT key FROM captures WHERE id = ?", (name,)).fetchone()[0]
            self._captures[name] = key
        return key

    def of(self, capture: str, record: Record) -> int:
        """Return the key of a record's place."""
        at = record.place
        place: PlaceKey
        place = (
            *(capture, record.exchange, record.connection, record.peer, record.wire),
            *(at.session, at.turn, at.step, at.call),
        )
        key = self._known.get(place)
        if key is not None and key not in self._seen and not self._is_there(key):
            self.forget()
            key = None
        if key is None:
            if len(self._known) >= KNOWN:
                self._known.clear()
            key = self._known[place] = self._added(capture, record)
        self._seen.add(key)
        return key

    def _is_there(self, key: int) -> bool:
        return self._connection.execute("SELECT 1 FROM places WHERE key = ?", (key,)).fetchone() is not None

    def _added(self, capture: str, record: Record) -> int:
        at = record.place
        names = map(_storable_or_none, (at.session, at.call, record.connection, record.exchange))
        session, call, connection, exchange = names
        where = self.capture(capture), record.wire, storable(record.peer)
        row = (*where, session, at.turn, at.step, call, connection, exchange)
        return self._connection.execute(_PLACE, row).lastrowid or 0


class RecordTable:
    """Inserts records with everything they refer to, in the writer's transaction."""

    def __init__(self, connection: sqlite3.Connection, owner: str) -> None:
        self._places = Places(connection, owner)
        self._connection = connection
        self._packer = Packer(connection)
        self._answers = Answers(connection, self._packer)
        self._plain: list[SQLValue] = []
        self._pieces: dict[int, list[Piece]] = {}
        """What came of answers in this call, by place."""
        self._streamed: dict[int, int] = {}
        """How many records of an answer stand in rows of their own, or are about to."""

    def begin(self) -> None:
        """Begin a transaction."""
        self._places.begin()

    def forget(self) -> None:
        """Forget the state of a transaction rolled back, or of sessions that nobody writes any more."""
        self._places.forget()
        self._packer.forget()
        self._plain.clear()
        self._pieces.clear()
        self._streamed.clear()

    def add(self, slots: Sequence[Slot]) -> None:
        """Insert records of one capture."""
        capture = slots[0].source.capture
        before: Record | None = None
        place = start = 0
        for slot in slots:
            record = slot.record
            if before is None or not _is_placed_alike(record, before):
                place, before = self._places.of(capture, record), record
                start = self._places.capture(capture) << SEQ_BITS
            key, kind, data = start + slot.seq, record.kind, record.data
            is_answer = record.wire == "llm" and kind in KINDS and record.direction == "in"
            if record.malformed is None and not record.redacted and kind in _PLAIN_KINDS and len(data) < LARGE:
                mono_ns = NO_TIME if slot.mono_ns is None else slot.mono_ns
                head = None if record.head is None else head_to_json(record.head)
                encoding = None if record.encoding is None else storable(record.encoding)
                if is_answer:
                    piece = Piece(key, slot.time_ns, mono_ns, kind, encoding, head, data)
                    self._pieces.setdefault(place, []).append(piece)
                else:
                    stamps = key, place, slot.time_ns, mono_ns
                    self._add_plain(*stamps, kind, record.direction, encoding, head, data)
            else:
                self._insert_plain()
                self._insert_whole(slot, key, place)
            if is_answer and kind != "response":
                self._streamed_on(place, record)
        for place, pieces in self._pieces.items():
            self._add_pieces(place, pieces)
        self._pieces.clear()
        self._insert_plain()

    def _add_plain(self, *row: SQLValue) -> None:
        self._plain += row
        if len(self._plain) >= _AT_ONCE * _COLUMNS:
            self._insert_plain()

    def _add_pieces(self, place: int, pieces: Sequence[Piece]) -> None:
        for key, time_ns, mono_ns, kind, encoding, head, data in pieces:
            self._add_plain(key, place, time_ns, mono_ns, kind, "in", encoding, head, data)

    def _insert_plain(self) -> None:
        """Insert the gathered rows."""
        if self._plain:
            # Many in one statement: after each, the thread waits for the interpreter's lock, 5 ms where another is busy.
            self._connection.execute(_insert(len(self._plain) // _COLUMNS), self._plain)
            self._plain.clear()

    def _streamed_on(self, place: int, record: Record) -> None:
        """Count a record of a model's answer; a complete or long answer becomes one row."""
        count = self._streamed.get(place, 0) + 1
        if record.kind == "chunk" and count < LONGEST:
            self._streamed[place] = count
            return
        self._streamed.pop(place, None)
        self._insert_plain()
        session = _storable_or_none(record.place.session)
        self._add_pieces(place, self._answers.join(place, session, self._pieces.pop(place, [])))

    def _insert_whole(self, slot: Slot, key: int, place: int) -> None:
        record = slot.record
        head: SQLValue = None if record.head is None else head_to_json(record.head)
        if record.kind == "request" and record.wire == "llm":
            text = (head or "").encode()
            packed = self._packer.pack_request(key, _storable_or_none(record.place.session), text + record.data)
            if packed.size is None:
                packed = Packed(record.data)
            else:
                head = len(text) or None
        else:
            packed = self._packer.pack(record.data)
        mono_ns = NO_TIME if slot.mono_ns is None else slot.mono_ns
        stamps = key, place, slot.time_ns, mono_ns, record.kind, record.direction
        texts = _storable_or_none(record.malformed), _redacted_to_json(record.redacted)
        row = (*stamps, _storable_or_none(record.encoding), head, packed.data, *texts, packed.base, packed.size)
        self._connection.execute(_WHOLE, row)


def _is_placed_alike(record: Record, before: Record) -> bool:
    """Whether two records have their place from the same objects, as most in a row have."""
    return (
        record.place is before.place
        and record.exchange is before.exchange
        and record.connection is before.connection
        and record.peer is before.peer
        and record.wire is before.wire
    )


@lru_cache(_AT_ONCE)
def _insert(rows: int) -> str:
    return f"INSERT INTO records ({_PLAIN}) VALUES {', '.join(['(?, ?, ?, ?, ?, ?, ?, ?, ?)'] * rows)}"  # noqa: S608 - constants alone
