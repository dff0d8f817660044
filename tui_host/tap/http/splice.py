"""Passes bytes between sockets inside the kernel, if possible, so that large bodies are not copied.

Bytes go through a pipe between the sockets. No more are read while the target accepts none. Source: splice(2).
"""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.trsock import TransportSocket
from collections.abc import Callable
from dataclasses import dataclass

PIPE_BYTES = 1 << 20
WORTHWHILE_BYTES = 1 << 20
"""Smallest number of bytes for which splicing is faster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpliceEnd:
    """How a transfer ended.

    Attributes:
        size: Number of bytes taken from the source.
        source: An error of the source socket; None if it only ended.
        sink: An error of the target socket.
    """

    size: int
    source: OSError | None = None
    sink: OSError | None = None


def descriptor_of(transport: asyncio.Transport) -> int | None:
    """Return the socket of a plain connection; None for TLS and other transports."""
    raw: object = transport.get_extra_info("socket")
    if sys.platform != "linux" or not isinstance(raw, TransportSocket) or transport.get_extra_info("ssl_object"):
        return None
    return raw.fileno()


class Splice:
    """A transfer between two sockets, which no other code may read or write meanwhile.

    Args:
        source: The socket to read from.
        sink: The socket to write to.
        size: Largest number of bytes to pass.
        ended: Called once, at the end or after an error; not called after `stop`.

    Raises:
        OSError: The system has no pipe to give.
    """

    def __init__(self, source: int, sink: int, size: int, ended: Callable[[SpliceEnd], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._left = size
        self._ended = ended
        self._taken = 0
        self._held = 0  # number of bytes in the pipe
        self._open: list[int] = []
        try:
            self._open += os.pipe()
            # Duplicates: the event loop refuses to watch a descriptor that belongs to a transport.
            for descriptor in (source, sink):
                self._open.append(os.dup(descriptor))
        except OSError:
            self._close()
            raise
        self._out, self._in, self._source, self._sink = self._open
        _widen(self._in)
        self._loop.add_reader(self._source, self._take)

    def stop(self) -> int:
        """Stop the transfer; returns how many bytes were taken from the source."""
        if self._open:
            self._loop.remove_reader(self._source)
            self._loop.remove_writer(self._sink)
            self._close()
        return self._taken

    def _close(self) -> None:
        while self._open:
            os.close(self._open.pop())

    def _take(self) -> None:
        try:
            size = _splice(self._source, self._in, min(self._left, PIPE_BYTES))
        except OSError as error:
            self._end(SpliceEnd(size=self._taken, source=error))
            return
        if size is None:
            return
        self._taken += size
        self._left -= size
        self._held = size
        if not size:
            self._end(SpliceEnd(size=self._taken))
        elif not self._give():
            self._loop.remove_reader(self._source)
            self._loop.add_writer(self._sink, self._go_on)

    def _go_on(self) -> None:
        if self._give() and self._open:
            self._loop.remove_writer(self._sink)
            self._loop.add_reader(self._source, self._take)

    def _give(self) -> bool:
        """Write the pipe's bytes to the target; returns False if it accepts no more."""
        while self._held:
            try:
                size = _splice(self._out, self._sink, self._held)
            except OSError as error:
                self._end(SpliceEnd(size=self._taken, sink=error))
                return True
            if size is None:
                return False
            self._held -= size
        if not self._left:
            self._end(SpliceEnd(size=self._taken))
        return True

    def _end(self, how: SpliceEnd) -> None:
        self.stop()
        self._ended(how)


def _splice(source: int, sink: int, size: int) -> int | None:
    """Move bytes; returns their number, or None if no byte can move now.

    Raises:
        OSError: One of the sockets is broken.
    """
    if sys.platform != "linux":
        raise OSError("not on this system")
    try:
        return os.splice(source, sink, size, flags=os.SPLICE_F_MOVE | os.SPLICE_F_NONBLOCK)
    except BlockingIOError:
        return None


def _widen(descriptor: int) -> None:
    if sys.platform == "linux":
        import fcntl

        try:
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        except OSError:
            return  # the user's limit for large pipes is reached
