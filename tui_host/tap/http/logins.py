"""Places: the URLs in an upstream's answers that would lead a client past the tap, and logins, which need that most.

A client asks for a token for the URL that it was given, which is the tap's (`resource`, RFC 8707), and a server accepts
only tokens for its own. So an absolute URL in a login's metadata is replaced by a place at the tap: one at the upstream's
origin keeps its path, one elsewhere stands behind PREFIX, as `/tui-host-authorization/scheme/host/path`. What is sent
there goes on with the server's own URL as `resource`, and a browser is sent to the real page.
Source: MCP 2025-11-25, Authorization; RFC 8414, section 3; RFC 9728, section 3; MCP 2024-11-05, HTTP with SSE.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TypeAlias
from urllib.parse import quote, unquote_plus, unquote_to_bytes, urljoin

from tui_host.errors import JSON, SettingsError
from tui_host.tap.http.upstream import Upstream
from tui_host.tap.http_messages import HeaderLine, HeadError, MessageHead, for_next_hop

PREFIX = b"/tui-host-authorization/"
RESOURCE = b"/.well-known/oauth-protected-resource"
SERVERS = (b"/.well-known/oauth-authorization-server", b"/.well-known/openid-configuration")
FORM_LIMIT, EVENT_LIMIT = 32 << 10, 8 << 10  # bytes of what is read whole before it is passed on
REMEMBERED = 100  # authorization servers; further ones are left as they are
LOG_IN_AGAIN = (
    "%s names itself in its answers, so no tap can stand for it: let the host log in again, and the tap leaves logins"
    " there to the host; if the server then refuses the token, log in once without the tap"
)
LOGIN_REFUSED = (
    "a login through this tap was refused: if it goes on so, log in once without the tap, or give the host a token in a"
    " header"
)
_URL = re.compile(rb"(https?)://([A-Za-z0-9._:\[\]-]+)((?:[/?#][^\x00-\x20\x7f]*)?)", re.IGNORECASE)
_DEFAULT_PORTS = {b"http": b":80", b"https": b":443"}
_PLACE = re.compile(rb"((?:%s)?)%s(https?)/([^/?]+)(.*)" % (b"|".join(map(re.escape, SERVERS)), PREFIX), re.DOTALL)
_IN_CHALLENGE = re.compile(rb'(resource_metadata[ \t]*=[ \t]*"?)([^",\s]*)')
# Of event streams, whose lines end with CR, LF or both.
_COMMENTS = re.compile(rb"\A(?:(?::[^\r\n]*)?(?:\r\n|\r|\n))*")
_END_OF_EVENT = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_ENDPOINT = re.compile(rb"(?:\A|[\r\n])event: ?endpoint[\r\n]")
_EVENT_DATA = re.compile(rb"(?:\A|[\r\n])data: ?([^\r\n]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where a request goes: a server and the target there, or for some a page to send a browser to instead."""

    upstream: Upstream
    target: bytes
    redirect_url: bytes = b""
    foreign_url: bytes = b""  # what a place behind PREFIX stands for
    upgrades: bool = False  # the client asks to continue with WebSocket
    form_size: int = 0  # bytes to read before a request is passed on, because `resource` may stand in them: 0 for most


@dataclass(slots=True, eq=False)
class EndpointEvent:
    """Changes the URL in the `endpoint` event that begins a stream of HTTP with SSE, which is held back until it is whole."""

    _change: Callable[[bytes], bytes]
    _held: bytes = b""
    url: bytes = b""  # as it was
    _is_over: bool = False

    def feed(self, data: bytes, *, is_last: bool) -> bytes:
        """Take bytes of the stream; returns the bytes to pass on."""
        if self._is_over:
            return data
        held = self._held + data
        comments = _COMMENTS.match(held)
        start = comments.end() if comments else 0
        end = _END_OF_EVENT.search(held, start)
        if end is None and len(held) - start <= EVENT_LIMIT and not is_last:
            self._held = held[start:]
            return held[:start]
        self._is_over = True
        event = held[start : end.end()] if end else b""
        url = _EVENT_DATA.search(event)
        if url is None or _ENDPOINT.search(event) is None:
            return held
        self.url = url[1]
        return held[:start] + event[: url.start(1)] + self._change(self.url) + held[start + url.end(1) :]


BodyChange: TypeAlias = Callable[[bytes], bytes] | EndpointEvent
"""Changes a whole document, or an event stream as it comes."""


class TapPlaces:
    """Knows which URL at the tap, whose origin is `own`, stands for which one of a server; of a model's API only redirects."""

    def __init__(self, upstream: Upstream, own: str, tell: Callable[[str], None], *, is_mcp: bool = True) -> None:
        self._upstream = upstream
        self._own = own.encode()
        self._tell = tell
        self._is_mcp = is_mcp
        self._origin = _split(upstream.url.scheme.encode() + b"://" + upstream.host)[0]
        self._resource_origin = upstream.origin.encode()  # in the server's own spelling
        self._others: dict[bytes, Upstream | None] = {}
        self._left_alone: set[str] = set()  # issuers that name themselves

    # Requests.

    def route(self, head: MessageHead) -> Route:
        """Return where a request goes. Raises HeadError for a place at an origin that no metadata has named."""
        upstream, target, url = self._upstream, head.target, b""
        place = _PLACE.fullmatch(target) if self._is_mcp else None
        if place is not None:
            slash = b"" if (place[1] + place[4]).startswith(b"/") else b"/"
            url = place[2] + b"://" + unquote_to_bytes(place[3]) + slash + place[1] + place[4]
            origin, target = _split(url)
            named = self._others.get(origin)
            if named is None:
                raise HeadError(404, "no metadata has named the authorization server behind this URL: log in again")
            upstream = named
        path, _, query = target.partition(b"?")
        names = {field.partition(b"=")[0] for field in query.split(b"&")}
        redirect = b""
        # A request for a login page. Source: RFC 6749, section 4.1.1; RFC 9126, section 4.
        is_login = b"client_id" in names and not names.isdisjoint({b"response_type", b"request_uri"})
        if self._is_mcp and head.method == b"GET" and is_login:
            redirect = upstream.origin.encode() + path + b"?" + self.with_server_url(query)
        size = head.value(b"content-length")
        # One that expects to be told to go on sends no body before.
        is_read = self._is_mcp and _is_form(head) and not head.values(b"expect")
        form_size = int(size) if is_read and len(size) < 6 and size.isdigit() and int(size) <= FORM_LIMIT else 0
        return Route(
            upstream=upstream,
            target=target,
            redirect_url=redirect,
            foreign_url=url,
            upgrades=b"upgrade" in head.options and head.value(b"upgrade").lower() == b"websocket",
            form_size=form_size,
        )

    def with_server_url(self, form: bytes) -> bytes:
        """Put the server's URL back in place of the tap's in the `resource` of a form or query."""
        fields = form.split(b"&")
        for number, field in enumerate(fields):
            url = unquote_plus(field.removeprefix(b"resource=").decode("latin-1")).encode("latin-1", "replace")
            rest = url.removeprefix(self._own)
            if field.startswith(b"resource=") and rest != url and rest[:1] in {b"", b"/", b"?"}:
                fields[number] = b"resource=" + quote(self._resource_origin + rest, safe="").encode()
        return b"&".join(fields)

    def for_upstream(self, head: MessageHead, route: Route, own_origins: Collection[bytes]) -> MessageHead:
        """Return a request's head for its route, as the next hop gets it; where the answer must be read, not compressed."""
        gone = {b"cookie"} if route.foreign_url else set[bytes]()  # to the client, all servers have the same origin
        is_stream = any(b"text/event-stream" in value.lower() for value in head.values(b"accept"))
        if self._is_mcp and head.method == b"GET" and (is_stream or _is_metadata(head.target)):
            gone.add(b"accept-encoding")
        fields = tuple(field for field in head.fields if field.key not in gone)
        passed = for_next_hop(replace(head, fields=fields), upgrades=route.upgrades)
        passed = passed.with_value(b"host", route.upstream.host)
        if head.value(b"origin") in own_origins:
            passed = passed.with_value(b"origin", route.upstream.origin.encode())
        return passed if head.target == route.target else passed.with_target(route.target)

    # Answers.

    def answer(self, request: MessageHead, route: Route, reply: MessageHead) -> tuple[MessageHead, BodyChange | None]:
        """Return a response's head for the client, and what changes its body; None for most bodies."""
        is_form, status = _is_form(request), reply.status
        if self._is_mcp and is_form and status in {400, 401}:
            self._tell(LOGIN_REFUSED)
        gone = b"set-cookie" if route.foreign_url else b""
        fields: list[HeaderLine] = []
        for field in reply.fields:
            value, foreign = field.value, route.foreign_url
            if field.key in {b"location", b"content-location"}:
                if foreign:  # the client would resolve it against the tap, and bring the login of one server to another
                    value = urljoin(foreign.decode("latin-1"), value.decode("latin-1")).encode("latin-1")
                value = self._at_tap(value)
            elif field.key == b"www-authenticate" and self._is_mcp and (challenge := _IN_CHALLENGE.search(value)):
                value = value[: challenge.start(2)] + self._through_tap(challenge[2]) + value[challenge.end(2) :]
            if field.key != gone:
                fields.append(field.with_value(value))
        head = replace(reply, fields=tuple(fields))
        kind = reply.value(b"content-type").lower()
        is_plain = reply.value(b"content-encoding").lower() in {b"", b"identity"}
        if not (self._is_mcp and request.method == b"GET" and status == 200 and is_plain):
            return head, None
        if kind.startswith(b"text/event-stream") and not reply.values(b"content-length") and request.minor:
            return head, EndpointEvent(self._at_tap)
        return head, self.document if _is_metadata(request.target) and b"json" in kind else None

    def document(self, data: bytes) -> bytes:
        """Return a metadata document with its URLs changed to the tap's."""
        try:
            value: JSON = json.loads(data)
        except (ValueError, RecursionError):
            return data
        if not isinstance(value, dict):
            return data
        issuer = value.get("issuer")
        if value.get("authorization_response_iss_parameter_supported") is True and isinstance(issuer, str):
            # Clients compare the name in its answers with the one in the metadata (RFC 9207, section 2.4).
            self._left_alone.add(issuer.rstrip("/"))
            self._tell(LOG_IN_AGAIN % issuer)
            return data
        for name in {"issuer", "authorization_endpoint", "token_endpoint", "authorization_servers"} & value.keys():
            named, places = value[name], list[JSON]()
            for url in named if isinstance(named, list) else [named]:
                place = url
                if isinstance(url, str) and url.rstrip("/") not in self._left_alone:
                    place = self._through_tap(url.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
                places.append(place)
            value[name] = places if isinstance(named, list) else places[0]
        resource = value.get("resource")
        if isinstance(resource, str):
            url = resource.encode("utf-8", "surrogatepass")
            place = self._at_tap(url)
            value["resource"] = place.decode("utf-8", "surrogatepass")
            if place != url:  # what is put back is spelled as the server does
                self._resource_origin = url.removesuffix(place.removeprefix(self._own))
        return json.dumps(value).encode()

    def _at_tap(self, url: bytes) -> bytes:
        """Return a URL with the tap's origin in place of the upstream's; unchanged for other origins."""
        origin, rest = _split(url)
        return self._own + rest if origin and origin == self._origin else url

    def _through_tap(self, url: bytes) -> bytes:
        """Return the place at the tap for a URL; the URL itself where the tap cannot or must not lead there."""
        origin, rest = _split(url)
        if not origin or origin in {self._origin, self._own} or PREFIX in url:
            return self._at_tap(url)
        if origin not in self._others and len(self._others) < REMEMBERED:
            try:
                self._others[origin] = self._upstream.other(origin.decode())
            except SettingsError:
                self._others[origin] = None
        scheme, _, host = origin.partition(b"://")
        return self._own + PREFIX + scheme + b"/" + host + rest if self._others.get(origin) else url


def _is_metadata(target: bytes) -> bool:
    is_foreign = target.startswith(PREFIX) and target.endswith(SERVERS[1])
    return is_foreign or target.startswith((RESOURCE, *SERVERS))


def _is_form(head: MessageHead) -> bool:
    return head.value(b"content-type").lower().startswith(b"application/x-www-form-urlencoded")


def _split(url: bytes) -> tuple[bytes, bytes]:
    """Split a URL after its origin, which is returned as `Upstream` spells it; empty for what is no URL."""
    match = _URL.fullmatch(url)
    if match is None:
        return b"", url
    scheme = match[1].lower()
    return scheme + b"://" + match[2].lower().removesuffix(_DEFAULT_PORTS[scheme]), match[3]
