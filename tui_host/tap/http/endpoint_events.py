"""`endpoint` events in an event stream that passes: the URL in one is led elsewhere, and every other byte goes on as it came, at once.

Source: WHATWG HTML, Server-sent events; WHATWG URL, basic URL parser; MCP 2024-11-05, Transports, HTTP with SSE.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from ipaddress import AddressValueError, IPv6Address
from types import MappingProxyType
from urllib.parse import unquote_to_bytes

URL_LIMIT = 8 << 10
"""Bytes of an endpoint's URL; what is longer is none."""
_HELD_LIMIT = 64 << 10
_BOM = b"\xef\xbb\xbf"
_NAMES = MappingProxyType({b"data": b"data", b"event": b"event"})
_FIRST_NAMES = MappingProxyType(_NAMES | {_BOM + name: name for name in _NAMES})
_LINE_ENDS = b"\r\n"
_IN_NO_URL = b"\t\r\n"
"""What clients drop from URLs, wherever it stands."""
_BEFORE_URLS = bytes(range(0x21))
_JSON = (b"{", b"[")
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)")
_PORTS = {b"http": 80, b"https": 443}
_AUTHORITY = rb"([/\\]{2,})([^/\\?#]*)"
_DIGITS = re.compile(rb"[0-9a-fA-FxX.]+")
_NUMBER_AT_END = re.compile(rb"(?:^|\.)(?:[0-9]+|0[xX][0-9a-fA-F]*)\.?$")
_PORT = re.compile(rb":([0-9]*)$")
_MOST_DIGITS = 20


class EndpointOrigin:
    """The upstream's origin in `endpoint` events, however it is spelled, and the relay's that stands for it.

    A client reads it against the URL of the stream, and most as browsers do: with either slash, any number of them, a user before the host,
    zeros before the port, and a host in more than one spelling. What is not the origin's stays to the letter, so that a client that reads it
    otherwise finds what it would find without a relay. Source: WHATWG URL, basic URL parser and host parser; RFC 3986, 5.2.

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


class EndpointFilter:
    """Finds the events by the standard's rules, wherever in the stream they are and however it is cut.

    An event's name may come after its data, and its data in several lines. So what waits is data that begins as a URL in question
    does, with what follows it in the same event: of an event only the line end behind its last line makes one, so that delays nothing.

    Args:
        places: Which URLs are changed.
        announced: Takes each endpoint's URL as it came.
    """

    def __init__(self, places: EndpointOrigin, announced: Callable[[bytes], None]) -> None:
        self._places = places
        self._announced = announced
        self._out = bytearray()
        self._held: bytearray | None = None
        self._names = _FIRST_NAMES
        self._after_cr = False
        self._begin_line()
        self._begin_event()

    def feed(self, data: bytes) -> bytes:
        """What can be passed on by now."""
        if self._after_cr and data.startswith(b"\n"):
            self._pass(data[:1])
            data, self._after_cr = data[1:], False
        for line in data.splitlines(keepends=True):  # of bytes, at CR, LF and CRLF and nowhere else
            text = line.rstrip(_LINE_ENDS)
            if text:
                self._take(text)
            if len(text) < len(line):
                self._end_line(line[len(text) :])
        if data:
            self._after_cr = data.endswith(b"\r")
        out, self._out = bytes(self._out), bytearray()
        return out

    def finish(self) -> bytes:
        """Half an event is none."""
        self._release()
        out, self._out = bytes(self._out), bytearray()
        return out

    def _take(self, text: bytes) -> None:
        """More of a line."""
        if self._is_dull:
            self._pass(text)
            return
        known = len(self._line)
        self._line += text
        name, colon, value = self._line.partition(b":")
        field = self._names.get(bytes(name)) if colon else None
        if field == b"data" and self._is_open:
            begin = len(name) + 1 + value.startswith(b" ")
            new = bytes(self._line[max(known, begin) :])
            self._pass(text[: len(text) - len(new)])
            self._take_data(new)
            return
        if field == b"event":
            self._event = bytes(value).removeprefix(b" ")
        elif colon or not any(each.startswith(name) for each in self._names):
            self._is_dull = True
        self._is_dull |= len(self._line) > URL_LIMIT
        self._pass(text)

    def _take_data(self, value: bytes) -> None:
        """More of the event's data."""
        if not self._url:
            begun = value.lstrip(_BEFORE_URLS)
            self._pass(value[: len(value) - len(begun)])
            value = begun
        self._url += value.translate(None, _IN_NO_URL)
        if len(self._url) > URL_LIMIT or self._url.startswith(_JSON):
            self._close()
        elif not self._places.may_begin(self._url):
            self._release()
        elif self._url and self._held is None:
            self._held = bytearray()
        self._pass(value)

    def _end_line(self, end: bytes) -> None:
        if not self._line and not self._is_dull:
            self._end_event()
        elif self._names.get(bytes(self._line)) == b"event":  # without a colon: its value is empty
            self._event = b""
        self._pass(end)
        self._begin_line()
        self._names = _NAMES

    def _end_event(self) -> None:
        if self._event == b"endpoint" and self._url:
            self._announced(self._url)
            changed = self._places.changed(self._url)
            if self._held is not None and changed != self._url:
                self._held = bytearray(_with_data(bytes(self._held), changed))
        self._release()
        self._begin_event()

    def _begin_line(self) -> None:
        self._line = bytearray()  # as far as it has to be known
        self._is_dull = False  # its rest says nothing of an endpoint

    def _begin_event(self) -> None:
        self._event = b""
        self._url = b""
        self._is_open = True  # its data may still be a URL

    def _close(self) -> None:
        """The event's data is no URL."""
        self._release()
        self._url = b""
        self._is_open = False
        self._is_dull = True

    def _release(self) -> None:
        held, self._held = self._held, None
        self._out += held or b""

    def _pass(self, data: bytes) -> None:
        if self._held is None:
            self._out += data
            return
        self._held += data
        if len(self._held) > _HELD_LIMIT:
            self._close()


def _with_data(held: bytes, url: bytes) -> bytes:
    """The lines of an event from within the first of its data on, with all of its data in that one."""
    first, *others = _LINE.findall(held)
    end = first[len(first.rstrip(_LINE_ENDS)) :]
    kept = (line for line in others if line.rstrip(_LINE_ENDS).partition(b":")[0] != b"data")
    lines = url + end + b"".join(kept)
    # an empty line follows, which is no rest of a line end that it did not follow before
    return lines + b"\n" if lines.endswith(b"\r") and not held.endswith(b"\r") else lines


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
