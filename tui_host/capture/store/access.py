"""The open database: one connection that writes, in a thread of its own, and as many that read as are needed."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self, TypeVar

from tui_host.capture.recording import Recording
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.database import Connect, connect_to_read, damage_to_tell, doubt, open_to_write
from tui_host.capture.store.process_lock import Lock, is_live
from tui_host.capture.store.rows import SQLValue
from tui_host.capture.store.schema import connect, damaged_text
from tui_host.capture.store.store_faults import is_damage
from tui_host.capture.store.writer import Write, Writer
from tui_host.errors import StoreError

T = TypeVar("T")


class OpenDatabase:
    """A database that several processes may have open. Reading is possible from any thread, and raises `StoreError`.

    Attributes:
        owner: Name of the lock that this process holds while it writes; empty if it only reads.
        notices: Messages for the user, one sentence each.
        redactor: Removes secrets from every saved text.
    """

    def __init__(self, path: Path, writer: Writer | None, lock: Lock | None, notices: list[str]) -> None:
        self.path = path
        self.owner = lock.token if lock is not None else ""
        self.notices = notices
        self.redactor = Redactor()
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
        """Open or create the database, readable only by the owner. Blocks.

        A damaged database is set aside and its readable content copied, an older one is set aside; `notices` says so.

        Raises:
            StoreError: The database cannot be used here. Says what to do.
            SettingsError: A newer version of the program has written the database, which is left unchanged.
        """
        notices = [] if notices is None else notices
        connection, lock = open_to_write(path, connect, notices)
        writer = Writer(connection, path, lock.token, notices.append, retry_seconds)
        return cls(path, writer, lock, notices)

    @classmethod
    def open_to_read(cls, path: Path) -> Self:
        """Open a database only for reading; known damage is reported in `notices`. Blocks.

        Raises:
            StoreError: The database cannot be read.
            SettingsError: A newer version of the program has written it.
        """
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
        """Return whether a path is the database or a file of SQLite beside it: nothing else may open these.

        Who closes a file gives up all locks that the process has on it. Source: SQLite, How To Corrupt An SQLite Database File, 2.2.
        """
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
        """Run work on the writer's connection outside any transaction, after everything put before, and wait for the result.

        What `makes_room` runs even while earlier statements cannot be written. Raises `StoreError` if nothing can be, or not in time.
        """
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

    def query(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run work that reads in one transaction; again if a text is damaged, with escapes for what is no UTF-8 in it."""
        with self._lock:
            self._check_open()
            reader = self._readers.pop() if self._readers else None
        if reader is None:
            reader = connect_to_read(self.path) if self._writer is None else connect(self.path)
            reader.execute("PRAGMA query_only = ON")
        try:
            try:
                return _in_transaction(reader, work)
            except sqlite3.OperationalError:
                if reader.text_factory is damaged_text:
                    raise
                reader.text_factory = damaged_text
                return _in_transaction(reader, work)
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


def _in_transaction(reader: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
    reader.execute("BEGIN")
    try:
        return work(reader)
    finally:
        if reader.in_transaction:  # some errors have ended it
            reader.execute("ROLLBACK")
