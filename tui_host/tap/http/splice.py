"""Passing bytes between sockets inside the kernel, where possible, so that large bodies are not copied here.

A pipe stands between the two sockets; bytes that the sink does not take stay in the pipe, and then no more is read. Source: splice(2).
"""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.trsock import TransportSocket
from collections.abc import Callable
from dataclasses import dataclass

PIPE_BYTES = 1 << 20
WORTH = 1 << 20
"""Bytes from which splicing pays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spliced:
    """How a passage ended.

    Attributes:
        size: Bytes taken from the source.
        source: An error of the source; None also for its end.
        sink: An error of the sink.
    """

    size: int
    source: OSError | None = None
    sink: OSError | None = None


def descriptor_of(transport: asyncio.Transport) -> int | None:
    """The socket of a plain connection; None for TLS and other transports."""
    raw: object = transport.get_extra_info("socket")
    if sys.platform != "linux" or not isinstance(raw, TransportSocket) or transport.get_extra_info("ssl_object"):
        return None
    return raw.fileno()


class Splice:
    """A transfer between two sockets, which nobody else may read or write meanwhile.

    Args:
        source: The socket to take from.
        sink: The socket to give to.
        size: Bytes to pass, at most.
        ended: Called once at the end or after an error; not after `stop`.

    Raises:
        OSError: The system refuses a pipe.
    """

    def __init__(self, source: int, sink: int, size: int, ended: Callable[[Spliced], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._left = size
        self._ended = ended
        self._taken = 0
        self._held = 0  # in the pipe
        self._open: list[int] = []
        try:
            self._open += os.pipe()
            # Of their own: the loop lets nobody else wait for a descriptor that a transport has.
            for descriptor in (source, sink):
                self._open.append(os.dup(descriptor))
        except OSError:
            self._close()
            raise
        self._out, self._in, self._source, self._sink = self._open
        _widen(self._in)
        self._loop.add_reader(self._source, self._take)

    def stop(self) -> int:
        """Pass nothing more; gives how many bytes were taken from the source."""
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
            self._end(Spliced(size=self._taken, source=error))
            return
        if size is None:
            return
        self._taken += size
        self._left -= size
        self._held = size
        if not size:
            self._end(Spliced(size=self._taken))
        elif not self._give():
            self._loop.remove_reader(self._source)
            self._loop.add_writer(self._sink, self._go_on)

    def _go_on(self) -> None:
        if self._give() and self._open:
            self._loop.remove_writer(self._sink)
            self._loop.add_reader(self._source, self._take)

    def _give(self) -> bool:
        """Write the pipe's bytes; returns False if the sink is full."""
        while self._held:
            try:
                size = _splice(self._out, self._sink, self._held)
            except OSError as error:
                self._end(Spliced(size=self._taken, sink=error))
                return True
            if size is None:
                return False
            self._held -= size
        if not self._left:
            self._end(Spliced(size=self._taken))
        return True

    def _end(self, how: Spliced) -> None:
        self.stop()
        self._ended(how)


def _splice(source: int, sink: int, size: int) -> int | None:
    """Move bytes; returns their number, or None if nothing moves for now.

    Raises:
        OSError: Either socket is broken.
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
            return  # this user has many wide pipes already
