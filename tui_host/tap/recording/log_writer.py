"""What a tap records, written to a log as it comes. In a thread of its own: a log may be a pipe that nobody reads."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Protocol

from tui_host.capture.record import Record
from tui_host.capture.recorder import Recorder
from tui_host.capture.session_summary import SessionInfo
from tui_host.errors import TuiHostError
from tui_host.tap.threads import Thread

LOOK_SECONDS = 0.05
"""How often it is looked for what is new."""
RETRY_SECONDS = 5.0
AT_ONCE = 500
"""Records that are read at once, at most: out of the database they take their time."""


class Log(Protocol):
    """Takes records in order, besides the database.

    Attributes:
        written: How much it has taken, in whatever: it grows while a long record is written.
    """

    written: int

    def begin(self, session: SessionInfo, hide: Callable[[str], str], *, is_there: bool = False) -> None:
        """The session that all of them belong to.

        Args:
            session: It.
            is_there: It stands there already, with records.
            hide: What is read out of records passes it before it is shown: it takes out secrets that stand there compressed, or in pieces.

        Raises:
            OSError: It cannot be written; it may be tried again.
        """
        ...

    def write(self, record: Record) -> None:
        """The next record.

        Raises:
            OSError: It cannot be written; it may be tried again.
        """
        ...

    def exited(self, code: int, time_ns: int) -> None:
        """The server has ended, with an exit code, or below 0 by a signal.

        Raises:
            OSError: It cannot be written.
        """
        ...


class Logged:
    """Writes what one recorder takes to a log.

    Args:
        log: Gets every record once.
        recorder: Has them.
        session: What they belong to.
        tell: Takes a sentence for a person.
        note: Takes the number of the last record that stands in it, where that may have to be known later.
        after: That number, as it was noted before; None where nothing stands in it.
    """

    def __init__(
        self,
        log: Log,
        recorder: Recorder,
        session: SessionInfo,
        tell: Callable[[str], None],
        *,
        note: Callable[[int], None],
        after: int | None,
    ) -> None:
        self._log = log
        self._recorder = recorder
        self._session = session
        self._tell = tell
        self._note = note
        self._is_begun = False
        self._is_there = after is not None
        self._seq = after or 0
        self._exit: tuple[int, int] | None = None
        self._fault = ""
        self._is_ending = threading.Event()
        self._is_given_up = False
        self._thread: Thread | None = None

    def start(self) -> None:
        """Begin.

        Raises:
            OSError: There can be no other thread.
        """
        self._thread = Thread(self._run)

    def exited(self, code: int, time_ns: int) -> None:
        """The server has ended: that is told behind all records."""
        self._exit = code, time_ns

    def close(self, patience: float, is_hurried: Callable[[], bool] = lambda: False) -> None:
        """Write what is left, and end; what could not be written is told. Blocks.

        Args:
            patience: Seconds to wait while nothing of it is written: as long as it goes on, it may take its time.
            is_hurried: Somebody wants an end: no more is waited than so, even if it goes on.
        """
        self._is_ending.set()
        reached, until = self._reached, time.monotonic() + patience
        while self._thread is not None and self._thread.is_alive and time.monotonic() < until:
            self._thread.wait(LOOK_SECONDS)
            if self._reached != reached and not is_hurried():
                reached, until = self._reached, time.monotonic() + patience
        self._is_given_up = True
        if missing := self._recorder.last - self._seq:
            self._tell(f"the log misses what came last, records: {missing:,}")

    @property
    def _reached(self) -> tuple[int, int]:
        return self._seq, self._log.written

    def _run(self) -> None:
        while True:
            is_last = self._is_ending.is_set()
            is_held_up = self._follow()
            if is_last and (self._is_given_up or not is_held_up):
                return
            self._is_ending.wait(RETRY_SECONDS if self._fault else LOOK_SECONDS)

    def _follow(self) -> bool:
        """Write what is new, and tell where that cannot be done, and where it can be done again.

        Returns:
            Whether that is only since somebody who reads it takes his time.
        """
        try:
            if not self._is_begun:
                self._log.begin(self._session, self._recorder.redactor.text, is_there=self._is_there)
                self._is_begun = True
                self._note(self._seq)
            while new := self._recorder.since(self._seq, limit=AT_ONCE):
                for record in new:
                    if self._is_given_up:  # that it misses the rest is told
                        return False
                    self._log.write(record)
                    self._seq = record.seq
                    self._note(record.seq)
            if self._exit is not None and self._is_ending.is_set():
                self._log.exited(*self._exit)
                self._exit = None
        except OSError as error:
            self._failed(f"the log{_name(error)} cannot be written: {error.strerror or error}")
            return isinstance(error, TimeoutError)
        except TuiHostError as error:
            self._failed(f"the log waits for records that have left memory: {error}")
        else:
            if self._fault:
                self._fault = ""
                self._tell("the log goes on; nothing is missing in it")
        return False

    def _failed(self, fault: str) -> None:
        if fault != self._fault:
            self._fault = fault
            self._tell(f"{fault}; that is tried again (name another with --log)")


def _name(error: OSError) -> str:
    return f" {os.fsdecode(error.filename)}" if isinstance(error.filename, (str, bytes)) else ""
