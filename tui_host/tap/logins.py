"""Logins through a tap, to servers that take no token but one made for their own URL.

A client asks an authorization server for a token for the URL that it was given, which is the tap's (`resource`, RFC 8707). So before an
MCP server the tap stands for its authorization servers too, as far as that takes: where the server's metadata names them it names places
of the tap, and in their own metadata, which is relayed from there, `issuer` and the endpoints that take a `resource` are such places as
well. What is sent to those goes to the real endpoints with the server's own URL for the tap's: forms are relayed, and a browser is sent
on to the real page, by its own address. A place at the MCP server's own origin keeps its path; one elsewhere stands behind PREFIX.

Nothing leads anywhere that the server's metadata, or that of an authorization server it names, did not name. Authorization servers that
the tap cannot stand for are left alone, so that a client goes to them as it would anyway: those that name themselves in what they answer
to a client (`iss`, RFC 9207), which compares that with the metadata, and those that take no client but by signatures that name where they
were sent. So their metadata is read before a client gets to know of them.
Source: MCP 2025-11-25, Authorization; RFC 8414, section 3; RFC 8707, section 2; RFC 9207, section 2.4; RFC 9728, section 3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar
from urllib.parse import parse_qs, quote, unquote_plus, unquote_to_bytes, urlsplit

from tui_host.errors import JSON, SettingsError
from tui_host.tap.heads import RequestHead
from tui_host.tap.origin import Origin
from tui_host.tap.upstream import Upstream

PREFIX = b"/tui-host-authorization/"
"""What stands before the places of authorization servers elsewhere; behind it come scheme, host and path."""
RESOURCE = b"/.well-known/oauth-protected-resource"
SERVERS = (b"/.well-known/oauth-authorization-server", b"/.well-known/openid-configuration")
FORM_LIMIT = 32 << 10
"""Bytes of a form that waits to be complete before it is passed on."""
REMEMBERED = 100
"""Places of a kind that a server has named; of older ones it is forgotten that they are some."""
_SERVERS_LIMIT = 10
_FORM = b"application/x-www-form-urlencoded"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where a request goes.

    Attributes:
        upstream: To whom.
        target: What it is asked for.
        shown: The URL that a browser is sent to instead; empty for nearly all.
    """

    upstream: Upstream
    target: bytes
    shown: bytes = b""


class Logins:
    """Knows what stands for what.

    Args:
        upstream: The MCP server.
        own: The tap's origin.
    """

    def __init__(self, upstream: Upstream, own: str) -> None:
        self._upstream = upstream
        self._own = own.encode()
        self._origin = Origin(upstream.origin, own)
        self._spelled = upstream.origin.encode()
        self._others: dict[bytes, Upstream | None] = {}
        self._places: dict[bytes, bool] = {}  # URLs without a query elsewhere, and whether a browser is sent there
        self._servers: dict[bytes, bool | None] = {}  # whether the tap stands for them, None while that is not known
        self._named: dict[bytes, None] = {}
        self._asked: dict[bytes, None] = {}
        self._has_renamed = False

    @property
    def are_left_alone(self) -> bool:
        """The server's metadata has passed, and the tap stands for no authorization server."""
        return self._has_renamed and True not in self._servers.values()

    # Requests.

    def route(self, head: RequestHead) -> Route | None:
        """Where a request goes; None if it is for a place elsewhere that nobody has named."""
        url = _elsewhere(head.target)
        if url is None:
            shown = b""
            if head.method == b"GET" and _asks_for_a_login(head.target):
                path, _, query = head.target.partition(b"?")
                shown = self._spelled + path + b"?" + self.meant(query)
            return Route(upstream=self._upstream, target=head.target, shown=shown)
        place, _, query = url.partition(b"?")
        is_shown = self._places.get(place)
        upstream = self._other(url) if is_shown is not None else None
        if upstream is None:
            return None
        target = url[url.index(b"/", url.index(b"://") + 3) :]
        return Route(upstream=upstream, target=target, shown=place + b"?" + self.meant(query) if is_shown else b"")

    def form_size(self, head: RequestHead) -> int:
        """Bytes of a request's body that have to be there before it can go on: 0 for all but short forms.

        A client that waits to be told to go on with its body sends none before the upstream has the head.
        """
        if head.values(b"expect"):
            return 0
        kind, size = head.value(b"content-type"), head.value(b"content-length")
        if not kind.lower().startswith(_FORM) or len(size) > 6 or not size.isdigit():
            return 0
        return int(size) if int(size) <= FORM_LIMIT else 0

    def form(self, head: RequestHead, body: bytes) -> tuple[RequestHead, bytes]:
        """A request with a form as it goes on; `body` may have something behind the form."""
        size = self.form_size(head)
        meant = self.meant(body[:size])
        if meant == body[:size]:
            return head, body
        length = b"%d" % len(meant)
        fields = tuple((name, length if name.lower() == b"content-length" else value) for name, value in head.fields)
        return replace(head, fields=fields), meant + body[size:]

    def meant(self, form: bytes) -> bytes:
        """A form, or a query, with the server's URL for the tap's in `resource`, and all else as it was."""
        return b"&".join(map(self._meant, form.split(b"&"))) if b"resource=" in form else form

    def _meant(self, field: bytes) -> bytes:
        name, mark, value = field.partition(b"=")
        url = unquote_plus(value.decode("latin-1"))
        rest = url.removeprefix(self._own.decode())
        if name != b"resource" or not mark or rest == url or rest[:1] not in {"", "/", "?"}:
            return field
        return b"resource=" + quote(self._spelled.decode() + rest, safe="").encode()

    # What has to be read first.

    def unread(self, head: RequestHead) -> tuple[bytes, ...] | None:
        """What the tap has to ask for itself, by its own names of it, before a request can go on; None if it can."""
        if head.method == b"GET" and self._is_of_resource(head.target):
            wanted = (head.target,)
        elif _elsewhere(head.target) is not None and self.route(head) is None:  # named to it by an earlier tap
            path = self._upstream.url.path.encode().rstrip(b"/")
            wanted = tuple(dict.fromkeys((*self._named, RESOURCE + path, RESOURCE)))
        else:
            return None
        left = tuple(each for each in wanted if each not in self._asked)
        return left if left or None in self._servers.values() else None

    def was_asked(self, target: bytes) -> None:
        """It has been answered, whatever the answer was."""
        _remember(self._asked, target, None)

    def unknown(self) -> Iterator[tuple[bytes, ...]]:
        """Of each authorization server that is named, and not known yet, the names here of what may be its metadata."""
        for server, stands in list(self._servers.items()):
            if stands is None:
                yield tuple(self._metadata_of(server))

    def is_metadata(self, target: bytes) -> bool:
        """Whether a document with this name here may have to be changed."""
        return (
            self._is_of_resource(target)
            or target.startswith(SERVERS)
            or (target.startswith(PREFIX) and target.endswith(SERVERS[1]))
        )

    def name(self, target: bytes) -> None:
        """The server has said that its metadata is here."""
        _remember(self._named, target, None)

    def _is_of_resource(self, target: bytes) -> bool:
        return target in self._named or target.startswith(RESOURCE)

    def _metadata_of(self, server: bytes) -> Iterator[bytes]:
        path = self._led(server).removeprefix(self._own).rstrip(b"/")
        yield from (begin + path for begin in SERVERS)
        if path:
            yield path + SERVERS[1]

    # Metadata.

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
        """Who is named may be asked for its metadata."""
        if not isinstance(listed, list):
            return
        for each in listed[:_SERVERS_LIMIT]:
            server = _url(each) if isinstance(each, str) else b""
            if _key(server) in self._servers or not self._can_lead(server):
                continue
            _remember(self._servers, _key(server), None)
            for target in self._metadata_of(server):
                self._allow(_elsewhere(target), is_shown=False)

    def _learn_endpoints(self, texts: Mapping[str, str], told: Mapping[str, JSON]) -> bool:
        """Whether the endpoints in an authorization server's metadata are led here."""
        issuer = texts.get("issuer", "")
        if not self._is_its_own(issuer) and _key(_url(issuer)) not in self._servers:
            return False
        endpoints = {name: _url(texts[name]) for name in _ENDPOINTS if name in texts}
        leads = _takes_others(told) and all(map(self._can_lead, endpoints.values()))
        if _key(_url(issuer)) in self._servers:
            self._servers[_key(_url(issuer))] = leads
        for name, url in endpoints.items() if leads else ():
            self._allow(_elsewhere(self._led(url).removeprefix(self._own)), is_shown=name == _SHOWN)
        return leads

    def _is_its_own(self, issuer: str) -> bool:
        """Whether an issuer is named by a place of the tap's: all at the server's origin, and elsewhere those it stands for."""
        return self._origin.rest(_url(issuer)) is not None or self._stands_for(issuer)

    def _stands_for(self, server: str) -> bool:
        return self._servers.get(_key(_url(server))) is True

    def _allow(self, url: bytes | None, *, is_shown: bool) -> None:
        if url is not None:
            _remember(self._places, url.partition(b"?")[0], is_shown)

    def _renamed(self, text: bytes) -> bytes:
        rest = self._origin.rest(text)
        if rest is None:
            return text
        self._has_renamed = True
        spelled = text[: len(text) - len(rest)].replace(b"\\/", b"/")
        self._spelled = spelled if b"://" in spelled else self._spelled
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
        if not url.isascii() or b"#" in url:
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
            _remember(self._others, key, None if found is None or found.is_at(own_port) else found)
        return self._others[key]


def _elsewhere(target: bytes) -> bytes | None:
    """The URL elsewhere that a place of the tap stands for, None if it stands for none."""
    for begin in (b"", *SERVERS) if PREFIX in target else ():
        if target.startswith(begin + PREFIX):
            found = _BEHIND_PREFIX.fullmatch(target[len(begin + PREFIX) :])
            if found is None:
                return None
            path = begin + found[3]
            return found[1] + b"://" + unquote_to_bytes(found[2]) + (path if path.startswith(b"/") else b"/" + path)
    return None


def _asks_for_a_login(target: bytes) -> bool:
    """Whether a browser is to ask somebody for a login. Source: RFC 6749, section 4.1.1; RFC 9126, section 4."""
    query = target.partition(b"?")[2]
    if b"client_id=" not in query:
        return False
    names = parse_qs(query).keys()
    return b"client_id" in names and not names.isdisjoint({b"response_type", b"request_uri"})


def _takes_others(told: Mapping[str, JSON]) -> bool:
    """Whether clients can sign in with an authorization server by another name of it."""
    methods = told.get("token_endpoint_auth_methods_supported")
    names_itself = told.get("authorization_response_iss_parameter_supported") is True
    return not names_itself and (not isinstance(methods, list) or any(each in _UNSIGNED for each in methods))


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


def _remember(known: dict[bytes, _V], key: bytes, value: _V) -> None:
    known.pop(key, None)
    known[key] = value
    while len(known) > REMEMBERED:
        del known[next(iter(known))]
