"""Signals sent to a stdio tap and meant for the server. Imported before the first byte flows.

They are blocked, and a thread waits for them: the tap itself heeds none, repeated signals are passed on as often as the system queues them,
and early ones wait for the server. Faults of the tap's own stay with the thread that caused them, and end the tap.
"""

from __future__ import annotations

import _thread
import signal

from tui_host.tap.stdio.server_command import IGNORED_BY_PYTHON
from tui_host.tap.threads import Thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

OWN = {
    signal.SIGCHLD,  # with which a tap learns of its server's end, and wakes a thread
    *(signal.SIGKILL, signal.SIGSTOP),  # nobody hears them
}
"""Signals for the tap itself; all others are meant for the server."""
STOPS = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
"""Signals with which a terminal stops a program. Blocking them would make reads from the terminal fail."""


class Signals:
    """Holds signals back until `start`. Make this before any lasting thread.

    Attributes:
        mask: The host's signal mask, for the server.
    """

    def __init__(self) -> None:
        # One that is switched off (nohup) stays so, in both; Python itself has switched off two for its own sake.
        self._heeded = {
            number
            for number in signal.valid_signals() - OWN - STOPS
            if number in IGNORED_BY_PYTHON or signal.getsignal(number) is not signal.SIG_IGN
        }
        self.mask: Collection[int] = signal.pthread_sigmask(signal.SIG_BLOCK, self._heeded)
        signal.pthread_sigmask(
            signal.SIG_UNBLOCK, {signal.SIGCHLD}
        )  # a host may have blocked it, and tap and server inherit that

    def prepare(self, pass_on: Callable[[int], None]) -> None:
        """Make a thread that passes signals on, also again in a forked process.

        Args:
            pass_on: Takes a signal's number.

        Raises:
            OSError: The thread cannot start.
        """
        self._turn = _thread.allocate_lock()
        self._turn.acquire()

        def run() -> None:
            self._turn.acquire()
            while True:
                pass_on(signal.sigwait(self._heeded))

        Thread(run)

    def start(self) -> None:
        """Begin with the signals already received."""
        self._turn.release()

    def undo(self) -> None:
        """Restore the signal mask."""
        signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)


def die_of(number: int) -> None:
    """End by a signal; returns only for a harmless signal."""
    if signal.getsignal(number) not in {signal.SIG_DFL, None}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    signal.raise_signal(number)
