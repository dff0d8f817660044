"""Reads records, from any thread. A record whose bytes are damaged says so, and hides no other."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import islice
from pathlib import Path
from typing import TypeAlias, TypeVar

from tui_host.capture.record import Direction, Head, Kind, Place, Record, Redaction, Wire
from tui_host.capture.session_summary import SharedPart
from tui_host.capture.store.bodies import SPAN, Bodies, Packed, Part, unpack_run
from tui_host.capture.store.companion_files import doubt
from tui_host.capture.store.database import CARRIED_OVER, connect_to_read
from tui_host.capture.store.rows import NO_TIME, SQLValue
from tui_host.capture.store.schema import SEQ_BITS, damaged_text, is_damage
from tui_host.capture.store.session_records import select_records
from tui_host.errors import StoreError

T = TypeVar("T")
Text: TypeAlias = "str | None"
Number: TypeAlias = "int | None"
StoredRow: TypeAlias = """tuple[
    int, int, int, Kind, Direction | None, Text, Text, str | int | None, Text, Number, Number, Number, bytes,
    Wire, str, Text, Number, Number, Text, Text, Text, str
]"""
Keyed: TypeAlias = "tuple[int, Record]"
"""A record with its key."""

PAGE = 128
"""Rows read at once, so that no reader holds on to an old state of the file for long."""
_SELECT = """
    SELECT records.key, time, mono, records.kind, direction, encoding, malformed, head, redacted, base, size, last, data,
        wire, peer, session, turn, step, call, connection, exchange, captures.id
    FROM records CROSS JOIN places ON places.key = records.place
        CROSS JOIN captures ON captures.key = places.capture
    WHERE
"""  # CROSS: records first, in their order
_REACHING = f"{_SELECT} last > ? AND last <= ? AND records.key <= ? ORDER BY records.key"
_IN_ORDER = f"{_SELECT} records.key > ? AND records.key <= ? ORDER BY records.key LIMIT ?"


@dataclass(eq=False)
class ReadableStore:
    """A database that any thread reads, with connections of its own. Each method blocks, and raises `StoreError`."""

    path: Path
    _readers: list[sqlite3.Connection] = field(default_factory=list[sqlite3.Connection])
    _watching: sqlite3.Connection | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _is_closed: bool = False

    def _close_readers(self) -> None:
        with self._lock:
            self._is_closed = True
            while self._readers:
                self._readers.pop().close()
            if self._watching is not None:
                self._watching.close()

    def read(self, sql: str, *values: SQLValue) -> list[tuple[SQLValue, ...]]:
        return self.query(lambda reader: reader.execute(sql, values).fetchall())

    def read_as(self, make: Callable[..., T], sql: str, *values: SQLValue) -> list[T]:
        """Return what a function makes of the columns of each row."""
        return [make(*row) for row in self.read(sql, *values)]

    def data_version(self) -> int:
        """Return a number that changes with any write of any process. Costs next to nothing."""
        with self._lock, self._unreadable():
            if self._watching is None:  # the number is one connection's own
                self._watching = connect_to_read(self.path)
            version: int = self._watching.execute("PRAGMA data_version").fetchone()[0]
        return version

    def records(
        self, *, capture: str | None = None, after: int = 0, until_seq: int | None = None, limit: int | None = None
    ) -> Iterator[Record]:
        """Yield records in the order of captures and numbers, in `capture` after `after` and up to `until_seq`."""
        low, high = 0, (1 << 63) - 1
        if capture is not None:
            keys = self.read_as(int, "SELECT key FROM captures WHERE id = ?", capture)
            if not keys:
                return
            start = keys[0] << SEQ_BITS
            low = start + after
            high = start + ((1 << SEQ_BITS) - 1 if until_seq is None else until_seq)
        read = _in_order(self._pages(low, high))
        yield from islice((record for key, record in read if low < key <= high), limit)

    def record(self, capture: str, seq: int) -> Record | None:
        return next(self.records(capture=capture, after=seq - 1, until_seq=seq), None)

    def plain_data(self, capture: str, seqs: Sequence[int]) -> Mapping[int, bytes]:
        """Return the bytes of records by number, of those without a content coding."""
        asked = frozenset(seqs)
        found = self.records(capture=capture, after=min(seqs) - 1, until_seq=max(seqs))
        return {record.seq: record.data for record in found if record.seq in asked and record.encoding is None}

    def session_records(
        self, session: str, shared: Sequence[SharedPart] | None = None
    ) -> Iterator[tuple[Record, bool]]:
        """Yield the records of a session in the order of exports; True with a record of a connection's preamble.

        A branch has those of the turns that it shares too: as `shared` says, or as is stored.

        In one transaction: meanwhile the rows of an answer may be joined.
        """
        with self._unreadable(), closing(connect_to_read(self.path)) as reader:
            reader.text_factory = damaged_text
            reader.execute("BEGIN")
            for keys, is_preamble in zip(select_records(reader, session, shared), (True, False), strict=True):
                for _, record in _in_order(_with_keys(reader, keys)):
                    yield record, is_preamble

    def _pages(self, low: int, high: int) -> Iterator[Sequence[Keyed]]:
        bodies, joined = Bodies(), set[int]()
        at: int | None = low
        while at is not None:
            rows, at = self.query(partial(_page, at, high, bodies, joined))
            yield from rows

    def query(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run work that reads in one transaction; again if a text is damaged, with escapes for what is no UTF-8 in it."""
        with self._unreadable():
            try:
                reader = self._readers.pop()
            except IndexError:
                reader = connect_to_read(self.path)
            try:
                while True:
                    reader.execute("BEGIN")
                    try:
                        return work(reader)
                    except sqlite3.OperationalError:
                        if reader.text_factory is damaged_text:
                            raise
                        reader.text_factory = damaged_text
                    finally:
                        if reader.in_transaction:  # some errors have ended it
                            reader.execute("ROLLBACK")
            finally:
                self._readers.append(reader)
                if self._is_closed:  # meanwhile
                    self._close_readers()

    @contextmanager
    def _unreadable(self) -> Generator[None]:
        if self._is_closed:
            raise StoreError("the database is closed", str(self.path))
        try:
            yield
        except sqlite3.Error as error:
            remedy = "start again"
            if is_damage(error):
                doubt(self.path)
                remedy = CARRIED_OVER
            raise StoreError(f"the database cannot be read: {error}", str(self.path), remedy) from error


def _page(
    at: int, high: int, bodies: Bodies, joined: set[int], reader: sqlite3.Connection
) -> tuple[Sequence[Sequence[Keyed]], int | None]:
    """Return the records of some rows behind a key, and the key to go on from; None at the end.

    An answer's row stands at the key of its first record, and may reach behind `at`; those given before are `joined`. That of
    an answer which ended since the page before has records that were given, too.
    """
    reaching = [row for row in reader.execute(_REACHING, (at, at + SPAN, at)) if row[0] not in joined]
    rows = reader.execute(_IN_ORDER, (at, high, PAGE)).fetchall()
    read = [_from_row(row, reader, bodies) for row in (*reaching, *rows)]
    new = [[keyed for keyed in row if keyed[0] > at] for row in read]
    joined.update(row[0] for row in (*reaching, *rows) if row[11] is not None)
    new.sort(key=lambda row: row[0][0])
    return new, rows[-1][0] if len(rows) == PAGE else None


def _with_keys(reader: sqlite3.Connection, keys: Sequence[int]) -> Iterator[Sequence[Keyed]]:
    bodies = Bodies()
    for start in range(0, len(keys), PAGE):
        page = keys[start : start + PAGE]
        sql = f"{_SELECT} records.key IN ({', '.join('?' * len(page))}) ORDER BY records.key"
        for row in reader.execute(sql, page).fetchall():
            yield _from_row(row, reader, bodies)


def _in_order(rows: Iterable[Sequence[Keyed]]) -> Iterator[Keyed]:
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


def _from_row(row: StoredRow, connection: sqlite3.Connection, bodies: Bodies) -> Sequence[Keyed]:
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
        parts: Sequence[Part] = [(key, time_ns, mono_ns, kind, direction, head, data)]
        if last is not None:
            parts = [*unpack_run(key, time_ns, mono_ns, data)]
        heads: list[Head | None] = []
        for *_, text, _ in parts:
            if text is None:
                heads.append(None)
                continue
            method, url, status, headers = json.loads(text)
            pairs = tuple((name, value) for name, value in headers)
            heads.append(Head(method=method, url=url, status=status, headers=pairs))
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        what = "what was kept of it is" if size is None else f"its {size} bytes are"
        malformed = f"{what} damaged on the disk: {error}"
        parts = [(key, time_ns, mono_ns, kind, direction, None, b"")]
        heads = [None]
    return [
        (
            part_key,
            Record(
                wire=wire,
                kind=part_kind,
                peer=peer,
                direction=part_direction,
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
        for (part_key, part_time, part_mono, part_kind, part_direction, _, part_data), part_head in zip(
            parts, heads, strict=True
        )
    ]
