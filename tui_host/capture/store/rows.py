"""Writes records as rows, many in one statement, each at its place."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import TypeAlias, TypeVar

from tui_host.capture.content_codings import FAST, compress
from tui_host.capture.record import Place, Record, Wire
from tui_host.capture.recording import Slot
from tui_host.capture.store.bodies import (
    BURST,
    LARGE,
    LONGEST,
    MOST_OF_BURST,
    OF_ANSWERS,
    OF_BURSTS,
    SPAN,
    Packed,
    Packer,
    PlainRow,
    pack,
    pack_run,
)
from tui_host.capture.store.schema import SEQ_BITS

SQLValue: TypeAlias = "int | str | bytes | None"
Row: TypeAlias = "tuple[SQLValue, ...]"
Text = TypeVar("Text", str, "str | None")
PlaceKey: TypeAlias = "tuple[str, Place, str | None, str | None, str, Wire]"
"""What makes a place: capture, place in the conversation, exchange, connection, peer and wire."""

NO_TIME = -1  # stands in a row for a time that is not known; none that is known is negative
KNOWN = 512  # places remembered at most

_CAPTURE = "INSERT INTO captures (id, kind, started, pid, owner) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO"
TAKE_OVER = f"{_CAPTURE} UPDATE SET pid = excluded.pid, owner = excluded.owner"
_LEAVE = f"{_CAPTURE} NOTHING"
_PLACE = """
    INSERT INTO places (capture, wire, peer, session, turn, step, call, connection, exchange)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_PLAIN = "key, place, time, mono, kind, direction, encoding, head, data"
_AT_ONCE = 110  # SQLite's older limit is 999 values; few enough rows, too, that a statement is soon over
_INSERT, _VALUES = f"INSERT INTO records ({_PLAIN}) VALUES ", "(?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - constants alone
_WHOLE = f"INSERT INTO records ({_PLAIN}, malformed, redacted, base, size, last) VALUES ({', '.join('?' * 14)})"  # noqa: S608 - constants alone
_STREAMED = f"""
    SELECT {_PLAIN} FROM records
    WHERE place = ? AND direction = 'in' AND malformed IS NULL AND redacted IS NULL AND size IS NULL AND length(data) < {LARGE}
    ORDER BY key
"""  # noqa: S608 - constants alone; without large ones, which were packed by themselves or found not to shrink


def storable(text: Text) -> Text:
    """Return the text with escapes for lone surrogates, which SQLite refuses."""
    return text if text is None or text.isascii() else text.encode("utf-8", "backslashreplace").decode()


class RecordTable:
    """Inserts records with everything they refer to, in the writer's transaction; remembers what stands in the tables."""

    def __init__(self, connection: sqlite3.Connection, owner: str) -> None:
        self._connection = connection
        self._owner = owner
        self._packer = Packer(connection)
        self._captures: dict[str, int] = {}
        self._places: dict[PlaceKey, int] = {}
        self._seen: set[int] = set()  # the places that were looked up in this transaction
        self._plain: list[PlainRow] = []
        self._parts: dict[int, list[PlainRow]] = {}  # what came of answers in this call, by place
        self._streamed: dict[int, int] = {}  # how many records of an answer stand in rows of their own, by place

    def begin(self) -> None:
        """Begin a transaction: what was there in the one before, another process may have deleted since."""
        self._seen.clear()
        self._captures.clear()

    def add(self, capture: str, slots: Sequence[Slot]) -> None:
        """Insert records of one capture."""
        before: PlaceKey | None = None
        place = start = 0
        for slot in slots:
            record = slot.record
            at = capture, record.place, record.exchange, record.connection, record.peer, record.wire
            if at != before:
                place, before = self._place(at), at
                start = self._capture(capture) << SEQ_BITS
            kind, data, is_model = record.kind, record.data, record.wire == "llm"
            mono_ns = NO_TIME if slot.mono_ns is None else slot.mono_ns
            encoding = record.encoding and storable(record.encoding)
            head = None
            if record.head is not None:  # in ASCII, since SQLite refuses the lone surrogates of headers without UTF-8
                members = record.head.method, record.head.url, record.head.status, record.head.headers
                head = json.dumps(members, separators=(",", ":"))
            row = (start + slot.seq, place, slot.time_ns, mono_ns, kind, record.direction, encoding, head, data)
            is_answer = is_model and kind in OF_ANSWERS and record.direction == "in"
            is_packed = len(data) >= LARGE or (is_model and kind == "request")
            if is_packed or record.redacted or record.malformed is not None:
                packed, kept_head = Packed(data), head  # of a request, the head is packed with the body
                if is_model and kind == "request":
                    text = (head or "").encode()
                    both = self._packer.pack_request(row[0], storable(record.place.session), text + data)
                    packed, kept_head = (packed, head) if both.size is None else (both, len(text) or None)
                elif len(data) >= LARGE:
                    packed = pack(data)
                redacted = [(mark.where, mark.name, mark.length) for mark in record.redacted]
                marks = storable(record.malformed), json.dumps(redacted, separators=(",", ":")) if redacted else None
                values = (*row[:7], kept_head, packed.data, *marks, packed.base, packed.size, None)
                self._connection.execute(_WHOLE, values)
            elif is_answer:
                self._parts.setdefault(place, []).append(row)
            else:
                self._plain.append(row)
            if is_answer and kind != "response":
                self._count(place, record)
        self._plain += chain.from_iterable(self._parts.values())
        self._parts.clear()
        self._insert_plain()

    def _capture(self, name: str) -> int:
        key = self._captures.get(name)
        if key is None:
            self._connection.execute(_LEAVE, (name, "app", time.time_ns(), os.getpid(), self._owner))
            key = self._connection.execute("SELECT key FROM captures WHERE id = ?", (name,)).fetchone()[0]
            self._captures[name] = key
        return key

    def _place(self, at: PlaceKey) -> int:
        """Return the key of a place, made where it is new, or was deleted by another process."""
        key = self._places.get(at)
        if key is not None and key not in self._seen:
            is_there = self._connection.execute("SELECT 1 FROM places WHERE key = ?", (key,)).fetchone()
            key = key if is_there else None
        if key is None:
            if len(self._places) >= KNOWN:
                self._places.clear()
            capture, place, exchange, connection, peer, wire = at
            session, call = storable(place.session), storable(place.call)
            names = storable(connection), storable(exchange)
            row = (self._capture(capture), wire, storable(peer), session, place.turn, place.step, call, *names)
            key = self._places[at] = self._connection.execute(_PLACE, row).lastrowid or 0
        self._seen.add(key)
        return key

    def _insert_plain(self) -> None:
        """Insert what is gathered: what came in a burst in shared rows, which take a fraction of the time and the room."""
        rows, alone, start = self._plain, list[PlainRow](), 0
        for end in range(1, len(rows) + 1):
            goes_on = end < len(rows) and rows[end][:2] == (rows[end - 1][0] + 1, rows[start][1])
            if goes_on and end - start < MOST_OF_BURST:
                continue
            burst, start = rows[start:end], end
            if len(burst) < BURST or not all(row[4:6] in OF_BURSTS and row[6] is None for row in burst):
                alone += burst
                continue
            data = pack_run(burst)
            marks = None, None, None, len(data), burst[-1][0]
            self._connection.execute(_WHOLE, (*burst[0][:7], None, compress(data, level=FAST), *marks))
        # Many in one statement: after each, the thread waits for the interpreter's lock, 5 ms where another is busy.
        for start in range(0, len(alone), _AT_ONCE):
            rows = alone[start : start + _AT_ONCE]
            self._connection.execute(_INSERT + ", ".join([_VALUES] * len(rows)), [*chain.from_iterable(rows)])
        self._plain.clear()

    def _count(self, place: int, record: Record) -> None:
        """Count a record of a model's answer; what is stored of a complete or long one is joined in one row."""
        count = self._streamed.get(place, 0) + 1
        if record.kind == "chunk" and count < LONGEST:
            self._streamed[place] = count
            return
        self._streamed.pop(place, None)
        self._insert_plain()
        stored: list[PlainRow] = self._connection.execute(_STREAMED, (place,)).fetchall()
        last = stored[-1][0] if stored else 0
        for _, alike in groupby([*stored, *self._parts.pop(place, [])], itemgetter(6)):  # of one encoding
            run = list(alike)
            if len(run) == 1 or run[-1][0] - run[0][0] >= SPAN:
                self._plain += [row for row in run if row[0] > last]
                continue
            old = [row[:1] for row in run if row[0] <= last]
            self._connection.executemany("DELETE FROM records WHERE key = ?", old)
            packed = self._packer.pack_answer(run[0][0], storable(record.place.session), pack_run(run))
            marks = None, None, packed.base, packed.size, run[-1][0]
            self._connection.execute(_WHOLE, (*run[0][:7], None, packed.data, *marks))
