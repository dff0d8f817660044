"""What a relay changes of what the upstream says, so that a client goes on through the relay: names of places, and nothing else.

These are the upstream's own origin in `Location`; and, for MCP servers, in the `resource_metadata` of `WWW-Authenticate`, in the
`endpoint` events of an event stream, in the `resource` of a protected resource's metadata, and in the `issuer` of an authorization
server's where a client looks for those at the MCP server itself: it compares both with the URL that it was given. What is to be read
so is asked for uncompressed, and uncompressed where it comes otherwise. Other origins are left alone: what a client would do about
them without a relay it does with one. Records keep what the upstream said.
Source: MCP 2024-11-05, Transports, HTTP with SSE; MCP 2025-03-26 and 2025-11-25, Authorization; RFC 9728, section 3.3; RFC 8414, 3.3.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from tui_host.tap.bodies import BodyError
from tui_host.tap.endpoint import EndpointFilter
from tui_host.tap.heads import RequestHead, ResponseHead

if TYPE_CHECKING:
    from tui_host.capture.codings import Decoder

METADATA = (
    b"/.well-known/oauth-protected-resource",
    b"/.well-known/oauth-authorization-server",
    b"/.well-known/openid-configuration",
)
EVENT_STREAM = b"text/event-stream"
REMEMBERED = 100
"""Other places of metadata that a server has named; of older ones it is forgotten that they are some."""
MADE_FOR_THE_TAP = (
    "the server refused a login's token: if it goes on so, the server takes none but those made for its own URL, and a host makes"
    " one for the tap's; give the host a token in a header instead"
)
_METADATA_LIMIT = 1 << 20
_NAMED = re.compile(rb'("(?:resource|issuer)"[ \t\r\n]*:[ \t\r\n]*")((?:[^"\\]|\\.)*)')
_IN_CHALLENGE = re.compile(rb'(resource_metadata[ \t]*=[ \t]*"?)([^",\s]*)')


class BodyFilter(Protocol):
    """Changes a body that comes in pieces. Both methods raise BodyError where it cannot be read."""

    def feed(self, data: bytes) -> bytes:
        """What can be passed on by now."""
        ...

    def finish(self) -> bytes:
        """The rest."""
        ...


class Origin:
    """The upstream's origin however it is written, and what stands for it.

    Args:
        origin: Such as `https://mcp.example`.
        own: The relay's.
    """

    def __init__(self, origin: str, own: str) -> None:
        scheme, _, place = origin.lower().partition("://")
        host, _, port = place.rpartition(":") if re.search(r":\d+$", place) else (place, "", "")
        default = {"http": "80", "https": "443"}[scheme]
        endings = ("", ":" + default) if port in {"", default} else (":" + port,)
        slashes = r":\\?/\\?/"  # in JSON they may be escaped
        pattern = f"(?:{scheme}{slashes}|//){re.escape(host)}(?:{'|'.join(reversed(endings))})" + r"(?=[/?#\\]|$)"
        self._pattern = re.compile(pattern.encode(), re.IGNORECASE)
        self._spellings = tuple(
            f"{begin}//{host}{ending}".encode() for begin in (scheme + ":", "") for ending in endings
        )
        self._longest = max(map(len, self._spellings))
        self._own = own.encode()

    def may_begin(self, url: bytes) -> bool:
        """Whether a URL of this origin, or one without a scheme, may begin with these bytes."""
        begin = url[: self._longest].lower()
        return any(each.startswith(begin) or begin.startswith(each) for each in self._spellings)

    def changed(self, url: bytes) -> bytes:
        """The same place by way of the relay; itself if it is none of this origin."""
        rest = self.rest(url)
        return url if rest is None else self._own + rest

    def rest(self, url: bytes) -> bytes | None:
        """What stands behind this origin, None if the URL is none of it."""
        found = self._pattern.match(url)
        return url[found.end() :] if found else None


class Rewriting:
    """Leads what the upstream names as its own back through the relay.

    Args:
        origin: The upstream's, such as `https://mcp.example`.
        own: The relay's.
        is_mcp: Whether the upstream is an MCP server.
        tell: Takes a sentence for a person.
    """

    def __init__(self, origin: str, own: str, *, is_mcp: bool, tell: Callable[[str], None]) -> None:
        self._origin = Origin(origin, own)
        self._is_mcp = is_mcp
        self._tell = tell
        self._named: dict[bytes, None] = {}
        self._has_renamed = False

    def request(self, head: RequestHead) -> RequestHead:
        """The request's head as it goes on: what has to be read on the way back comes as it is."""
        if not self._may_be_read(head):
            return head
        return replace(head, fields=tuple(each for each in head.fields if each[0].lower() != b"accept-encoding"))

    def answer(
        self, request: RequestHead, response: ResponseHead, announced: Callable[[bytes], None]
    ) -> tuple[ResponseHead, BodyFilter | None]:
        """The response's head as it goes on, and what changes the body, None for nearly all, which pass as they are.

        Args:
            request: As the client sent it.
            response: As the upstream sent it.
            announced: Takes an endpoint's URL as it came.
        """
        if response.status == 401 and self._has_renamed and request.value(b"authorization"):
            self._tell(MADE_FOR_THE_TAP)
        head = self._with_places(response)
        found = self._filter(request, response, announced)
        if found is None:
            return head, None
        encoding = b",".join(response.values(b"content-encoding"))
        if encoding.lower() in {b"", b"identity"}:
            return head, found
        undoing = _decoder(encoding)
        if undoing is None:
            return head, None
        fields = tuple(each for each in head.fields if each[0].lower() != b"content-encoding")
        return replace(head, fields=fields), _Undone(undoing, found)

    def _filter(
        self, request: RequestHead, response: ResponseHead, announced: Callable[[bytes], None]
    ) -> BodyFilter | None:
        if not self._is_mcp or request.method != b"GET" or response.status != 200:
            return None
        kind = response.value(b"content-type").lower()
        if kind.startswith(EVENT_STREAM):
            return EndpointFilter(self._origin, announced)
        return _Metadata(self._renamed) if self._is_metadata(request) and b"json" in kind else None

    def _renamed(self, url: bytes) -> bytes:
        changed = self._origin.changed(url)
        self._has_renamed |= changed != url
        return changed

    def _may_be_read(self, head: RequestHead) -> bool:
        if not self._is_mcp or head.method != b"GET":
            return False
        return self._is_metadata(head) or any(EVENT_STREAM in value.lower() for value in head.values(b"accept"))

    def _is_metadata(self, head: RequestHead) -> bool:
        return head.target in self._named or head.target.startswith(METADATA)

    def _with_places(self, head: ResponseHead) -> ResponseHead:
        fields = tuple((name, self._field(name.lower(), value)) for name, value in head.fields)
        return head if fields == head.fields else replace(head, fields=fields)

    def _field(self, name: bytes, value: bytes) -> bytes:
        if name in {b"location", b"content-location"}:
            return self._origin.changed(value)
        if name == b"www-authenticate" and self._is_mcp:
            return _IN_CHALLENGE.sub(self._in_challenge, value)
        return value

    def _in_challenge(self, found: re.Match[bytes]) -> bytes:
        rest = self._origin.rest(found[2])
        if rest is not None:
            self._named[rest] = None
            while len(self._named) > REMEMBERED:
                del self._named[next(iter(self._named))]
        return found[1] + self._origin.changed(found[2])


class _Metadata:
    """A document that names the resource it is of, or the issuer."""

    def __init__(self, change: Callable[[bytes], bytes]) -> None:
        self._change = change
        self._held = b""
        self._passing = False

    def feed(self, data: bytes) -> bytes:
        """Nothing until its end, unless it is too large to be one."""
        self._held += data
        if not self._passing and len(self._held) <= _METADATA_LIMIT:
            return b""
        self._passing = True
        held, self._held = self._held, b""
        return held

    def finish(self) -> bytes:
        """The document."""
        if self._passing:
            return b""
        return _NAMED.sub(lambda found: found[1] + self._change(found[2]), self._held, count=1)


class _Undone:
    """A body whose coding is undone for what changes it."""

    def __init__(self, undoing: Decoder, inner: BodyFilter) -> None:
        self._undoing = undoing
        self._inner = inner

    def feed(self, data: bytes) -> bytes:
        """What can be passed on by now."""
        try:
            return self._inner.feed(self._undoing.feed(data))
        except ValueError as error:
            raise BodyError(f"a compressed body that has to be read: {error}") from error

    def finish(self) -> bytes:
        """The rest; that the coding is not complete is nothing new in a stream that was cut."""
        return self._inner.finish()


def _decoder(encoding: bytes) -> Decoder | None:
    from tui_host.capture.codings import CodingError, decoder

    try:
        return decoder(encoding.decode("latin-1"), limit=sys.maxsize)
    except CodingError:
        return None  # nobody here can read it; it passes as it is
