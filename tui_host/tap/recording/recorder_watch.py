"""Watches the recorder from outside: its progress, and why it died. Imported before the first byte flows."""

from __future__ import annotations

import os
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tui_host.tap.recording.journal import Journal

PATIENCE = 10.0
"""Seconds without progress until the user is told. The recorder itself reports a locked database after 5 seconds."""
START_PATIENCE = 30.0
"""Seconds without progress at the start, which takes a second of processor time, ten on a busy machine."""
LOOK_SECONDS = 1.0
"""Seconds between the relay's checks."""


class StandstillWatch:
    """Tells the user when a stopped or hanging recorder makes no progress, and when recording resumes.

    Args:
        journal: Shows what waits and what was stored.
        tell: Receives messages for the user.
    """

    def __init__(self, journal: Journal, tell: Callable[[str], None]) -> None:
        self._journal = journal
        self._tell = tell
        self._looked_at = time.monotonic()
        self.restart()

    def restart(self) -> None:
        """Start counting again, for a new recorder or after a fault that the recorder has reported."""
        self._kept = self._journal.kept
        self._since = time.monotonic()
        self._patience = START_PATIENCE
        self._is_told = False

    def look(self) -> None:
        """Check the recorder's progress."""
        journal, now = self._journal, time.monotonic()
        if now - self._looked_at > 5 * LOOK_SECONDS:  # this process was stopped, and the recorder with it
            self._since = now
        self._looked_at = now
        is_waiting = journal.held != 0 or journal.left != 0 or journal.taken != journal.kept
        if journal.is_fault_told:
            self.restart()
        elif not is_waiting or journal.kept != self._kept:
            if journal.kept != self._kept:
                self._patience = PATIENCE
            self._since, self._kept = now, journal.kept
            if self._is_told:
                self._is_told = False
                self._tell("recording continues")
        elif not self._is_told and now - self._since >= self._patience:
            self._is_told = True
            self._tell(
                f"nothing is recorded for now: the recorder has made no progress for {self._patience:.0f} seconds; "
                "everything passes, and waits to be recorded"
            )


def is_running(process: int) -> bool:
    """Whether a child process is running. Its exit status stays available."""
    try:
        return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return True  # the process belongs to another parent


def death_of(process: int, patience: float) -> str:
    """Return how a child died, after waiting up to `patience` seconds; empty after an orderly end, or if it still runs."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        try:
            ended, status = os.waitpid(process, os.WNOHANG)
        except ChildProcessError:
            return "has ended"  # the process belongs to another parent
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return f"was ended by {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}" if code else ""
        time.sleep(0.001)
    return ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
