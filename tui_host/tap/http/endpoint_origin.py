"""Whether the URL of an `endpoint` event is of the upstream's own origin, however it is spelled, and the same by way of the relay.

A client reads it against the URL of the stream, and most as browsers do: with either slash, any number of them, a user before the host,
zeros before the port, and a host in more than one spelling. What is not the origin's stays to the letter, so that a client that reads it
otherwise finds what it would find without a relay. Source: WHATWG URL, basic URL parser and host parser; RFC 3986, 5.2.
"""

from __future__ import annotations

import re
import socket
from ipaddress import AddressValueError, IPv6Address
from urllib.parse import unquote_to_bytes

_PORTS = {b"http": 80, b"https": 443}
_AUTHORITY = rb"([/\\]{2,})([^/\\?#]*)"
_DIGITS = re.compile(rb"[0-9a-fA-FxX.]+")
_NUMBER_AT_END = re.compile(rb"(?:^|\.)(?:[0-9]+|0[xX][0-9a-fA-F]*)\.?$")
_PORT = re.compile(rb":([0-9]*)$")
_MOST_DIGITS = 20


class EndpointOrigin:
    """The upstream's origin in `endpoint` events.

    Args:
        origin: Such as `https://mcp.example`.
        own: The relay's.
    """

    def __init__(self, origin: str, own: str) -> None:
        scheme, _, place = origin.encode("utf-8", "surrogateescape").partition(b"://")
        self._scheme = scheme.lower()
        self._place = _place(place, self._scheme)
        own_scheme, _, self._own = own.encode().partition(b"://")
        self._own_scheme = own_scheme + b":"
        self._url = re.compile(rb"(?:" + re.escape(self._scheme) + rb":)?" + _AUTHORITY, re.IGNORECASE)

    def may_begin(self, url: bytes) -> bool:
        """Whether a URL of this origin may begin with these bytes."""
        begin = self._scheme + b":"
        rest = url[len(begin) :] if url[: len(begin)].lower() == begin else url
        if begin.startswith(url.lower()) or rest in {b"", b"/", b"\\"}:
            return True
        found = self._url.match(url)
        return found is not None and (found.end() == len(url) or self._is_its_own(found[2]))

    def changed(self, url: bytes) -> bytes:
        """The same place by way of the relay; itself if it is none of this origin."""
        found = self._url.match(url)
        if found is None or not self._is_its_own(found[2]):
            return url
        user, mark, _ = found[2].rpartition(b"@")
        return self._own_scheme + found[1] + user + mark + self._own + url[found.end() :]

    def _is_its_own(self, authority: bytes) -> bool:
        place = _place(authority.rpartition(b"@")[2], self._scheme)
        return place is not None and place == self._place


def _place(place: bytes, scheme: bytes) -> tuple[bytes, int] | None:
    """Host and port in the one spelling that is compared; None for what is no place."""
    found = _PORT.search(place)
    digits = b"" if found is None else found[1].lstrip(b"0") or found[1][:1]
    host = _host(place if found is None else place[: found.start()])
    if not host or len(digits) > _MOST_DIGITS:
        return None
    return host, int(digits) if digits else _PORTS[scheme]


def _host(host: bytes) -> bytes:
    """A host as browsers write it; empty for what is none."""
    try:
        if host.startswith(b"[") and host.endswith(b"]"):
            return IPv6Address(host[1:-1].decode("ascii")).packed
        name = unquote_to_bytes(host).decode()
        found = (name if name.isascii() else name.encode("idna").decode()).lower().encode("ascii")
        if _NUMBER_AT_END.search(found) is None:
            return found
        return socket.inet_aton(found.rstrip(b".").decode()) if _DIGITS.fullmatch(found) else b""
    except (AddressValueError, OSError, UnicodeError):
        return b""
