"""Heads of HTTP/1.1 messages, read from bytes and written back with every line unchanged.

Requests are read strictly, except where every server is lenient: lines without CR, folded lines without influence on framing, a whole URL
as target. Responses are read as leniently as clients read them. Source: RFC 9112, sections 2 to 5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

HEAD_LIMIT = 256 << 10
"""Bytes of a head; more are refused."""

_BLANKS = b" \t"
_AROUND = b" \t\r\n"
_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_TEXT = rb"[^\r\n\x00]*(?:\r?\n[ \t][^\r\n\x00]*)*"
"""A value with blanks, since excluding them here would backtrack, and with folded lines as in RFC 2616."""
_REQUEST_LINE = re.compile(rb"(" + _TOKEN + rb") ([^\x00-\x20\x7f]+) HTTP/1\.([01])(\r?\n)")
_FIELD = re.compile(rb"(" + _TOKEN + rb"):(" + _TEXT + rb")\r?\n")
_STATUS_LINE = re.compile(rb"HTTP/1\.([01])[ \t]+([1-9][0-9]{2})(?:[ \t]" + _TEXT + rb")?\r?\n")
_LENIENT_FIELD = re.compile(rb"([^:\x00-\x20\x7f][^:\x00-\x08\x0a-\x1f\x7f]*):(" + _TEXT + rb")\r?\n")
_END_OF_HEAD = re.compile(rb"\n\r?\n")
_LAST = len(b"\n\r")
"""Bytes at the end that may begin an end of head."""
_ENDS = (b"\r\n", b"\n")  # of a line; what comes without CR goes on so
_IN_NO_LINE = re.compile(rb"[\r\n\x00]")
_WHOLE_URL = re.compile(rb"http://([^/?#@]+)([/?#].*)?", re.IGNORECASE)
_FOLD = re.compile(rb"\r?\n[ \t]+")
_FRAMES = rb"(?:content-length|transfer-encoding|host|connection)"
_FRAMING = re.compile(_FRAMES, re.IGNORECASE)
_FOLD_THAT_FRAMES = re.compile(rb"\n[ \t]+(?:" + _FRAMES + rb"[ \t]*:|\r?\Z|\r?\n)", re.IGNORECASE)
"""A folded line that looks like a framing header or a head's end."""

NO_PROXY = "this is no proxy: the target of a request must be a path"
_NO_OPTIONS = frozenset[bytes]()


class HeadError(Exception):
    """A message unfit to be passed on.

    Attributes:
        status: The HTTP status for the client.
        words: Why.
    """

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.words = words


class Field(NamedTuple):
    """A header.

    Attributes:
        name: The name.
        value: The value in a single line, stripped.
        line: The original line, or folded lines, with line ends.
    """

    name: bytes
    value: bytes
    line: bytes

    def having(self, value: bytes) -> Field:
        """The line with a new value.

        Raises:
            HeadError: The value contains a line break.
        """
        if value == self.value:
            return self
        before, colon, after = self.line.partition(b":")
        text = after.strip(_AROUND)
        begin = after.index(text) if text else len(after) - len(after.lstrip(_BLANKS))
        return Field(self.name, value, before + colon + after[:begin] + _in_line(value) + after[begin + len(text) :])


Fields: TypeAlias = tuple[Field, ...]


def made(name: bytes, value: bytes) -> Field:
    """A header of our own.

    Raises:
        HeadError: The value contains a line break.
    """
    return Field(name, value, b"%s: %s\r\n" % (name, _in_line(value)))


def _in_line(value: bytes) -> bytes:
    """Refuse a value with a line break."""
    if _IN_NO_LINE.search(value):
        raise HeadError(502, "a header with a line break")
    return value


@dataclass(frozen=True, kw_only=True)
class _Head:
    """The common part of request and response heads.

    Attributes:
        minor: Of the version, HTTP/1.0 or HTTP/1.1.
        fields: The headers.
        end: The empty line behind the headers.
    """

    minor: int
    fields: Fields
    end: bytes = b"\r\n"

    @cached_property
    def by_name(self) -> Mapping[bytes, list[bytes]]:
        """The values of each header by lower-case name."""
        by_name: dict[bytes, list[bytes]] = {}
        for name, value, _ in self.fields:
            by_name.setdefault(name.lower(), []).append(value)
        return by_name

    @property
    def pairs(self) -> Iterator[tuple[bytes, bytes]]:
        """Name and value of each header."""
        return ((name, value) for name, value, _ in self.fields)

    def values(self, name: bytes) -> list[bytes]:
        """All values of a header, by lower-case name."""
        return self.by_name.get(name, [])

    def value(self, name: bytes) -> bytes:
        """The first value of a header, by lower-case name; empty if the header is missing."""
        values = self.by_name.get(name)
        return values[0] if values else b""

    @cached_property
    def options(self) -> frozenset[bytes]:
        """The options in the `Connection` headers, in lower case."""
        values = self.values(b"connection")
        if not values:
            return _NO_OPTIONS
        named = b",".join(values).lower().split(b",")
        return frozenset(option.strip() for option in named) - {b""}

    @property
    def lasts(self) -> bool:
        """Whether the connection may be used again afterwards."""
        return b"close" not in self.options and (self.minor == 1 or b"keep-alive" in self.options)


@dataclass(frozen=True, kw_only=True)
class RequestHead(_Head):
    """A request's first line and headers.

    Attributes:
        method: The method.
        target: The target, from the path on.
        line_end: The end of the first line.
        is_absolute: The target was a whole URL, whose host replaces the Host header.
    """

    method: bytes
    target: bytes
    line_end: bytes = b"\r\n"
    is_absolute: bool = False

    @property
    def wants_websocket(self) -> bool:
        """Whether the client asks to go on with WebSocket."""
        return b"upgrade" in self.options and self.value(b"upgrade").lower() == b"websocket"


@dataclass(frozen=True, kw_only=True)
class ResponseHead(_Head):
    """A response's first line and headers.

    Attributes:
        status: Of three digits.
        line: The original line, with its end.
    """

    status: int
    line: bytes

    @property
    def is_final(self) -> bool:
        """Whether the response is final, or switches protocols, instead of an interim response."""
        return self.status >= 200 or self.status == 101


class HeadEnd:
    """Finds the end of a head that comes in pieces, looking at each byte once."""

    def __init__(self) -> None:
        self._without = 0

    def find(self, data: bytearray) -> int | None:
        """Find the end of the first head, including the empty line; None while the head is incomplete.

        Args:
            data: The bytes so far, only ever extended; call `forget` before new bytes.

        Raises:
            HeadError: The head is too long.
        """
        match = _END_OF_HEAD.search(data, max(self._without - _LAST, 0))
        self._without = 0 if match else len(data)
        if (match.start() if match else len(data)) > HEAD_LIMIT:
            raise HeadError(431, f"a head of more than {HEAD_LIMIT} bytes")
        return match.end() if match else None

    def forget(self) -> None:
        """Start over with new data."""
        self._without = 0


def read_request(block: bytes) -> RequestHead:
    """Read a request's head, including the empty line at the end.

    A folded line is refused in a header that frames, and where it looks like one, as RFC 9112 (section 5.2) allows: what reads it as a line
    of its own takes another framing from it than what joins it. All others tell the same to both.

    Raises:
        HeadError: The head is invalid or ambiguous.
    """
    line = _REQUEST_LINE.match(block)
    if line is None:
        raise HeadError(400, "not a request of HTTP/1.1")
    fields, end = _fields(block, line.end(), _FIELD)
    if end not in _ENDS:
        raise HeadError(400, "an invalid line among the headers")
    for name, _, lines in fields:
        if lines.count(b"\n") > 1 and (_FRAMING.fullmatch(name) or _FOLD_THAT_FRAMES.search(lines[:-1])):
            raise HeadError(400, "a folded header that frames the message")
    minor = int(line[3])
    head = RequestHead(method=line[1], target=line[2], minor=minor, fields=fields, line_end=line[4], end=end)
    hosts = len(head.values(b"host"))
    if hosts > 1 or (not hosts and head.minor == 1):
        raise HeadError(400, "no Host header, or several")
    if head.method == b"CONNECT":
        raise HeadError(400, NO_PROXY)
    is_path = head.target.startswith(b"/") or (head.target == b"*" and head.method == b"OPTIONS")
    return head if is_path else _of_whole_url(head)


def _of_whole_url(head: RequestHead) -> RequestHead:
    """Turn a whole URL as target into a path and a Host header. Source: RFC 9112, section 3.2.2.

    Raises:
        HeadError: The target is no such URL.
    """
    url = _WHOLE_URL.fullmatch(head.target)
    if url is None:
        raise HeadError(400, NO_PROXY)
    fields = tuple(field for field in head.fields if field.name.lower() != b"host")
    target = url[2] or b"/"
    if not target.startswith(b"/"):
        target = b"/" + target
    return replace(head, target=target, fields=(made(b"Host", url[1]), *fields), is_absolute=True)


def read_response(block: bytes) -> ResponseHead:
    """Read a response's head, including the empty line at the end.

    Raises:
        HeadError: The head is invalid.
    """
    line = _STATUS_LINE.match(block)
    if line is None:
        raise HeadError(502, "the upstream's answer is no response of HTTP/1.1")
    fields, end = _fields(block, line.end(), _LENIENT_FIELD)
    if end not in _ENDS:
        raise HeadError(502, "the upstream's answer has an invalid line among its headers")
    return ResponseHead(minor=int(line[1]), status=int(line[2]), line=line[0], fields=fields, end=end)


def _fields(block: bytes, at: int, pattern: re.Pattern[bytes]) -> tuple[Fields, bytes]:
    """Read the headers from a position on; returns them and the rest."""
    fields: list[Field] = []
    while field := pattern.match(block, at):
        line, name, value = field[0], field[1], field[2].strip(_AROUND)
        if b"\n" in value:
            value = _FOLD.sub(b" ", value)
        fields.append(Field(name.rstrip(_BLANKS), value, line))
        at = field.end()
    return tuple(fields), block[at:]


def request_bytes(head: RequestHead, target: bytes | None = None) -> bytes:
    """A request's head on the wire, with `target` in place of the head's own if given.

    Raises:
        HeadError: The target contains a line break.
    """
    first = b"%s %s HTTP/1.%d%s" % (head.method, target or head.target, head.minor, head.line_end)
    if _REQUEST_LINE.fullmatch(first) is None:
        raise HeadError(502, "an invalid request target")
    return b"".join([first, *[field.line for field in head.fields], head.end])


def response_bytes(head: ResponseHead) -> bytes:
    """A response's head on the wire."""
    return b"".join([head.line, *[field.line for field in head.fields], head.end])
