"""Heads of HTTP/1.1 messages, parsed from bytes and written back with every line unchanged.

Requests are parsed strictly, except where every server is lenient: lines without CR, folded lines without effect on
framing, a whole URL as target. Responses are parsed as leniently as clients do. Source: RFC 9112, sections 2 to 5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

HEAD_LIMIT = 256 << 10
"""Largest head, in bytes; a larger one is refused."""

_BLANKS = b" \t"
_AROUND = b" \t\r\n"
_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_TEXT = rb"[^\r\n\x00]*(?:\r?\n[ \t][^\r\n\x00]*)*"
"""A header's value. Includes spaces at its ends, since excluding them would backtrack, and folded lines as in RFC 2616."""
_REQUEST_LINE = re.compile(rb"(" + _TOKEN + rb") ([^\x00-\x20\x7f]+) HTTP/1\.([01])(\r?\n)")
_FIELD = re.compile(rb"(" + _TOKEN + rb"):(" + _TEXT + rb")\r?\n")
_STATUS_LINE = re.compile(rb"HTTP/1\.([01])[ \t]+([1-9][0-9]{2})(?:[ \t]" + _TEXT + rb")?\r?\n")
_LENIENT_FIELD = re.compile(rb"([^:\x00-\x20\x7f][^:\x00-\x08\x0a-\x1f\x7f]*):(" + _TEXT + rb")\r?\n")
_END_OF_HEAD = re.compile(rb"\n\r?\n")
_LAST = len(b"\n\r")
"""Number of bytes at the end that may be the beginning of a head's end."""
_ENDS = (b"\r\n", b"\n")  # line ends; a line without CR is passed on without CR
_IN_NO_LINE = re.compile(rb"[\r\n\x00]")
_WHOLE_URL = re.compile(rb"http://([^/?#@]+)([/?#].*)?", re.IGNORECASE)
_FOLD = re.compile(rb"\r?\n[ \t]+")
_FRAMES = rb"(?:content-length|transfer-encoding|host|connection)"
_FRAMING = re.compile(_FRAMES, re.IGNORECASE)
_FOLD_THAT_FRAMES = re.compile(rb"\n[ \t]+(?:" + _FRAMES + rb"[ \t]*:|\r?\Z|\r?\n)", re.IGNORECASE)
"""A folded line that looks like a framing header or like a head's end."""

NO_PROXY = "this is no proxy: the target of a request must be a path"
_NO_OPTIONS = frozenset[bytes]()


class HeadError(Exception):
    """A message that must not be passed on.

    Attributes:
        status: The HTTP status to answer with.
        words: The reason.
    """

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.words = words


class Field(NamedTuple):
    """A header.

    Attributes:
        name: The name.
        value: The value on a single line, without spaces at its ends.
        line: The original line or folded lines, with line ends.
    """

    name: bytes
    value: bytes
    line: bytes

    def with_value(self, value: bytes) -> Field:
        """Return the line with a new value.

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


def new_field(name: bytes, value: bytes) -> Field:
    """Make a header.

    Raises:
        HeadError: The value contains a line break.
    """
    return Field(name, value, b"%s: %s\r\n" % (name, _in_line(value)))


def _in_line(value: bytes) -> bytes:
    """Refuse a value that contains a line break."""
    if _IN_NO_LINE.search(value):
        raise HeadError(502, "a header with a line break")
    return value


@dataclass(frozen=True, kw_only=True)
class _Head:
    """The part that request and response heads have in common.

    Attributes:
        minor: The minor version: 0 for HTTP/1.0, 1 for HTTP/1.1.
        fields: The headers.
        end: The empty line after the headers.
    """

    minor: int
    fields: Fields
    end: bytes = b"\r\n"

    @cached_property
    def by_name(self) -> Mapping[bytes, list[bytes]]:
        """The values of each header, by name in lower case."""
        by_name: dict[bytes, list[bytes]] = {}
        for name, value, _ in self.fields:
            by_name.setdefault(name.lower(), []).append(value)
        return by_name

    @property
    def pairs(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield name and value of each header."""
        return ((name, value) for name, value, _ in self.fields)

    def values(self, name: bytes) -> list[bytes]:
        """Return all values of a header, by name in lower case."""
        return self.by_name.get(name, [])

    def value(self, name: bytes) -> bytes:
        """Return the first value of a header, by name in lower case; empty if the header is missing."""
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
    def keeps_alive(self) -> bool:
        """Whether the connection may be used again after this message."""
        return b"close" not in self.options and (self.minor == 1 or b"keep-alive" in self.options)


@dataclass(frozen=True, kw_only=True)
class RequestHead(_Head):
    """A request's first line and headers.

    Attributes:
        method: The method.
        target: The request's target; a path, even if the original was a whole URL.
        line_end: The line end of the first line.
        is_absolute: Whether the target was a whole URL, whose host replaces the Host header.
    """

    method: bytes
    target: bytes
    line_end: bytes = b"\r\n"
    is_absolute: bool = False

    @property
    def wants_websocket(self) -> bool:
        """Whether the client asks to continue with WebSocket."""
        return b"upgrade" in self.options and self.value(b"upgrade").lower() == b"websocket"


@dataclass(frozen=True, kw_only=True)
class ResponseHead(_Head):
    """A response's first line and headers.

    Attributes:
        status: The status code, of three digits.
        line: The original first line, with its line end.
    """

    status: int
    line: bytes

    @property
    def is_final(self) -> bool:
        """Whether this is the final response, or switches protocols; an interim response is neither."""
        return self.status >= 200 or self.status == 101


class HeadEnd:
    """Finds the end of a head that arrives in pieces, and examines each byte only once."""

    def __init__(self) -> None:
        self._without = 0

    def find(self, data: bytearray) -> int | None:
        """Return the position after the first head and its empty line; None while the head is incomplete.

        Args:
            data: The bytes so far. They may only grow; call `forget` before passing other bytes.

        Raises:
            HeadError: The head is too long.
        """
        match = _END_OF_HEAD.search(data, max(self._without - _LAST, 0))
        self._without = 0 if match else len(data)
        if (match.start() if match else len(data)) > HEAD_LIMIT:
            raise HeadError(431, f"a head of more than {HEAD_LIMIT} bytes")
        return match.end() if match else None

    def forget(self) -> None:
        """Start again, for other bytes."""
        self._without = 0


def read_request(block: bytes) -> RequestHead:
    """Parse a request's head, including the empty line at the end.

    Refuses a folded line in a header that frames, or one that looks like such a header (RFC 9112, section 5.2): servers
    that join it and servers that do not would see different framing. Other folded lines mean the same to both.

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
    """Split a target that is a whole URL into a path and a Host header. Source: RFC 9112, section 3.2.2.

    Raises:
        HeadError: The target is not a URL of this kind.
    """
    url = _WHOLE_URL.fullmatch(head.target)
    if url is None:
        raise HeadError(400, NO_PROXY)
    fields = tuple(field for field in head.fields if field.name.lower() != b"host")
    target = url[2] or b"/"
    if not target.startswith(b"/"):
        target = b"/" + target
    return replace(head, target=target, fields=(new_field(b"Host", url[1]), *fields), is_absolute=True)


def read_response(block: bytes) -> ResponseHead:
    """Parse a response's head, including the empty line at the end.

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
    """Parse the headers from a position on; returns the headers and the rest."""
    fields: list[Field] = []
    while field := pattern.match(block, at):
        line, name, value = field[0], field[1], field[2].strip(_AROUND)
        if b"\n" in value:
            value = _FOLD.sub(b" ", value)
        fields.append(Field(name.rstrip(_BLANKS), value, line))
        at = field.end()
    return tuple(fields), block[at:]


def request_bytes(head: RequestHead, target: bytes | None = None) -> bytes:
    """Return a request's head as bytes, with `target` in place of the head's own target if given.

    Raises:
        HeadError: The target contains a line break.
    """
    first = b"%s %s HTTP/1.%d%s" % (head.method, target or head.target, head.minor, head.line_end)
    if _REQUEST_LINE.fullmatch(first) is None:
        raise HeadError(502, "an invalid request target")
    return b"".join([first, *[field.line for field in head.fields], head.end])


def response_bytes(head: ResponseHead) -> bytes:
    """Return a response's head as bytes."""
    return b"".join([head.line, *[field.line for field in head.fields], head.end])
