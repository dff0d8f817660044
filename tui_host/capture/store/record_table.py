"""Write records as rows, many in one statement, with places."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from tui_host.capture.record import Kind, Record
from tui_host.capture.store.answer_runs import KINDS, LONGEST, Piece, Runs
from tui_host.capture.store.pending_records import Slot
from tui_host.capture.store.record_rows import (
    UNTOLD,
    SQLValue,
    head_to_json,
    redacted_to_json,
    storable,
    storable_or_none,
)
from tui_host.capture.store.schema import SEQ_BITS
from tui_host.capture.store.stored_bodies import LARGE, Packed, Packer

Row: TypeAlias = "tuple[SQLValue, ...]"
Like: TypeAlias = "tuple[str, str | None, str | None, str, str, str | None, int | None, int | None, str | None]"
"""What makes a place: the ids of capture, exchange and connection; peer, wire; session, turn, step, call."""

KNOWN = 512
"""Keys remembered at most, of each kind."""

_CAPTURE = "INSERT INTO captures (id, kind, started, pid, owner) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO"
_TAKE_OVER = f"{_CAPTURE} UPDATE SET pid = excluded.pid, owner = excluded.owner"
_LEAVE = f"{_CAPTURE} NOTHING"
_NEW_PLACE = """
    INSERT INTO places (capture, wire, peer, session, turn, step, call, connection, exchange)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

_PLAIN = "key, place, time, mono, kind, direction, encoding, head, data"
_WHOLE = f"{_PLAIN}, malformed, redacted, base, size"
_PLAIN_KINDS: frozenset[Kind] = frozenset(("response", "chunk", "end", "error", "frame", "line"))
_COLUMNS = 9
_VALUES_AT_ONCE = 110 * _COLUMNS
"""SQLite's older limit is 999; few enough, too, that a statement is soon over."""
_INSERT = f"INSERT INTO records ({_WHOLE}) VALUES ({', '.join('?' * 13)})"  # noqa: S608 - constants alone


def begin_capture(capture: str, kind: str, time_ns: int, owner: str) -> tuple[str, tuple[SQLValue, ...]]:
    """Return the statement and values that make a capture this process's own, whether new or continued."""
    return _TAKE_OVER, (capture, kind, time_ns, os.getpid(), owner)


class Places:
    """Finds or creates the keys of captures and places, in the writer's transaction."""

    def __init__(self, connection: sqlite3.Connection, owner: str) -> None:
        self._connection = connection
        self._owner = owner
        self._captures: dict[str, int] = {}
        self._known: dict[Like, tuple[int, int]] = {}

    def forget(self) -> None:
        """Forget all keys: a transaction was rolled back, or rows may have been deleted."""
        self._captures.clear()
        self._known.clear()

    def capture(self, capture: str) -> int:
        """Return the key of a capture, made if nobody has begun the capture."""
        key = self._captures.get(capture)
        if key is None:
            self._connection.execute(_LEAVE, (capture, "app", time.time_ns(), os.getpid(), self._owner))
            key = self._captures[capture] = self._key("SELECT key FROM captures WHERE id = ?", capture)
        return key

    def of(self, record: Slot) -> tuple[int, int]:
        """Return the key of a record's place, and the lowest key of the capture."""
        draft, at = record.draft, record.draft.place
        like = (
            record.capture,
            draft.exchange,
            draft.connection,
            draft.peer,
            draft.wire,
            at.session,
            at.turn,
            at.step,
            at.call,
        )
        return self._known.get(like) or self._add(like)

    def _add(self, like: Like) -> tuple[int, int]:
        name, exchange, connected, peer, wire, session, turn, step, call = like
        capture, peer = self.capture(name), storable(peer)
        session, call, connection, exchange = map(storable_or_none, (session, call, connected, exchange))
        row = (capture, wire, peer, session, turn, step, call, connection, exchange)
        key = self._connection.execute(_NEW_PLACE, row).lastrowid
        assert key is not None  # noqa: S101 - the statement inserts
        if len(self._known) >= KNOWN:
            self._known.clear()
        keys = self._known[like] = key, capture << SEQ_BITS
        return keys

    def _key(self, sql: str, *values: SQLValue) -> int:
        key: int = self._connection.execute(sql, values).fetchone()[0]
        return key


class RecordTable:
    """Inserts records with everything they refer to, in the writer's transaction."""

    def __init__(self, connection: sqlite3.Connection, owner: str) -> None:
        self._places = Places(connection, owner)
        self._connection = connection
        self._packer = Packer(connection)
        self._runs = Runs(connection, self._packer)
        self._plain: list[SQLValue] = []
        self._answers: dict[int, list[Piece]] = {}
        self._streamed: dict[int, int] = {}

    def forget(self) -> None:
        """Forget the state of a transaction rolled back, or of sessions that nobody writes any more."""
        self._places.forget()
        self._packer.forget()
        self._plain.clear()
        self._answers.clear()
        self._streamed.clear()

    def add(self, records: Sequence[Slot]) -> None:
        """Insert records of one capture."""
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
                place, start = self._places.of(record)
                at, exchange, connection = draft.place, draft.exchange, draft.connection
                peer, wire = draft.peer, draft.wire
            kind, data, key = draft.kind, draft.data, start + record.seq
            is_answer = wire == "llm" and kind in KINDS
            if draft.malformed is None and not draft.redacted and kind in _PLAIN_KINDS and len(data) < LARGE:
                mono_ns = UNTOLD if record.mono_ns is None else record.mono_ns
                head = None if draft.head is None else head_to_json(draft.head)
                encoding = storable_or_none(draft.encoding)
                if is_answer and draft.direction == "in":
                    piece = Piece(key, record.time_ns, mono_ns, kind, encoding, head, data)
                    self._answers.setdefault(place, []).append(piece)
                else:
                    self._plain += (key, place, record.time_ns, mono_ns, kind, draft.direction, encoding, head, data)
                    self._insert_plain(_VALUES_AT_ONCE)
            else:
                self._insert_plain()
                self._insert_whole(record, key, place)
            if is_answer and kind != "response":
                self._streamed_on(place, draft)
        for place, pieces in self._answers.items():
            self._insert_pieces(place, pieces)
        self._answers.clear()
        self._insert_plain()

    def _insert_pieces(self, place: int, pieces: Sequence[Piece]) -> None:
        """Insert pieces of an answer that goes on, a row for each."""
        for piece in pieces:
            stamps = piece.key, place, piece.time_ns, piece.mono_ns
            self._plain += (*stamps, piece.kind, "in", piece.encoding, piece.head, piece.data)
            self._insert_plain(_VALUES_AT_ONCE)

    def _insert_plain(self, least: int = 1) -> None:
        """Insert the gathered plain rows, if they have so many values."""
        if len(self._plain) >= least:
            # Many in one statement: after each, the thread waits for the interpreter's lock, 5 ms where another is busy.
            self._connection.execute(_insert_plain(len(self._plain) // _COLUMNS), self._plain)
            self._plain.clear()

    def _streamed_on(self, place: int, draft: Record) -> None:
        """Count a piece of a model's answer; a complete or long answer becomes one row."""
        count = self._streamed.get(place, 0) + 1
        if draft.kind == "chunk" and count < LONGEST:
            self._streamed[place] = count
            return
        self._streamed.pop(place, None)
        pieces, session = self._answers.pop(place, []), storable_or_none(draft.place.session)
        if pieces and pieces[0].kind == "response":  # all of the answer came at once
            self._insert_pieces(place, self._runs.keep(place, session, pieces))
            return
        self._insert_pieces(place, pieces)
        self._insert_plain()
        self._runs.pack(place, session)

    def _insert_whole(self, record: Slot, key: int, place: int) -> None:
        draft = record.draft
        head: SQLValue = None if draft.head is None else head_to_json(draft.head)
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
            UNTOLD if record.mono_ns is None else record.mono_ns,
            draft.kind,
            draft.direction,
            storable_or_none(draft.encoding),
            head,
            packed.data,
            storable_or_none(draft.malformed),
            redacted_to_json(draft.redacted) if draft.redacted else None,
            packed.base,
            None if packed.size is None else len(draft.data),
        )
        self._connection.execute(_INSERT, row)


@lru_cache(_VALUES_AT_ONCE // _COLUMNS)
def _insert_plain(rows: int) -> str:
    return f"INSERT INTO records ({_PLAIN}) VALUES {', '.join(['(?, ?, ?, ?, ?, ?, ?, ?, ?)'] * rows)}"  # noqa: S608 - constants alone
