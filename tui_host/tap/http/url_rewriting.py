"""Changes URLs in an upstream's answers so that clients stay on the relay, and changes nothing else.

The upstream's own origin is replaced in `Location`, and for MCP servers in `resource_metadata` of `WWW-Authenticate`, in `endpoint` events and
in login metadata (see `logins`). Documents that must be read are requested uncompressed, and decoded otherwise. Records keep the original.
Source: WHATWG HTML, Server-sent events; MCP 2024-11-05, Transports, HTTP with SSE; MCP 2025-03-26 and 2025-11-25, Authorization; RFC 9728, 3.3; RFC 8414, 3.3.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import urljoin

from tui_host.tap.http.logins import Logins, Origin, foreign_url
from tui_host.tap.http.relayed_bodies import BodyError
from tui_host.tap.message_heads import RequestHead, ResponseHead

if TYPE_CHECKING:
    from tui_host.capture.content_codings import Decoder

EVENT_STREAM = b"text/event-stream"
MADE_FOR_THE_TAP = (
    "the server refused a login's token: it may take only tokens made for its own URL, and no tap can stand for its authorization server;"
    " log in once without the tap, or give the host a token in a header"
)
LOGIN_REFUSED = (
    "the authorization server refused a login through this tap: if it goes on so, log in once without the tap"
)
URL_LIMIT = 8 << 10
"""Longest line to examine for an endpoint's URL, in bytes."""
METADATA_LIMIT = 1 << 20
"""Largest metadata document to hold, in bytes."""
_DATA, _EVENT = b"data:", b"event:"
_LINE_ENDS = b"\r\n"
_H = TypeVar("_H", RequestHead, ResponseHead)
_IN_CHALLENGE = re.compile(rb'(resource_metadata[ \t]*=[ \t]*"?)([^",\s]*)')


class BodyFilter(Protocol):
    """Changes a body in pieces. Both methods raise BodyError for an unreadable body."""

    def feed(self, data: bytes) -> bytes:
        """Take bytes and return the bytes that can be passed on."""
        ...

    def finish(self) -> bytes:
        """Return the bytes that were held back."""
        ...


class UrlRewriting:
    """Replaces the upstream's URLs in answers by the relay's.

    Args:
        origin: The upstream's origin, such as `https://mcp.example`.
        own: The relay's origin.
        logins: Changes logins; None for a model's API.
        tell: Receives messages for the user.
    """

    def __init__(self, origin: str, own: str, *, logins: Logins | None, tell: Callable[[str], None]) -> None:
        self._origin = Origin(origin, own)
        self._logins = logins
        self._tell = tell

    def request(self, head: RequestHead) -> RequestHead:
        """Return a request's head for the upstream; asks for no compression if the answer must be read.

        Other servers that the tap replaces get no cookies: to the client, all of them have the same origin.
        """
        gone = {b"accept-encoding"} if self._may_be_read(head) else set[bytes]()
        if self._place(head) is not None:
            gone.add(b"cookie")
        return _without(head, gone) if gone else head

    def answer(
        self, request: RequestHead, response: ResponseHead, announced: Callable[[bytes], None]
    ) -> tuple[ResponseHead, BodyFilter | None]:
        """Return a response's head for the client, and a filter for the body; None for most bodies.

        Args:
            request: The client's request.
            response: The upstream's response.
            announced: Called with an endpoint's original URL.
        """
        has_token = request.value(b"authorization")[:7].lower() == b"bearer "
        if has_token and response.status == 401 and self._logins is not None and self._logins.are_left_alone:
            self._tell(MADE_FOR_THE_TAP)
        is_form = request.value(b"content-type").lower().startswith(b"application/x-www-form-urlencoded")
        if is_form and response.status in {400, 401} and self._logins is not None:
            self._tell(LOGIN_REFUSED)
        head = self._with_places(response, self._place(request))
        body_filter = self._filter(request, response, announced)
        if body_filter is None:
            return head, None
        encoding = b",".join(response.values(b"content-encoding"))
        if encoding.lower() in {b"", b"identity"}:
            return head, body_filter
        decoding = _decoder(encoding)
        if decoding is None:
            return head, None
        fields = tuple(field for field in head.fields if field.name.lower() != b"content-encoding")
        return replace(head, fields=fields), _Decoded(decoding, body_filter)

    def _filter(
        self, request: RequestHead, response: ResponseHead, announced: Callable[[bytes], None]
    ) -> BodyFilter | None:
        logins = self._logins
        if logins is None or request.method != b"GET" or response.status != 200:
            return None
        kind = response.value(b"content-type").lower()
        if kind.startswith(EVENT_STREAM):
            return EndpointFilter(self._origin, announced)
        return _Metadata(logins.document) if logins.is_metadata(request.target) and b"json" in kind else None

    def _may_be_read(self, head: RequestHead) -> bool:
        if self._logins is None or head.method != b"GET":
            return False
        accepted = head.values(b"accept")
        return self._logins.is_metadata(head.target) or any(EVENT_STREAM in value.lower() for value in accepted)

    def _place(self, head: RequestHead) -> bytes | None:
        """Return the URL on another server that a request means; None for the upstream."""
        return None if self._logins is None else foreign_url(head.target)

    def _with_places(self, head: ResponseHead, place: bytes | None) -> ResponseHead:
        if place is not None:
            head = _without(head, {b"set-cookie", b"set-cookie2"})
        fields = tuple(field.with_value(self._value(field.name.lower(), field.value, place)) for field in head.fields)
        return head if fields == head.fields else replace(head, fields=fields)

    def _value(self, name: bytes, value: bytes, place: bytes | None) -> bytes:
        if name in {b"location", b"content-location"}:
            return self._origin.changed(value if place is None else _joined(place, value))
        logins = self._logins
        if name != b"www-authenticate" or logins is None:
            return value

        def led(found: re.Match[bytes]) -> bytes:
            logins.name_metadata(self._origin.rest(found[2]) or b"")
            return found[1] + self._origin.changed(found[2])

        return _IN_CHALLENGE.sub(led, value)


class EndpointFilter:
    """Changes the URLs of `endpoint` events in a stream that may be cut into pieces anywhere.

    The event's name must come before its URL, and the URL must be in one `data` line. Foreign URLs and paths stay.

    Args:
        origin: Replaces the upstream's origin.
        announced: Called with each endpoint's original URL.
    """

    def __init__(self, origin: Origin, announced: Callable[[bytes], None]) -> None:
        self._origin = origin
        self._announced = announced
        self._line = b""  # the current line, as far as it is needed
        self._held = b""
        self._is_endpoint = self._after_cr = False

    def feed(self, data: bytes) -> bytes:
        """Take bytes and return the bytes that can be passed on."""
        out = bytearray()
        if self._after_cr and data.startswith(b"\n"):
            out += b"\n"
            data = data[1:]
        self._after_cr = data.endswith(b"\r") if data else False
        for part in data.splitlines(keepends=True):  # splitlines of bytes splits at CR, LF and CRLF only
            text = part.rstrip(_LINE_ENDS)
            out += self._take(text)
            if len(text) < len(part):
                out += self._end_line() + part[len(text) :]
        return bytes(out)

    def finish(self) -> bytes:
        """Return the bytes of an unfinished line."""
        held, self._held = self._held, b""
        return held

    def _take(self, text: bytes) -> bytes:
        """Add to the current line; returns the bytes that can be passed on."""
        is_begin = not self._line
        self._line += text[: URL_LIMIT - len(self._line)]
        may_be_url = self._is_endpoint and (is_begin or self._held) and _DATA.startswith(self._line[: len(_DATA)])
        if may_be_url and len(self._held) + len(text) <= URL_LIMIT:
            self._held += text
            return b""
        held, self._held = self._held, b""
        return held + text

    def _end_line(self) -> bytes:
        """Handle a finished line; returns its bytes, changed if necessary."""
        line, self._line = self._line, b""
        held, self._held = self._held, b""
        if held.startswith(_DATA):
            self._is_endpoint = False
            url = held[len(_DATA) :].removeprefix(b" ")
            self._announced(url)
            return held[: len(held) - len(url)] + self._origin.changed(url)
        if line.startswith(_EVENT):
            self._is_endpoint = line[len(_EVENT) :].removeprefix(b" ") == b"endpoint"
        elif not line:
            self._is_endpoint = False
        return held


class _Metadata:
    """Holds back a metadata document to change it as a whole; one that is too large for metadata passes."""

    def __init__(self, change: Callable[[bytes], bytes]) -> None:
        self._change = change
        self._held = b""
        self._is_passing = False

    def feed(self, data: bytes) -> bytes:
        """Hold back all bytes, unless they are too many for metadata."""
        self._held += data
        if len(self._held) <= METADATA_LIMIT and not self._is_passing:
            return b""
        self._is_passing = True
        held, self._held = self._held, b""
        return held

    def finish(self) -> bytes:
        """Return the document, changed."""
        return self._change(self._held) if self._held else b""


class _Decoded:
    """Decodes a compressed body for an inner filter."""

    def __init__(self, decoding: Decoder, inner: BodyFilter) -> None:
        self._decoder = decoding
        self._inner = inner

    def feed(self, data: bytes) -> bytes:
        """Take bytes and return the bytes that can be passed on."""
        try:
            return self._inner.feed(self._decoder.feed(data))
        except ValueError as error:
            raise BodyError(f"a compressed body cannot be decoded: {error}") from error

    def finish(self) -> bytes:
        """Return the bytes that were held back. A cut stream may end within the compressed data."""
        return self._inner.finish()


def _without(head: _H, names: set[bytes]) -> _H:
    """Return a head without the named fields; names are in lower case."""
    return replace(head, fields=tuple(field for field in head.fields if field.name.lower() not in names))


def _joined(place: bytes, value: bytes) -> bytes:
    """Resolve a relative URL against another server's URL; the client would resolve it against the relay."""
    try:
        return urljoin(place.decode("latin-1"), value.decode("latin-1")).encode("latin-1")
    except ValueError:
        return value


def _decoder(encoding: bytes) -> Decoder | None:
    from tui_host.capture.content_codings import CodingError, decoder

    try:
        return decoder(encoding.decode("latin-1"), limit=sys.maxsize)
    except CodingError:
        return None  # the coding cannot be decoded, so the body passes unchanged
