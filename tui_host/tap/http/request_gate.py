"""Decides which requests a relay accepts: requests of programs, but not of web pages.

A web page can send requests to a port of this machine, which `Host`, `Origin` or `Sec-Fetch-Site` reveal, and without a
preflight it can post only a few content types. Some browsers omit `Origin`, so these types are refused from anything that
looks like a browser; curl's `-d`, which sends a form's type, does not. Source: Fetch, CORS-safelisted request-headers.
"""

from __future__ import annotations

from collections.abc import Sequence

from tui_host.settings.urls import parts_of, shown
from tui_host.tap.http_messages import HeadError, MessageHead

_OWN_NAMES = frozenset((b"127.0.0.1", b"localhost", b"[::1]"))
_FORM = b"application/x-www-form-urlencoded"
# Content types that a web page may post without a preflight.
_SIMPLE_TYPES = frozenset((b"", b"text/plain", b"multipart/form-data", _FORM))
# Headers that no web page can send without a preflight, which the relay never answers.
_PREFLIGHT_HEADERS = (b"authorization", b"x-api-key", b"api-key", b"x-goog-api-key", b"mcp-protocol-version")


class Gate:
    """The rules for requests to a port, with further origins of pages and names of this machine that the user allows.

    `allows_forms` lets forms without a credential in, as OAuth needs.
    """

    def __init__(self, port: int, origins: Sequence[str], hosts: Sequence[str], *, allows_forms: bool) -> None:
        names = _OWN_NAMES | {name.lower().encode() for name in hosts}
        own_hosts = {b"%s:%d" % (name, port) for name in names}
        self._port = port
        self._own_hosts = frozenset(own_hosts | names if port == 80 else own_hosts)
        self._allows_forms = allows_forms
        self.own_origins = frozenset(b"http://" + host for host in self._own_hosts)
        self._origins = self.own_origins | {origin.encode() for origin in origins}

    def check(self, head: MessageHead, *, is_redirect: bool = False) -> None:
        """Return if the request is accepted; otherwise raise HeadError. Every web page may have a browser redirected."""
        host, origins = head.value(b"host"), head.values(b"origin")
        if host.lower() not in self._own_hosts:
            name, _, number = host.rpartition(b":")
            words = f"not this port: the host name must end in :{self._port}"
            if number == b"%d" % self._port:
                words = "not this machine: a web page may have sent this; if your host must use this name, start"
                words += f" the tap with --allow-host {_shown(name)}"
            raise HeadError(403, f"Host is {_shown(host)}, which is {words}")
        if is_redirect:
            return
        if not self._origins.issuperset(origins):
            value = origins[0].decode("latin-1")
            parts, origin = parts_of(value), "null" if value == "null" else "none"
            if parts.scheme and parts.netloc:
                origin = shown(parts)[:200]  # and nothing of it that may be secret
            remedy = f"if that is your host, start the tap with --allow-origin '{origin}'"
            raise HeadError(403, f"Origin is {origin}: a web page may have sent this; {remedy}")
        if not origins and head.value(b"sec-fetch-site") in {b"cross-site", b"same-site"}:
            raise HeadError(403, "Sec-Fetch-Site says that a web page sent this")
        is_browser = head.value(b"user-agent").lower().startswith(b"mozilla/") or any(
            field.key == b"referer" or field.key.startswith(b"sec-fetch-") for field in head.fields
        )
        kind = head.value(b"content-type").partition(b";")[0].strip().lower()
        has_body = head.value(b"transfer-encoding") or head.value(b"content-length") not in {b"", b"0"}
        is_of_a_program = any(map(head.values, _PREFLIGHT_HEADERS)) or (self._allows_forms and kind == _FORM)
        is_simple = head.method == b"POST" and kind in _SIMPLE_TYPES and has_body
        if is_simple and is_browser and not origins and not is_of_a_program:
            words = f"Content-Type is {_shown(kind)}, which any web page may post"
            raise HeadError(415, f"{words}; send application/json, or a credential")


def _shown(value: bytes) -> str:
    return value.decode("latin-1")[:200] or "nothing"
