"""Decides which requests a relay accepts: requests of programs, but not of web pages.

A web page can send requests to a port of this machine, by address or by a name of its own. `Host`, `Origin` or
`Sec-Fetch-Site` reveal it, and without a preflight it can post only a few content types. Some browsers omit `Origin`,
so these types are refused from anything that looks like a browser. curl, whose `-d` always sends a form's type, does
not. Source: Fetch standard, CORS-safelisted request-headers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tui_host.settings.credential_places import origin_in
from tui_host.tap.message_heads import NO_PROXY, HeadError, RequestHead

_OWN_NAMES = frozenset((b"127.0.0.1", b"localhost", b"[::1]"))
_SIMPLE_TYPES = frozenset((b"", b"text/plain", b"multipart/form-data", b"application/x-www-form-urlencoded"))
"""Content types that a web page may post without a preflight."""
_FORM = b"application/x-www-form-urlencoded"
_PREFLIGHT_HEADERS = frozenset((b"authorization", b"x-api-key", b"api-key", b"x-goog-api-key", b"mcp-protocol-version"))
"""Headers that no web page can send without a preflight, which the relay never answers."""


@dataclass(frozen=True, kw_only=True)
class Gate:
    """The rules for requests to a port.

    Args:
        port: The port on which the relay listens.
        allowed_origins: Origins of web pages that the user allows.
        allowed_hosts: Further names of this machine that the user allows, without a port.
        allows_forms: Whether forms without a credential are accepted, as OAuth needs.
    """

    port: int
    allowed_origins: frozenset[bytes] = frozenset()
    allowed_hosts: frozenset[bytes] = frozenset()
    allows_forms: bool = False

    @cached_property
    def own_hosts(self) -> frozenset[bytes]:
        """The values of `Host` that name this port of this machine."""
        names = _OWN_NAMES | {name.lower() for name in self.allowed_hosts}
        hosts = {b"%s:%d" % (name, self.port) for name in names}
        return frozenset(hosts | names if self.port == 80 else hosts)

    @cached_property
    def own_origins(self) -> frozenset[bytes]:
        """The origins of this port."""
        return frozenset(b"http://" + host for host in self.own_hosts)

    def check(self, head: RequestHead, *, is_redirect: bool = False) -> None:
        """Return if the request is accepted; otherwise raise.

        Args:
            head: The request's head.
            is_redirect: Whether the request only redirects a browser, which every web page may do.

        Raises:
            HeadError: The request is refused.
        """
        host = head.value(b"host")
        is_old = head.minor == 0 and not host  # HTTP/1.0 without Host, which no browser sends
        if host.lower() not in self.own_hosts and not is_old:
            raise HeadError(400, NO_PROXY) if head.is_absolute else HeadError(403, self._words_of(host))
        if is_redirect:
            return
        origins = head.values(b"origin")
        if any(value not in self.allowed_origins and value not in self.own_origins for value in origins):
            origin = origin_in(origins[0].decode("latin-1"))[:200] or "none"
            remedy = f"if that is your host, start the tap with --allow-origin '{origin}'"
            raise HeadError(403, f"Origin is {origin}: a web page may have sent this; {remedy}")
        if not origins and head.value(b"sec-fetch-site") in {b"cross-site", b"same-site"}:
            raise HeadError(403, "Sec-Fetch-Site says that a web page sent this")
        if head.method == b"POST" and not origins and _is_like_a_browser(head):
            self._check_content(head)

    def _words_of(self, host: bytes) -> str:
        name, _, port = host.rpartition(b":")
        if port != b"%d" % self.port:
            is_forwarded = name in _OWN_NAMES and port.isdigit()
            remedy = (
                f"; if you forward that port to here, start the tap with --port {_shown(port)}" if is_forwarded else ""
            )
            words = f"which is not this port: the host name must end in :{self.port}"
            return f"Host is {_shown(host)}, {words}{remedy}"
        remedy = f"if your host must use this name, start the tap with --allow-host {_shown(name)}"
        return f"Host is {_shown(host)}, which is not this machine: a web page may have sent this; {remedy}"

    def _check_content(self, head: RequestHead) -> None:
        kind = head.value(b"content-type").partition(b";")[0].strip().lower()
        has_body = head.value(b"transfer-encoding") or head.value(b"content-length") not in {b"", b"0"}
        if kind not in _SIMPLE_TYPES or not has_body:
            return
        if not _PREFLIGHT_HEADERS.isdisjoint(head.by_name) or (self.allows_forms and kind == _FORM):
            return
        words = f"Content-Type is {_shown(kind)}, which any web page may post; send application/json, or a credential"
        raise HeadError(415, words)


def _is_like_a_browser(head: RequestHead) -> bool:
    agent = head.value(b"user-agent").lower()
    return agent.startswith(b"mozilla/") or any(
        name == b"referer" or name.startswith(b"sec-fetch-") for name in head.by_name
    )


def _shown(value: bytes) -> str:
    return value.decode("latin-1")[:200] or "nothing"
