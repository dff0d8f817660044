"""Changes to an upstream's answers that keep a client on the relay: names of places, and nothing more.

The upstream's own origin is replaced in `Location`, and for MCP servers in `resource_metadata` of `WWW-Authenticate`, in `endpoint` events and
in login metadata (see `logins`). Documents that must be read are requested uncompressed, and decoded otherwise. Records keep the original.
Source: MCP 2024-11-05, Transports, HTTP with SSE; MCP 2025-03-26 and 2025-11-25, Authorization; RFC 9728, 3.3; RFC 8414, 3.3.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import urljoin

from tui_host.capture.redact.login_exchanges import BodyBuffer
from tui_host.tap.http.endpoint_events import EndpointFilter
from tui_host.tap.http.logins import Logins, Origin, elsewhere
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
_H = TypeVar("_H", RequestHead, ResponseHead)
_IN_CHALLENGE = re.compile(rb'(resource_metadata[ \t]*=[ \t]*"?)([^",\s]*)')


class BodyFilter(Protocol):
    """Changes a body in pieces. Both methods raise BodyError for an unreadable body."""

    def feed(self, data: bytes) -> bytes:
        """The bytes ready to go on."""
        ...

    def finish(self) -> bytes:
        """The rest."""
        ...


class Rewriting:
    """Leads the upstream's own URLs back through the relay.

    Args:
        origin: The upstream's, such as `https://mcp.example`.
        own: The relay's.
        logins: Changes logins; None for a model's API.
        tell: Takes a sentence for a person.
    """

    def __init__(self, origin: str, own: str, *, logins: Logins | None, tell: Callable[[str], None]) -> None:
        self._origin = Origin(origin, own)
        self._logins = logins
        self._tell = tell

    def request(self, head: RequestHead) -> RequestHead:
        """A request's head for the upstream, without compression if the answer must be read.

        To whom the relay stands for as well go no cookies, which are the server's: a client cannot tell them apart here.
        """
        gone = {b"accept-encoding"} if self._may_be_read(head) else set[bytes]()
        if self._place(head) is not None:
            gone.add(b"cookie")
        return _without(head, gone) if gone else head

    def answer(
        self, request: RequestHead, response: ResponseHead, announced: Callable[[bytes], None]
    ) -> tuple[ResponseHead, BodyFilter | None]:
        """A response's head for the client, and a filter for the body; None for most bodies.

        Args:
            request: The client's request.
            response: The upstream's response.
            announced: Takes an endpoint's original URL.
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
        undoing = _decoder(encoding)
        if undoing is None:
            return head, None
        fields = tuple(field for field in head.fields if field.name.lower() != b"content-encoding")
        return replace(head, fields=fields), _Undone(undoing, body_filter)

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
        """The URL elsewhere behind a request; None for the upstream."""
        return None if self._logins is None else elsewhere(head.target)

    def _with_places(self, head: ResponseHead, place: bytes | None) -> ResponseHead:
        if place is not None:
            head = _without(head, {b"set-cookie", b"set-cookie2"})
        fields = tuple(field.having(self._value(field.name.lower(), field.value, place)) for field in head.fields)
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


class _Metadata:
    """Holds a metadata document to change as a whole."""

    def __init__(self, change: Callable[[bytes], bytes]) -> None:
        self._change = change
        self._held = BodyBuffer()

    def feed(self, data: bytes) -> bytes:
        """Hold everything, unless too large for metadata."""
        return self._held.feed(data)

    def finish(self) -> bytes:
        """The document."""
        held = self._held.finish()
        return self._change(held) if held else b""


class _Undone:
    """Decodes a body before an inner filter."""

    def __init__(self, undoing: Decoder, inner: BodyFilter) -> None:
        self._undoing = undoing
        self._inner = inner

    def feed(self, data: bytes) -> bytes:
        """The bytes ready to go on."""
        try:
            return self._inner.feed(self._undoing.feed(data))
        except ValueError as error:
            raise BodyError(f"a compressed body that has to be read: {error}") from error

    def finish(self) -> bytes:
        """The rest; a cut stream may end within the coding."""
        return self._inner.finish()


def _without(head: _H, names: set[bytes]) -> _H:
    """A head without the named fields, in lower case."""
    return replace(head, fields=tuple(field for field in head.fields if field.name.lower() not in names))


def _joined(place: bytes, value: bytes) -> bytes:
    """Resolve a reference from a place elsewhere, which a client would resolve against the relay."""
    try:
        return urljoin(place.decode("latin-1"), value.decode("latin-1")).encode("latin-1")
    except ValueError:
        return value


def _decoder(encoding: bytes) -> Decoder | None:
    from tui_host.capture.content_codings import CodingError, decoder

    try:
        return decoder(encoding.decode("latin-1"), limit=sys.maxsize)
    except CodingError:
        return None  # nobody here can read it; it passes as it is
