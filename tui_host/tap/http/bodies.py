"""Reads the bodies of HTTP/1.1 messages out of their framing, piece by piece. Source: RFC 9112, section 7."""

from __future__ import annotations

import re
import sys

from typing_extensions import override

from tui_host.tap.message_heads import Framing

_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n\x00]*)?\r?\n")
_TRAILER = re.compile(rb"[^:\r\n\x00]+:[^\r\n\x00]*\r?\n")
_ENDS = (b"\r\n", b"\n")
_LINE_LIMIT = 16 << 10


class SizedBody:
    """A body of known length in bytes, or by default one that ends with the connection.

    Attributes:
        is_open: Whether only the end of the connection ends the body.
        is_done: Whether the body is complete.
        fault: What is wrong with its framing; whatever follows is no part of it.
    """

    def __init__(self, size: int | None = None) -> None:
        self.is_open = size is None
        self.is_done = size == 0
        self.fault = ""
        self._left = sys.maxsize if size is None else size

    def feed(self, data: bytes) -> tuple[bytes, int]:
        """Take bytes; returns the content in them, and how many of them belong to the body."""
        content = data[: self._left]
        if not self.is_open:
            self._left -= len(content)
            self.is_done = not self._left
        return content, len(content)


class ChunkedBody(SizedBody):
    """A body in chunks, with lines between them. Trailers pass as further lines."""

    def __init__(self) -> None:
        super().__init__()
        self.is_open = False
        self._left = 0  # bytes missing from the current chunk
        self._line = b""  # the beginning of an incomplete line
        self._is_after_chunk = self._is_last = False

    @override
    def feed(self, data: bytes) -> tuple[bytes, int]:
        # One loop without calls: each event of a stream passes here.
        pieces: list[bytes] = []
        at = 0
        while at < len(data) and not self.is_done:
            if self._left:
                piece = data[at : at + self._left]
                pieces.append(piece)
                at += len(piece)
                self._left -= len(piece)
                self._is_after_chunk = not self._left
                continue
            end = data.find(b"\n", at) + 1 or len(data)
            line = self._line + data[at:end]
            at = end
            if not line.endswith(b"\n") and len(line) <= _LINE_LIMIT:
                self._line = line
                continue
            self._line = b""
            if self._is_after_chunk and line in _ENDS:
                self._is_after_chunk = False
            elif not self._is_after_chunk and not self._is_last and (size := _SIZE.fullmatch(line)):
                self._left = int(size[1], 16)
                self._is_last = not self._left
            elif self._is_last and (line in _ENDS or _TRAILER.fullmatch(line)):
                self.is_done = line in _ENDS
            else:
                is_long = self._is_after_chunk
                self.fault = "a chunk longer than its size" if is_long else "an invalid line among the chunks"
                return b"".join(pieces), len(data)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces), at


def body_of(framing: Framing) -> SizedBody:
    """Return a reader for a framing."""
    if framing == "chunked":
        return ChunkedBody()
    return SizedBody(None if framing == "close" else framing)


def framed(content: bytes) -> bytes:
    """Return content as a chunk; nothing for no content, since an empty chunk is the last one."""
    return b"%x\r\n%s\r\n" % (len(content), content) if content else b""
