"""`endpoint` events in a passing event stream, with their URL led back through the relay.

Found as servers send them: the event's name first, then the URL in one `data` line. A URL of another origin, or a path, stays as it is.
Source: WHATWG HTML, Server-sent events; MCP 2024-11-05, Transports, HTTP with SSE.
"""

from __future__ import annotations

from collections.abc import Callable

from tui_host.tap.http.logins import Origin

URL_LIMIT = 8 << 10
"""Bytes of a line with an endpoint's URL; a longer line is none."""
_DATA, _EVENT = b"data:", b"event:"
_LINE_ENDS = b"\r\n"


class EndpointFilter:
    """Changes endpoint URLs, however the stream is cut.

    Args:
        origin: The upstream's origin and its replacement.
        announced: Takes each endpoint's original URL.
    """

    def __init__(self, origin: Origin, announced: Callable[[bytes], None]) -> None:
        self._origin = origin
        self._announced = announced
        self._line = b""  # as far as it matters
        self._held = b""
        self._is_endpoint = self._after_cr = False

    def feed(self, data: bytes) -> bytes:
        """The bytes ready to go on."""
        out = bytearray()
        if self._after_cr and data.startswith(b"\n"):
            out += b"\n"
            data = data[1:]
        self._after_cr = data.endswith(b"\r") if data else False
        for part in data.splitlines(keepends=True):  # of bytes, at CR, LF and CRLF and nowhere else
            text = part.rstrip(_LINE_ENDS)
            out += self._take(text)
            if len(text) < len(part):
                out += self._end_line() + part[len(text) :]
        return bytes(out)

    def finish(self) -> bytes:
        """The held bytes of an unfinished line."""
        held, self._held = self._held, b""
        return held

    def _take(self, text: bytes) -> bytes:
        """Add to the current line; returns the bytes ready to go on."""
        is_begin = not self._line
        self._line += text[: URL_LIMIT - len(self._line)]
        may_be_url = self._is_endpoint and (is_begin or self._held) and _DATA.startswith(self._line[: len(_DATA)])
        if may_be_url and len(self._held) + len(text) <= URL_LIMIT:
            self._held += text
            return b""
        held, self._held = self._held, b""
        return held + text

    def _end_line(self) -> bytes:
        """Read a finished line; returns held bytes, changed if necessary."""
        line, self._line = self._line, b""
        held, self._held = self._held, b""
        if held.startswith(_DATA):
            self._is_endpoint = False
            url = held[len(_DATA) :].removeprefix(b" ")
            self._announced(url)
            return held[: len(held) - len(url)] + self._origin.changed(url)
        if line.startswith(_EVENT):
            self._is_endpoint = line[len(_EVENT) :].removeprefix(b" ") == b"endpoint"
        elif not line:
            self._is_endpoint = False
        return held
