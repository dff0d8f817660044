"""The thread that writes to the database: commits all that waits together, and what cannot be written now some seconds later."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from itertools import islice
from os.path import samestat
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple, Self, TypeAlias, TypeVar

from tui_host.capture.recording import Recording, Slot, redact
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.companion_files import Lock, doubt, doubted, is_log_left
from tui_host.capture.store.database import connect_to_read, is_sound, open_to_write
from tui_host.capture.store.reading import ReadableStore
from tui_host.capture.store.rows import RecordTable, Row
from tui_host.capture.store.schema import DAMAGED, LOCKED, LOCKS, READ_FAULTS, code_of, is_damage
from tui_host.errors import StoreError

BATCH = 1024
RETRY_SECONDS = 5.0
TICK = 0.02
"""Seconds in which what comes is committed together: less than a screen's, and the callers' thread is not disturbed for each record."""
LOG_PAGES, SHORT_LOG_PAGES = 4000, 256
"""Pages of the log (16 MB) after which they come into the file: each time the disk is waited for twice. Fewer, once something
had to make room: in the log and in the file they take room twice."""
GONE = "the database was removed, or another file put in its place"
OF_VALUES = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError, ValueError, TypeError, OverflowError)
PAGES = 200
"""Pages given back to the system at once: what is recorded meanwhile waits, and on a full disk the log must have room for them."""
T = TypeVar("T")


class Write(NamedTuple):
    """A statement with its values, or what makes them: that is left to the writer where it takes longer than a caller may wait."""

    sql: str
    row: Row | Callable[[], Row]


class _Batch(NamedTuple):
    source: Recording
    slots: Sequence[Slot]  # without secrets


class _Job(NamedTuple):
    perform: Callable[[], None]  # outside of any transaction
    refuse: Callable[[BaseException], None]
    makes_room: bool  # and is done even where nothing else can be written


Statement: TypeAlias = "_Batch | Write"


class WritableStore(ReadableStore):
    """Writes statements and records in the order of `put`, until the file is gone; or nothing, if it is open for reading alone."""

    def __init__(self, path: Path, opened: tuple[sqlite3.Connection, Lock] | None, notices: list[str]) -> None:
        super().__init__(path)
        self.notices = notices  # for the user, a sentence each
        self.fault = ""  # why nothing can be written now
        self.owner = ""  # the token of the lock that is held for writing
        self.redactor = Redactor()  # of every saved text
        self._reasons: set[str] = set()  # why something could not be kept: each is told once
        self._retry_at = 0.0
        self._queue: SimpleQueue[Recording | Write | _Job | None] = SimpleQueue()
        self._hurry = threading.Event()
        self.hurry = self._hurry.set  # stops waiting for more: there are many records, or a caller waits
        self._pending: deque[Statement | _Job] = deque()
        self._is_urgent = self._is_closing = self._has_ended = False
        self._thread = threading.Thread(target=self._run, name="store", daemon=True)
        self._opened = opened
        if opened is None:
            self.fault, self._has_ended = "the database is open for reading alone", True
            return
        self._file = path.stat()
        self._connection, lock = opened  # the thread's own from now on
        self._connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}").fetchall()
        self.owner = lock.token
        self._records = RecordTable(self._connection, self.owner)
        self._thread.start()

    @classmethod
    def open(cls, path: Path, *, notices: list[str] | None = None) -> Self:
        """Open or create the database, readable only by the owner. Blocks, and raises as `open_to_write` does."""
        notices = [] if notices is None else notices
        return cls(path, open_to_write(path, notices), notices)

    @classmethod
    def open_to_read(cls, path: Path) -> Self:
        """Open a database only for reading, after what a killed process left was brought into it. Raises as `connect_to_read` does."""
        is_left, is_damaged = is_log_left(path), True
        try:
            with suppress(*READ_FAULTS), closing(connect_to_read(path)) as connection:
                is_damaged = not is_sound(path, connection)
        except StoreError:  # a new file is empty where its log is damaged
            if not is_left:
                raise
            is_damaged = False
        what = f"{path} is damaged: what can be read is shown. Start tui-host to carry it over into a new database"
        notices = [what] if is_damaged else []
        if is_left and not notices:
            with suppress(StoreError):  # in a read-only folder it stays as it is
                cls.open(path, notices=notices).close()
        return cls(path, None, notices)

    def close(self, timeout: float = 5.0) -> bool:
        """Write all waiting records and end; give up after the timeout. Returns whether everything was written."""
        self._queue.put(None)
        self._hurry.set()
        if self._opened is not None:
            self._thread.join(timeout)
        self._close_readers()  # before the connection: only who may write brings the log into the file, as the last
        if self._opened is not None:
            connection, lock = self._opened
            if not self._thread.is_alive():
                with suppress(sqlite3.Error):  # full, or another process writes: the few pages have time
                    give_pages_back(connection)
                connection.close()
            lock.release()
            self._opened = None
        return not (self._thread.is_alive() or self._pending)

    @property
    def loss(self) -> str:
        """Why the database must be opened anew for writing: the file is gone or damaged, or the thread broke down."""
        if self._is_gone():
            return GONE
        if self._has_ended:
            return self.fault
        return DAMAGED if doubted(self.path).exists() else ""

    def put(self, item: Recording | Write) -> bool:
        """Add a statement, or announce new records; never blocks. Returns False once nothing is written any more."""
        self._queue.put(item)
        return not self._has_ended

    def run(
        self,
        work: Callable[[sqlite3.Connection], T],
        timeout: float | None = 60.0,
        *,
        makes_room: bool = False,
        is_change: bool = False,
    ) -> T:
        """Run work on the thread's connection, after everything put before or, if it `makes_room`, even if that cannot be written.

        A change has a transaction of its own, also on a full disk; what fails is rolled back.
        """
        makes_room |= is_change
        result: Future[T] = Future()

        def perform() -> None:
            try:
                with self._connection:  # what is left open by an error is rolled back
                    if makes_room:  # by deleting what may be remembered here
                        self._records = RecordTable(self._connection, self.owner)
                        self._connection.execute(f"PRAGMA wal_autocheckpoint = {SHORT_LOG_PAGES}").fetchall()
                    if is_change:
                        self._connection.execute("BEGIN IMMEDIATE")
                    value = work(self._connection)
                result.set_result(value)
            except BaseException as error:  # noqa: BLE001 - whoever waits gets it
                result.set_exception(error)

        self._queue.put(_Job(perform, result.set_exception, makes_room))
        self._hurry.set()
        if self._has_ended:
            raise StoreError(self.fault, str(self.path))
        try:
            return result.result(timeout)
        except TimeoutError as error:
            raise StoreError("the database did not answer in time", "", "try again") from error
        except sqlite3.Error as error:
            raise StoreError(self._reason(error)) from error

    def _run(self) -> None:
        try:
            while not (self._is_closing and self._queue.empty()):
                self._gather()
                if not self.fault or self._is_urgent or time.monotonic() >= self._retry_at:
                    self._write()
            self.fault = self.fault or "the database is closed"
        except StoreError as error:
            self.fault = error.what
        except Exception as error:  # noqa: BLE001 - the thread's own supervisor, which tells it
            self.fault = "the writer of the database broke down"
            self.notices.append(f"{self.fault}: {error}")
        self._has_ended = True  # what is put after this is told so at once; what came before, now
        while not self._queue.empty():
            self._admit(self._queue.get())
        self._refuse(self.fault)

    def _gather(self) -> None:
        timeout = max(0.0, self._retry_at - time.monotonic()) if self.fault else None
        self._is_urgent, before = False, len(self._pending)
        with suppress(Empty):
            self._admit(self._queue.get(timeout=timeout))
            if not self._is_urgent:
                self._hurry.wait(TICK)
            self._hurry.clear()
            while len(self._pending) - before < BATCH:
                self._admit(self._queue.get_nowait())
            self._hurry.set()  # somebody may wait for what is left
        if self.fault:
            _settle(islice(self._pending, before, None), self.fault)

    def _admit(self, item: Recording | Write | _Job | None) -> None:
        if item is None:
            self._is_urgent = self._is_closing = True
        elif isinstance(item, Recording):
            slots = item.take()
            for start in range(0, len(slots), BATCH):
                batch = _Batch(item, slots[start : start + BATCH])
                redact(batch.slots, item.redactor)
                self._pending.append(batch)
        else:
            self._pending.append(item)
            self._is_urgent |= isinstance(item, _Job)

    def _write(self) -> None:
        while self._pending:
            if isinstance(first := self._pending[0], _Job):
                self._pending.popleft()
                first.perform()
                continue
            batch: list[Statement] = []
            left = BATCH
            for item in self._pending:
                if isinstance(item, _Job) or left <= 0:
                    break
                batch.append(item)
                left -= len(item.slots) if isinstance(item, _Batch) else 1
            try:
                self._commit(batch)
            except sqlite3.Error as error:
                if self._is_gone():
                    raise StoreError(GONE) from error
                self._retry_at = time.monotonic() + RETRY_SECONDS
                self._refuse(self._reason(error))
                return
            for _ in batch:
                self._pending.popleft()
            self.fault = ""
            _settle(batch, "")

    def _commit(self, batch: Sequence[Statement]) -> None:
        """Commit statements together; where one of them is impossible, one by one, and that one is left out."""
        try:
            with self._connection as connection:
                connection.execute("BEGIN IMMEDIATE")
                self._records.begin()
                for item in batch:
                    if isinstance(item, _Batch):
                        self._records.add(item.source.capture, item.slots)
                    else:
                        connection.execute(item.sql, item.row() if callable(item.row) else item.row)
        except BaseException as error:
            self._records = RecordTable(self._connection, self.owner)  # nothing is known of what was rolled back
            is_unspecific = isinstance(error, sqlite3.OperationalError) and code_of(error) == sqlite3.SQLITE_ERROR
            if not is_unspecific and not isinstance(error, OF_VALUES):  # the disk is full, the file locked, damaged …
                raise
            singles: list[Statement] = []
            for item in batch:
                singles += [_Batch(item.source, [slot]) for slot in item.slots] if isinstance(item, _Batch) else [item]
            if len(singles) > 1:
                for single in singles:
                    self._commit([single])
                return
            if isinstance(singles[0], _Batch):
                singles[0].source.refused()
            reason = f"something could not be kept: {error}"
            if reason not in self._reasons:  # how many records it was is counted where they come from
                self._reasons.add(reason)
                self.notices.append(reason)
        else:
            if self._is_gone():
                raise StoreError(GONE)

    def _refuse(self, fault: str) -> None:
        """Tell all that wait why nothing is written now; only what makes room is done."""
        self.fault = fault
        jobs = [item for item in self._pending if isinstance(item, _Job)]
        self._pending = deque(item for item in self._pending if not isinstance(item, _Job))
        for job in jobs:
            if job.makes_room and not self._has_ended:
                job.perform()
                self._retry_at = 0.0
            else:
                job.refuse(StoreError(self.fault))
        _settle(self._pending, self.fault)

    def _reason(self, error: sqlite3.Error) -> str:
        """Return for a person why something could not be written."""
        if is_damage(error):
            doubt(self.path)
            return f"{DAMAGED}; start again, and it is set aside"
        if code_of(error) in LOCKS:
            return LOCKED
        is_full = code_of(error) == sqlite3.SQLITE_FULL
        return "the disk is full" if is_full else f"the database cannot be written: {error}"

    def _is_gone(self) -> bool:
        try:
            return not samestat(self.path.stat(), self._file)
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:
            return False  # it cannot be seen at the moment


def _settle(items: Iterable[Statement | _Job], fault: str) -> None:
    newest = {item.source: item.slots[-1].seq for item in items if isinstance(item, _Batch)}
    for source, seq in newest.items():
        source.settled(seq, fault)


def give_pages_back(connection: sqlite3.Connection) -> bool:
    """Return some free pages to the system, outside a transaction; returns whether there are more."""
    # a script: `execute` stops after a statement's first step, which is one page
    connection.executescript(f"PRAGMA incremental_vacuum({PAGES})")
    free: int = connection.execute("PRAGMA freelist_count").fetchone()[0]
    return free > 0
