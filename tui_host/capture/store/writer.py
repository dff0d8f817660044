"""The thread that writes to the database: commits all that waits together, and what cannot be written now some seconds later."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import islice
from os.path import samestat
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple, TypeAlias, TypeVar

from tui_host.capture.recording import Recording, Slot, redact
from tui_host.capture.store.companion_files import doubt, doubted
from tui_host.capture.store.database import give_pages_back
from tui_host.capture.store.rows import RecordTable, Row
from tui_host.capture.store.store_faults import DAMAGED, is_damage, is_storage, reason_of
from tui_host.errors import StoreError

BATCH = 1024
TICK = 0.02
"""Seconds in which what comes is committed together: less than a screen's, and the callers' thread is not disturbed for each record."""
LOG_PAGES, SHORT_LOG_PAGES = 4000, 256
"""Pages of the log (16 MB) after which they come into the file: each time the disk is waited for twice. Fewer, once something
had to make room: in the log and in the file they take room twice."""
GONE = "the database was removed, or another file put in its place"
IMPOSSIBLE = (sqlite3.Error, ValueError, TypeError, OverflowError)
T = TypeVar("T")


class Write(NamedTuple):
    """A statement with its values, or what makes them: that is left to the writer where it takes longer than a caller may wait."""

    sql: str
    row: Row | Callable[[], Row]


class _Batch(NamedTuple):
    source: Recording
    slots: Sequence[Slot]  # without secrets


class _Job(NamedTuple):
    """Work for a waiting caller, outside of any transaction; what makes room is done even where nothing else can be written."""

    perform: Callable[[sqlite3.Connection], None]
    refuse: Callable[[BaseException], None]
    makes_room: bool


Statement: TypeAlias = "_Batch | Write"


class Writer:
    """Writes statements and records in the order of `put`, until the file is gone. The connection is its own from then on."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path, owner: str, tell: Callable[[str], None], retry_seconds: float
    ) -> None:
        self.fault = ""
        self._path, self._file = path, path.stat()
        self._connection = connection
        connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}").fetchall()
        self._records = RecordTable(connection, owner)
        self._tell = tell
        self._reasons: set[str] = set()  # each is told once: how many records it was is counted where they come from
        self._retry_seconds = retry_seconds
        self._retry_at = 0.0
        self._queue: SimpleQueue[Recording | Write | _Job | None] = SimpleQueue()
        self._hurry = threading.Event()
        self._pending: deque[Statement | _Job] = deque()
        self._is_urgent = self._is_closing = self._has_ended = False
        self._thread = threading.Thread(target=self._run, name="store", daemon=True)
        self._thread.start()

    @property
    def loss(self) -> str:
        """Why nothing more is written until the database is opened anew; empty if all is well."""
        if self._is_gone():
            return GONE
        if self._has_ended:
            return self.fault
        return DAMAGED if doubted(self._path).exists() else ""

    def put(self, item: Recording | Write) -> bool:
        """Add a statement, or announce new records; never blocks. Returns False once the writer has ended."""
        self._queue.put(item)
        return not self._has_ended

    def hurry(self) -> None:
        """Stop waiting for more: there are many records, or a caller waits."""
        self._hurry.set()

    def run(
        self, work: Callable[[sqlite3.Connection], T], timeout: float | None = None, *, makes_room: bool = False
    ) -> T:
        """Run work on the writer's connection, after everything put before, and wait for the result."""
        result: Future[T] = Future()

        def perform(connection: sqlite3.Connection) -> None:
            try:
                with connection:  # what is left open by an error is rolled back
                    if makes_room:  # by deleting what may be remembered here
                        self._records.forget()
                        connection.execute(f"PRAGMA wal_autocheckpoint = {SHORT_LOG_PAGES}").fetchall()
                    result.set_result(work(connection))
            except BaseException as error:  # noqa: BLE001 - whoever waits gets it
                result.set_exception(error)

        self._queue.put(_Job(perform, result.set_exception, makes_room))
        self._hurry.set()
        if self._has_ended:
            raise StoreError(self.fault)
        try:
            return result.result(timeout)
        except TimeoutError as error:
            raise StoreError("the database did not answer in time", "", "try again") from error
        except sqlite3.Error as error:
            if is_damage(error):
                doubt(self._path)
            raise StoreError(reason_of(error)) from error

    def close(self, timeout: float) -> bool:
        """Write all waiting records and end; give up after the timeout. Returns whether everything was written."""
        self._queue.put(None)
        self._hurry.set()
        self._thread.join(timeout)
        if self._thread.is_alive():
            return False
        with suppress(sqlite3.Error):  # full, or another process writes: the few pages have time
            give_pages_back(self._connection)
        self._connection.close()
        return not self._pending

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
            self._tell(f"{self.fault}: {error}")
        self._has_ended = True  # what is put after this is told so at once; what came before, now
        while not self._queue.empty():
            self._admit(self._queue.get())
        self._refuse_jobs()
        self._settle(self._pending, self.fault)

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
            self._settle(islice(self._pending, before, None), self.fault)

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
                first.perform(self._connection)
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
                if is_damage(error):
                    doubt(self._path)
                self.fault = reason_of(error)
                self._retry_at = time.monotonic() + self._retry_seconds
                self._refuse_jobs()
                self._settle(self._pending, self.fault)
                return
            for _ in batch:
                self._pending.popleft()
            self.fault = ""
            self._settle(batch, "")

    def _commit(self, batch: Sequence[Statement]) -> None:
        """Commit statements together; where one of them is impossible, one by one, and that one is left out."""
        try:
            self._execute(batch)
        except IMPOSSIBLE as error:
            if is_storage(error):
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
            if reason not in self._reasons:
                self._reasons.add(reason)
                self._tell(reason)

    def _execute(self, batch: Sequence[Statement]) -> None:
        try:
            with self._connection as connection:
                connection.execute("BEGIN IMMEDIATE")
                self._records.begin()
                for item in batch:
                    if isinstance(item, _Batch):
                        self._records.add(item.source.capture, item.slots)
                    else:
                        connection.execute(item.sql, item.row() if callable(item.row) else item.row)
        except BaseException:
            self._records.forget()
            raise
        if self._is_gone():
            raise StoreError(GONE)

    def _refuse_jobs(self) -> None:
        jobs = [item for item in self._pending if isinstance(item, _Job)]
        self._pending = deque(item for item in self._pending if not isinstance(item, _Job))
        for job in jobs:
            if job.makes_room and not self._has_ended:
                job.perform(self._connection)
                self._retry_at = 0.0
            else:
                job.refuse(StoreError(self.fault))

    def _is_gone(self) -> bool:
        try:
            return not samestat(self._path.stat(), self._file)
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:
            return False  # it cannot be seen at the moment

    @staticmethod
    def _settle(items: Iterable[Statement | _Job], fault: str) -> None:
        newest = {item.source: item.slots[-1].seq for item in items if isinstance(item, _Batch)}
        for source, seq in newest.items():
            source.settled(seq, fault)
