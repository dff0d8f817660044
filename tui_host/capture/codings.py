"""Content codings undone within bounds. Source: RFC 9110, section 8.4.1; threats.md, NET-07."""

from __future__ import annotations

import zlib
from typing import Protocol

LIMIT = 64 << 20
"""Bytes that one body may decode to."""
RATIO = 200
"""How many times its own length a body may decode to, from `HARMLESS` bytes on."""
HARMLESS = 1 << 20


class CodingError(ValueError):
    """A body cannot be decoded: its coding is unknown, it is broken, or it would become too large."""


class Decoder(Protocol):
    """A content coding undone piece by piece; both methods raise CodingError."""

    def feed(self, data: bytes) -> bytes:
        """What the next bytes stand for."""
        ...

    def finish(self) -> bytes:
        """The rest; a body that is not complete raises."""
        ...


def decoder(encoding: str | None, *, limit: int = LIMIT) -> Decoder:
    """A decoder for a `Content-Encoding`; None and `identity` need none and pass every byte.

    Raises:
        CodingError: It is a coding that this program cannot undo.
    """
    match (encoding or "identity").strip().lower():
        case "" | "identity":
            return _Identity()
        case "gzip" | "x-gzip":
            return _Zlib(wbits=31, limit=limit)
        case "deflate":
            return _Zlib(wbits=15, limit=limit)
        case other:
            raise CodingError(f"{other} cannot be decoded here")


class _Identity:
    def feed(self, data: bytes) -> bytes:
        return data

    def finish(self) -> bytes:
        return b""


class _Bound:
    """Counts what goes in and comes out, and refuses what grows beyond reason."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self._given = 0

    def taken(self, size: int) -> None:
        self._taken += size

    def room(self) -> int:
        """How much may come out next, one byte more than allowed so that passing it shows."""
        return max(min(self._limit, max(HARMLESS, RATIO * self._taken)) - self._given, 0) + 1

    def given(self, size: int) -> None:
        self._given += size
        if self._given > self._limit:
            raise CodingError(f"the body decodes to more than {self._limit >> 20} MB")
        if self._given > max(HARMLESS, RATIO * self._taken):
            raise CodingError(f"the body decodes to more than {RATIO} times its length")


class _Zlib:
    """Gzip, in any number of members, and deflate with or without the zlib header that RFC 9110 asks for."""

    def __init__(self, *, wbits: int, limit: int) -> None:
        self._wbits = wbits
        self._inner = zlib.decompressobj(wbits)
        self._bound = _Bound(limit)
        self._begun = False
        self._head: bytes = b""  # less than the two bytes by which a zlib header is known

    def feed(self, data: bytes) -> bytes:
        self._bound.taken(len(data))
        if not self._begun:
            data = self._head + data
            if len(data) < 2:
                self._head = data
                return b""
        pieces: list[bytes] = []
        while data:
            if self._inner.eof:
                if self._wbits != 31 or not data.startswith(b"\x1f"):
                    break  # padding after the end
                self._inner = zlib.decompressobj(self._wbits)
            piece = self._some(data)
            self._bound.given(len(piece))
            pieces.append(piece)
            data = self._inner.unconsumed_tail or self._inner.unused_data
        return b"".join(pieces)

    def finish(self) -> bytes:
        if not self._inner.eof and (self._begun or self._head):
            raise CodingError("the compressed body is not complete")
        return b""

    def _some(self, data: bytes) -> bytes:
        try:
            piece = self._inner.decompress(data, self._bound.room())
        except zlib.error as error:
            if self._begun or self._wbits != 15:
                raise CodingError(f"the compressed body is broken: {error}") from error
            self._inner, self._begun = zlib.decompressobj(-15), True
            return self._some(data)
        self._begun = True
        return piece
