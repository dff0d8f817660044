"""What a relay changes of what the upstream says, so that a client goes on through the relay: names of places, and nothing else.

These are the upstream's own origin in `Location`; and, for MCP servers, in the `resource_metadata` of `WWW-Authenticate`, in the
`endpoint` event of an event stream, and in the `resource` of a protected resource's metadata, which a client compares with the URL
it was given. Records keep what the upstream said. Source: MCP 2024-11-05, Transports, HTTP with SSE; MCP 2025-11-25, Authorization;
RFC 9728, section 3.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from tui_host.tap.heads import RequestHead, ResponseHead

METADATA = b"/.well-known/oauth-protected-resource"
_EVENT_LIMIT = 64 << 10
_METADATA_LIMIT = 1 << 20
_BLANK_LINE = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")
_DATA_LINE = re.compile(rb"((?:\A|(?<=[\r\n]))data:[ ]?)([^\r\n]*)")
_NAMES_ENDPOINT = re.compile(rb"^event:[ ]?endpoint[ ]*$", re.MULTILINE)
_IS_SILENT = re.compile(rb"(?:(?::|retry:)[^\r\n]*[\r\n]|[\r\n])*")
_RESOURCE = re.compile(rb'("resource"[ \t\r\n]*:[ \t\r\n]*")((?:[^"\\]|\\.)*)')
_IN_CHALLENGE = re.compile(rb'(resource_metadata[ \t]*=[ \t]*"?)([^",\s]*)')

Change = Callable[[bytes], bytes]


class BodyFilter(Protocol):
    """Changes a body that comes in pieces."""

    def feed(self, data: bytes) -> bytes:
        """What can be passed on by now."""
        ...

    def finish(self) -> bytes:
        """The rest."""
        ...


class Rewriting:
    """Leads what the upstream names as its own back through the relay.

    Args:
        origin: The upstream's, such as `https://mcp.example`.
        own: The relay's.
        is_mcp: Whether the upstream is an MCP server.
    """

    def __init__(self, origin: str, own: str, *, is_mcp: bool) -> None:
        scheme, _, place = origin.lower().partition("://")
        host, _, port = place.rpartition(":") if re.search(r":\d+$", place) else (place, "", "")
        default = {"http": "80", "https": "443"}[scheme]
        ending = "(?::" + default + ")?" if port in {"", default} else ":" + port
        slashes = r":\\?/\\?/"
        pattern = f"{scheme}{slashes}{re.escape(host)}{ending}" + r"(?=[/?#\\]|$)"
        self._origin = re.compile(pattern.encode(), re.IGNORECASE)
        self._own = own.encode()
        self._is_mcp = is_mcp

    def request(self, head: RequestHead) -> RequestHead:
        """The request's head as it goes on: what has to be read on the way back comes as it is."""
        if not self._is_metadata(head):
            return head
        return replace(head, fields=tuple(each for each in head.fields if each[0].lower() != b"accept-encoding"))

    def response(self, head: ResponseHead) -> ResponseHead:
        """The response's head as it goes on."""
        fields = tuple((name, self._field(name.lower(), value)) for name, value in head.fields)
        return head if fields == head.fields else replace(head, fields=fields)

    def body(
        self, request: RequestHead, response: ResponseHead, announced: Callable[[bytes], None]
    ) -> BodyFilter | None:
        """What changes the body, None for nearly all, which pass as they are; `announced` takes an endpoint's URL as it came."""
        if not self._is_mcp or request.method != b"GET" or response.status != 200 or _is_encoded(response):
            return None
        kind = response.value(b"content-type").lower()
        if kind.startswith(b"text/event-stream"):

            def change(url: bytes) -> bytes:
                announced(url)
                return self._url(url)

            return EndpointFilter(change)
        return MetadataFilter(self._url) if self._is_metadata(request) and b"json" in kind else None

    def _is_metadata(self, head: RequestHead) -> bool:
        return self._is_mcp and head.method == b"GET" and head.target.startswith(METADATA)

    def _field(self, name: bytes, value: bytes) -> bytes:
        if name in {b"location", b"content-location"}:
            return self._url(value)
        if name == b"www-authenticate" and self._is_mcp:
            return _IN_CHALLENGE.sub(lambda found: found[1] + self._url(found[2]), value)
        return value

    def _url(self, url: bytes) -> bytes:
        found = self._origin.match(url)
        return self._own + url[found.end() :] if found else url


class EndpointFilter:
    """An event stream whose first event may name an endpoint; from that event on it passes as it is.

    Of an event only the last line end makes it one, so holding its beginning back until then delays nothing.
    """

    def __init__(self, change: Change) -> None:
        self._change = change
        self._held = b""
        self._passing = False

    def feed(self, data: bytes) -> bytes:
        """What is complete, changed if it names an endpoint."""
        if self._passing:
            return data
        self._held += data
        done = b""
        while not self._passing and (end := _BLANK_LINE.search(self._held)):
            block, self._held = self._held[: end.end()], self._held[end.end() :]
            self._passing = not _IS_SILENT.fullmatch(block)
            if _NAMES_ENDPOINT.search(block.replace(b"\r", b"\n")):
                block = _DATA_LINE.sub(lambda found: found[1] + self._change(found[2]), block, count=1)
            done += block
        if self._passing or len(self._held) > _EVENT_LIMIT:
            self._passing = True
            done += self.finish()
        return done

    def finish(self) -> bytes:
        """Half an event is passed on as it is."""
        held, self._held = self._held, b""
        return held


class MetadataFilter:
    """A document that names the resource it is of."""

    def __init__(self, change: Change) -> None:
        self._change = change
        self._held = b""
        self._passing = False

    def feed(self, data: bytes) -> bytes:
        """Nothing until its end, unless it is too large to be one."""
        self._held += data
        if not self._passing and len(self._held) <= _METADATA_LIMIT:
            return b""
        self._passing = True
        held, self._held = self._held, b""
        return held

    def finish(self) -> bytes:
        """The document."""
        if self._passing:
            return b""
        return _RESOURCE.sub(lambda found: found[1] + self._change(found[2]), self._held, count=1)


def _is_encoded(response: ResponseHead) -> bool:
    return response.value(b"content-encoding").lower() not in {b"", b"identity"}
