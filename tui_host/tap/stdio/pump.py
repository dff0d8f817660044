"""A direction of a stdio tap: bytes from descriptor to descriptor. Imported before the first byte flows."""

from __future__ import annotations

import _thread
import os
import select
import signal

from tui_host.tap.descriptors import READ_BYTES, read, write
from tui_host.tap.threads import Thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tui_host.tap.recording.channel_write import ChannelWriter

WAKES = signal.SIGCHLD
"""The signal to wake a thread: the tap's own, with a handler that does nothing."""
NO_MEMORY = b"tui-host tap: no memory is left to pass on what comes; this stream ends here\n"


class Pump:
    """Copies bytes between two descriptors until either ends.

    Args:
        source: The descriptor to read.
        target: The descriptor to write.
        kind: The kind of the reported items.
        writer: Is told.
        ended: Called at the end, in the pump's thread.

    Attributes:
        is_broken: Nobody reads the target.
        is_over: The pump has ended.
        written: Bytes written.
    """

    def __init__(self, source: int, target: int, kind: bytes, writer: ChannelWriter, ended: Callable[[], None]) -> None:
        self.source, self.target = source, target
        self.is_broken = self.is_over = False
        self.written = 0
        self._rest = b""
        self._is_halted = False
        self._kind = kind
        self._writer = writer
        self._ended = ended

    def prepare(self) -> None:
        """Make a thread, also again after a halt, in a forked process.

        Raises:
            OSError: The thread cannot start.
        """
        self._is_halted = False
        self._turn = _thread.allocate_lock()
        self._turn.acquire()
        self._thread = Thread(self._run)

    def start(self) -> None:
        """Begin."""
        self._turn.release()

    def wait(self, seconds: float | None = None) -> None:
        """Wait for the end."""
        self._thread.wait(seconds)

    def _run(self) -> None:
        self._turn.acquire()
        try:
            self._pass()
        except MemoryError:
            self.is_broken = True
            write(2, NO_MEMORY)
        if self._is_halted and not self.is_broken:
            return  # perhaps at the true end: who goes on will see
        self._writer.notify()
        self.is_over = True
        self._ended()

    def _pass(self) -> None:
        source, target, kind = self.source, self.target, self._kind
        report, notify = self._writer.report, self._writer.notify
        if self._rest:
            self.is_broken = not write(target, self._rest)
        while not self.is_broken and (chunk := read(source)):
            report(kind, chunk)  # before anybody can answer it
            if not write(target, chunk):
                self.is_broken = True
                break
            self.written += len(chunk)
            notify()

    @property
    def is_held(self) -> bool:
        """Whether nothing is left to read, though somebody still holds the pipe."""
        events = select.poll()
        events.register(self.source, select.POLLIN)
        return not self.is_over and not events.poll(0)

    def halt(self, nowhere: int) -> None:
        """Stop reading and writing without losing a byte: bytes read and not taken are kept for the next run.

        The descriptors are exchanged under the thread: the source for one at end of file, the target for a pipe. The thread is woken, writes the
        bytes in hand to the pipe and ends, and these bytes are read back.

        Args:
            nowhere: A descriptor at end of file.
        """
        thread = self._thread
        if self.is_over:
            return
        self._is_halted = True
        theirs = [(os.dup(descriptor), descriptor) for descriptor in (self.source, self.target)]
        back, aside = os.pipe()
        os.dup2(nowhere, self.source)
        os.dup2(aside, self.target)
        if thread.is_alive:
            signal.pthread_kill(thread.ident, WAKES)
        os.set_blocking(back, False)
        while True:
            was_alive = thread.is_alive
            try:
                self._rest += os.read(back, READ_BYTES)
            except BlockingIOError:
                if not was_alive:
                    break
                thread.wait(0.001)
        for kept, descriptor in theirs:
            os.dup2(kept, descriptor)
        for descriptor in (back, aside, *(kept for kept, _ in theirs)):
            os.close(descriptor)
