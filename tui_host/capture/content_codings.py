"""Decodes content codings, with limits on the result. Source: RFC 9110, section 8.4.1."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Iterable, Sequence
from typing import Protocol

LIMIT = 64 << 20
"""Largest number of bytes that a body may decode to."""
RATIO = 200
"""How many times its own length a body may decode to, from `HARMLESS` bytes on."""
HARMLESS = 1 << 20
MOST = 4
"""Largest number of codings applied to one body: each takes memory before the first byte arrives."""


class CodingError(ValueError):
    """Raised for a body that cannot be decoded: the coding is unknown or broken, or the result would be too large."""


class Decoder(Protocol):
    """Decodes a content coding piece by piece. Both methods raise CodingError."""

    @property
    def behind(self) -> int:
        """Number of bytes after the end of the coded body, not counting zeros."""
        ...

    def feed(self, data: bytes) -> bytes:
        """Decode the next bytes."""
        ...

    def finish(self) -> bytes:
        """Return the rest of the body; raises if the body is incomplete."""
        ...


def decoder(encoding: str | None, *, limit: int = LIMIT) -> Decoder:
    """Return a decoder for a `Content-Encoding`; for None and `identity` it passes every byte unchanged.

    Raises:
        CodingError: The coding is unknown, or there are too many codings.
    """
    codings = codings_of(encoding)
    if len(codings) > MOST:
        raise CodingError(f"{len(codings):,} codings one over the other cannot be decoded here")
    decoders = [_decoder(coding, limit) for coding in reversed(codings)]
    return decoders[0] if len(decoders) == 1 else _Chain(decoders)


def encoding_of(headers: Iterable[tuple[str, str]]) -> str | None:
    """Join all `Content-Encoding` fields of a head; None without a coding. Source: RFC 9110, sections 5.3 and 8.4."""
    named = ",".join(value for name, value in headers if name.lower() == "content-encoding")
    return ", ".join(codings_of(named)) or None


def codings_of(encoding: str | None) -> list[str]:
    """Return the codings in a `Content-Encoding`, in the order of application."""
    words = (word.strip().lower() for word in (encoding or "").split(","))
    return [word for word in words if word not in {"", "identity"}]


def is_known(coding: str) -> bool:
    """Return whether this program can decode a coding."""
    return coding in {"gzip", "x-gzip", "deflate", "br", "zstd"}


def _decoder(coding: str, limit: int) -> Decoder:
    match coding:
        case "gzip" | "x-gzip":
            return _Zlib(wbits=31, limit=limit)
        case "deflate":
            return _Zlib(wbits=15, limit=limit)
        case "br":
            return _Brotli(limit)
        case "zstd":
            return _Zstd(limit)
        case other:
            raise CodingError(f"{other} cannot be decoded here")


class _Bound:
    """Counts bytes in and out, and refuses unreasonably large output."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self._given = 0

    @property
    def begun(self) -> bool:
        """Whether any bytes went in."""
        return self._taken > 0

    def taken(self, size: int) -> None:
        self._taken += size

    def room(self) -> int:
        """Return how many bytes may come out next: one more than allowed, to notice a body that is too large."""
        return max(min(self._limit, max(HARMLESS, RATIO * self._taken)) - self._given, 0) + 1

    def given(self, size: int) -> None:
        self._given += size
        if self._given > self._limit:
            raise CodingError(f"the body decodes to more than {self._limit >> 20} MB")
        if self._given > max(HARMLESS, RATIO * self._taken):
            raise CodingError(f"the body decodes to more than {RATIO} times its length")


class _Zlib:
    """Decodes gzip with any number of members, or deflate with or without the zlib header that RFC 9110 requires."""

    def __init__(self, *, wbits: int, limit: int) -> None:
        self._wbits = wbits
        self._inner = zlib.decompressobj(wbits)
        self._bound = _Bound(limit)
        self.behind = 0
        self._begun = False
        self._head: bytes = b""  # fewer than the two bytes that identify a zlib header

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
                data = data.lstrip(b"\0")  # skip padding
                if self._wbits != 31 or self.behind or not data.startswith(b"\x1f"):
                    self.behind += len(data)
                    break
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


class _BrotliDecompressor(Protocol):
    def process(self, data: bytes, /, output_buffer_limit: int) -> bytes: ...

    def is_finished(self) -> bool: ...


class _Brotli:
    """Decodes Brotli. Source: RFC 7932."""

    def __init__(self, limit: int) -> None:
        library = importlib.import_module("brotli")  # imported by name: the library has no types
        self._broken: type[Exception] = library.error
        self._inner: _BrotliDecompressor = library.Decompressor()
        self._bound = _Bound(limit)
        self.behind = 0

    def feed(self, data: bytes) -> bytes:
        self._bound.taken(len(data))
        if self._inner.is_finished():
            self.behind += len(data.lstrip(b"\0"))
        pieces: list[bytes] = []
        while not self._inner.is_finished():  # the library returns a part at a time, without saying that there is more
            try:
                piece = self._inner.process(data, output_buffer_limit=self._bound.room())
            except self._broken as error:
                raise CodingError("the compressed body is broken") from error
            if not piece and not data:
                break
            self._bound.given(len(piece))
            pieces.append(piece)
            data = b""
        return b"".join(pieces)

    def finish(self) -> bytes:
        if self._bound.begun and not self._inner.is_finished():
            raise CodingError("the compressed body is not complete")
        return b""


class _Zstd:
    """Decodes zstd with any number of frames. Source: RFC 8878."""

    behind = 0

    def __init__(self, limit: int) -> None:
        from tui_host.capture.zstd import zstd

        self._new = zstd.ZstdDecompressor
        self._broken = zstd.ZstdError
        self._inner = self._new()
        self._bound = _Bound(limit)

    def feed(self, data: bytes) -> bytes:
        self._bound.taken(len(data))
        pieces: list[bytes] = []
        while data or not self._inner.needs_input:
            if self._inner.eof:
                if not data:
                    break
                self._inner = self._new()
            try:
                piece = self._inner.decompress(data, self._bound.room())
            except self._broken as error:
                raise CodingError(f"the compressed body is broken: {error}") from error
            self._bound.given(len(piece))
            pieces.append(piece)
            data = self._inner.unused_data
        return b"".join(pieces)

    def finish(self) -> bytes:
        if self._bound.begun and not self._inner.eof:
            raise CodingError("the compressed body is not complete")
        return b""


class _Chain:
    """Decodes any number of codings, the last applied first; without a coding every byte passes."""

    def __init__(self, decoders: Sequence[Decoder]) -> None:
        self._decoders = decoders

    @property
    def behind(self) -> int:
        return self._decoders[0].behind if self._decoders else 0

    def feed(self, data: bytes) -> bytes:
        for decoder in self._decoders:
            data = decoder.feed(data)
        return data

    def finish(self) -> bytes:
        rest = b""
        for decoder in self._decoders:
            rest = decoder.feed(rest) + decoder.finish()
        return rest
