"""Where a tap's records go besides the database: JSON lines in a file."""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Callable

from tui_host.capture.exports.jsonl_export import record_line, session_line
from tui_host.capture.record import Record
from tui_host.capture.session_summary import SessionInfo

PATIENCE = 2.0
"""Seconds for whoever reads a pipe to take something."""
AT_ONCE = 1 << 20
"""Bytes that are written at once, at most: so it is known how far a long line has come."""


class JsonLines:
    """Record lines at the end of a file. Source: DESIGN, Contract, Record lines.

    Args:
        descriptor: The file, to be appended to.
        path: How it is called.

    Attributes:
        written: Bytes that it has taken.
    """

    def __init__(self, descriptor: int, path: str) -> None:
        self._descriptor = descriptor
        self._path = path
        self.written = 0
        self._is_within_a_line = False

    def begin(self, session: SessionInfo, hide: Callable[[str], str], *, is_there: bool = False) -> None:
        """The line that begins a session."""
        del hide  # records have no secrets in them
        if not is_there:
            self._append(session_line(session))

    def write(self, record: Record) -> None:
        """One record's line."""
        self._append(record_line(record))

    def exited(self, code: int, time_ns: int) -> None:
        """Nothing: that is no record."""

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
