"""Copies one direction of a stdio tap from descriptor to descriptor. Imported before the first byte flows."""

from __future__ import annotations

import _thread
import select

from tui_host.tap.descriptors import read, write
from tui_host.tap.threads import Thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tui_host.tap.recording.channel_write import ChannelWriter

NO_MEMORY = b"tui-host tap: out of memory: this stream ends here\n"


class Pump:
    """Copies bytes between two descriptors, in a thread, until one of them ends.

    Args:
        source: The descriptor to read from.
        target: The descriptor to write to.
        kind: The kind of the items to report.
        writer: Receives the reports.
        ended: Called in the pump's thread when the pump ends.

    Attributes:
        is_broken: Whether no process reads the target any more.
        is_over: Set when the pump has ended.
    """

    def __init__(self, source: int, target: int, kind: bytes, writer: ChannelWriter, ended: Callable[[], None]) -> None:
        self.source, self.target = source, target
        self.is_broken = self.is_over = False
        self._is_writing = False
        self._kind = kind
        self._writer = writer
        self._ended = ended

    def prepare(self) -> None:
        """Create the thread.

        Raises:
            OSError: The thread cannot start.
        """
        self._turn = _thread.allocate_lock()
        self._turn.acquire()
        self._thread = Thread(self._run)

    def start(self) -> None:
        """Start copying."""
        self._turn.release()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the pump has ended."""
        self._thread.wait(seconds)

    def _run(self) -> None:
        self._turn.acquire()
        try:
            self._pass()
        except MemoryError:
            self.is_broken = True
            write(2, NO_MEMORY)
        self._writer.notify()
        self.is_over = True
        self._ended()

    def _pass(self) -> None:
        source, target, kind = self.source, self.target, self._kind
        report, notify = self._writer.report, self._writer.notify
        while not self.is_broken and (chunk := read(source)):
            self._is_writing = True
            report(kind, chunk)  # report before any process can answer the bytes
            if not write(target, chunk):
                self.is_broken = True
                break
            self._is_writing = False
            notify()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to copy, although a process still holds the pipe."""
        events = select.poll()
        events.register(self.source, select.POLLIN)
        return not (self.is_over or self._is_writing or events.poll(0))
