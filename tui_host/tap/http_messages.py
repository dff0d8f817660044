"""HTTP/1.1 messages: heads, which pass on line by line as they came, and bodies, which are read out of their framing.

Requests are parsed strictly, so that no server behind can read them in another way; responses as leniently as by
clients. Source: RFC 9112, sections 2 to 7.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

from typing_extensions import override

HEAD_LIMIT = 256 << 10  # bytes; a larger head is refused
CHUNK_LINE_LIMIT = 16 << 10

# Keep-Alive passes, since both connections last equally long. Source: RFC 9110, section 7.6.1.
_OF_ONE_HOP = frozenset((b"proxy-connection", b"proxy-authorization", b"proxy-authenticate", b"te", b"upgrade"))
# The message depends on these, even if `Connection` names them; and both connections end alike.
FRAMES = frozenset((b"content-length", b"transfer-encoding"))
_OF_ALL_HOPS = FRAMES | {b"host", b"content-type", b"content-encoding", b"close", b"keep-alive"}
_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_TEXT = rb"[^\r\n\x00]*"
_REQUEST_LINE = re.compile(rb"(" + _TOKEN + rb") ([^\x00-\x20\x7f]+) HTTP/1\.([01])\r?\n")
_STATUS_LINE = re.compile(rb"HTTP/1\.([01])[ \t]+([1-9][0-9]{2})(?:[ \t]" + _TEXT + rb")?\r?\n")
_FIELD = re.compile(rb"(" + _TOKEN + rb"):(" + _TEXT + rb")\r?\n")
# A folded line and a blank before the colon pass in a response; in a request two servers could read them in two ways.
_FOLDED = _TEXT + rb"(?:\r?\n[ \t]" + _TEXT + rb")*"
_LENIENT_FIELD = re.compile(rb"([^:\x00-\x20\x7f][^:\x00-\x08\x0a-\x1f\x7f]*):(" + _FOLDED + rb")\r?\n")
_FOLD = re.compile(rb"[ \t]*\r?\n[ \t]+")
_END_OF_HEAD = re.compile(rb"\n\r?\n")
_AROUND = b" \t\r\n"
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n\x00]*)?\r?\n")
_TRAILER = re.compile(rb"[^:\r\n\x00]+:[^\r\n\x00]*\r?\n")
_ENDS = (b"\r\n", b"\n")


@dataclass(eq=False)
class HeadError(Exception):
    """A message that must not be passed on, with the HTTP status to answer and the reason in words."""

    status: int
    words: str


class HeaderLine(NamedTuple):
    """A header: its name in lower case, its value without blanks at the ends, and its line as it came, with the end."""

    key: bytes
    value: bytes
    line: bytes

    def with_value(self, value: bytes) -> HeaderLine:
        """Return the header with another value in the same line. Raises HeadError for a line break in it."""
        if value == self.value:
            return self
        if re.search(rb"[\r\n\x00]", value):
            raise HeadError(502, "a header with a line break")
        name, colon, text = self.line.partition(b":")
        before = text[: len(text) - len(text.lstrip(_AROUND))] if self.value else b" "
        return HeaderLine(self.key, value, name + colon + before + value + text[len(text.rstrip(_AROUND)) :])


Fields: TypeAlias = tuple[HeaderLine, ...]


@dataclass(frozen=True, kw_only=True)
class MessageHead:
    """A request's or a response's head: lines as they came, from the first to the empty one."""

    first: bytes
    minor: int  # 0 for HTTP/1.0, 1 for HTTP/1.1
    fields: Fields
    end: bytes = b"\r\n"
    method: bytes = b""  # of a request
    target: bytes = b""
    status: int = 0  # of a response

    @property
    def block(self) -> bytes:
        """The whole head as bytes."""
        return b"".join([self.first, *[field.line for field in self.fields], self.end])

    @property
    def pairs(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield name and value of each header."""
        return ((field.line[: len(field.key)], field.value) for field in self.fields)

    def values(self, key: bytes) -> list[bytes]:
        """Return all values of a header, by name in lower case."""
        return [field.value for field in self.fields if field.key == key]

    def value(self, key: bytes) -> bytes:
        """Return the first value of a header, by name in lower case; empty if the header is missing."""
        return next((field.value for field in self.fields if field.key == key), b"")

    @cached_property
    def options(self) -> frozenset[bytes]:
        """The options in the `Connection` headers, in lower case."""
        return frozenset(map(bytes.strip, b",".join(self.values(b"connection")).lower().split(b",")))

    @property
    def keeps_alive(self) -> bool:
        """Whether the connection may be used again after this message."""
        return b"close" not in self.options and (self.minor == 1 or b"keep-alive" in self.options)

    def with_value(self, key: bytes, value: bytes) -> MessageHead:
        """Return the head with another value in the lines of a header. Raises HeadError for a line break in it."""
        fields = [field.with_value(value) if field.key == key else field for field in self.fields]
        return replace(self, fields=tuple(fields))

    def with_target(self, target: bytes) -> MessageHead:
        """Return the head with another target. Raises HeadError where that would end the line."""
        first = self.first.replace(b" " + self.target + b" ", b" " + target + b" ", 1)
        if _REQUEST_LINE.fullmatch(first) is None:
            raise HeadError(502, "an invalid request target")
        return replace(self, first=first, target=target)


def for_next_hop(head: MessageHead, *, upgrades: bool = False) -> MessageHead:
    """Return a head without what belongs to one connection. `Connection` keeps what is true for the next one too."""
    gone = (_OF_ONE_HOP | head.options) - _OF_ALL_HOPS - ({b"upgrade"} if upgrades else set[bytes]())
    fields: list[HeaderLine] = []
    for field in head.fields:
        if field.key == b"connection":
            options = [option.strip() for option in field.value.split(b",")]
            left = [option for option in options if option.lower() not in gone]
            if left:
                fields.append(field if left == options else field.with_value(b", ".join(left)))
        elif field.key not in gone:
            fields.append(field)
    return replace(head, fields=tuple(fields))


class HeadBuffer(bytearray):
    """Bytes that wait for the end of a head."""

    def add(self, data: bytes, *, is_body: bool = False) -> None:
        """Add bytes. Empty lines before a head are dropped, which some clients send after a body."""
        self.extend(data if self or is_body else data.lstrip(b"\r\n"))

    def take_head(self) -> bytes | None:
        """Remove and return a head with its empty line; None while it is incomplete. Raises HeadError if it is too long."""
        match = _END_OF_HEAD.search(self)
        if (match.start() if match else len(self)) > HEAD_LIMIT:
            raise HeadError(431, f"a head of more than {HEAD_LIMIT} bytes")
        return self.take(match.end()) if match else None

    def take(self, size: int | None = None) -> bytes:
        """Remove and return so many bytes, or all."""
        taken = bytes(self[:size])
        del self[: len(taken)]
        return taken


def read_request(block: bytes) -> MessageHead:
    """Parse a request's head. Raises HeadError if it is invalid, or could be read in two ways."""
    line = _REQUEST_LINE.match(block)
    if line is None:
        raise HeadError(400, "not a request of HTTP/1.1")
    fields, end = _fields(block, line.end(), _FIELD, HeadError(400, "an invalid line among the headers"))
    head = MessageHead(first=line[0], method=line[1], target=line[2], minor=int(line[3]), fields=fields, end=end)
    hosts = len(head.values(b"host"))
    if hosts > 1 or (not hosts and head.minor == 1):
        raise HeadError(400, "no Host header, or several")
    if not head.target.startswith(b"/") and (head.method, head.target) != (b"OPTIONS", b"*"):
        raise HeadError(400, "this is no proxy: the target of a request must be a path")
    return head


def read_response(block: bytes) -> MessageHead:
    """Parse a response's head. Raises HeadError if it is invalid."""
    line = _STATUS_LINE.match(block)
    if line is None:
        raise HeadError(502, "the upstream's answer is no response of HTTP/1.1")
    fault = HeadError(502, "the upstream's answer has an invalid line among its headers")
    fields, end = _fields(block, line.end(), _LENIENT_FIELD, fault)
    return MessageHead(first=line[0], minor=int(line[1]), status=int(line[2]), fields=fields, end=end)


def _fields(block: bytes, at: int, pattern: re.Pattern[bytes], fault: HeadError) -> tuple[Fields, bytes]:
    """Parse the headers from a position on; returns them and the empty line. Raises the fault where another line follows."""
    fields: list[HeaderLine] = []
    while match := pattern.match(block, at):
        value = _FOLD.sub(b" ", match[2]).strip(b" \t")
        fields.append(HeaderLine(match[1].rstrip(b" \t").lower(), value, match[0]))
        at = match.end()
    if block[at:] not in _ENDS:
        raise fault
    return tuple(fields), block[at:]


class SizedBody:
    """A body of known length in bytes, or, without one, one that ends with the connection."""

    is_chunked = False
    fault = ""  # what is wrong with its framing; whatever follows is no part of it

    def __init__(self, size: int | None = None) -> None:
        self.size = size
        self.is_done = size == 0
        self.is_open = size is None and not self.is_chunked  # only the end of the connection ends it
        self._left = sys.maxsize if size is None else size

    def feed(self, data: bytes) -> tuple[bytes, int]:
        """Take bytes; returns the content in them, and how many of them belong to the body."""
        content = data[: self._left]
        if self.size is not None:
            self._left -= len(content)
            self.is_done = not self._left
        return content, len(content)


class ChunkedBody(SizedBody):
    """A body in chunks, with lines between them. Trailers pass as further lines."""

    is_chunked = True
    _missing = 0  # bytes, from the current chunk
    _line = b""  # the beginning of an incomplete line
    _is_after_chunk = _is_last = False

    @override
    def feed(self, data: bytes) -> tuple[bytes, int]:
        # One loop without calls: each event of a stream passes here.
        pieces: list[bytes] = []
        at = 0
        while at < len(data) and not self.is_done:
            if self._missing:
                piece = data[at : at + self._missing]
                pieces.append(piece)
                at += len(piece)
                self._missing -= len(piece)
                self._is_after_chunk = not self._missing
                continue
            end = data.find(b"\n", at) + 1 or len(data)
            line = self._line + data[at:end]
            at = end
            if not line.endswith(b"\n") and len(line) <= CHUNK_LINE_LIMIT:
                self._line = line
                continue
            self._line = b""
            if self._is_after_chunk and line in _ENDS:
                self._is_after_chunk = False
            elif not self._is_after_chunk and not self._is_last and (size := _SIZE.fullmatch(line)):
                self._missing = int(size[1], 16)
                self._is_last = not self._missing
            elif self._is_last and (line in _ENDS or _TRAILER.fullmatch(line)):
                self.is_done = line in _ENDS
            else:
                is_long = self._is_after_chunk
                self.fault = "a chunk longer than its size" if is_long else "an invalid line among the chunks"
                return b"".join(pieces), len(data)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces), at


def request_body(head: MessageHead) -> SizedBody:
    """Return what reads a request's body. Raises HeadError if two servers could differ about where it ends."""
    lengths, codings = head.values(b"content-length"), head.values(b"transfer-encoding")
    if codings and lengths:
        raise HeadError(400, "Content-Length and Transfer-Encoding in one request")
    if not codings:
        return SizedBody(_length(lengths, 400) if lengths else 0)
    if head.minor == 0 or [coding.lower() for coding in codings] != [b"chunked"]:
        raise HeadError(400, "a transfer coding other than chunked")
    return ChunkedBody()


def response_body(head: MessageHead, method: bytes) -> SizedBody:
    """Return what reads a response's body. Raises HeadError for two lengths. Source: RFC 9112, section 6.3."""
    if head.status == 101:
        return SizedBody(None)
    if method == b"HEAD" or head.status in {204, 304} or head.status < 200:
        return SizedBody(0)
    named = map(bytes.strip, b",".join(head.values(b"transfer-encoding")).lower().split(b","))
    codings = [coding for coding in named if coding not in {b"", b"identity"}]
    if codings and codings[-1] == b"chunked":  # however often it is said, and whatever is within
        return ChunkedBody()
    lengths = head.values(b"content-length")
    return SizedBody(_length(lengths, 502) if lengths and not codings else None)


def _length(values: list[bytes], status: int) -> int:
    """Return the length if all values agree; the headers pass on as they are. Source: RFC 9110, section 8.6."""
    length, *different = {value.strip(b" \t") for value in b",".join(values).split(b",")}
    if different or not length.isdigit() or len(length) > 18:
        raise HeadError(status, "two different Content-Lengths" if different else "an invalid Content-Length")
    return int(length)
