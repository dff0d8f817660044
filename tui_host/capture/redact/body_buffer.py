"""Bodies that can only be judged as a whole: held to their end, unless they are too large for what is looked for in them."""

from __future__ import annotations

LIMIT = 1 << 20
"""Bytes that are held: no login's answer or metadata is larger."""


class Held:
    """One body as it comes."""

    def __init__(self) -> None:
        self._data = b""
        self._is_passing = False

    def feed(self, data: bytes) -> bytes:
        """What goes on as it is: nothing, until it is too large."""
        self._data += data
        if len(self._data) <= LIMIT and not self._is_passing:
            return b""
        self._is_passing = True
        return self.finish()

    def finish(self) -> bytes:
        """The whole of it; nothing where it has gone on."""
        data, self._data = self._data, b""
        return data
