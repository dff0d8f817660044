"""Decodes a body, whole or chunk by chunk."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tui_host.capture.content_codings import CodingError, Decoder, decoder
from tui_host.capture.record import Record

_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
"""Bytes that no text contains, and nearly all compressed data does."""
_PIECE = 1 << 12
"""Number of bytes to decode at a time: of a piece with a fault, no text is shown."""


class PlainBody:
    """Decodes the chunks of a body in linear time.

    Text that is not in the coding that it names is read as it was sent: some say that they compress, and do not.

    Attributes:
        problem: Why the body, or the rest of it, cannot be read; empty if it can.
    """

    def __init__(self) -> None:
        self.problem = ""
        self._decoder: Decoder | None = None
        self._is_sent_plain = False
        self._held: list[bytes] = []  # what went in before anything came out, in case the body was sent plain
        self._has_given = False

    def feed(self, data: bytes, encoding: str | None) -> bytes | None:
        """Decode the next chunk; returns None for a chunk after a fault."""
        if self._is_sent_plain or (encoding is None and self._decoder is not None):
            self._is_sent_plain = True  # also when redaction has kept the body decoded from here on
            return data
        if self.problem:
            return None
        try:
            self._decoder = self._decoder or decoder(encoding)
            plain = self._decoder.feed(data)
        except CodingError as error:
            return self._broken(data, str(error))
        if plain:
            self._has_given = True
            self._held.clear()
        elif not self._has_given:
            self._held.append(data)
        return plain

    def finish(self) -> None:
        """End the body; sets `problem` if the body is incomplete."""
        if self._decoder is None or self.problem or self._is_sent_plain:
            return
        try:
            self._decoder.finish()
        except CodingError as error:
            self.problem = str(error)

    def _broken(self, data: bytes, problem: str) -> bytes | None:
        self.problem = problem
        data = b"".join((*self._held, data))
        self._held.clear()
        if self._has_given or _NO_TEXT.search(data):
            return None
        self._is_sent_plain = True
        return data


def decode_drafts(drafts: Iterable[Record]) -> tuple[bytes, str]:
    """Return the readable part of a body, and why the rest is unreadable; the second is empty for a whole body."""
    body = PlainBody()
    pieces: list[bytes] = []
    for draft in drafts:
        size = _PIECE if draft.encoding else max(len(draft.data), 1)
        for start in range(0, len(draft.data), size):
            plain = body.feed(draft.data[start : start + size], draft.encoding)
            if plain is None:
                return b"".join(pieces), body.problem
            pieces.append(plain)
    body.finish()
    return b"".join(pieces), body.problem
