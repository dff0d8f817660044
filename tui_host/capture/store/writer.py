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
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TypeAlias, TypeVar

from tui_host.capture.store.database import FileWatch, doubt
from tui_host.capture.store.deletion import give_pages_back
from tui_host.capture.store.disk_space import SHORT_LOG_PAGES, DiskReserve
from tui_host.capture.store.pending_records import Slot, Source, finish_all
from tui_host.capture.store.rows import RecordTable, Row
from tui_host.capture.store.store_faults import DAMAGED, is_damage, is_storage, reason_of
from tui_host.errors import StoreError

BATCH = 1024
TICK = 0.02
"""Seconds in which what comes is committed together: less than a screen's, and the callers' thread is not disturbed for each record."""
LOOK_AFTER = 1 << 20
"""Bytes of records after which the room on the disk is looked at again."""
RESTARTS = 1
GONE = "the database was removed, or another file put in its place"
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
    """Work to run on the writer's connection, after everything put before, for a waiting caller.

    Where that cannot be written, work that makes room runs all the same.
    """

    work: Callable[[sqlite3.Connection], None]
    makes_room: bool = False
    future: Future[None] = field(default_factory=Future[None])

    def perform(self, connection: sqlite3.Connection) -> None:
        """Run the work outside of any transaction, and hand over the result."""
        try:
            self.work(connection)
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            self.future.set_exception(error)
        else:
            self.future.set_result(None)


Statement: TypeAlias = "list[Slot] | Write"
"""Some records of one source, or one statement."""
Item: TypeAlias = "Source | Write | Job | None"


class Writer:
    """Writes statements and records in the order of `put`.

    Args:
        connection: In autocommit mode and usable from any thread; the writer owns it.
        owner: The lock that this process holds.
        room: What is known of the disk.
        told: Where it says what a person should know.
        file: What is written in; where it is gone the writer ends.
        retry_seconds: How long it waits before it tries again.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        owner: str,
        room: DiskReserve,
        told: Callable[[str], None],
        *,
        file: FileWatch,
        retry_seconds: float,
    ) -> None:
        self.fault = ""
        self._room = room
        self._log_pages = 0
        self._unlooked = 0
        self._file = file
        self._connection = connection
        self._records = RecordTable(connection, owner)
        self._told = told
        self._reasons: set[str] = set()  # each is told once: how many records it was is counted where they come from
        self._retry_seconds = retry_seconds
        self._retry_at = 0.0
        self._queue: SimpleQueue[Item] = SimpleQueue()
        self._hurry = threading.Event()
        self._pending: deque[Statement | Job] = deque()
        self._stopping = False
        self._ended = False
        self._thread = threading.Thread(target=self._supervise, name="store", daemon=True)
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
        results: list[T] = []
        job = Job(lambda connection: results.append(work(connection)), makes_room)
        self._queue.put(job)
        self._hurry.set()
        if self._ended:
            raise StoreError(self.fault)
        try:
            job.future.result(timeout)
        except TimeoutError as error:
            raise StoreError("the database did not answer in time", "", "try again") from error
        except sqlite3.Error as error:
            if is_damage(error):
                doubt(self._file.path)
            raise StoreError(reason_of(error)) from error
        return results[0]

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

    def _supervise(self) -> None:
        for _ in range(1 + RESTARTS):
            try:
                self._loop()
            except FileGoneError as error:
                self.fault = str(error)
                break
            except Exception as error:  # noqa: BLE001 - the thread's own supervisor, which tells it
                self._told(f"the writer of the database broke down: {error}")
                self.fault = "the writer of the database broke down"
            else:
                self.fault = self.fault or "the database is closed"
                break
        self._ended = True  # what is put after this is told so at once; what came before, now
        while not self._queue.empty():
            self._admit(self._queue.get())
        self._give_up_jobs()
        self._tell_sources(self._statements(), self.fault)

    def _loop(self) -> None:
        while not (self._stopping and self._queue.empty()):
            new, is_urgent = self._take()
            if self.fault and not is_urgent and time.monotonic() < self._retry_at:
                self._tell_sources(new, self.fault)
            else:
                self._work()

    def _take(self) -> tuple[list[Statement], bool]:
        """Return everything put within a tick, or nothing for some seconds, and whether a caller waits."""
        timeout = max(0.0, self._retry_at - time.monotonic()) if self.fault else None
        new: list[Statement] = []
        is_urgent = False
        try:
            item = self._queue.get(timeout=timeout)
            if item is not None and not isinstance(item, Job):
                self._hurry.wait(TICK)
            self._hurry.clear()
            while True:
                new += self._admit(item)
                is_urgent = is_urgent or item is None or isinstance(item, Job)
                if len(new) >= BATCH:
                    self._hurry.set()  # somebody may wait for what is left
                    break
                item = self._queue.get_nowait()
        except Empty:
            pass  # that was all
        return new, is_urgent

    def _admit(self, item: Item) -> Sequence[Statement]:
        """Queue an item in order; return the part to be written."""
        new: list[Statement] = []
        if item is None:
            self._stopping = True
        elif isinstance(item, Job):
            self._pending.append(item)
        elif isinstance(item, Write):
            new.append(item)
        else:
            slots = item.take()
            new += [slots[start : start + BATCH] for start in range(0, len(slots), BATCH)]
        self._pending += new
        return new

    def _work(self) -> None:
        while self._pending:
            first = self._pending[0]
            if isinstance(first, Job):
                self._pending.popleft()
                self._perform(first)
                continue
            batch = self._statements(BATCH)
            try:
                self._commit(batch)
            except sqlite3.Error as error:
                if is_storage(error):
                    self._fail(error)
                    return
                self._commit_each(batch)
            except (ValueError, TypeError, OverflowError):
                self._commit_each(batch)
            else:
                self._done(batch)

    def _perform(self, job: Job) -> None:
        if job.makes_room:  # the log is emptied often meanwhile: what stands in it takes room twice
            self._set_log_pages(SHORT_LOG_PAGES)
            self._unlooked = LOOK_AFTER
        job.perform(self._connection)

    def _look_at_room(self, size: int) -> None:
        """Keep the log short while the disk has little room."""
        self._unlooked -= size
        if self._unlooked < 0:
            self._unlooked = LOOK_AFTER
            self._set_log_pages(self._room.log_pages())

    def _set_log_pages(self, pages: int) -> None:
        if pages != self._log_pages:
            self._log_pages = pages
            self._connection.execute(f"PRAGMA wal_autocheckpoint = {pages}").fetchall()

    def _statements(self, limit: int | None = None) -> list[Statement]:
        """Return the statements before the next job, up to a limit of records and statements."""
        statements: list[Statement] = []
        count = 0
        for item in self._pending:
            if isinstance(item, Job) or (limit is not None and count >= limit):
                break
            statements.append(item)
            count += len(item) if isinstance(item, list) else 1
        return statements

    def _commit(self, batch: Sequence[Statement]) -> None:
        connection = self._connection
        self._look_at_room(sum([finish_all(item) for item in batch if isinstance(item, list)]))
        connection.execute("BEGIN IMMEDIATE")
        try:
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

    def _commit_each(self, batch: Sequence[Statement]) -> None:
        """Commit one by one, to find an impossible statement and go on without."""
        single: list[Statement] = []
        for item in batch:
            self._pending.popleft()
            single += [[slot] for slot in item] if isinstance(item, list) else [item]
        self._pending.extendleft(reversed(single))
        for item in single:
            try:
                self._commit((item,))
            except (sqlite3.Error, ValueError, TypeError, OverflowError) as error:
                if isinstance(error, sqlite3.Error) and is_storage(error):
                    self._fail(error)
                    return
                self._refuse(item, error)
            self._done((item,))

    def _refuse(self, item: Statement, error: Exception) -> None:
        reason = f"something could not be kept: {error}"
        if isinstance(item, list):
            item[0].source.refused()
        if reason not in self._reasons:
            self._reasons.add(reason)
            self._told(reason)

    def _done(self, batch: Sequence[Statement]) -> None:
        for _ in batch:
            self._pending.popleft()
        self.fault = ""
        self._tell_sources(batch, "")

    def _fail(self, error: sqlite3.Error) -> None:
        if self._file.is_gone():
            raise FileGoneError(GONE) from error
        if is_damage(error):
            doubt(self._file.path)
        self.fault = reason_of(error)
        self._retry_at = time.monotonic() + self._retry_seconds
        self._give_up_jobs()
        self._tell_sources(self._statements(), self.fault)

    def _give_up_jobs(self) -> None:
        waiting = [item for item in self._pending if isinstance(item, Job)]
        self._pending = deque(item for item in self._pending if not isinstance(item, Job))
        for job in waiting:
            if job.makes_room and not self._ended:
                self._perform(job)
                self._retry_at = 0.0
            else:
                job.future.set_exception(StoreError(self.fault))

    @staticmethod
    def _tell_sources(batch: Sequence[Statement], fault: str) -> None:
        newest = {item[-1].source: item[-1].seq for item in batch if isinstance(item, list)}
        for source, seq in newest.items():
            source.settled(seq, fault)


def _give_memory_back() -> None:
    """Give freed memory back to the system; glibc alone would keep what lies between pieces still in use."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
