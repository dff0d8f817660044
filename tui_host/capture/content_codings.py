"""Content codings: decodes bodies within bounds, and packs bytes with zstd. Source: RFC 9110, section 8.4.1."""

from __future__ import annotations

import codecs
import importlib
import re
import sys
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from tui_host.capture.record import Record

LIMIT = 64 << 20  # bytes that a body may decode to, at most
RATIO, HARMLESS = 200, 1 << 20  # how many times its own length a body may decode to, from so many bytes on
LEVEL, FAST, WINDOW_LOG = (
    6,
    1,
    27,
)  # of zstd, the second for what comes in bursts; the largest window that any decoder takes without being told

_Inflate: TypeAlias = Callable[[bytes, int], tuple[bytes, bytes, bool]]
"""Takes bytes and a limit; returns what they decode to, what stands behind the end of the member, and whether it has ended."""
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")  # no text has them, and nearly all compressed data does


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


def _inflate(coding: str, first: int) -> _Inflate:
    if coding == "br":
        brotli = importlib.import_module("brotli").Decompressor()  # by name: the library has no types

        def inflate(data: bytes, limit: int) -> tuple[bytes, bytes, bool]:
            pieces: list[bytes] = []
            while limit > 0 and not brotli.is_finished():  # it gives a part at a time, and does not say if that is all
                piece: bytes = brotli.process(data, output_buffer_limit=limit)
                if not piece:
                    break
                pieces.append(piece)
                data, limit = b"", limit - len(piece)
            return b"".join(pieces), b"", brotli.is_finished()

        return inflate
    if coding == "zstd":
        inner = _zstd().ZstdDecompressor()
    elif coding == "deflate":  # some leave out the header that RFC 9110 requires
        inner = zlib.decompressobj(15 if first & 15 == 8 else -15)
    else:
        inner = zlib.decompressobj(31)
    return lambda data, limit: (inner.decompress(data, limit), inner.unused_data, inner.eof)


class Decoder:
    """Decodes a body piece by piece, any number of members or frames; without a coding, every byte passes.

    All methods raise CodingError, the first one for an unknown coding, or for one over another.
    """

    def __init__(self, encoding: str | None, *, limit: int = LIMIT) -> None:
        self._coding = ", ".join(codings_of(encoding))
        if self._coding and not is_known(self._coding):
            raise CodingError(f"{self._coding[:80]} cannot be decoded here")
        self._limit = limit
        self._taken = self._given = 0
        self._inflate: _Inflate | None = None  # None between two members

    def feed(self, data: bytes) -> bytes:
        """Decode the next bytes."""
        if not self._coding:
            return data
        self._taken += len(data)
        most = min(self._limit, max(HARMLESS, RATIO * self._taken))
        pieces: list[bytes] = []
        while data:
            try:
                self._inflate = self._inflate or _inflate(self._coding, data[0])
                # one more shows that it is too large
                piece, data, has_ended = self._inflate(data, most - self._given + 1)
            except Exception as error:  # each library has an error of its own, and is loaded only where it is used
                raise CodingError(f"the compressed body is broken: {error}") from error
            pieces.append(piece)
            self._given += len(piece)
            if self._given > most:
                words = f"{self._limit >> 20} MB" if most == self._limit else f"{RATIO} times its length"
                raise CodingError(f"the body decodes to more than {words}")
            if has_ended:
                self._inflate = None
        return b"".join(pieces)

    def finish(self) -> None:
        """End the body; raises if it is incomplete."""
        if self._inflate is not None:
            raise CodingError("the compressed body is not complete")


class PlainBody:
    """Decodes the chunks of a body in linear time. Text that is not in the coding that it names is read as it was sent."""

    problem = ""  # why the body, or the rest of it, cannot be read
    is_plain = False  # whether the body is not in the coding that it names
    has_given = False  # whether anything was decoded
    _decoder: Decoder | None = None
    _held = b""  # what went in before anything came out, in case the body was sent plain

    def feed(self, data: bytes, encoding: str | None) -> bytes | None:
        """Decode the next chunk; returns None for a chunk after a fault."""
        if self.is_plain or (encoding is None and self._decoder is not None):
            self.is_plain = True  # also when redaction has kept the body decoded from here on
            return data
        if self.problem:
            return None
        self._held += b"" if self.has_given else data
        try:
            self._decoder = self._decoder or Decoder(encoding)
            plain = self._decoder.feed(data)
        except CodingError as error:
            self.problem = str(error)
            with suppress(UnicodeDecodeError):
                start = codecs.getincrementaldecoder("utf-8")().decode(b"" if self.has_given else self._held)
                self.is_plain = bool(start) and not _NO_TEXT.search(self._held)
            return self._held if self.is_plain else None
        self.has_given = self.has_given or bool(plain)
        return plain

    def finish(self) -> None:
        """End the body; sets `problem` if the body is incomplete."""
        try:
            if self._decoder is not None and not self.problem and not self.is_plain:
                self._decoder.finish()
        except CodingError as error:
            self.problem = str(error)


def decode_records(records: Iterable[Record]) -> tuple[bytes, str]:
    """Return the readable part of a body, and why the rest is unreadable; the second is empty for a whole body."""
    body = PlainBody()
    pieces: list[bytes] = []
    for record in records:
        plain = body.feed(record.data, record.encoding)
        if plain is None:
            break
        pieces.append(plain)
    body.finish()
    return b"".join(pieces), body.problem


def compress(data: bytes, prefix: bytes = b"", *, level: int = LEVEL) -> bytes:
    """Return one frame of zstd with a checksum, to be decompressed with an equal prefix."""
    zstd = _zstd()
    window_log = max(10, (len(prefix) + len(data)).bit_length())  # so that the whole prefix stays in sight
    options: dict[int, int] = {
        zstd.CompressionParameter.compression_level: level,
        zstd.CompressionParameter.checksum_flag: 1,
        zstd.CompressionParameter.window_log: min(window_log, WINDOW_LOG),
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
