"""Reads the bodies of HTTP/1.1 messages out of their framing, piece by piece. Source: RFC 9112, section 7."""

from __future__ import annotations

import re
from typing import Protocol, assert_never

from tui_host.tap.message_framing import Framing

_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n\x00]*)?\r?\n")
_TRAILER = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\r\n\x00]*\r?\n")
_ENDS = (b"\r\n", b"\n")  # line ends; a line without CR is passed on without CR
_LINE_LIMIT = 16 << 10
_TRAILERS_LIMIT = 64 << 10


class BodyError(Exception):
    """A body whose framing is wrong.

    Attributes:
        body: The bytes of the body before the error.
    """

    def __init__(self, words: str, *, body: bytes = b"") -> None:
        super().__init__(words)
        self.body = body


class Body(Protocol):
    """Reads a body piece by piece.

    Attributes:
        done: Whether the body is complete.
    """

    done: bool

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """Take bytes; returns the bytes of the body, and the bytes after its end.

        Raises:
            BodyError: The framing is wrong.
        """
        ...


def body_of(framing: Framing) -> Body:
    """Return a reader for a framing."""
    match framing:
        case "chunked":
            return ChunkedBody()
        case "close":
            return OpenBody()
        case "none":
            return CountedBody(0)
        case int():
            return CountedBody(framing)
    assert_never(framing)


class OpenBody:
    """A body that ends with the connection."""

    def __init__(self) -> None:
        self.done = False

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """Return all bytes as part of the body."""
        return data, b""


class CountedBody:
    """A body of known length, in bytes."""

    def __init__(self, size: int) -> None:
        self._left = size
        self.done = not size

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """Return the bytes up to the body's length, and the bytes after it."""
        if len(data) < self._left:
            self._left -= len(data)
            return data, b""
        body, rest = data[: self._left], data[self._left :]
        self._left = 0
        self.done = True
        return body, rest


class ChunkedBody:
    """A body in chunks, followed by trailers.

    Attributes:
        trailers: The lines after the last chunk, unchanged.
    """

    def __init__(self) -> None:
        self.done = False
        self.trailers = b""
        self._left = 0  # bytes missing from the current chunk
        self._line = b""  # the beginning of an incomplete line
        self._after_chunk = False
        self._last = False

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """Return the data of the chunks joined, and the bytes after the last chunk."""
        pieces: list[bytes] = []
        at = 0
        while at < len(data) and not self.done:
            if self._left:
                piece = data[at : at + self._left]
                pieces.append(piece)
                at += len(piece)
                self._left -= len(piece)
                self._after_chunk = not self._left
                continue
            end = data.find(b"\n", at) + 1
            line = self._line + data[at : end or len(data)]
            fault = "a chunk-size line without an end" if len(line) > _LINE_LIMIT else self._take(line) if end else ""
            at = end or len(data)
            if fault:
                raise BodyError(fault, body=b"".join(pieces))
            self._line = b"" if end else line
        return pieces[0] if len(pieces) == 1 else b"".join(pieces), data[at:]

    def _take(self, line: bytes) -> str:
        """Read a line between chunks; returns a description of an error, or empty text."""
        if self._after_chunk:
            self._after_chunk = False
            return "" if line in _ENDS else "a chunk longer than its size"
        if self._last:
            if line in _ENDS:
                self.done = True
            elif not _TRAILER.fullmatch(line) or len(self.trailers) > _TRAILERS_LIMIT:
                return "an invalid trailer"
            else:
                self.trailers += line.rstrip(b"\r\n") + b"\r\n"
            return ""
        size = _SIZE.fullmatch(line)
        if size is None:
            return "a chunk without a size"
        self._left = int(size[1], 16)
        self._last = not self._left
        return ""


def framed(payload: bytes) -> bytes:
    """Return data framed as a chunk."""
    return b"%x\r\n%s\r\n" % (len(payload), payload)


def last_chunk(body: Body) -> bytes:
    """Return the end of a chunked body, with the trailers as received."""
    trailers = body.trailers if isinstance(body, ChunkedBody) else b""
    return b"0\r\n" + trailers + b"\r\n"
