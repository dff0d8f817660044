"""Content codings: decodes bodies within bounds, and packs bytes with zstd. Source: RFC 9110, section 8.4.1."""

from __future__ import annotations

import codecs
import importlib
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from typing_extensions import override

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


def encoding_of(headers: Iterable[tuple[str, str]]) -> str | None:
    """Join all `Content-Encoding` fields of a head; None without a coding. Source: RFC 9110, sections 5.3 and 8.4."""
    named = ",".join(value for name, value in headers if name.lower() == "content-encoding")
    return ", ".join(codings_of(named)) or None


def codings_of(encoding: str | None) -> list[str]:
    """Return the codings in a `Content-Encoding`, in the order of application."""
    words = (word.strip().lower() for word in (encoding or "").split(","))
    return [word for word in words if word not in {"", "identity"}]


def is_known(encoding: str | None) -> bool:
    """Return whether a body in this `Content-Encoding` is coded, and can be decoded here."""
    return ", ".join(codings_of(encoding)) in _DECODERS


def decoder(encoding: str | None, *, limit: int = LIMIT) -> Decoder:
    """Return a decoder for a `Content-Encoding`; for None and `identity` it passes every byte unchanged.

    Raises:
        CodingError: The coding is unknown, or there is a second one over it.
    """
    coding = ", ".join(codings_of(encoding))
    if not coding:
        return Decoder()
    if coding not in _DECODERS:
        raise CodingError(f"{coding[:80]} cannot be decoded here")
    return _DECODERS[coding](limit)


class Decoder:
    """Decodes a body piece by piece; both methods raise CodingError. This class passes every byte, as there is no coding."""

    def feed(self, data: bytes) -> bytes:
        """Decode the next bytes."""
        return data

    def finish(self) -> bytes:
        """Return the rest of the body; raises if the body is incomplete."""
        return b""


class _Bounded(Decoder):
    """Counts bytes in and out, and refuses unreasonably large output."""

    errors: tuple[type[Exception], ...] = (zlib.error,)

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = self._given = self._most = 0

    @override
    def feed(self, data: bytes) -> bytes:
        self._taken += len(data)
        self._most = min(self._limit, max(HARMLESS, RATIO * self._taken))
        pieces: list[bytes] = []
        try:
            for piece in self._pieces(data):
                self._given += len(piece)
                if self._given > self._most:
                    words = f"{self._limit >> 20} MB" if self._most == self._limit else f"{RATIO} times its length"
                    raise CodingError(f"the body decodes to more than {words}")
                pieces.append(piece)
        except self.errors as error:
            raise CodingError(f"the compressed body is broken: {error}") from error
        return b"".join(pieces)

    @override
    def finish(self) -> bytes:
        if self._taken and not self._is_complete():
            raise CodingError("the compressed body is not complete")
        return b""

    def _room(self) -> int:
        """Return how many bytes may come out next: one more than allowed, to notice a body that is too large."""
        return self._most - self._given + 1

    def _pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield what the next bytes decode to, each piece of a bounded size."""
        yield data

    def _is_complete(self) -> bool:
        return True


class _Gzip(_Bounded):
    """Decodes gzip with any number of members."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._inner = zlib.decompressobj(31)

    @override
    def _pieces(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._inner.eof:
                if not data.startswith(b"\x1f"):  # padding, which is no part of the body
                    return
                self._inner = zlib.decompressobj(31)
            yield self._inner.decompress(data, self._room())
            data = self._inner.unconsumed_tail or self._inner.unused_data

    @override
    def _is_complete(self) -> bool:
        return self._inner.eof


class _Deflate(_Gzip):
    """Decodes deflate, with or without the zlib header that RFC 9110 requires."""

    _head = b""

    @override
    def _pieces(self, data: bytes) -> Iterator[bytes]:
        if len(self._head) < 2:
            data = self._head = self._head + data
            if len(data) < 2:
                return
            has_header = data[0] & 15 == 8 and not int.from_bytes(data[:2], "big") % 31
            self._inner = zlib.decompressobj(15 if has_header else -15)
        yield from super()._pieces(data)


class _BrotliDecompressor(Protocol):
    def process(self, data: bytes, /, output_buffer_limit: int) -> bytes: ...

    def is_finished(self) -> bool: ...


class _Brotli(_Bounded):
    """Decodes Brotli. Source: RFC 7932."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        library = importlib.import_module("brotli")  # imported by name: the library has no types
        self.errors = (library.error,)
        self._inner: _BrotliDecompressor = library.Decompressor()

    @override
    def _pieces(self, data: bytes) -> Iterator[bytes]:
        while not self._inner.is_finished():  # the library returns a part at a time, without saying that there is more
            piece = self._inner.process(data, output_buffer_limit=self._room())
            if not piece and not data:
                return
            yield piece
            data = b""

    @override
    def _is_complete(self) -> bool:
        return self._inner.is_finished()


class _Zstd(_Bounded):
    """Decodes zstd with any number of frames. Source: RFC 8878."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        library = _zstd()
        self.errors = (library.ZstdError,)
        self._new = library.ZstdDecompressor
        self._inner = self._new()

    @override
    def _pieces(self, data: bytes) -> Iterator[bytes]:
        while data or not (self._inner.needs_input or self._inner.eof):
            if self._inner.eof:
                self._inner = self._new()
            yield self._inner.decompress(data, self._room())
            data = self._inner.unused_data

    @override
    def _is_complete(self) -> bool:
        return self._inner.eof


_DECODERS = {"gzip": _Gzip, "x-gzip": _Gzip, "deflate": _Deflate, "br": _Brotli, "zstd": _Zstd}


class PlainBody:
    """Decodes the chunks of a body in linear time.

    Text that is not in the coding that it names is read as it was sent: some say that they compress, and do not.

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
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return False
    return not _NO_TEXT.search(data)


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
    library = _zstd()
    window_log = max(10, (len(prefix) + len(data)).bit_length())  # so that the whole prefix stays in sight
    options: dict[int, int] = {
        library.CompressionParameter.compression_level: LEVEL,
        library.CompressionParameter.checksum_flag: 1,
        library.CompressionParameter.window_log: min(window_log, LONGEST.bit_length() - 1),
    }
    before = library.ZstdDict(prefix, is_raw=True).as_prefix if prefix else None
    return library.compress(data, options=options, zstd_dict=before)


def decompress(frame: bytes, prefix: bytes = b"") -> bytes:
    """Return the content of a frame of zstd; raises ValueError for a damaged one, or one packed with another prefix."""
    library = _zstd()
    before = library.ZstdDict(prefix, is_raw=True).as_prefix if prefix else None
    try:
        return library.decompress(frame, zstd_dict=before)
    except library.ZstdError as error:
        raise ValueError(str(error)) from error


def _zstd():  # noqa: ANN202 - the type is that of the module, which has two names
    """Import zstd at its first use, since loading takes time."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        import backports.zstd as zstd  # noqa: PLR0402 - by its whole name: the package around it may be untyped
    return zstd
