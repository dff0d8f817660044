"""Metadata of logins: what a relay changes in it, and which places elsewhere it may lead to, since they are named there.

Source: RFC 8414, section 3; RFC 9207, section 2.4; RFC 9728, section 3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TypeVar
from urllib.parse import unquote_to_bytes, urlsplit

from tui_host.errors import JSON, SettingsError
from tui_host.tap.http.upstream import Upstream
from tui_host.tap.http.upstream_origin import Origin

PREFIX = b"/tui-host-authorization/"
"""What stands before the places of authorization servers elsewhere; behind it come scheme, host and path."""
SERVERS = (b"/.well-known/oauth-authorization-server", b"/.well-known/openid-configuration")
REMEMBERED = 100
"""Places of a kind that a server has named; of older ones it is forgotten that they are some."""
_SERVERS_LIMIT = 2
"""Authorization servers of a resource that are stood for, which few have more than one of; all others are left alone."""
_SHOWN = "authorization_endpoint"
_ENDPOINTS = (_SHOWN, "token_endpoint", "pushed_authorization_request_endpoint", "device_authorization_endpoint")
"""All that take a `resource`."""
_UNSIGNED = frozenset(("none", "client_secret_basic", "client_secret_post"))
_SPACE = rb"[ \t\r\n]*"
_TEXT = rb'"((?:[^"\\]|\\.)*)"'
_NAMED = re.compile(
    rb'"(resource|issuer|' + "|".join(_ENDPOINTS).encode() + rb')"(' + _SPACE + rb":" + _SPACE + rb")" + _TEXT
)
_LISTED = re.compile(
    rb'("authorization_servers"' + _SPACE + rb":" + _SPACE + rb')(\[(?:[^\]"]|"(?:[^"\\]|\\.)*")*\])', re.DOTALL
)
_STRING = re.compile(_TEXT)
_V = TypeVar("_V")
_BEHIND_PREFIX = re.compile(rb"(https?)/([^/?]+)(.*)", re.DOTALL)
_PLACE = re.compile(rb"https?://[A-Za-z0-9._:\[\]-]+([/?][!-\x22$-~]*)?", re.IGNORECASE)
"""A URL that can stand in a request as it is: printable ASCII without blanks, with neither a user nor a fragment in it."""


class LoginMetadata:
    """Knows what stands for what.

    Args:
        upstream: The MCP server.
        own: The tap's origin.

    Attributes:
        spelled: The server's origin, as it writes it itself.
    """

    def __init__(self, upstream: Upstream, own: str) -> None:
        self.spelled = upstream.origin.encode()
        self._upstream = upstream
        self._own = own.encode()
        self._origin = Origin(upstream.origin, own)
        self._others: dict[bytes, Upstream | None] = {}
        self._places: dict[bytes, bool] = {}  # URLs without a query elsewhere, and whether a browser is sent there
        self._servers: dict[bytes, bool | None] = {}  # whether the tap stands for them, None while that is not known
        self._has_renamed = self._leaves_all = False

    @property
    def are_left_alone(self) -> bool:
        """The server's metadata has passed, and the tap stands for no authorization server."""
        return self._has_renamed and True not in self._servers.values()

    @property
    def is_known(self) -> bool:
        """Of no authorization server that is named the metadata has yet to be read."""
        return None not in self._servers.values()

    def place(self, url: bytes) -> tuple[Upstream, bool] | None:
        """To whom a URL elsewhere belongs, and whether a browser is sent there; None for what nobody has named."""
        is_shown = self._places.get(url.partition(b"?")[0])
        upstream = self._other(url) if is_shown is not None else None
        return None if upstream is None or is_shown is None else (upstream, is_shown)

    def unknown(self) -> Iterator[tuple[bytes, ...]]:
        """Of each authorization server that is named, and not known yet, the names here of what may be its metadata."""
        for server, stands in list(self._servers.items()):
            if stands is None:
                yield tuple(self._metadata_of(server))

    def leave(self) -> None:
        """Stand for no authorization server from now on: there is one that takes no other name of it."""
        self._leaves_all = True
        self._servers = dict.fromkeys(self._servers, False)

    def _metadata_of(self, server: bytes) -> Iterator[bytes]:
        path = self._led(server).removeprefix(self._own).rstrip(b"/")
        yield from (begin + path for begin in SERVERS)
        if path:
            yield path + SERVERS[1]

    def document(self, data: bytes) -> bytes:
        """Metadata as it goes on, of a resource or of an authorization server, having learned from it."""
        try:
            told: JSON = json.loads(data)
        except (ValueError, RecursionError):
            return data
        if not isinstance(told, dict):
            return data
        texts = {name: value for name, value in told.items() if isinstance(value, str)}
        self._learn_servers(told.get("authorization_servers"))
        leads = self._learn_endpoints(texts, told)

        def named(found: re.Match[bytes]) -> bytes:
            name, value = found[1].decode(), _decoded(found[3])
            if texts.get(name) != value:  # of something within
                return found[0]
            if name == "resource":
                changed = self._renamed(found[3])
            elif name == "issuer":
                changed = self._written(found[3]) if self._is_its_own(value) else found[3]
            else:
                changed = self._written(found[3]) if leads else found[3]
            return b'"%s"%s"%s"' % (found[1], found[2], changed)

        def listed(found: re.Match[bytes]) -> bytes:
            return found[1] + _STRING.sub(
                lambda one: b'"%s"' % (self._written(one[1]) if self._stands_for(_decoded(one[1])) else one[1]),
                found[2],
            )

        return _LISTED.sub(listed, _NAMED.sub(named, data), count=1)

    def _learn_servers(self, listed: JSON) -> None:
        """Who is named may be asked for its metadata; a name has no query (RFC 8414, section 2), which could ask for anything."""
        if not isinstance(listed, list):
            return
        for each in listed[:_SERVERS_LIMIT]:
            server = _url(each) if isinstance(each, str) else b""
            if _key(server) in self._servers or b"?" in server or not self._can_lead(server):
                continue
            remember(self._servers, _key(server), None)
            for target in self._metadata_of(server):
                self._allow(elsewhere(target), is_shown=False)

    def _learn_endpoints(self, texts: Mapping[str, str], told: Mapping[str, JSON]) -> bool:
        """Whether the endpoints in an authorization server's metadata are led here."""
        issuer = texts.get("issuer", "")
        if not self._is_its_own(issuer) and _key(_url(issuer)) not in self._servers:
            return False
        endpoints = {name: _url(texts[name]) for name in _ENDPOINTS if name in texts}
        leads = not self._leaves_all and _takes_others(told) and all(map(self._can_lead, endpoints.values()))
        if _key(_url(issuer)) in self._servers:
            self._servers[_key(_url(issuer))] = leads
        for name, url in endpoints.items() if leads else ():
            self._allow(elsewhere(self._led(url).removeprefix(self._own)), is_shown=name == _SHOWN)
        return leads

    def _is_its_own(self, issuer: str) -> bool:
        """Whether an issuer is named by a place of the tap's: all at the server's origin, and elsewhere those it stands for."""
        url = _url(issuer)
        return (self._origin.rest(url) is not None and PREFIX not in url) or self._stands_for(issuer)

    def _stands_for(self, server: str) -> bool:
        return self._servers.get(_key(_url(server))) is True

    def _allow(self, url: bytes | None, *, is_shown: bool) -> None:
        if url is not None and _PLACE.fullmatch(url):
            remember(self._places, url.partition(b"?")[0], is_shown)

    def _renamed(self, text: bytes) -> bytes:
        rest = self._origin.rest(text)
        if rest is None:
            return text
        self._has_renamed = True
        spelled = text[: len(text) - len(rest)].replace(b"\\/", b"/")
        self.spelled = spelled if b"://" in spelled else self.spelled
        return self._own + rest

    def _written(self, text: bytes) -> bytes:
        """A string of JSON with the place that stands for a URL."""
        changed = self._origin.changed(text)
        if changed != text:
            return changed
        return json.dumps(self._led(_url(_decoded(text))).decode("utf-8", "surrogatepass"))[1:-1].encode()

    def _led(self, url: bytes) -> bytes:
        changed = self._origin.changed(url)
        if changed != url:
            return changed
        scheme, _, rest = url.partition(b"://")
        return self._own + PREFIX + scheme.lower() + b"/" + rest

    def _can_lead(self, url: bytes) -> bool:
        if _PLACE.fullmatch(url) is None or PREFIX in url:
            return False
        return self._origin.rest(url) is not None or self._other(url) is not None

    def _other(self, url: bytes) -> Upstream | None:
        """Whom a URL elsewhere belongs to, None if it is no URL of anybody's who can be asked."""
        begin = url.decode("latin-1")
        try:
            parts = urlsplit(begin)
            origin = f"{parts.scheme}://{parts.netloc}"
        except ValueError:
            return None
        key = origin.encode()
        if key not in self._others:
            try:
                found = self._upstream.other(origin)
            except SettingsError:
                found = None
            own_port = int(self._own.rpartition(b":")[2])
            remember(self._others, key, None if found is None or found.is_at(own_port) else found)
        return self._others[key]


def elsewhere(target: bytes) -> bytes | None:
    """The URL elsewhere that a place of the tap stands for, None if it stands for none."""
    for begin in (b"", *SERVERS) if PREFIX in target else ():
        if target.startswith(begin + PREFIX):
            found = _BEHIND_PREFIX.fullmatch(target[len(begin + PREFIX) :])
            if found is None:
                return None
            path = begin + found[3]
            return found[1] + b"://" + unquote_to_bytes(found[2]) + (path if path.startswith(b"/") else b"/" + path)
    return None


def _takes_others(told: Mapping[str, JSON]) -> bool:
    """Whether clients can sign in with an authorization server by another name of it."""
    methods = told.get("token_endpoint_auth_methods_supported")
    names_itself = told.get("authorization_response_iss_parameter_supported") is True
    return not names_itself and (
        not isinstance(methods, list) or any(isinstance(each, str) and each in _UNSIGNED for each in methods)
    )


def _url(text: str) -> bytes:
    """A URL in JSON, which may be no text that could be sent."""
    return text.encode("utf-8", "surrogatepass")


def _key(server: bytes) -> bytes:
    return server.rstrip(b"/")


def _decoded(text: bytes) -> str:
    """What a string in JSON says, which has been read."""
    try:
        found: object = json.loads(b'"%s"' % text)
    except ValueError:
        return ""  # no string, but what looked like one within another
    return found if isinstance(found, str) else ""


def remember(known: dict[bytes, _V], key: bytes, value: _V) -> None:
    """Know this as the latest of a kind."""
    known.pop(key, None)
    known[key] = value
    while len(known) > REMEMBERED:
        del known[next(iter(known))]
