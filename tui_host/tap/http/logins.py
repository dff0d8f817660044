"""Logins through a tap, for servers that accept only tokens issued for their own URL.

A client asks an authorization server for a token for the URL that it was given, which is the tap's (`resource`, RFC 8707). So the tap
stands for the authorization servers of its MCP server: metadata that passes names places of the tap instead, and what is sent to these
places goes on with the server's own URL in place of the tap's. Forms are relayed; a browser is sent on to the real page, by its own
address. A place at the MCP server's origin keeps its path, one elsewhere stands behind PREFIX. Nothing leads anywhere that no metadata has
named.

The tap cannot stand for an authorization server that names itself in its answers (`iss`, RFC 9207), since clients compare that name with the
metadata. Once the metadata of such a server has passed, the server is left alone, and a person is told to log in again.
Source: MCP 2025-11-25, Authorization; RFC 8414, section 3; RFC 8707, section 2; RFC 9207, section 2.4; RFC 9728, section 3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar
from urllib.parse import parse_qs, quote, unquote_plus, unquote_to_bytes, urlsplit

from tui_host.errors import JSON, SettingsError
from tui_host.tap.http.upstream import Upstream
from tui_host.tap.message_heads import RequestHead

PREFIX = b"/tui-host-authorization/"
"""Path prefix at the tap for other servers' URLs; followed by scheme, host and path."""
RESOURCE = b"/.well-known/oauth-protected-resource"
SERVERS = (b"/.well-known/oauth-authorization-server", b"/.well-known/openid-configuration")
FORM_LIMIT = 32 << 10
"""Largest form that is read whole before it is passed on, in bytes."""
REMEMBERED = 100
"""Largest number of URLs to remember of each kind."""
LOG_IN_AGAIN = (
    "%s names itself in its answers, so no tap can stand for it: let the host log in again, and the tap leaves logins there to the host; if the"
    " server then refuses the token, log in once without the tap"
)
_SERVERS_LIMIT = 2
"""Number of authorization servers of a resource that the tap replaces; few resources have more than one."""
_PAGE, _TOKEN = "authorization_endpoint", "token_endpoint"
_FORM = b"application/x-www-form-urlencoded"
_SPACE = rb"[ \t\r\n]*"
_TEXT = rb'"((?:[^"\\]|\\.)*)"'
_NAMED = re.compile(
    rb'"(resource|issuer|authorization_endpoint|token_endpoint)"(' + _SPACE + rb":" + _SPACE + rb")" + _TEXT
)
_LISTED = re.compile(
    rb'("authorization_servers"' + _SPACE + rb":" + _SPACE + rb')(\[(?:[^\]"]|"(?:[^"\\]|\\.)*")*\])', re.DOTALL
)
_STRING = re.compile(_TEXT)
_BEHIND_PREFIX = re.compile(rb"(https?)/([^/?]+)(.*)", re.DOTALL)
_TARGET = re.compile(rb"/[!-\x22$-~]*")
"""A request target of printable ASCII, without spaces and without a fragment."""
_PLACE = re.compile(rb"https?://[A-Za-z0-9._:\[\]-]+([/?][!-\x22$-~]*)?", re.IGNORECASE)
"""A URL that is valid in a request line, without user and fragment."""
_V = TypeVar("_V")


class Origin:
    """Replaces the upstream's origin by the relay's, in any spelling.

    Args:
        origin: The upstream's origin, such as `https://mcp.example`.
        own: The relay's origin.
    """

    def __init__(self, origin: str, own: str) -> None:
        scheme, _, place = origin.lower().partition("://")
        host, _, port = place.rpartition(":") if re.search(r":\d+$", place) else (place, "", "")
        default = {"http": "80", "https": "443"}[scheme]
        endings = ("", ":" + default) if port in {"", default} else (":" + port,)
        slashes = r":\\?/\\?/"  # JSON may escape slashes
        pattern = f"(?:{scheme}{slashes}|//){re.escape(host)}(?:{'|'.join(reversed(endings))})" + r"(?=[/?#\\]|$)"
        self._pattern = re.compile(pattern.encode(), re.IGNORECASE)
        self._own = own.encode()

    def changed(self, url: bytes) -> bytes:
        """Return the URL with the relay's origin in place of the upstream's; unchanged for other origins."""
        rest = self.rest(url)
        return url if rest is None else self._own + rest

    def rest(self, url: bytes) -> bytes | None:
        """Return the part of a URL after the upstream's origin; None for other origins."""
        match = self._pattern.match(url)
        return url[match.end() :] if match else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The upstream and target of a request.

    Attributes:
        upstream: The server to send the request to.
        target: The request's target at the upstream.
        redirect_url: The URL to send a browser to, in place of relaying; empty for nearly all requests.
    """

    upstream: Upstream
    target: bytes
    redirect_url: bytes = b""


class Logins:
    """Routes the requests of logins, and changes URLs in their requests and metadata.

    Args:
        upstream: The MCP server.
        own: The tap's own origin.
        tell: Receives messages for the user.
    """

    def __init__(self, upstream: Upstream, own: str, tell: Callable[[str], None]) -> None:
        self._upstream = upstream
        self._own = own.encode()
        self._tell = tell
        self._origin = Origin(upstream.origin, own)
        self._server_origin = upstream.origin.encode()  # in the server's own spelling
        self._metadata_targets: dict[bytes, None] = {}
        self._upstreams: dict[bytes, Upstream | None] = {}
        self._places: dict[bytes, bool] = {}  # URLs without a query elsewhere, and whether a browser is sent there
        self._servers: dict[bytes, bool] = {}  # authorization servers -> whether the tap replaces them
        self._has_renamed_resource = False

    @property
    def are_left_alone(self) -> bool:
        """Whether the server's metadata has passed and the tap replaces no authorization server."""
        return self._has_renamed_resource and True not in self._servers.values()

    # Requests.

    def route(self, head: RequestHead) -> Route | None:
        """Return the upstream and target of a request; None for a URL on another server that no metadata has named."""
        url = foreign_url(head.target)
        path, _, query = (url or head.target).partition(b"?")
        if url is None:
            is_redirect = head.method == b"GET" and _asks_for_a_login(query)
            shown = self._server_origin + path + b"?" + self.with_server_url(query) if is_redirect else b""
            return Route(upstream=self._upstream, target=head.target, redirect_url=shown)
        is_redirect = self._places.get(path)
        upstream = self._other(url) if is_redirect is not None else None
        if upstream is None:
            return None
        target = url[url.index(b"/", url.index(b"://") + 3) :]
        return Route(
            upstream=upstream,
            target=target,
            redirect_url=path + b"?" + self.with_server_url(query) if is_redirect else b"",
        )

    def form_size(self, head: RequestHead) -> int:
        """Return how many bytes of the body to read before passing a request on: 0 for all but short forms.

        A client that expects `100 Continue` sends no body before the upstream has the head.
        """
        if head.values(b"expect"):
            return 0
        kind, size = head.value(b"content-type"), head.value(b"content-length")
        if not kind.lower().startswith(_FORM) or len(size) > 6 or not size.isdigit():
            return 0
        return int(size) if int(size) <= FORM_LIMIT else 0

    def form(self, head: RequestHead, form: bytes) -> tuple[RequestHead, bytes]:
        """Change the form of a request for the upstream."""
        meant = self.with_server_url(form)
        if meant == form:
            return head, form
        length = b"%d" % len(meant)
        fields = tuple(
            field.with_value(length) if field.name.lower() == b"content-length" else field for field in head.fields
        )
        return replace(head, fields=fields), meant

    def with_server_url(self, form: bytes) -> bytes:
        """Replace the tap's URL by the server's in the `resource` parameter of a form or query."""
        return b"&".join(map(self._field_with_server_url, form.split(b"&"))) if b"resource=" in form else form

    def _field_with_server_url(self, field: bytes) -> bytes:
        name, mark, value = field.partition(b"=")
        url = unquote_plus(value.decode("latin-1"))
        rest = url.removeprefix(self._own.decode())
        if name != b"resource" or not mark or rest == url or rest[:1] not in {"", "/", "?"}:
            return field
        return b"resource=" + quote(self._server_origin.decode() + rest, safe="").encode()

    # Metadata.

    def is_metadata(self, target: bytes) -> bool:
        """Whether a request target may be a metadata document."""
        return (
            target in self._metadata_targets
            or target.startswith((RESOURCE, *SERVERS))
            or (target.startswith(PREFIX) and target.endswith(SERVERS[1]))
        )

    def name_metadata(self, target: bytes) -> None:
        """Remember where the server says its metadata is."""
        if _TARGET.fullmatch(target):
            _remember(self._metadata_targets, target, None)

    def document(self, data: bytes) -> bytes:
        """Learn from a metadata document, and return the document with its URLs changed to the tap's."""
        try:
            value: JSON = json.loads(data)
        except (ValueError, RecursionError):
            return data
        if not isinstance(value, dict):
            return data
        texts = {name: text for name, text in value.items() if isinstance(text, str)}
        self._learn_servers(value.get("authorization_servers"))
        leads = self._learn_endpoints(texts, value)

        def named(match: re.Match[bytes]) -> bytes:
            name, text = match[1].decode(), _decoded(match[3])
            if texts.get(name) != text:  # the match is inside a nested value
                return match[0]
            if name == "resource":
                changed = self._renamed(match[3])
            elif name == "issuer":
                changed = self._json_through_tap(match[3]) if self._is_its_own(text) else match[3]
            else:
                changed = self._json_through_tap(match[3]) if leads else match[3]
            return b'"%s"%s"%s"' % (match[1], match[2], changed)

        def listed(match: re.Match[bytes]) -> bytes:
            return match[1] + _STRING.sub(
                lambda one: (
                    b'"%s"' % (self._json_through_tap(one[1]) if self._stands_for(_decoded(one[1])) else one[1])
                ),
                match[2],
            )

        return _LISTED.sub(listed, _NAMED.sub(named, data), count=1)

    def _learn_servers(self, listed: JSON) -> None:
        """Stand for a resource's authorization servers, except names with a query (RFC 8414, section 2), which could ask for anything."""
        if not isinstance(listed, list):
            return
        for name in listed[:_SERVERS_LIMIT]:
            server = _url(name) if isinstance(name, str) else b""
            if _key(server) in self._servers or b"?" in server or not self._can_relay(server):
                continue
            _remember(self._servers, _key(server), True)  # noqa: FBT003 - a value among others
            path = self._through_tap(server).removeprefix(self._own).rstrip(b"/")
            for target in (SERVERS[0] + path, SERVERS[1] + path, path + SERVERS[1]):
                self._allow(foreign_url(target), is_redirect=False)

    def _learn_endpoints(self, texts: Mapping[str, str], value: Mapping[str, JSON]) -> bool:
        """Remember the endpoints of an authorization server; returns whether the tap relays them."""
        issuer = texts.get("issuer", "")
        key = _key(_url(issuer))
        if not self._is_its_own(issuer) and key not in self._servers:
            return False
        endpoints = {name: _url(texts[name]) for name in (_PAGE, _TOKEN) if name in texts}
        names_itself = value.get("authorization_response_iss_parameter_supported") is True
        leads = not names_itself and all(map(self._can_relay, endpoints.values()))
        if self._servers.get(key) and not leads:
            self._tell(LOG_IN_AGAIN % issuer)
            self._servers[key] = False
        for name, url in endpoints.items() if leads else ():
            self._allow(foreign_url(self._through_tap(url).removeprefix(self._own)), is_redirect=name == _PAGE)
        return leads

    def _is_its_own(self, issuer: str) -> bool:
        """Whether the tap replaces an issuer: any at the upstream's origin, and the replaced servers elsewhere."""
        url = _url(issuer)
        return (self._origin.rest(url) is not None and PREFIX not in url) or self._stands_for(issuer)

    def _stands_for(self, server: str) -> bool:
        return self._servers.get(_key(_url(server)), False)

    def _allow(self, url: bytes | None, *, is_redirect: bool) -> None:
        if url is not None and _PLACE.fullmatch(url):
            _remember(self._places, url.partition(b"?")[0], is_redirect)

    def _renamed(self, text: bytes) -> bytes:
        rest = self._origin.rest(text)
        if rest is None:
            return text
        self._has_renamed_resource = True
        spelled = text[: len(text) - len(rest)].replace(b"\\/", b"/")
        self._server_origin = spelled if b"://" in spelled else self._server_origin
        return self._own + rest

    def _json_through_tap(self, text: bytes) -> bytes:
        """Return the content of a JSON string with its URL changed to go through the tap."""
        changed = self._origin.changed(text)
        if changed != text:
            return changed
        return json.dumps(self._through_tap(_url(_decoded(text))).decode("utf-8", "surrogatepass"))[1:-1].encode()

    def _through_tap(self, url: bytes) -> bytes:
        changed = self._origin.changed(url)
        if changed != url:
            return changed
        scheme, _, rest = url.partition(b"://")
        return self._own + PREFIX + scheme.lower() + b"/" + rest

    def _can_relay(self, url: bytes) -> bool:
        if _PLACE.fullmatch(url) is None or PREFIX in url:
            return False
        return self._origin.rest(url) is not None or self._other(url) is not None

    def _other(self, url: bytes) -> Upstream | None:
        """Return the upstream for a URL on another server; None if it cannot be reached or is forbidden."""
        try:
            parts = urlsplit(url.decode("latin-1"))
            origin = f"{parts.scheme}://{parts.netloc}"
        except ValueError:
            return None
        key = origin.encode()
        if key not in self._upstreams:
            try:
                upstream = self._upstream.other(origin)
            except SettingsError:
                upstream = None
            own_port = int(self._own.rpartition(b":")[2])
            _remember(self._upstreams, key, None if upstream is None or upstream.is_at(own_port) else upstream)
        return self._upstreams[key]


def foreign_url(target: bytes) -> bytes | None:
    """Return the URL on another server that a target at the tap means; None for ordinary targets."""
    for begin in (b"", *SERVERS) if PREFIX in target else ():
        if target.startswith(begin + PREFIX):
            match = _BEHIND_PREFIX.fullmatch(target[len(begin + PREFIX) :])
            if match is None:
                return None
            path = begin + match[3]
            return match[1] + b"://" + unquote_to_bytes(match[2]) + (path if path.startswith(b"/") else b"/" + path)
    return None


def _asks_for_a_login(query: bytes) -> bool:
    """Whether a request asks for a login page. Source: RFC 6749, section 4.1.1; RFC 9126, section 4."""
    if b"client_id=" not in query:
        return False
    names = parse_qs(query.decode("latin-1")).keys()
    return "client_id" in names and not names.isdisjoint({"response_type", "request_uri"})


def _url(text: str) -> bytes:
    """Return a URL from JSON as bytes, also if it cannot be sent."""
    return text.encode("utf-8", "surrogatepass")


def _key(server: bytes) -> bytes:
    return server.rstrip(b"/")


def _decoded(text: bytes) -> str:
    """Return the value of a JSON string."""
    try:
        value: object = json.loads(b'"%s"' % text)
    except ValueError:
        return ""  # the match was not a string but part of another string
    return value if isinstance(value, str) else ""


def _remember(known: dict[bytes, _V], key: bytes, value: _V) -> None:
    """Add or renew an entry, and forget the oldest entry if there are too many."""
    known.pop(key, None)
    known[key] = value
    while len(known) > REMEMBERED:
        del known[next(iter(known))]
