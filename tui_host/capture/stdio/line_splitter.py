"""Splits bytes into lines."""

from __future__ import annotations

LINE_LIMIT = 64 << 20
"""Largest line, in bytes; a server that writes more is faulty."""
LINE_KEPT = 1 << 20  # of a line that is too long


class Splitter:
    """Splits bytes into lines. Pieces of an unfinished line are joined once, when it ends."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines completed by a chunk, each with the newline."""
        # Searching is ten times as fast as splitting, which matters to a line of 10 MB.
        *lines, rest = chunk.split(b"\n") if b"\n" in chunk else [chunk]
        complete = [line + b"\n" for line in lines]
        if complete:
            if self._parts:
                complete[0] = b"".join([*self._parts, complete[0]])
            self._parts, self._size = [], 0
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
        return complete

    @property
    def size(self) -> int:
        """Size of the unfinished line, in bytes."""
        return self._size

    @property
    def too_long(self) -> bool:
        """Whether the unfinished line is too long."""
        return self._size > self._limit

    def rest(self) -> bytes:
        """Return the unfinished line and remove it."""
        rest = b"".join(self._parts)
        self._parts, self._size = [], 0
        return rest
