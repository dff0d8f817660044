"""Decode the chunks of a body one by one."""

from __future__ import annotations

import re

from tui_host.capture.content_codings import CodingError, Decoder, decoder

_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
"""Bytes that stand in no text, and in nearly all that is compressed."""


class PlainBody:
    """The chunks of one body, decoded in linear time.

    Text that is not in the coding that it names is read as it was sent: some say that they compress, and do not.

    Attributes:
        problem: Why it cannot be read, or not to its end; empty while all is well.
    """

    def __init__(self) -> None:
        self.problem = ""
        self._decoder: Decoder | None = None
        self._is_sent_plain = False
        self._held: list[bytes] = []  # what went in before anything came out: sent plain, it is wanted as it stands
        self._has_given = False

    def feed(self, data: bytes, encoding: str | None) -> bytes | None:
        """Decode the next chunk; None for a chunk behind a fault."""
        if self._is_sent_plain or (encoding is None and self._decoder is not None):
            self._is_sent_plain = True  # also from where on the body was kept decoded
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
        """End the body; a body that is not complete has a `problem`."""
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
