"""The open database with its records: one connection that writes, in a thread of its own, and as many that read as are needed."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Literal, Self, TypeAlias, TypeVar

from tui_host.capture.record import Record
from tui_host.capture.recording import Recording
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.bodies import SPAN, Bodies
from tui_host.capture.store.companion_files import Lock, doubt, is_live
from tui_host.capture.store.database import Connect, connect_to_read, damage_to_tell, open_to_write
from tui_host.capture.store.reading import SELECT, Keyed, StoredRow, from_row, in_order
from tui_host.capture.store.rows import TAKE_OVER, SQLValue
from tui_host.capture.store.schema import SEQ_BITS, connect, damaged_text
from tui_host.capture.store.session_records import select_records
from tui_host.capture.store.store_faults import is_damage
from tui_host.capture.store.writer import Write, Writer
from tui_host.errors import StoreError

T = TypeVar("T")
CaptureKind: TypeAlias = Literal["app", "ask", "tap", "import"]
PAGE = 128
"""Records read at once, so that no reader holds on to an old state of the file for long."""
_REACHING = f"{SELECT} WHERE last > ? AND last <= ? AND records.key <= ? ORDER BY records.key"
_IN_ORDER = f"{SELECT} WHERE records.key > ? AND records.key <= ? ORDER BY records.key LIMIT ?"
_PLAIN = "SELECT key, data FROM records WHERE size IS NULL AND last IS NULL AND encoding IS NULL AND key IN"


class OpenDatabase:
    """A database that several processes may have open. Reading is possible from any thread, and raises `StoreError`."""

    def __init__(self, path: Path, writer: Writer | None, lock: Lock | None, notices: list[str]) -> None:
        self.path = path
        self.owner = lock.token if lock is not None else ""  # of the lock that is held for writing
        self.notices = notices  # for the user, a sentence each
        self.redactor = Redactor()  # of every saved text
        self._writer = writer
        self._lock_held = lock
        self._readers: list[sqlite3.Connection] = []
        self._watching: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._closed = False

    @classmethod
    def open(
        cls, path: Path, *, retry_seconds: float = 5.0, connect: Connect = connect, notices: list[str] | None = None
    ) -> Self:
        """Open or create the database, readable only by the owner. Blocks, and raises as `open_to_write` does."""
        notices = [] if notices is None else notices
        connection, lock = open_to_write(path, connect, notices)
        writer = Writer(connection, path, lock.token, notices.append, retry_seconds)
        return cls(path, writer, lock, notices)

    @classmethod
    def open_to_read(cls, path: Path) -> Self:
        """Open a database only for reading; known damage is reported in `notices`. Blocks, and raises as `connect_to_read` does."""
        damage = damage_to_tell(path)
        return cls(path, None, None, [damage] if damage else [])

    @property
    def fault(self) -> str:
        """Why nothing can be written now, empty if writing works."""
        return self._writer.fault if self._writer is not None else "the database is open for reading alone"

    @property
    def loss(self) -> str:
        """Why the database must be opened anew for writing: the file is gone or damaged, or the writer broke down."""
        return self._writer.loss if self._writer is not None else ""

    def close(self, timeout: float = 5.0) -> bool:
        """Write all waiting records, and end; returns whether everything was written."""
        written = self._writer.close(timeout) if self._writer is not None else True
        with self._lock:
            self._closed = True
            for reader in (*self._readers, self._watching):
                if reader is not None:
                    reader.close()
            self._readers.clear()
            self._watching = None
            if self._lock_held is not None:
                self._lock_held.release()
                self._lock_held = None
        return written

    def is_live(self, owner: str | None) -> bool:
        """Return whether the process with this lock still runs; true for this process."""
        return bool(owner) and (owner == self.owner or is_live(self.path, owner))

    def owns(self, path: Path) -> bool:
        """Return whether a path is the database or a file of SQLite beside it: nothing else may open these."""
        # Who closes a file gives up all locks that the process has on it. SQLite, How To Corrupt An SQLite Database File, 2.2.
        for ending in ("", "-wal", "-shm"):
            with suppress(OSError):  # one of the two is not there
                if path.samefile(self.path.with_name(self.path.name + ending)):
                    return True
        return False

    # Writing.

    def put(self, item: Recording | Write) -> bool:
        """Pass a statement to the writer, or announce records; never blocks. Returns False once the writer has ended."""
        return self._writer is not None and self._writer.put(item)

    def hurry(self) -> None:
        """Tell the writer not to wait for more records."""
        if self._writer is not None:
            self._writer.hurry()

    def run(
        self, work: Callable[[sqlite3.Connection], T], timeout: float | None = 60.0, *, makes_room: bool = False
    ) -> T:
        """Run work on the writer's connection, after everything put before or, if it `makes_room`, even if that cannot be written."""
        if self._writer is None:
            raise StoreError(self.fault, str(self.path))
        return self._writer.run(work, timeout, makes_room=makes_room)

    def change(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run work in a transaction of its own, as `run` does, also on a full disk; what fails is rolled back."""

        def perform(connection: sqlite3.Connection) -> T:
            connection.execute("BEGIN IMMEDIATE")
            result = work(connection)
            connection.execute("COMMIT")
            return result

        return self.run(perform, makes_room=True)

    def begin_capture(self, capture: str, kind: CaptureKind, time_ns: int) -> None:
        """Begin a capture of this process, or make one that is continued its own."""
        self.put(Write(sql=TAKE_OVER, row=(capture, kind, time_ns, os.getpid(), self.owner)))

    def end_capture(self, capture: str, time_ns: int) -> None:
        """End a capture."""
        self.put(Write(sql="UPDATE captures SET ended = ? WHERE id = ?", row=(time_ns, capture)))

    # Reading, from any thread.

    def read(self, sql: str, *values: SQLValue) -> list[tuple[SQLValue, ...]]:
        """Return all rows of a query."""
        return self.query(lambda reader: reader.execute(sql, values).fetchall())

    def read_as(self, make: Callable[..., T], sql: str, *values: SQLValue) -> list[T]:
        """Return what a function makes of the columns of each row."""
        return [make(*row) for row in self.read(sql, *values)]

    def data_version(self) -> int:
        """Return a number that changes with any write of any process. Costs next to nothing."""
        with self._lock:
            self._check_open()
            if self._watching is None:  # the number is one connection's own
                self._watching = connect_to_read(self.path)
            try:
                version: tuple[int] = self._watching.execute("PRAGMA data_version").fetchone()
            except sqlite3.Error as error:
                raise self._unreadable(error) from error
        return version[0]

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
        """Yield the records of a session in the order of exports; True with a record of a connection's preamble."""
        preamble, belonging = self.query(lambda reader: select_records(reader, session))
        for keys, is_preamble in ((preamble, True), (belonging, False)):
            for _, record in in_order(self._with_keys(keys)):
                yield record, is_preamble

    def _start_of(self, capture: str) -> int | None:
        keys = self.read_as(int, "SELECT key FROM captures WHERE id = ?", capture)
        return keys[0] << SEQ_BITS if keys else None

    def _pages(self, low: int, high: int) -> Iterator[Sequence[Keyed]]:
        # an answer before these rows may reach into them
        bodies = Bodies()
        yield from self._read_records(_REACHING, (low, low + SPAN, low), bodies)
        at: int | None = low
        while at is not None:
            rows = self._read_records(_IN_ORDER, (at, high, PAGE), bodies)
            yield from rows
            at = rows[-1][0][0] if len(rows) == PAGE else None

    def _with_keys(self, keys: Sequence[int]) -> Iterator[Sequence[Keyed]]:
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

    def query(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run work that reads in one transaction; again if a text is damaged, with escapes for what is no UTF-8 in it."""
        with self._lock:
            self._check_open()
            reader = self._readers.pop() if self._readers else None
        if reader is None:
            reader = connect_to_read(self.path) if self._writer is None else connect(self.path)
            reader.execute("PRAGMA query_only = ON")
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
        except sqlite3.Error as error:
            raise self._unreadable(error) from error
        finally:
            with self._lock:
                if self._closed:
                    reader.close()
                else:
                    self._readers.append(reader)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("the database is closed", str(self.path))

    def _unreadable(self, error: sqlite3.Error) -> StoreError:
        if is_damage(error):
            doubt(self.path)
        return StoreError(f"the database cannot be read: {error}", str(self.path), "start again")
