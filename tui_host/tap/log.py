"""`--log`: an export that follows. Writes what is recorded as far as the reader takes it, and never waits for him."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from tui_host.capture.exports.jsonl_export import record_line, session_line
from tui_host.capture.record import Record
from tui_host.capture.recorder import Recorder
from tui_host.capture.session_summary import SessionInfo
from tui_host.errors import TuiHostError

AT_ONCE = 1 << 20
"""Largest number of bytes to write at once."""
RECORDS_AT_ONCE = 20
LOOK_SECONDS = 0.02


class LogForm:
    """What a log says of a session: record lines, in the form of `sessions export --format jsonl`."""

    def begin(self, session: SessionInfo, hide: Callable[[str], str]) -> bytes:
        """Return the beginning of a session's log; `hide` removes secrets that were compressed or in pieces in the records."""
        del hide  # records have none
        return session_line(session)

    def line(self, record: Record) -> bytes:
        """Return what the log says of the next record; may be empty."""
        return record_line(record)


class TapLog:
    """Follows a recorder and appends lines of a form to a file, given by its descriptor, with its name for messages."""

    def __init__(self, form: LogForm, descriptor: int, name: str, tell: Callable[[str], None]) -> None:
        os.set_blocking(descriptor, False)
        self._form = form
        self._descriptor = descriptor
        self._name = name
        self._tell = tell
        self._rest = b""
        self._fault = ""
        self._is_closed = False
        self._seq = 0  # of the last record that was worded

    def begin(self, session: SessionInfo, hide: Callable[[str], str], *, is_first: bool) -> None:
        """Begin the session's log; a later recorder only ends the line that the one before it left unfinished."""
        beginning = self._form.begin(session, hide)
        self._rest += beginning if is_first else b"\n"

    def follow(self, recorder: Recorder) -> bool:
        """Write what is new; returns whether there is nothing left to write."""
        try:
            while self._push() and (records := recorder.since(self._seq, limit=RECORDS_AT_ONCE)):
                self._rest += b"".join(map(self._form.line, records))
                self._seq = records[-1].seq
        except TuiHostError as error:
            self._failed(f"the log cannot read records back from the database: {error}")
        return not self._rest and self._seq == recorder.last

    def finish(self, recorder: Recorder, patience: float) -> None:
        """Write the rest unless there is no progress for so many seconds, and tell the user how much is missing."""
        until = time.monotonic() + patience
        left = len(self._rest)
        while not (self.follow(recorder) or self._is_closed) and time.monotonic() < until:
            if left != len(self._rest):
                left = len(self._rest)
                until = time.monotonic() + patience
            time.sleep(LOOK_SECONDS)
        if missing := recorder.last - self._seq + bool(self._rest):
            self._tell(f"the log lacks the last records: {missing:,}")

    def _push(self) -> bool:
        """Write the rest; returns whether nothing of it is left."""
        try:
            while self._rest and not self._is_closed:
                self._rest = self._rest[os.write(self._descriptor, self._rest[:AT_ONCE]) :]
        except BlockingIOError:
            return False  # the reader is slow
        except BrokenPipeError:
            self._is_closed = True
        except OSError as error:
            self._failed(f"the log {self._name} cannot be written: {error.strerror or error}")
            return False
        if self._fault:
            self._fault = ""
            self._tell("the log continues; nothing is missing in it")
        return not self._is_closed

    def _failed(self, fault: str) -> None:
        if fault != self._fault:
            self._fault = fault
            self._tell(f"{fault}; the tap keeps trying (name another file with --log)")
