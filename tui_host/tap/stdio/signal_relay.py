"""Passes signals sent to a stdio tap on to the server. Imported before the first byte flows.

The signals are blocked, and a thread waits for them: the tap reacts to none, repeated signals are passed on as often as
the system queues them, and early ones wait for the server. Signals that a fault in the tap raises still end the tap.
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
    signal.SIGCHLD,  # tells a tap that its server has ended
    *(signal.SIGKILL, signal.SIGSTOP),  # no process can receive these
}
"""Signals for the tap itself; all others are meant for the server."""
STOPS = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
"""Signals by which a terminal stops a program. If they were blocked, reading from the terminal would fail."""


class SignalRelay:
    """Holds signals back until `start`. Create it before any lasting thread.

    Attributes:
        mask: The host's signal mask, for the server.
    """

    def __init__(self) -> None:
        # A signal that is switched off (nohup) stays off in tap and server; Python itself has switched off two more.
        self._heeded = {
            number
            for number in signal.valid_signals() - OWN - STOPS
            if number in IGNORED_BY_PYTHON or signal.getsignal(number) is not signal.SIG_IGN
        }
        self.mask: Collection[int] = signal.pthread_sigmask(signal.SIG_BLOCK, self._heeded)
        signal.pthread_sigmask(
            signal.SIG_UNBLOCK, {signal.SIGCHLD}
        )  # a host may have blocked it, which tap and server inherit

    def prepare(self, pass_on: Callable[[int], None]) -> None:
        """Create the thread that passes signals on.

        Args:
            pass_on: Called with a signal's number.

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
        """Begin to pass signals on, first those already received."""
        self._turn.release()

    def cancel(self) -> None:
        """Restore the signal mask."""
        signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)


def die_of(number: int) -> None:
    """End this process by a signal; returns only if the signal ends no process."""
    if signal.getsignal(number) not in {signal.SIG_DFL, None}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    signal.raise_signal(number)
