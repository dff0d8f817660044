"""The store: one database for captures, records and sessions, written by one thread, read from any.

Several processes may have the same file open. Source: DESIGN, How a byte becomes a row; threats, STO.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from tui_host.capture.record import Record
from tui_host.capture.redact import Redactor
from tui_host.capture.schema import MIGRATIONS, SEQ_BITS
from tui_host.capture.sessions import SessionInfo, Sessions
from tui_host.capture.store_file import Connect, connect, connect_to_read, doubted, open_to_write
from tui_host.capture.store_rows import SELECT, SQLValue, StoredRow, from_row, record_key
from tui_host.capture.store_selection import select_session
from tui_host.capture.store_writer import Slot, Write, Writer, begin_capture, is_damage
from tui_host.errors import StoreError

CaptureKind: TypeAlias = Literal["app", "ask", "tap", "import"]
PAGE = 128
"""Records read at once, so that no reader holds on to an old state of the file for long."""

T = TypeVar("T")


class Store:
    """An open database.

    Attributes:
        path: Its file.
        notices: What a person should be told, one sentence each.
        redactor: What every saved text passes.
        sessions: The sessions in it.
    """

    def __init__(self, path: Path, writer: Writer | None, notices: list[str]) -> None:
        self.path = path
        self.notices = notices
        self.redactor = Redactor()
        self.sessions = Sessions(self)
        self._writer = writer
        self._readers: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._closed = False

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        retry_seconds: float = 5.0,
        migrations: Sequence[Sequence[str]] = MIGRATIONS,
        connect: Connect = connect,
    ) -> Store:
        """Open the database, or make it, readable by its owner alone. Blocks.

        A damaged one is moved aside, and that is told in `notices`.

        Raises:
            StoreError: It cannot be used here; says what to do.
            SettingsError: A newer version of the program has written it; it is left as it is.
        """
        notices: list[str] = []
        connection = open_to_write(path, connect, migrations, notices)
        return cls(path, Writer(connection, notices.append, retry_seconds=retry_seconds), notices)

    @classmethod
    def open_to_read(cls, path: Path) -> Store:
        """Open a database that cannot or must not be written. Blocks.

        Raises:
            StoreError: It cannot be read.
            SettingsError: A newer version of the program has written it.
        """
        connect_to_read(path).close()
        return cls(path, None, [])

    @property
    def fault(self) -> str:
        """Why nothing can be written at the moment, empty if all is well."""
        return self._writer.fault if self._writer is not None else "the database is open for reading alone"

    def close(self, timeout: float = 5.0) -> bool:
        """Write what waits, and end.

        Returns:
            Whether everything was written.
        """
        written = self._writer.close(timeout) if self._writer is not None else True
        with self._lock:
            self._closed = True
            for reader in self._readers:
                reader.close()
            self._readers.clear()
        return written

    # Writing.

    def put(self, item: Slot | Write) -> bool:
        """Hand something to the writer; never blocks. False if there is none any more."""
        return self._writer is not None and self._writer.put(item)

    def run(self, work: Callable[[sqlite3.Connection], T], timeout: float | None = 60.0) -> T:
        """Do something on the writer's connection, after all that was put before, and wait for it.

        Raises:
            StoreError: It could not be written, or not in time.
        """
        if self._writer is None:
            raise StoreError(self.fault, str(self.path))
        return self._writer.run(work, timeout)

    def begin_capture(self, capture: str, kind: CaptureKind, time_ns: int) -> None:
        """Say that this process begins a capture."""
        self.put(begin_capture(capture, kind, time_ns))

    def end_capture(self, capture: str, time_ns: int) -> None:
        """Say that a capture is over."""
        self.put(Write(sql="UPDATE captures SET ended = ? WHERE id = ?", row=(time_ns, capture)))

    # Reading. From any thread; blocks on the disk.

    def read(self, sql: str, *values: SQLValue) -> list[tuple[SQLValue, ...]]:
        """All rows of a query.

        Raises:
            StoreError: The file cannot be read.
        """
        with self._reader() as reader:
            return reader.execute(sql, values).fetchall()

    def records(
        self,
        *,
        session: str | None = None,
        capture: str | None = None,
        connection: str | None = None,
        after: int = 0,
        until_seq: int | None = None,
        limit: int | None = None,
    ) -> Iterator[Record]:
        """Records in the order of captures and numbers.

        Args:
            session: Only those whose place names this session.
            capture: Only those of this capture.
            connection: Only those on this connection.
            after: Only those with a greater number; with `capture` alone.
            until_seq: Only those up to this number; with `capture` alone.
            limit: At most so many.

        Raises:
            StoreError: The file cannot be read.
        """
        low, high = 0, (1 << 63) - 1
        if capture is not None:
            key = self._key_of(capture)
            if key is None:
                return
            low = record_key(key, after)
            high = record_key(key, (1 << SEQ_BITS) - 1 if until_seq is None else until_seq)
        wanted: list[tuple[str, SQLValue]] = [("records.session", session), ("records.connection", connection)]
        wanted = [(name, value) for name, value in wanted if value is not None]
        conditions = "".join(f" AND {name} = ?" for name, _ in wanted)
        sql = f"{SELECT} WHERE records.key > ? AND records.key <= ?{conditions} ORDER BY records.key LIMIT ?"
        while limit is None or limit > 0:
            page = PAGE if limit is None else min(PAGE, limit)
            rows = self._rows(sql, low, high, *(value for _, value in wanted), page)
            for row in rows:
                yield from_row(row)
            if len(rows) < page:
                return
            low = rows[-1][0]
            limit = None if limit is None else limit - page

    def record(self, capture: str, seq: int) -> Record | None:
        """One record, None if it is not there."""
        return next(self.records(capture=capture, after=seq - 1, until_seq=seq), None)

    def body(self, capture: str, exchange: str, side: Literal["request", "response"]) -> bytes:
        """An HTTP body as it was transferred: the request's data, or the response's chunks, joined."""
        key = self._key_of(capture)
        if key is None:
            return b""
        kind = "request" if side == "request" else "chunk"
        sql = "SELECT data FROM records WHERE exchange = ? AND key BETWEEN ? AND ? AND kind = ? ORDER BY key"
        rows = self.read(sql, exchange, record_key(key, 0), record_key(key + 1, 0) - 1, kind)
        return b"".join(row[0] for row in rows if isinstance(row[0], bytes))

    def session_records(self, session: str) -> Iterator[tuple[Record, bool]]:
        """A session's records in the order of its export; True with those that are its connections' preamble.

        What belongs to it is said in `store_selection`.

        Raises:
            StoreError: The file cannot be read.
        """
        with self._reader() as reader:
            selection = select_session(reader, session)
        for keys, is_preamble in ((selection.preamble, True), (selection.belonging, False)):
            for start in range(0, len(keys), PAGE):
                page = keys[start : start + PAGE]
                marks = ", ".join("?" * len(page))
                rows = self._rows(f"{SELECT} WHERE records.key IN ({marks}) ORDER BY records.key", *page)
                for row in rows:
                    yield from_row(row), is_preamble

    def find_session(self, name: str) -> SessionInfo:
        """A session by its id, a unique prefix of it, or `last`; see `Sessions.find`."""
        return self.sessions.find(name)

    def _key_of(self, capture: str) -> int | None:
        rows = self.read("SELECT key FROM captures WHERE id = ?", capture)
        key = rows[0][0] if rows else None
        return key if isinstance(key, int) else None

    def _rows(self, sql: str, *values: SQLValue) -> list[StoredRow]:
        with self._reader() as reader:
            return reader.execute(sql, values).fetchall()

    @contextmanager
    def _reader(self) -> Generator[sqlite3.Connection]:
        """A connection for one query; its errors come out as StoreError."""
        with self._lock:
            if self._closed:
                raise StoreError("the database is closed", str(self.path))
            reader = self._readers.pop() if self._readers else None
        if reader is None:
            reader = connect_to_read(self.path) if self._writer is None else connect(self.path)
            reader.execute("PRAGMA query_only = ON")
        try:
            yield reader
        except sqlite3.Error as error:
            if is_damage(error):
                doubted(self.path).touch(0o600)
            raise StoreError(f"the database cannot be read: {error}", str(self.path), "start again") from error
        finally:
            with self._lock:
                if self._closed:
                    reader.close()
                else:
                    self._readers.append(reader)
