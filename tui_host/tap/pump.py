"""One direction of a stdio tap: bytes from one descriptor to another. Imported before the first byte flows."""

from __future__ import annotations

import os
import select
import signal
import threading

from tui_host.tap.descriptors import read, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tui_host.tap.passing import Telling


class Pump:
    """Bytes from one descriptor to another, until one of them ends.

    Args:
        source: What is read.
        target: What is written.
        kind: Of what passes, as it is told.
        telling: Is told.
        ended: Called at the end, in the pump's thread.

    Attributes:
        is_broken: Nobody takes what is written.
        is_over: It has come to its end.
        written: Bytes that were taken.
    """

    def __init__(self, source: int, target: int, kind: bytes, telling: Telling, ended: Callable[[], None]) -> None:
        self.source, self.target = source, target
        self.is_broken = self.is_over = False
        self.written = 0
        self._read = 0
        self._is_halted = False
        self._kind = kind
        self._telling = telling
        self._ended = ended

    def start(self) -> None:
        """Begin; or go on after a halt, be it in a forked process."""
        self._is_halted = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def wait(self, seconds: float | None = None) -> None:
        """Wait for its end."""
        self._thread.join(seconds)

    def _run(self) -> None:
        source, target, kind = self.source, self.target, self._kind
        passed, go = self._telling.passed, self._telling.go
        while chunk := read(source):
            passed(kind, chunk)  # before anybody can answer it
            self._read += len(chunk)
            if not write(target, chunk):
                self.is_broken = True
                break
            self.written += len(chunk)
            go()
        if self._is_halted and not self.is_broken:
            return  # perhaps at the true end: who goes on will see
        go()
        self.is_over = True
        self._ended()

    @property
    def is_waiting(self) -> bool:
        """Whether all that has come is delivered, and somebody has the source who may say more."""
        events = select.poll()
        events.register(self.source, select.POLLIN)
        return not self.is_over and self._read == self.written and not events.poll(0)

    def halt(self, nowhere: int, seconds: float) -> bool:
        """Read no more, without a byte lost; False, and it goes on, if what was read is not taken within the time.

        The thread that waits for the source wakes up with another one under its hands, at whose end it is.

        Args:
            nowhere: A descriptor that is at its end.
            seconds: How long that may take.
        """
        thread = self._thread
        if self.is_over or thread.ident is None:
            return True
        self._is_halted = True
        kept = os.dup(self.source)
        os.dup2(nowhere, self.source)
        signal.signal(
            signal.SIGURG, lambda _number, _frame: None
        )  # nobody sends it; one that is ignored wakes no thread
        if thread.is_alive():
            signal.pthread_kill(thread.ident, signal.SIGURG)
        thread.join(seconds)
        os.dup2(kept, self.source)
        os.close(kept)
        return not thread.is_alive()

    def resume(self) -> None:
        """Go on, if it was halted."""
        if self._is_halted and not self._thread.is_alive():
            self.start()
