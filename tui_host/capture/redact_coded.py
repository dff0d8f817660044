"""Secrets taken out of compressed bodies: only where one stands in them are they compressed anew, or end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui_host.capture.codings import CodingError, Decoder, coded, decoder, readable
from tui_host.capture.record import Redaction
from tui_host.capture.recording import BodyRedactor
from tui_host.capture.redact_values import Kept, Shift

HELD_LIMIT = 1 << 20
"""Compressed bytes of a body that are held, to be compressed anew."""


def without_in_coded(data: bytes, encoding: str, take_out: Callable[[bytes], Kept]) -> Kept:
    """A body without secrets; as it came where it has none, or cannot be decoded here.

    Of one that cannot be decoded to its end nothing is left behind that place if it has one.
    """
    try:
        text = decoder(encoding).feed(data)
    except CodingError:
        text = readable(data, encoding)
    kept, found = take_out(text)
    if not found:
        return data, ()
    return coded(kept, encoding), found


class CodedStream:
    """A compressed body as it comes. What of it is certainly without a secret goes on at once.

    One that has a secret in the first that comes of it is held to its end, and compressed anew without it. What comes later cannot be
    taken out of a stream that has begun: it ends before.

    Args:
        redactor: Knows the secrets.
        encoding: The content coding.
        is_held: It is held to its end in any case: what is refused is often said again where that is told.

    Attributes:
        left_out: Bytes that are not kept because a secret stood in them, or before them.
    """

    shifts: Sequence[Shift] = ()

    def __init__(self, redactor: BodyRedactor, encoding: str, *, is_held: bool) -> None:
        self.left_out = 0
        self._redactor = redactor
        self._encoding = encoding
        self._held = b""
        self._is_held = is_held
        self._has_begun = self._is_over = False
        self._watched = redactor.stream()
        self._unsettled = 0
        self._has_told = False
        self._comes_in_blocks = "zstd" in encoding
        try:
            self._decoder: Decoder | None = decoder(encoding)
        except CodingError:
            self._decoder = None

    def feed(self, data: bytes, /) -> Kept:
        """What has no secret in it, as far as that is known."""
        if self._is_over:
            self.left_out += len(data)
            return b"", ()
        self._held += data
        if self._is_held and len(self._held) <= HELD_LIMIT:
            return b"", ()
        if self._is_held:  # too much of it: as far as it is without a secret
            self._is_held, data = False, self._held
        found = self._found_in(data)
        if found is None:  # it cannot be read to its end, though as far as here
            self._decoder = None
            self._unsettled = 0
            if self._has_begun:
                return self._cut(())
            found = self._without(readable(self._held, self._encoding))[1]
        if found:
            if self._has_begun or len(self._held) > HELD_LIMIT:
                return self._cut(found)
            self._is_held = True
        return self._release(self._certain(len(data))), ()

    def flush(self) -> Kept:
        """The rest."""
        if self._is_over:
            return b"", ()
        found = () if self._is_held or self._decoder is None else self._watched.flush()[1]
        if found and self._has_begun:
            return self._cut(found)
        held = self._release(len(self._held))
        if found or (held and self._is_held):
            return without_in_coded(held, self._encoding, self._without)
        return held, ()

    def _found_in(self, data: bytes) -> tuple[Redaction, ...] | None:
        """What stands in what these bytes stand for, as far as that is known by now; None where they cannot be decoded."""
        if self._decoder is None:
            return ()
        try:
            text = self._decoder.feed(data)
        except CodingError:
            return None
        self._has_told = bool(text)
        kept, found = self._watched.feed(text)
        self._unsettled += len(text) - len(kept)
        return found

    def _certain(self, last: int) -> int:
        """How much of what is held has no secret in it, where so many bytes came last."""
        if self._is_held or self._unsettled:
            return 0
        if self._decoder is None or not self._comes_in_blocks:
            return len(self._held)
        # a block is told as a whole, and the next may have begun
        return len(self._held) - last if self._has_told else 0

    def _release(self, size: int) -> bytes:
        out, self._held = self._held[:size], self._held[size:]
        self._has_begun = self._has_begun or bool(out)
        return out

    def _cut(self, found: tuple[Redaction, ...]) -> Kept:
        self._is_over = True
        self.left_out = len(self._held)
        self._held = b""
        return b"", found

    def _without(self, data: bytes) -> Kept:
        stream = self._redactor.stream()
        first, in_first = stream.feed(data)
        rest, in_rest = stream.flush()
        return first + rest, in_first + in_rest
