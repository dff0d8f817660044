"""Content codings: decodes bodies within bounds, and packs bytes with zstd. Source: RFC 9110, section 8.4.1."""

from __future__ import annotations

import codecs
import importlib
import re
import sys
import zlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tui_host.capture.record import Record

LIMIT = 64 << 20
"""Largest number of bytes that a body may decode to."""
RATIO, HARMLESS = 200, 1 << 20
"""How many times its own length a body may decode to, from so many bytes on."""
LEVEL = 6
LONGEST = 1 << 27
"""Bytes of prefix and content together that any decoder of zstd takes without being told."""

_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
"""Bytes that no text contains, and nearly all compressed data does."""
_PIECE = 1 << 12
"""Number of bytes to decode at a time: of a piece with a fault, no text is shown."""


class CodingError(ValueError):
    """Raised for a body that cannot be decoded: the coding is unknown or broken, or the result would be too large."""


def codings_of(encoding: str | None) -> list[str]:
    """Return the codings in a `Content-Encoding`, in the order of application."""
    words = (word.strip().lower() for word in (encoding or "").split(","))
    return [word for word in words if word not in {"", "identity"}]


def encoding_of(headers: Iterable[tuple[str, str]]) -> str | None:
    """Join all `Content-Encoding` fields of a head; None without a coding. Source: RFC 9110, sections 5.3 and 8.4."""
    named = ",".join(value for name, value in headers if name.lower() == "content-encoding")
    return ", ".join(codings_of(named)) or None


def is_known(encoding: str | None) -> bool:
    """Return whether a body in this `Content-Encoding` is coded, and can be decoded here: of several codings, none can."""
    return ", ".join(codings_of(encoding)) in {"gzip", "x-gzip", "deflate", "br", "zstd"}


class _Inner(Protocol):
    """What the libraries' decompressors have in common: each ends with a member of gzip, or a frame of zstd."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _Brotli:
    unused_data = b""

    def __init__(self) -> None:
        inner = importlib.import_module("brotli").Decompressor()  # by name: the library has no types
        self._process: Callable[..., bytes] = inner.process
        self._is_finished: Callable[[], bool] = inner.is_finished

    @property
    def eof(self) -> bool:
        return self._is_finished()

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        pieces: list[bytes] = []
        while max_length > 0 and not self.eof and (piece := self._process(data, output_buffer_limit=max_length)):
            pieces.append(piece)  # a part at a time, without a word that there is more
            data = b""
            max_length -= len(piece)
        return b"".join(pieces)


def _decompressor(coding: str, first: int) -> _Inner:
    match coding:
        case "br":
            return _Brotli()
        case "zstd":
            return _zstd().ZstdDecompressor()
        case "deflate":  # some leave out the header that RFC 9110 requires
            return zlib.decompressobj(15 if first & 15 == 8 else -15)
        case _:
            return zlib.decompressobj(31)


class Decoder:
    """Decodes a body piece by piece, any number of members or frames. Both methods raise CodingError."""

    def __init__(self, coding: str, limit: int) -> None:
        self._coding = coding
        self._limit = limit
        self._taken = self._given = 0
        self._inner: _Inner | None = None

    def feed(self, data: bytes) -> bytes:
        """Decode the next bytes."""
        if not self._coding:
            return data
        self._taken += len(data)
        most = min(self._limit, max(HARMLESS, RATIO * self._taken))
        pieces: list[bytes] = []
        while data:
            try:
                if self._inner is None or self._inner.eof:
                    self._inner = _decompressor(self._coding, data[0])
                pieces.append(
                    self._inner.decompress(data, most - self._given + 1)
                )  # one more shows that it is too large
            except Exception as error:  # each library has an error of its own, and is loaded only where it is used
                raise CodingError(f"the compressed body is broken: {error}") from error
            self._given += len(pieces[-1])
            if self._given > most:
                words = f"{self._limit >> 20} MB" if most == self._limit else f"{RATIO} times its length"
                raise CodingError(f"the body decodes to more than {words}")
            data = self._inner.unused_data
        return b"".join(pieces)

    def finish(self) -> bytes:
        """Return the rest of the body; raises if the body is incomplete."""
        if self._inner is not None and not self._inner.eof:
            raise CodingError("the compressed body is not complete")
        return b""


def decoder(encoding: str | None, *, limit: int = LIMIT) -> Decoder:
    """Return a decoder for a `Content-Encoding`; for None and `identity` it passes every byte unchanged.

    Raises:
        CodingError: The coding is unknown, or there is a second one over it.
    """
    coding = ", ".join(codings_of(encoding))
    if coding and not is_known(coding):
        raise CodingError(f"{coding[:80]} cannot be decoded here")
    return Decoder(coding, limit)


class PlainBody:
    """Decodes the chunks of a body in linear time. Text that is not in the coding that it names is read as it was sent.

    Attributes:
        problem: Why the body, or the rest of it, cannot be read; empty if it can.
        is_plain: Whether the body is not in the coding that it names.
        has_given: Whether anything was decoded.
    """

    def __init__(self) -> None:
        self.problem = ""
        self.is_plain = self.has_given = False
        self._decoder: Decoder | None = None
        self._held = b""  # what went in before anything came out, in case the body was sent plain

    def feed(self, data: bytes, encoding: str | None) -> bytes | None:
        """Decode the next chunk; returns None for a chunk after a fault."""
        if self.is_plain or (encoding is None and self._decoder is not None):
            self.is_plain = True  # also when redaction has kept the body decoded from here on
            return data
        if self.problem:
            return None
        self._held += b"" if self.has_given else data
        try:
            self._decoder = self._decoder or decoder(encoding)
            plain = self._decoder.feed(data)
        except CodingError as error:
            self.problem = str(error)
            self.is_plain = not self.has_given and _is_text(self._held)
            return self._held if self.is_plain else None
        self.has_given = self.has_given or bool(plain)
        return plain

    def finish(self) -> None:
        """End the body; sets `problem` if the body is incomplete."""
        if self._decoder is not None and not self.problem and not self.is_plain:
            try:
                self._decoder.finish()
            except CodingError as error:
                self.problem = str(error)


def _is_text(data: bytes) -> bool:
    try:
        return bool(codecs.getincrementaldecoder("utf-8")().decode(data)) and not _NO_TEXT.search(data)
    except UnicodeDecodeError:
        return False


def decode_records(records: Iterable[Record]) -> tuple[bytes, str]:
    """Return the readable part of a body, and why the rest is unreadable; the second is empty for a whole body."""
    body = PlainBody()
    pieces: list[bytes] = []
    for record in records:
        size = _PIECE if record.encoding else max(len(record.data), 1)
        for start in range(0, len(record.data), size):
            plain = body.feed(record.data[start : start + size], record.encoding)
            if plain is None:
                return b"".join(pieces), body.problem
            pieces.append(plain)
    body.finish()
    return b"".join(pieces), body.problem


def compress(data: bytes, prefix: bytes = b"") -> bytes:
    """Return one frame of zstd with a checksum, to be decompressed with an equal prefix."""
    zstd = _zstd()
    window_log = max(10, (len(prefix) + len(data)).bit_length())  # so that the whole prefix stays in sight
    options: dict[int, int] = {
        zstd.CompressionParameter.compression_level: LEVEL,
        zstd.CompressionParameter.checksum_flag: 1,
        zstd.CompressionParameter.window_log: min(window_log, LONGEST.bit_length() - 1),
    }
    before = zstd.ZstdDict(prefix, is_raw=True).as_prefix if prefix else None
    return zstd.compress(data, options=options, zstd_dict=before)


def decompress(frame: bytes, prefix: bytes = b"") -> bytes:
    """Return the content of a frame of zstd; raises ValueError for a damaged one, or one packed with another prefix."""
    zstd = _zstd()
    before = zstd.ZstdDict(prefix, is_raw=True).as_prefix if prefix else None
    try:
        return zstd.decompress(frame, zstd_dict=before)
    except zstd.ZstdError as error:
        raise ValueError(str(error)) from error


def _zstd():  # noqa: ANN202 - the type is that of the module, which has two names
    """Import zstd at its first use, since loading takes time."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        import backports.zstd as zstd  # noqa: PLR0402 - by its whole name: the package around it may be untyped
    return zstd
