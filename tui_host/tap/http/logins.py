"""Logins through a tap, to servers that take no token but one made for their own URL.

A client asks an authorization server for a token for the URL that it was given, which is the tap's (`resource`, RFC 8707). So before an
MCP server the tap stands for its authorization servers too, as far as that takes: where the server's metadata names them it names places
of the tap, and in their own metadata, which is relayed from there, `issuer` and the endpoints that take a `resource` are such places as
well. What is sent to those goes to the real endpoints with the server's own URL for the tap's: forms are relayed, and a browser is sent
on to the real page, by its own address. A place at the MCP server's own origin keeps its path; one elsewhere stands behind PREFIX.

Nothing leads anywhere that the server's metadata, or that of an authorization server it names, did not name. Authorization servers that
the tap cannot stand for are left alone, so that a client goes to them as it would anyway: those that name themselves in what they answer
to a client (`iss`, RFC 9207), which compares that with the metadata, and those that take no client but by signatures that name where they
were sent. So their metadata is read before a client gets to know of them. Where a client signs though others would do, and is refused for
the tap's name in what it signed, all are left alone from then on.
Source: MCP 2025-11-25, Authorization; RFC 8414, section 3; RFC 8707, section 2; RFC 9207, section 2.4; RFC 9728, section 3.
"""

from __future__ import annotations

import base64
import math
import re
import time
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, quote, unquote_plus

from tui_host.tap.http.login_metadata import PREFIX, SERVERS, LoginMetadata, elsewhere, remember
from tui_host.tap.http.upstream import Upstream
from tui_host.tap.message_heads import RequestHead

RESOURCE = b"/.well-known/oauth-protected-resource"
FORM_LIMIT = 32 << 10
"""Bytes of a form that waits to be complete before it is passed on."""
REST_SECONDS = 60.0
"""How long the tap asks for nothing after it had to give up."""
_FORM = b"application/x-www-form-urlencoded"
_TARGET = re.compile(rb"/[!-\x22$-~]*")  # printable ASCII without blanks and without a fragment


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
    """Knows where requests go, and what is changed in them.

    Args:
        upstream: The MCP server.
        own: The tap's origin.

    Attributes:
        metadata: What is known from what has passed.
    """

    def __init__(self, upstream: Upstream, own: str) -> None:
        self.metadata = LoginMetadata(upstream, own)
        self._upstream = upstream
        self._own = own
        self._named: dict[bytes, None] = {}
        self._asked: dict[bytes, None] = {}
        self._rests_until = -math.inf  # on the monotonic clock
        self._signed: dict[bytes, None] = {}  # where assertions were sent that name the tap

    # Requests.

    def route(self, head: RequestHead) -> Route | None:
        """Where a request goes; None if it is for a place elsewhere that nobody has named."""
        url = elsewhere(head.target)
        if url is None:
            shown = b""
            if head.method == b"GET" and _asks_for_a_login(head.target):
                path, _, query = head.target.partition(b"?")
                shown = self.metadata.spelled + path + b"?" + self.meant(query)
            return Route(upstream=self._upstream, target=head.target, shown=shown)
        found = self.metadata.place(url)
        if found is None:
            return None
        upstream, is_shown = found
        place, _, query = url.partition(b"?")
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

    def form(self, head: RequestHead, form: bytes) -> tuple[RequestHead, bytes]:
        """A request with a form as it goes on."""
        if b"client_assertion=" in form and _names(form, self._own.encode()):
            remember(self._signed, head.target, None)
        meant = self.meant(form)
        if meant == form:
            return head, form
        length = b"%d" % len(meant)
        fields = tuple(each.having(length) if each.name.lower() == b"content-length" else each for each in head.fields)
        return replace(head, fields=fields), meant

    def was_refused(self, head: RequestHead, status: int) -> bool:
        """Whether an answer refuses who has signed that the tap is the authorization server; if so it stands for none any more."""
        is_refused = head.method == b"POST" and status in {400, 401} and head.target in self._signed
        if is_refused:
            self._signed.clear()
            self.metadata.leave()
        return is_refused

    def meant(self, form: bytes) -> bytes:
        """A form, or a query, with the server's URL for the tap's in `resource`, and all else as it was."""
        return b"&".join(map(self._meant, form.split(b"&"))) if b"resource=" in form else form

    def _meant(self, field: bytes) -> bytes:
        name, mark, value = field.partition(b"=")
        url = unquote_plus(value.decode("latin-1"))
        rest = url.removeprefix(self._own)
        if name != b"resource" or not mark or rest == url or rest[:1] not in {"", "/", "?"}:
            return field
        return b"resource=" + quote(self.metadata.spelled.decode() + rest, safe="").encode()

    # What has to be read first.

    def unread(self, head: RequestHead) -> tuple[bytes, ...] | None:
        """What the tap has to ask for itself, by its own names of it, before a request can go on; None if it can."""
        if time.monotonic() < self._rests_until:
            return None
        if head.method == b"GET" and self._is_of_resource(head.target):
            wanted = (head.target,)
        elif elsewhere(head.target) is not None and self.route(head) is None:  # named to it by an earlier tap
            path = self._upstream.url.path.encode().rstrip(b"/")
            wanted = tuple(dict.fromkeys((*list(self._named)[-1:], RESOURCE + path, RESOURCE)))
        else:
            return None
        left = tuple(each for each in wanted if each not in self._asked)
        return left if left or not self.metadata.is_known else None

    def was_asked(self, target: bytes) -> None:
        """It has been answered, whatever the answer was."""
        remember(self._asked, target, None)

    def rest(self) -> None:
        """What was asked took too long: for a while nothing is, so that not everybody waits for the same."""
        self._rests_until = time.monotonic() + REST_SECONDS

    def is_metadata(self, target: bytes) -> bool:
        """Whether a document with this name here may have to be changed."""
        return (
            self._is_of_resource(target)
            or target.startswith(SERVERS)
            or (target.startswith(PREFIX) and target.endswith(SERVERS[1]))
        )

    def name(self, target: bytes) -> None:
        """The server has said that its metadata is here, if that is a place of its own."""
        if _TARGET.fullmatch(target):
            remember(self._named, target, None)

    def _is_of_resource(self, target: bytes) -> bool:
        return target in self._named or target.startswith(RESOURCE)


def _names(form: bytes, own: bytes) -> bool:
    """Whether the assertion in a form says that it is for this tap. Source: RFC 7523, section 3."""
    for assertion in _fields(form).get("client_assertion", []):
        claims = (assertion.split(".")[1:2] or [""])[0]
        try:
            if own in base64.urlsafe_b64decode(claims + "==").replace(b"\\/", b"/"):
                return True
        except ValueError:
            continue
    return False


def _asks_for_a_login(target: bytes) -> bool:
    """Whether a browser is to ask somebody for a login. Source: RFC 6749, section 4.1.1; RFC 9126, section 4."""
    query = target.partition(b"?")[2]
    if b"client_id=" not in query:
        return False
    names = _fields(query).keys()
    return "client_id" in names and not names.isdisjoint({"response_type", "request_uri"})


def _fields(form: bytes) -> dict[str, list[str]]:
    """A form's fields, or a query's, whatever bytes there are in it."""
    return parse_qs(form.decode("latin-1"))
