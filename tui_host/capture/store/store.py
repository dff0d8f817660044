"""The store: one database for captures, records and sessions, written by one thread, read from any."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, TypeAlias

from tui_host.capture.record import Record
from tui_host.capture.store.access import OpenDatabase
from tui_host.capture.store.answers import SPAN
from tui_host.capture.store.bodies import Bodies
from tui_host.capture.store.process_lock import Lock
from tui_host.capture.store.reading import SELECT, Keyed, StoredRow, from_row, in_order
from tui_host.capture.store.rows import SQLValue, begin_capture
from tui_host.capture.store.schema import SEQ_BITS
from tui_host.capture.store.session_records import select_records
from tui_host.capture.store.stored_sessions import StoredSessions
from tui_host.capture.store.writer import Write, Writer

CaptureKind: TypeAlias = Literal["app", "ask", "tap", "import"]
PAGE = 128
"""Records read at once, so that no reader holds on to an old state of the file for long."""
_REACHING = f"{SELECT} WHERE last > ? AND last <= ? AND records.key <= ? ORDER BY records.key"
_IN_ORDER = f"{SELECT} WHERE records.key > ? AND records.key <= ? ORDER BY records.key LIMIT ?"
_PLAIN = "SELECT key, data FROM records WHERE size IS NULL AND last IS NULL AND encoding IS NULL AND key IN"


class Store(OpenDatabase):
    """An open database with its records and sessions. Reading blocks on the disk, and raises `StoreError`."""

    def __init__(self, path: Path, writer: Writer | None, lock: Lock | None, notices: list[str]) -> None:
        super().__init__(path, writer, lock, notices)
        self.sessions = StoredSessions(self)

    def begin_capture(self, capture: str, kind: CaptureKind, time_ns: int) -> None:
        """Begin a capture of this process."""
        sql, row = begin_capture(capture, kind, time_ns, self.owner)
        self.put(Write(sql=sql, row=row))

    def end_capture(self, capture: str, time_ns: int) -> None:
        """End a capture."""
        self.put(Write(sql="UPDATE captures SET ended = ? WHERE id = ?", row=(time_ns, capture)))

    def records(
        self, *, capture: str | None = None, after: int = 0, until_seq: int | None = None, limit: int | None = None
    ) -> Iterator[Record]:
        """Yield records in the order of captures and numbers, in `capture` after `after` and up to `until_seq`."""
        low, high = 0, (1 << 63) - 1
        if capture is not None:
            start = self._start_of(capture)
            if start is None:
                return
            low = start + after
            high = start + ((1 << SEQ_BITS) - 1 if until_seq is None else until_seq)
        read = in_order(self._pages(low, high))
        yield from islice((record for key, record in read if low < key <= high), limit)

    def record(self, capture: str, seq: int) -> Record | None:
        """Return one record, None without one."""
        return next(self.records(capture=capture, after=seq - 1, until_seq=seq), None)

    def plain_data(self, capture: str, seqs: Sequence[int]) -> Mapping[int, bytes]:
        """Return the bytes of records by number, of those that are stored as they came; at most 500."""
        start = self._start_of(capture)
        if start is None:
            return {}
        keys = [start + seq for seq in seqs]
        rows = self.read(f"{_PLAIN} ({', '.join('?' * len(keys))})", *keys)
        return {key - start: data for key, data in rows if isinstance(key, int) and isinstance(data, bytes)}

    def session_records(self, session: str) -> Iterator[tuple[Record, bool]]:
        """Yield the records of a session in the order of exports; True with a record of a connection's preamble.

        What belongs to it is said in `session_records`.
        """
        preamble, belonging = self.query(lambda reader: select_records(reader, session))
        for keys, is_preamble in ((preamble, True), (belonging, False)):
            for _, record in in_order(self._with_keys(keys)):
                yield record, is_preamble

    def session_items(self, session: str) -> Sequence[str]:
        """The JSON of the items of a session's chat, in order."""
        return self.sessions.item_texts(session)

    def _start_of(self, capture: str) -> int | None:
        """Return the number below the keys of a capture's records; None without such a capture."""
        keys = self.read_as(int, "SELECT key FROM captures WHERE id = ?", capture)
        return keys[0] << SEQ_BITS if keys else None

    def _pages(self, low: int, high: int) -> Iterator[Sequence[Keyed]]:
        """Yield the records of rows with greater keys, and of answers reaching into these rows, row by row."""
        bodies = Bodies()
        yield from self._read_records(_REACHING, (low, low + SPAN, low), bodies)
        at: int | None = low
        while at is not None:
            rows = self._read_records(_IN_ORDER, (at, high, PAGE), bodies)
            yield from rows
            at = rows[-1][0][0] if len(rows) == PAGE else None

    def _with_keys(self, keys: Sequence[int]) -> Iterator[Sequence[Keyed]]:
        """Yield the records of rows by key, in order, row by row."""
        bodies = Bodies()
        for start in range(0, len(keys), PAGE):
            page = keys[start : start + PAGE]
            sql = f"{SELECT} WHERE records.key IN ({', '.join('?' * len(page))}) ORDER BY records.key"
            yield from self._read_records(sql, page, bodies)

    def _read_records(self, sql: str, values: Sequence[SQLValue], bodies: Bodies) -> list[Sequence[Keyed]]:
        def read(reader: sqlite3.Connection) -> list[Sequence[Keyed]]:
            rows: list[StoredRow] = reader.execute(sql, values).fetchall()
            return [from_row(row, reader, bodies) for row in rows]

        return self.query(read)
