"""The relay: opens a connection to the upstream for each client's connection, and passes bytes on at once.

Both connections last equally long and end alike: closed, half closed or reset. The relay holds back only incomplete
heads, and bytes that the other side does not accept; it then stops reading.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from itertools import count
from typing import Protocol

from anyio.abc import TaskGroup

from tui_host.capture.record import TAP
from tui_host.errors import JSON
from tui_host.tap.http.exchange_reporter import ExchangeReporter, ItemWriter
from tui_host.tap.http.hop_headers import to_upstream
from tui_host.tap.http.logins import Logins, Route
from tui_host.tap.http.request_gate import Gate
from tui_host.tap.http.upstream import Upstream
from tui_host.tap.http.url_rewriting import UrlRewriting
from tui_host.tap.message_heads import HeadError, RequestHead, ResponseHead, new_field

READ_BYTES = 1 << 20
"""Largest number of bytes to read at once. Larger reads make large bodies cheaper."""
_AT_ONCE = struct.pack("ii", 1, 0)
"""A linger time of 0 seconds, for SO_LINGER."""


class Client(Protocol):
    """A client's connection to the relay."""

    def end(self) -> None:
        """End the connection early."""
        ...


@dataclass(kw_only=True)
class Relay:
    """The state that all connections of a relay share.

    Attributes:
        upstream: The server to which requests go.
        gate: Decides which requests are accepted.
        rewriting: Changes URLs in answers so that clients stay on the relay.
        logins: Routes logins; None for a model's API.
        writer: Receives reports for the recorder.
        answer_limit: Largest number of bytes of an answer to record; None for all.
        group: The task group for connecting.
        tell: Receives messages for the user.
        numbers: Yields the numbers of exchanges.
        clients: The open connections.
        buffer: The buffer for reading. All connections share it, since bytes are taken out at once.
    """

    upstream: Upstream
    gate: Gate
    rewriting: UrlRewriting
    logins: Logins | None
    writer: ItemWriter
    answer_limit: int | None
    group: TaskGroup
    tell: Callable[[str], None]
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    clients: set[Client] = field(default_factory=set[Client])
    buffer: memoryview = field(default_factory=lambda: memoryview(bytearray(READ_BYTES)))

    def route(self, head: RequestHead) -> Route | None:
        """Return the upstream and target of a request; None for a URL on another server that no metadata has named."""
        return Route(upstream=self.upstream, target=head.target) if self.logins is None else self.logins.route(head)

    def upstream_head(self, head: RequestHead, route: Route) -> RequestHead:
        """Return a request's head for the upstream."""
        changed = self.rewriting.request(head)
        return to_upstream(
            changed if changed.target == route.target else replace(changed, target=route.target),
            host=route.upstream.host,
            origin=route.upstream.origin.encode(),
            own_origins=self.gate.own_origins,
        )

    def reporter(self, head: RequestHead, origin: str) -> ExchangeReporter:
        """Return a reporter for a new request to an origin."""
        return ExchangeReporter(self.writer, next(self.numbers), head, origin, answer_limit=self.answer_limit)

    def record_answer(self, head: RequestHead, said: ResponseHead, body: bytes) -> None:
        """Record an answer made by the relay, under the host that the request names."""
        self.reporter(head, f"http://{head.value(b'host').decode('latin-1')}").refused(said, body)

    def record_refusal(self, head: RequestHead, error: HeadError) -> None:
        """Record a refusal and tell the user."""
        self.record_answer(head, *refusal(error.status, error.words, head.method))
        path = head.target.partition(b"?")[0].decode("latin-1")  # the query may contain the client's credential
        self.tell(f"refused {head.method.decode()} {path}: {error.words}")

    def end(self) -> None:
        """End all connections."""
        for client in list(self.clients):
            client.end()


# Answers made by the relay: both head and body say that they do not come from the upstream.


def redirection(url: bytes) -> ResponseHead:
    """Make a redirect for a browser. The connection is closed afterwards.

    Raises:
        HeadError: The URL contains a line break.
    """
    fields = (
        new_field(b"Server", TAP.encode()),
        new_field(b"Location", url),
        new_field(b"Cache-Control", b"no-store"),
        new_field(b"Content-Length", b"0"),
        new_field(b"Connection", b"close"),
    )
    return ResponseHead(minor=1, status=302, line=_line(302), fields=fields)


def refusal(status: int, words: str, method: bytes) -> tuple[ResponseHead, bytes]:
    """Make an error answer in the usual JSON form. The connection is closed afterwards.

    Args:
        status: The HTTP status.
        words: The reason, to show in the answer.
        method: The request's method.
    """
    error: dict[str, JSON] = {"message": f"{TAP}: {words}", "type": TAP, "code": status}
    body = json.dumps({"error": error}, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    head = ResponseHead(
        minor=1,
        status=status,
        line=_line(status),
        fields=(
            new_field(b"Server", TAP.encode()),
            new_field(b"X-Tui-Host-Tap", b"refused" if status != 502 else b"no valid answer from the upstream"),
            new_field(b"Content-Type", b"application/json"),
            new_field(b"Content-Length", b"%d" % len(body)),
            new_field(b"Connection", b"close"),
        ),
    )
    return head, b"" if method == b"HEAD" else body


def _line(status: int) -> bytes:
    return b"HTTP/1.1 %d %s\r\n" % (status, HTTPStatus(status).phrase.encode())


# Ending connections so that the other side learns the reason.


def break_off(transport: asyncio.Transport, *, with_reset: bool) -> None:
    """End a connection in the middle of a message.

    Args:
        transport: The connection to end.
        with_reset: Whether to reset the connection and discard unsent bytes; otherwise it is closed early.
    """
    if not with_reset:
        transport.close()
        return
    # asyncio gives only a view of the socket, with these methods; a Unix socket or a TLS layer may have none.
    raw: object = transport.get_extra_info("socket")
    set_option: object = getattr(raw, "setsockopt", None)
    if callable(set_option):
        set_option(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    transport.abort()


def end_writing(transport: asyncio.Transport) -> bool:
    """Close the sending side of a connection; returns False if the connection cannot do this."""
    if not transport.can_write_eof():
        return False
    try:
        transport.write_eof()
    except OSError:  # the connection has gone, as asyncio will soon notice
        transport.abort()
    return True
