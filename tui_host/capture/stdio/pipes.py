"""The host's ends of a child's pipes on the event loop: reads chunks from one, writes lines to another."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import IO

import anyio

from tui_host.capture.frames.frame_heads import Frame, head_of
from tui_host.capture.record import Place
from tui_host.capture.stdio.lines import Lines
from tui_host.errors import JSON

READ_BYTES = 256 << 10
WRITES_WAITING = 64 << 20
"""Bytes that may wait for a server that does not read; with more, callers wait."""
UNREAD_SECONDS = 5.0
"""Seconds until the user is told that a server does not read."""


async def chunks(pipe: IO[bytes]) -> AsyncGenerator[bytes]:
    """Yield what a child writes until it closes the pipe. Nothing is read before it is asked for. Raises `OSError`."""
    descriptor = pipe.fileno()
    os.set_blocking(descriptor, False)
    while True:
        await anyio.wait_readable(descriptor)
        try:
            chunk = os.read(descriptor, READ_BYTES)
        except BlockingIOError:  # somebody else who holds the pipe was faster
            continue
        if not chunk:
            return
        yield chunk


class LineWriter:
    """Writes lines to a pipe: at once if there is room, otherwise in order in `run`, which closes the pipe at its end.

    Each line is recorded the moment after it was given to the system: whoever reads it need not wait for that.

    Attributes:
        waiting: Number of bytes that are not written yet.
        unread_since: When the server stopped reading, in monotonic seconds; None if it reads. `changed` is called with it.
    """

    def __init__(self, pipe: IO[bytes], lines: Lines, changed: Callable[[], None]) -> None:
        self.waiting = 0
        self.unread_since: float | None = None
        self._pipe = pipe
        self._lines = lines
        self._changed = changed
        self._queue: deque[tuple[bytes, Mapping[str, JSON], Place]] = deque()
        self._rest = memoryview(b"")  # of the line that is being written
        self._moved = anyio.Event()  # set when lines begin to wait, when they are written, and at the end
        self._is_closing = False
        os.set_blocking(pipe.fileno(), False)

    async def send(self, line: bytes, value: Mapping[str, JSON], place: Place) -> None:
        """Write or queue a line with the line end, made of a value; wait only while 64 MB are queued.

        Raises:
            anyio.ClosedResourceError: The writer is closed, or the reader has closed the other end.
        """
        while self.waiting > WRITES_WAITING and not self._is_closing:
            await self._moved.wait()
        if self._is_closing:
            raise anyio.ClosedResourceError
        self._queue.append((line, value, place))
        self.waiting += len(line)
        if self.waiting == len(line):
            self._write()
            if self.waiting:
                self._move()

    async def run(self) -> None:
        """Write the queued lines until closed."""
        started = time.monotonic()
        try:
            while not self._is_closing:
                if not self.waiting:
                    await self._moved.wait()
                    started = time.monotonic()
                    continue
                with anyio.move_on_after(0.1) as waited:
                    await anyio.wait_writable(self._pipe.fileno())
                if not waited.cancelled_caught:
                    self._write()
                    self._move()
                    started = time.monotonic()
                elif self.unread_since is None and time.monotonic() - started > UNREAD_SECONDS:
                    self.unread_since = started
                    self._changed()
        finally:
            self.close()
            self._pipe.close()

    def close(self) -> None:
        """Close the writer: no more lines are written."""
        self._is_closing = True
        self._move()

    def _move(self) -> None:
        self._moved.set()
        self._moved = anyio.Event()

    def _write(self) -> None:
        """Give the system as much of the next line as it takes."""
        begun = None if self._rest else self._queue.popleft()
        self._rest = self._rest if begun is None else memoryview(begun[0])
        at_ns, written = self._lines.now(), 0
        try:
            written = os.write(self._pipe.fileno(), self._rest)
        except BlockingIOError:
            pass
        except OSError:  # it closed its standard input; whether that is its end the output will tell
            self.close()
        if begun is not None:
            line, value, place = begun
            self._lines.take("out", line, "", at_ns, frame=Frame(head_of(value), value), place=place)
        self._rest = self._rest[written:]
        self.waiting -= written
        if written and self.unread_since is not None:
            self.unread_since = None
            self._changed()
