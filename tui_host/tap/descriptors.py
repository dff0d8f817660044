"""Reads and writes file descriptors, also nonblocking ones. Imported before the first byte flows."""

from __future__ import annotations

import os
import select

READ_BYTES = 64 << 10


def read(source: int) -> bytes:
    """Wait for the next bytes and return them; empty at the end."""
    while True:
        try:
            return os.read(source, READ_BYTES)
        except BlockingIOError:  # another process that shares the descriptor has made it nonblocking
            _wait(source, select.POLLIN)
        except OSError:  # the connection was reset, or the terminal has gone
            return b""


def write(target: int, chunk: bytes) -> bool:
    """Write all bytes; returns False if nobody reads any more."""
    rest = memoryview(chunk)
    while rest:
        try:
            rest = rest[os.write(target, rest) :]
        except BlockingIOError:
            _wait(target, select.POLLOUT)
        except OSError:
            return False
    return True


def _wait(descriptor: int, event: int) -> None:
    poll = select.poll()
    poll.register(descriptor, event)
    poll.poll()
