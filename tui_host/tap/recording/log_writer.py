"""Writes a tap's records to `--log FILE` while they are made. Imported late.

The log is written in its own thread, since it may be a pipe that no process reads.
"""

from __future__ import annotations

import errno
import os
import select
import threading
import time
from collections.abc import Callable
from typing import Protocol

from tui_host.capture.exports.jsonl_export import record_line, session_line
from tui_host.capture.record import Record
from tui_host.capture.recorder import Recorder
from tui_host.capture.session_summary import SessionInfo
from tui_host.errors import TuiHostError
from tui_host.tap.threads import Thread

PATIENCE = 2.0
"""Seconds that the reader of a pipe has to read something."""
AT_ONCE = 1 << 20
"""Largest number of bytes to write at once, to see the progress within a long line."""
LOOK_SECONDS = 0.05
"""Seconds between looks for new records."""
RETRY_SECONDS = 5.0
RECORDS_AT_ONCE = 500
"""Largest number of records to read at once, since reading from the database takes time."""


class Log(Protocol):
    """Writes records in order to a log. Methods raise OSError if writing fails for now, and may be called again.

    Attributes:
        written: Grows while a long record is written, in any unit.
    """

    written: int

    def begin(self, session: SessionInfo, hide: Callable[[str], str], *, is_there: bool = False) -> None:
        """Write the beginning of a session.

        Args:
            session: The session to which all records belong.
            hide: Removes secrets from texts that were compressed or in pieces in the records.
            is_there: Whether an earlier recorder has already written the beginning.
        """
        ...

    def write(self, record: Record) -> None:
        """Write the next record."""
        ...

    def exited(self, code: int, time_ns: int) -> None:
        """Write how the server ended: an exit code, or a negative signal number."""
        ...


class JsonLines:
    """Appends records to a file as JSON lines, in the form of `sessions export --format jsonl`.

    Args:
        descriptor: The file, opened for appending.
        path: The file's path, for messages.

    Attributes:
        written: Number of bytes written.
    """

    def __init__(self, descriptor: int, path: str) -> None:
        self._descriptor = descriptor
        self._path = path
        self.written = 0
        self._is_within_a_line = False

    def begin(self, session: SessionInfo, hide: Callable[[str], str], *, is_there: bool = False) -> None:
        """Write a session's first line; for a later recorder, only a line end after a record that a crash cut off."""
        del hide  # secrets are already removed from records
        self._append(b"\n" if is_there else session_line(session))

    def write(self, record: Record) -> None:
        """Write a record as a line."""
        self._append(record_line(record))

    def exited(self, code: int, time_ns: int) -> None:
        """Do nothing: a server's end is not a record."""

    def _append(self, line: bytes) -> None:
        whole = b"\n" + line if self._is_within_a_line else line
        rest = memoryview(whole)
        try:
            while rest:
                try:
                    taken = os.write(self._descriptor, rest[:AT_ONCE])
                    self.written += taken
                    rest = rest[taken:]
                except BlockingIOError:
                    self._wait()
        except OSError as error:
            self._is_within_a_line = self._is_within_a_line or len(rest) < len(whole)
            raise OSError(error.errno, error.strerror or str(error), self._path) from error
        self._is_within_a_line = False

    def _wait(self) -> None:
        room = select.poll()
        room.register(self._descriptor, select.POLLOUT)
        if not room.poll(PATIENCE * 1000):
            raise TimeoutError(errno.ETIMEDOUT, "nobody reads from it")


class LogWriter:
    """Writes a recorder's records to a log, in a thread.

    Args:
        log: Receives every record once.
        recorder: Provides the records.
        session: The session to which the records belong.
        tell: Receives messages for the user.
        is_there: Whether an earlier recorder has begun the session in the log.
    """

    def __init__(
        self, log: Log, recorder: Recorder, session: SessionInfo, tell: Callable[[str], None], *, is_there: bool
    ) -> None:
        self._log = log
        self._recorder = recorder
        self._session = session
        self._tell = tell
        self._is_there = is_there
        self._is_begun = False
        self._seq = 0
        self._exit: tuple[int, int] | None = None
        self._fault = ""
        self._is_ending = threading.Event()
        self._is_given_up = False
        self._thread: Thread | None = None

    def start(self) -> None:
        """Start the writing thread.

        Raises:
            OSError: The thread cannot start.
        """
        self._thread = Thread(self._run)

    def exited(self, code: int, time_ns: int) -> None:
        """Write the server's end after all records."""
        self._exit = code, time_ns

    def close(self, patience: float, is_hurried: Callable[[], bool] = lambda: False) -> None:
        """Write the remaining records, and tell the user how many are missing. Blocks.

        Args:
            patience: Seconds to wait without progress; writing that makes progress may take longer.
            is_hurried: Returns whether to end soon: then the total wait is limited to `patience`.
        """
        self._is_ending.set()
        reached, until = self._reached, time.monotonic() + patience
        while self._thread is not None and self._thread.is_alive and time.monotonic() < until:
            self._thread.wait(LOOK_SECONDS)
            if self._reached != reached and not is_hurried():
                reached, until = self._reached, time.monotonic() + patience
        self._is_given_up = True
        if missing := self._recorder.last - self._seq:
            self._tell(f"the log lacks the last records: {missing:,}")

    @property
    def _reached(self) -> tuple[int, int]:
        return self._seq, self._log.written

    def _run(self) -> None:
        while True:
            is_last = self._is_ending.is_set()
            is_held_up = self._write_new()
            if is_last and (self._is_given_up or not is_held_up):
                return
            self._is_ending.wait(RETRY_SECONDS if self._fault else LOOK_SECONDS)

    def _write_new(self) -> bool:
        """Write new records, and tell the user about failure and recovery.

        Returns:
            Whether writing failed only because the reader is slow.
        """
        try:
            if not self._is_begun:
                self._log.begin(self._session, self._recorder.redactor.text, is_there=self._is_there)
                self._is_begun = True
            while records := self._recorder.since(self._seq, limit=RECORDS_AT_ONCE):
                for record in records:
                    if self._is_given_up:
                        return False
                    self._log.write(record)
                    self._seq = record.seq
            if self._exit is not None and self._is_ending.is_set():
                self._log.exited(*self._exit)
                self._exit = None
        except OSError as error:
            name = f" {os.fsdecode(error.filename)}" if isinstance(error.filename, (str, bytes)) else ""
            self._failed(f"the log{name} cannot be written: {error.strerror or error}")
            return isinstance(error, TimeoutError)
        except TuiHostError as error:
            self._failed(f"the log cannot read records back from the database: {error}")
        else:
            if self._fault:
                self._fault = ""
                self._tell("the log continues; nothing is missing in it")
        return False

    def _failed(self, fault: str) -> None:
        if fault != self._fault:
            self._fault = fault
            self._tell(f"{fault}; the tap keeps trying (name another file with --log)")
