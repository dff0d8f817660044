"""The recorder, watched from outside: progress, and cause of death. Imported before the first byte flows."""

from __future__ import annotations

import os
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tui_host.tap.recording.journal import Journal

PATIENCE = 10.0
"""Seconds without progress before a standstill is told. For a locked database the recorder waits 5 seconds and tells itself."""
START_PATIENCE = 30.0
"""The same at the start, which takes a second of processor time, ten on a busy machine."""
LOOK_SECONDS = 1.0
"""How often the relay looks."""


class StandstillWatch:
    """Tells when a stopped or hanging recorder keeps nothing for long, and when recording goes on.

    Args:
        journal: What waits, and what was kept.
        tell: Takes a sentence for a person.
    """

    def __init__(self, journal: Journal, tell: Callable[[str], None]) -> None:
        self._journal = journal
        self._tell = tell
        self._looked_at = time.monotonic()
        self.restart()

    def restart(self) -> None:
        """Start counting anew, for a new recorder or after a fault told by the recorder."""
        self._kept = self._journal.kept
        self._since = time.monotonic()
        self._patience = START_PATIENCE
        self._is_told = False

    def look(self) -> None:
        """See how far the recorder is."""
        journal, now = self._journal, time.monotonic()
        if now - self._looked_at > 5 * LOOK_SECONDS:  # this process was stopped itself, and the recorder with it
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
                self._tell("recording goes on")
        elif not self._is_told and now - self._since >= self._patience:
            self._is_told = True
            self._tell(
                f"nothing is recorded for now: the recorder has not got on for {self._patience:.0f} seconds; "
                "everything is passed on and waits"
            )


def is_running(process: int) -> bool:
    """Whether a child has not ended. The exit status stays available."""
    try:
        return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return True  # it is another process's child


def death_of(process: int, patience: float) -> str:
    """How a child died, waiting up to `patience` seconds; empty for an orderly end, or a child that still runs."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        try:
            ended, status = os.waitpid(process, os.WNOHANG)
        except ChildProcessError:
            return "has ended"  # it is another process's child
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return f"was ended by {_signal_name(-code)}" if code < 0 else f"has ended with {code}" if code else ""
        time.sleep(0.001)
    return ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
