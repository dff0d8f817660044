"""Heads of HTTP/1.1 messages out of bytes and into bytes again, with nothing lost but what belongs to one hop alone.

Requests are read strictly, since whoever can reach the port may send them, but for what every server takes: lines without CR,
the target as a whole URL. Responses are read as leniently as clients read them.
Source: RFC 9112, sections 2 to 6; threats.md, PXY-06 and PXY-07.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

from typing_extensions import override

HEAD_LIMIT = 256 << 10
"""Bytes of one head; more is refused."""

Fields: TypeAlias = tuple[tuple[bytes, bytes], ...]
Framing: TypeAlias = int | Literal["none", "chunked", "close"]
"""How long a body is: so many bytes, none at all, as its chunks tell, or until the connection ends."""

_BLANKS = b" \t"
_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_REQUEST_LINE = re.compile(rb"(" + _TOKEN + rb") ([^\x00-\x20\x7f]+) HTTP/1\.([01])\r?\n")
_FIELD = re.compile(
    rb"(" + _TOKEN + rb"):([^\r\n\x00]*)\r?\n"
)  # with its blanks, which to tell apart here could take for ever
_STATUS_LINE = re.compile(rb"HTTP/1\.([01])[ \t]+([1-9][0-9]{2})(?:[ \t]([^\r\n\x00]*))?$")
_LENIENT_FIELD = re.compile(rb"([^:\x00-\x20\x7f][^:\x00-\x08\x0a-\x1f\x7f]*):([^\x00\r]*)$")
_END_OF_HEAD = re.compile(rb"\n\r?\n")
_WHOLE_URL = re.compile(rb"http://([^/?#@]+)([/?#].*)?", re.IGNORECASE)
_LINE_END = re.compile(rb"\r?\n")
_FOLD = re.compile(rb"\r?\n[ \t]+")  # from the days of RFC 2616

_OF_ONE_HOP = frozenset(
    (b"keep-alive", b"proxy-connection", b"proxy-authorization", b"proxy-authenticate", b"te", b"upgrade")
)
"""Besides `Connection` and what it names. Source: RFC 9110, section 7.6.1."""
_OF_ONE_THAT_LASTS = frozenset((b"keep-alive",))
"""How long a connection may be idle, which holds for the next one too: here it lasts as long as the other."""
_NEVER_NAMED = frozenset((b"host", b"content-length", b"transfer-encoding", b"content-type", b"content-encoding"))
"""What no `Connection` header takes away: without it the message would be another."""

NO_PROXY = "this is no open proxy: the target of a request is a path"
_NO_OPTIONS = frozenset[bytes]()


class HeadError(Exception):
    """A message that cannot be passed on.

    Attributes:
        status: The answer that a client gets.
        words: Why.
    """

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.words = words


@dataclass(frozen=True, kw_only=True)
class _Head:
    minor: int
    fields: Fields

    @cached_property
    def by_name(self) -> Mapping[bytes, list[bytes]]:
        """The values of each header, by its name in lower case."""
        found: dict[bytes, list[bytes]] = {}
        for name, value in self.fields:
            found.setdefault(name.lower(), []).append(value)
        return found

    def values(self, name: bytes) -> list[bytes]:
        """All values of a header, its name in lower case."""
        return self.by_name.get(name, [])

    def value(self, name: bytes) -> bytes:
        """The first value of a header; empty where there is none."""
        found = self.by_name.get(name)
        return found[0] if found else b""

    @cached_property
    def options(self) -> frozenset[bytes]:
        """What the `Connection` headers name, in lower case."""
        values = self.values(b"connection")
        if not values:
            return _NO_OPTIONS
        named = b",".join(values).lower().split(b",")
        return frozenset(each.strip() for each in named) - {b""}

    @property
    def lasts(self) -> bool:
        """Whether the connection may be used again after this message."""
        return b"close" not in self.options and (self.minor == 1 or b"keep-alive" in self.options)


@dataclass(frozen=True, kw_only=True)
class RequestHead(_Head):
    """A request's first line and headers.

    Attributes:
        method: Its method.
        target: What is asked for, from the path on.
        is_absolute: The target was a whole URL, whose host stands in for the one in the headers.
    """

    method: bytes
    target: bytes
    is_absolute: bool = False

    @property
    @override
    def lasts(self) -> bool:
        """The same; not with an old client, which would have to be promised it. Source: RFC 9112, section C.2.2."""
        return self.minor == 1 and super().lasts

    @property
    def wants_websocket(self) -> bool:
        """Whether the client asks to go on in another protocol that is passed through as it is."""
        return b"upgrade" in self.options and self.value(b"upgrade").lower() == b"websocket"


@dataclass(frozen=True, kw_only=True)
class ResponseHead(_Head):
    """A response's first line and headers."""

    status: int
    reason: bytes

    @property
    def is_final(self) -> bool:
        """Whether it is the answer, and no word before it; a change of protocol is one."""
        return self.status >= 200 or self.status == 101


def end_of_head(data: bytearray) -> tuple[int, int] | None:
    """Where the first head's last line has ended, and where what follows it begins; None while it is not there.

    Raises:
        HeadError: It is too long.
    """
    match = _END_OF_HEAD.search(data)
    if (match.start() if match else len(data)) > HEAD_LIMIT:
        raise HeadError(431, f"a head of more than {HEAD_LIMIT} bytes")
    return (match.start() + 1, match.end()) if match else None


def read_request(block: bytes) -> RequestHead:
    """A request's head, each of its lines ended.

    A folded line is refused, as RFC 9112 (section 5.2) allows and what stands before the vendors' servers does: no client of today
    writes one, and what reads it as a line of its own takes another framing from it than what joins it.

    Raises:
        HeadError: It is none, or one that could be read in two ways.
    """
    line = _REQUEST_LINE.match(block)
    if line is None:
        raise HeadError(400, "not a request of HTTP/1.1")
    fields: list[tuple[bytes, bytes]] = []
    at = line.end()
    while at < len(block):
        field = _FIELD.match(block, at)
        if field is None:
            raise HeadError(400, "a header that is none")
        fields.append((field[1], field[2].strip(_BLANKS)))
        at = field.end()
    head = RequestHead(method=line[1], target=line[2], minor=int(line[3]), fields=tuple(fields))
    hosts = len(head.values(b"host"))
    if hosts > 1 or (not hosts and head.minor == 1):
        raise HeadError(400, "not one Host header")
    if head.method == b"CONNECT":
        raise HeadError(400, NO_PROXY)
    is_path = head.target.startswith(b"/") or (head.target == b"*" and head.method == b"OPTIONS")
    return head if is_path else _of_whole_url(head)


def _of_whole_url(head: RequestHead) -> RequestHead:
    """The same with a path as its target. Source: RFC 9112, section 3.2.2.

    Raises:
        HeadError: The target is no such URL.
    """
    url = _WHOLE_URL.fullmatch(head.target)
    if url is None:
        raise HeadError(400, NO_PROXY)
    others = tuple(field for field in head.fields if field[0].lower() != b"host")
    target = url[2] or b"/"
    if not target.startswith(b"/"):
        target = b"/" + target
    return replace(head, target=target, fields=((b"Host", url[1]), *others), is_absolute=True)


def read_response(block: bytes) -> ResponseHead:
    """A response's head, each of its lines ended.

    Raises:
        HeadError: It is none.
    """
    first, *lines, _ = _LINE_END.split(_FOLD.sub(b" ", block))
    line = _STATUS_LINE.match(first)
    if line is None:
        raise HeadError(502, "the upstream's answer is no response of HTTP/1.1")
    fields: list[tuple[bytes, bytes]] = []
    for text in lines:
        field = _LENIENT_FIELD.match(text)
        if field is None:
            raise HeadError(502, "the upstream's answer has a header that is none")
        fields.append((field[1].rstrip(_BLANKS), field[2].strip(_BLANKS)))
    reason = (line[3] or b"").lstrip(_BLANKS)
    return ResponseHead(minor=int(line[1]), status=int(line[2]), reason=reason, fields=tuple(fields))


def request_framing(head: RequestHead) -> Framing:
    """How long the request's body is.

    Raises:
        HeadError: It can be read in two ways, or is framed in a way that is not known.
    """
    lengths, codings = head.values(b"content-length"), head.values(b"transfer-encoding")
    if codings:
        if lengths:
            raise HeadError(400, "Content-Length and Transfer-Encoding in one request")
        if head.minor == 0 or [each.lower() for each in codings] != [b"chunked"]:
            raise HeadError(400, "a transfer coding other than chunked")
        return "chunked"
    return _length(lengths, 400) if lengths else "none"


def response_framing(head: ResponseHead, method: bytes) -> Framing:
    """How long the response's body is. Source: RFC 9112, section 6.3.

    Raises:
        HeadError: That cannot be told.
    """
    if method == b"HEAD" or head.status in {204, 304} or head.status < 200:
        return "none"
    codings = [coding for each in head.values(b"transfer-encoding") if (coding := each.lower()) != b"identity"]
    if codings:
        if codings != [b"chunked"]:
            raise HeadError(502, "the upstream's answer has a transfer coding other than chunked")
        return "chunked"
    lengths = head.values(b"content-length")
    return _length(lengths, 502) if lengths else "close"


def _length(values: list[bytes], status: int) -> int:
    """The one length that all of them say; they pass on as they are, for the other side to judge. Source: RFC 9110, section 8.6."""
    length, *others = {each.strip(_BLANKS) for each in b",".join(values).split(b",")}
    if others:
        raise HeadError(status, "two lengths, one of which is wrong")
    if not length.isdigit() or len(length) > 18:
        raise HeadError(status, "a Content-Length that is none")
    return int(length)


def to_upstream(head: RequestHead, *, host: bytes, origin: bytes, own_origins: frozenset[bytes]) -> RequestHead:
    """The request's head as it goes on: for the upstream's host, without what belongs to this hop.

    Args:
        head: As the client sent it.
        host: The upstream's Host header.
        origin: The upstream's origin, which stands in for the tap's own.
        own_origins: The tap's own origins.
    """

    def changed() -> Iterator[tuple[bytes, bytes]]:
        connection = b"Upgrade" if head.wants_websocket else b"keep-alive" if head.lasts else b"close"
        if connection == b"close" and not head.values(b"connection"):  # as HTTP/1.0 has it
            yield b"Connection", b"close"
        if not head.values(b"host"):
            yield b"Host", host
        for name, value in _passed_on(head, connection):
            key = name.lower()
            if key == b"host":
                yield name, host
            elif key == b"origin" and value in own_origins:
                yield name, origin
            else:
                yield name, value

    return replace(head, minor=1, fields=tuple(changed()))


def to_client(head: ResponseHead, *, framing: Framing, was: Framing, lasts: bool) -> ResponseHead:
    """The response's head as it goes on, without what belongs to the upstream's hop.

    Args:
        head: As the upstream sent it.
        framing: How the body is framed towards the client.
        was: How the upstream framed it.
        lasts: Whether the client's connection may be used again.
    """
    connection = b"Upgrade" if head.status == 101 else b"keep-alive" if lasts else b"close"
    fields: list[tuple[bytes, bytes]] = []
    for name, value in _passed_on(head, connection):
        match name.lower():
            case b"content-length" if framing != was or framing == "chunked":
                continue
            case b"transfer-encoding" if framing != "none":
                if framing == "chunked":
                    fields.append((name, b"chunked"))
            case _:
                fields.append((name, value))
    names = {name.lower() for name, _ in fields}
    if framing == "chunked" and b"transfer-encoding" not in names:
        fields.append((b"Transfer-Encoding", b"chunked"))
    if not lasts and b"connection" not in names:
        fields.append((b"Connection", b"close"))
    return replace(head, minor=1, fields=tuple(fields))


def _passed_on(head: _Head, connection: bytes) -> Iterator[tuple[bytes, bytes]]:
    """All headers that do not belong to one hop alone; `Connection` says what it is for on the next, where it says anything."""
    options = head.options
    gone = _OF_ONE_HOP | (options - _NEVER_NAMED)
    if connection == b"keep-alive":
        gone -= _OF_ONE_THAT_LASTS
    upgrades = connection == b"Upgrade"
    for name, value in head.fields:
        key = name.lower()
        if key == b"connection":
            if connection != b"keep-alive" or b"keep-alive" in options:
                yield name, connection
        elif key not in gone or (upgrades and key == b"upgrade"):
            yield name, value


def request_bytes(head: RequestHead, target: bytes | None = None) -> bytes:
    """A request's head on the wire; `target` stands in for its own.

    Raises:
        HeadError: On the wire it would be another.
    """
    first = b"%s %s HTTP/1.%d\r\n" % (head.method, target or head.target, head.minor)
    if _REQUEST_LINE.fullmatch(first) is None:
        raise HeadError(502, "the target of a request would be none")
    return _block(first, head.fields)


def response_bytes(head: ResponseHead) -> bytes:
    """A response's head on the wire.

    Raises:
        HeadError: On the wire it would be another.
    """
    return _block(b"HTTP/1.%d %d %s\r\n" % (head.minor, head.status, head.reason), head.fields)


def _block(first: bytes, fields: Fields) -> bytes:
    """The lines, and no more than these: whatever had come into one of them, it begins none of its own."""
    block = b"".join([first, *[b"%s: %s\r\n" % field for field in fields], b"\r\n"])
    lines = len(fields) + 2
    if block.count(b"\n") != lines or block.count(b"\r") != lines or b"\0" in block:
        raise HeadError(502, "a line of a head would be several")
    return block
