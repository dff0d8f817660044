"""Secrets taken out of compressed bodies that are held whole: only where one stands in them are they compressed anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tui_host.capture.codings import CodingError, coded, decoder
from tui_host.capture.record import Redaction
from tui_host.capture.recording import BodyRedactor
from tui_host.capture.redact_values import Shift

HELD_LIMIT = 1 << 20
"""Compressed bytes of a refusal that are held; a larger one is kept as it was sent."""

Kept: TypeAlias = tuple[bytes, tuple[Redaction, ...]]


def without_in_coded(data: bytes, encoding: str, take_out: Callable[[bytes], Kept]) -> Kept:
    """A body without secrets; as it came where it has none, or cannot be decoded here."""
    try:
        text = decoder(encoding).feed(data)
    except CodingError:
        return data, ()
    kept, found = take_out(text)
    if not found:
        return data, ()
    return coded(kept, encoding), found


class CodedStream:
    """The compressed body of a refusal, held until its end: what is refused is often said again in it.

    Args:
        redactor: Knows the secrets.
        encoding: The content coding.
    """

    shifts: Sequence[Shift] = ()

    def __init__(self, redactor: BodyRedactor, encoding: str) -> None:
        self._redactor = redactor
        self._encoding = encoding
        self._held = b""
        self._is_passing = False

    def feed(self, data: bytes, /) -> Kept:
        """Nothing, until too much is held."""
        self._held += data
        if len(self._held) <= HELD_LIMIT and not self._is_passing:
            return b"", ()
        self._is_passing = True
        held, self._held = self._held, b""
        return held, ()

    def flush(self) -> Kept:
        """All of it, without what is secret."""
        held, self._held = self._held, b""
        return without_in_coded(held, self._encoding, self._without) if held else (b"", ())

    def _without(self, data: bytes) -> Kept:
        stream = self._redactor.stream()
        first, in_first = stream.feed(data)
        rest, in_rest = stream.flush()
        return first + rest, in_first + in_rest
