"""The thread that writes to the database: takes all waiting records and commits them together.

What cannot be written now stays in memory, in order, and is tried again every few seconds.
"""

from __future__ import annotations

import ctypes
import sqlite3
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from queue import Empty, SimpleQueue
from typing import TypeAlias, TypeVar

from tui_host.capture.store.database import FileWatch, doubt, give_pages_back
from tui_host.capture.store.pending_records import Slot, Source, finish_all
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


class FileGoneError(Exception):
    """The file being written was removed or replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A statement with its values.

    Attributes:
        row: Its values, or what makes them: that is left to the writer where it takes longer than a caller may wait.
        forgets: Whether the writer then frees what it remembers of earlier records, such as the last requests.
    """

    sql: str
    row: Row | Callable[[], Row]
    forgets: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """Work to run on the writer's connection outside of any transaction, after everything put before, for a waiting caller.

    Where that cannot be written, work that makes room runs all the same.
    """

    work: Callable[[sqlite3.Connection], None]
    refuse: Callable[[BaseException], None]
    makes_room: bool

    def perform(self, connection: sqlite3.Connection) -> None:
        """Run the work, and hand over the result."""
        try:
            if self.makes_room:
                connection.execute(f"PRAGMA wal_autocheckpoint = {SHORT_LOG_PAGES}").fetchall()
            self.work(connection)
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            self.refuse(error)


Statement: TypeAlias = "list[Slot] | Write"
"""Some records of one source, or one statement."""


class Writer:
    """Writes statements and records in the order of `put`, until the file is gone. The connection is its own from then on."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        owner: str,
        tell: Callable[[str], None],
        *,
        file: FileWatch,
        retry_seconds: float,
    ) -> None:
        self.fault = ""
        self._file = file
        self._connection = connection
        connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}").fetchall()
        self._records = RecordTable(connection, owner)
        self._tell = tell
        self._reasons: set[str] = set()  # each is told once: how many records it was is counted where they come from
        self._retry_seconds = retry_seconds
        self._retry_at = 0.0
        self._queue: SimpleQueue[Source | Write | Job | None] = SimpleQueue()
        self._hurry = threading.Event()
        self._pending: deque[Statement | Job] = deque()
        self._is_urgent = self._is_stopping = self._ended = False
        self._thread = threading.Thread(target=self._run, name="store", daemon=True)
        self._thread.start()

    @property
    def loss(self) -> str:
        """Why nothing more is written until the database is opened anew; empty if all is well."""
        if self._file.is_gone():
            return GONE
        if self._ended:
            return self.fault
        return DAMAGED if self._file.is_doubted() else ""

    def put(self, item: Source | Write) -> bool:
        """Add a statement, or announce new records; never blocks.

        Returns:
            Whether it will be written; False once the writer has ended.
        """
        self._queue.put(item)
        return not self._ended

    def hurry(self) -> None:
        """Stop waiting for more: there are many records, or a caller waits."""
        self._hurry.set()

    def run(
        self, work: Callable[[sqlite3.Connection], T], timeout: float | None = None, *, makes_room: bool = False
    ) -> T:
        """Run work on the writer's connection, after everything put before, and wait for the result.

        Raises:
            StoreError: What was put before could not be written, or the time is over.
        """
        result: Future[T] = Future()
        self._queue.put(
            Job(lambda connection: result.set_result(work(connection)), result.set_exception, makes_room=makes_room)
        )
        self._hurry.set()
        if self._ended:
            raise StoreError(self.fault)
        try:
            return result.result(timeout)
        except TimeoutError as error:
            raise StoreError("the database did not answer in time", "", "try again") from error
        except sqlite3.Error as error:
            if is_damage(error):
                doubt(self._file.path)
            raise StoreError(reason_of(error)) from error

    def close(self, timeout: float) -> bool:
        """Write all waiting records and end; give up after the timeout.

        Returns:
            Whether everything was written.
        """
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
        reason = "the database is closed"
        try:
            while not (self._is_stopping and self._queue.empty()):
                self._take()
                if not self.fault or self._is_urgent or time.monotonic() >= self._retry_at:
                    self._write()
        except FileGoneError as error:
            reason = self.fault = str(error)
        except Exception as error:  # noqa: BLE001 - the thread's own supervisor, which tells it
            reason = self.fault = "the writer of the database broke down"
            self._tell(f"{reason}: {error}")
        self.fault = self.fault or reason
        self._ended = True  # what is put after this is told so at once; what came before, now
        while not self._queue.empty():
            self._admit(self._queue.get())
        self._refuse_jobs()
        self._settle(self._pending, self.fault)

    def _take(self) -> None:
        """Queue everything put within a tick, or nothing for some seconds."""
        timeout = max(0.0, self._retry_at - time.monotonic()) if self.fault else None
        self._is_urgent, before = False, len(self._pending)
        with suppress(Empty):
            item = self._queue.get(timeout=timeout)
            if item is not None and not isinstance(item, Job):
                self._hurry.wait(TICK)
            self._hurry.clear()
            while True:
                self._admit(item)
                if len(self._pending) - before >= BATCH:
                    self._hurry.set()  # somebody may wait for what is left
                    break
                item = self._queue.get_nowait()
        if self.fault:
            self._settle(islice(self._pending, before, None), self.fault)

    def _admit(self, item: Source | Write | Job | None) -> None:
        if item is None:
            self._is_urgent = self._is_stopping = True
        elif isinstance(item, Write | Job):
            self._pending.append(item)
            self._is_urgent |= isinstance(item, Job)
        else:
            slots = item.take()
            self._pending += [slots[start : start + BATCH] for start in range(0, len(slots), BATCH)]

    def _write(self) -> None:
        while self._pending:
            first = self._pending[0]
            if isinstance(first, Job):
                self._pending.popleft()
                first.perform(self._connection)
                continue
            batch = self._batch()
            try:
                self._commit_whole_or_singly(batch)
            except sqlite3.Error as error:
                self._wait(error)
                return
            for _ in batch:
                self._pending.popleft()
            self.fault = ""
            self._settle(batch, "")

    def _batch(self) -> list[Statement]:
        """Return the statements before the next job, as many as are committed together."""
        batch: list[Statement] = []
        left = BATCH
        for item in self._pending:
            if isinstance(item, Job) or left <= 0:
                break
            batch.append(item)
            left -= len(item) if isinstance(item, list) else 1
        return batch

    def _commit_whole_or_singly(self, batch: Sequence[Statement]) -> None:
        """Commit a batch; where something in it is impossible, commit one by one, and leave that out.

        Raises:
            sqlite3.Error: Nothing can be written now.
        """
        try:
            self._commit(batch)
        except IMPOSSIBLE as error:
            if is_storage(error):
                raise
        else:
            return
        for item in batch:
            for single in [[slot] for slot in item] if isinstance(item, list) else [item]:
                try:
                    self._commit([single])
                except IMPOSSIBLE as error:
                    if is_storage(error):
                        raise
                    self._refuse(single, error)

    def _commit(self, batch: Sequence[Statement]) -> None:
        connection = self._connection
        for item in batch:
            if isinstance(item, list):
                finish_all(item)
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._records.begin()
            for item in batch:
                if isinstance(item, list):
                    self._records.add(item)
                else:
                    connection.execute(item.sql, item.row() if callable(item.row) else item.row)
            connection.execute("COMMIT")
        except BaseException:
            self._records.forget()
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        if any(isinstance(item, Write) and item.forgets for item in batch):
            self._records.forget()
            _give_memory_back()
        if self._file.is_gone():
            raise FileGoneError(GONE)

    def _refuse(self, single: Statement, error: Exception) -> None:
        reason = f"something could not be kept: {error}"
        if isinstance(single, list):
            single[0].source.refused()
        if reason not in self._reasons:
            self._reasons.add(reason)
            self._tell(reason)

    def _wait(self, error: sqlite3.Error) -> None:
        """Keep everything in memory for some seconds."""
        if self._file.is_gone():
            raise FileGoneError(GONE) from error
        if is_damage(error):
            doubt(self._file.path)
        self.fault = reason_of(error)
        self._retry_at = time.monotonic() + self._retry_seconds
        self._refuse_jobs()
        self._settle(self._pending, self.fault)

    def _refuse_jobs(self) -> None:
        """Refuse the jobs that wait, but for those that make room."""
        jobs = [item for item in self._pending if isinstance(item, Job)]
        self._pending = deque(item for item in self._pending if not isinstance(item, Job))
        for job in jobs:
            if job.makes_room and not self._ended:
                job.perform(self._connection)
                self._retry_at = 0.0
            else:
                job.refuse(StoreError(self.fault))

    @staticmethod
    def _settle(items: Iterable[Statement | Job], fault: str) -> None:
        """Tell the sources of records that these are stored, or wait for a reason."""
        newest = {item[-1].source: item[-1].seq for item in items if isinstance(item, list)}
        for source, seq in newest.items():
            source.settled(seq, fault)


def _give_memory_back() -> None:
    """Give freed memory back to the system; glibc alone would keep what lies between pieces still in use."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
