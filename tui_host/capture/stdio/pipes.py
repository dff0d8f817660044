"""The host's ends of a child's pipes on the event loop: reads chunks from one, writes lines to another."""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import IO, Self, TypeAlias

import anyio

from tui_host.capture.record import Place
from tui_host.errors import JSON

READ_BYTES = 256 << 10
WRITES_WAITING = 64 << 20
"""Bytes that may wait for a server that does not read; with more, callers wait."""
UNREAD_SECONDS = 5.0
"""Seconds until the user is told that a server does not read."""
_AHEAD = 4
"""Number of chunks to read before they are taken."""


class ReadPipe:
    """The reading end of a pipe, watched by the event loop inside its `with` block.

    Args:
        pipe: The host's end of the pipe.
        at_once: Gets each chunk while nothing else waits and `chunk` is waited for; False if it must wait there all the same.
    """

    def __init__(self, pipe: IO[bytes], at_once: Callable[[bytes], bool] = lambda _: False) -> None:
        self._descriptor = pipe.fileno()
        self._at_once = at_once
        self._chunks: deque[bytes] = deque()
        self._news = asyncio.Event()
        self._is_watched = False
        self._is_awaited = False
        self._fault: Exception | None = None

    async def chunk(self) -> bytes:
        """Return the next chunk, at most 256 KB; empty at the end.

        Raises:
            OSError: The pipe cannot be read.
        """
        while not self._chunks:
            if self._fault is not None:
                raise self._fault
            self._watch()
            self._news.clear()
            self._is_awaited = True
            try:
                await self._news.wait()
            finally:
                self._is_awaited = False
        return self._chunks.popleft()

    def __enter__(self) -> Self:
        os.set_blocking(self._descriptor, False)
        self._watch()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._forget()

    def _read(self) -> None:
        """Read from the pipe; called by the loop."""
        try:
            chunk = os.read(self._descriptor, READ_BYTES)
            if chunk and self._is_awaited and not self._chunks and self._at_once(chunk):
                return
        except BlockingIOError:
            return
        except Exception as error:  # noqa: BLE001 - raised where chunks are waited for
            self._fault = error
        else:
            self._chunks.append(chunk)
        if self._fault is not None or not self._chunks[-1] or len(self._chunks) >= _AHEAD:
            self._forget()
        self._news.set()

    def _watch(self) -> None:
        if not self._is_watched:
            asyncio.get_running_loop().add_reader(self._descriptor, self._read)
            self._is_watched = True

    def _forget(self) -> None:
        if self._is_watched:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            self._is_watched = False


Record: TypeAlias = Callable[[bytes, Mapping[str, JSON], Place, int], None]
"""Called with a written line, its parsed message, its place, and the time of writing."""


class LineWriter:
    """Writes lines to a pipe: at once if there is room, otherwise in order in `run`.

    Args:
        pipe: The host's end of the pipe; `run` closes it at its end.
        record: Takes each line the moment after it was given to the system, so that whoever reads it need not wait for that;
            the last value is what `now` said before.
        now: Returns the current time.
        changed: Called when an attribute below has changed.

    Attributes:
        waiting: Number of bytes that are not written yet.
        unread_since: When the server stopped reading, in monotonic seconds; None if it reads.
    """

    def __init__(self, pipe: IO[bytes], record: Record, now: Callable[[], int], changed: Callable[[], None]) -> None:
        self.waiting = 0
        self.unread_since: float | None = None
        self._pipe = pipe
        self._descriptor = pipe.fileno()
        self._record = record
        self._now = now
        self._changed = changed
        self._queue: deque[tuple[bytes, Mapping[str, JSON], Place]] = deque()
        self._rest = memoryview(b"")
        self._wake = anyio.Event()
        self._room = anyio.Event()
        self._is_closing = False
        os.set_blocking(self._descriptor, False)

    async def send(self, line: bytes, value: Mapping[str, JSON], place: Place) -> None:
        """Write or queue a line with the line end; wait only while 64 MB are queued.

        Raises:
            anyio.ClosedResourceError: The writer is closed, or the reader has closed the other end.
        """
        while self.waiting > WRITES_WAITING and not self._is_closing:
            self._room = anyio.Event()
            await self._room.wait()
        if self._is_closing:
            raise anyio.ClosedResourceError
        self.waiting += len(line)
        if self.waiting > len(line):
            self._queue.append((line, value, place))
            return
        try:
            self._begin(line, value, place)
        except OSError:  # it closed its standard input; whether that is its end the output will tell
            self.close()
        if self._rest:
            self._wake.set()

    async def run(self) -> None:
        """Write the queued lines until closed."""
        try:
            while not self._is_closing:
                if self._rest:
                    await self._writable()
                    self._write()
                elif self._queue:
                    self._begin(*self._queue.popleft())
                else:
                    self._wake = anyio.Event()
                    await self._wake.wait()
        except OSError:
            pass  # as above
        finally:
            self.close()
            self._pipe.close()

    def close(self) -> None:
        """Close the writer: no more lines are written."""
        self._is_closing = True
        self._wake.set()
        self._room.set()

    def _begin(self, line: bytes, value: Mapping[str, JSON], place: Place) -> None:
        at = self._now()
        self._rest = memoryview(line)
        try:
            self._write()
        finally:
            self._record(line, value, place, at)

    def _write(self) -> None:
        """Write as much as there is room for."""
        try:
            written = os.write(self._descriptor, self._rest)
        except BlockingIOError:
            return
        self._rest = self._rest[written:]
        self.waiting -= written
        if not self._rest:
            self._room.set()
            if self.unread_since is not None:
                self.unread_since = None
                self._changed()

    async def _writable(self) -> None:
        started = time.monotonic()
        while not self._is_closing:
            with anyio.move_on_after(0.1):
                await anyio.wait_writable(self._descriptor)
                return
            if self.unread_since is None and time.monotonic() - started > UNREAD_SECONDS:
                self.unread_since = started
                self._changed()
        raise BrokenPipeError
