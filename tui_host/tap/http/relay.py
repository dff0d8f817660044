"""The relay: a connection to the upstream for each client's connection, with bytes passed on at once.

Both connections last equally long and are closed, half closed or reset alike. Only incomplete heads are held, and bytes that the other side
does not take: then no more is read.
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
from tui_host.tap.http.rewriting import Rewriting
from tui_host.tap.http.upstream import Upstream
from tui_host.tap.message_heads import HeadError, RequestHead, ResponseHead, made

READ_BYTES = 1 << 20
"""Bytes to read at once, at most. Larger reads make large bodies cheaper."""
_AT_ONCE = struct.pack("ii", 1, 0)
"""A lingering time of 0 seconds, for SO_LINGER."""


class Client(Protocol):
    """A client's connection."""

    def end(self) -> None:
        """End the connection early."""
        ...


@dataclass(kw_only=True)
class Relay:
    """State shared by all connections of a relay.

    Attributes:
        upstream: Where requests go.
        gate: Decides which requests are let in.
        rewriting: Leads clients back to the relay.
        logins: Routes logins; None for a model's API.
        writer: Takes reports for the recorder.
        answer_limit: Bytes of an answer to record; None for all.
        group: Owns connecting tasks.
        tell: Takes a sentence for a person.
        numbers: Of the exchanges.
        clients: The connections there are.
        buffer: What is read stands here for a moment; one for all, since it is taken out at once.
    """

    upstream: Upstream
    gate: Gate
    rewriting: Rewriting
    logins: Logins | None
    writer: ItemWriter
    answer_limit: int | None
    group: TaskGroup
    tell: Callable[[str], None]
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    clients: set[Client] = field(default_factory=set[Client])
    buffer: memoryview = field(default_factory=lambda: memoryview(bytearray(READ_BYTES)))

    def route(self, head: RequestHead) -> Route | None:
        """Where a request goes; None for places that no metadata has named."""
        return Route(upstream=self.upstream, target=head.target) if self.logins is None else self.logins.route(head)

    def passed(self, head: RequestHead, route: Route) -> RequestHead:
        """A request's head for the upstream."""
        changed = self.rewriting.request(head)
        return to_upstream(
            changed if changed.target == route.target else replace(changed, target=route.target),
            host=route.upstream.host,
            origin=route.upstream.origin.encode(),
            own_origins=self.gate.own_origins,
        )

    def reporter(self, head: RequestHead, origin: str) -> ExchangeReporter:
        """A reporter for a new request to an origin."""
        return ExchangeReporter(self.writer, next(self.numbers), head, origin, answer_limit=self.answer_limit)

    def answered(self, head: RequestHead, said: ResponseHead, body: bytes) -> None:
        """Record an answer of the relay's own, under the host named in the request."""
        self.reporter(head, f"http://{head.value(b'host').decode('latin-1')}").refused(said, body)

    def refused(self, head: RequestHead, error: HeadError) -> None:
        """Record a refusal and tell a person."""
        self.answered(head, *refusal(error.status, error.words, head.method))
        path = head.target.partition(b"?")[0].decode("latin-1")  # a query may have the client's credential in it
        self.tell(f"refused {head.method.decode()} {path}: {error.words}")

    def end(self) -> None:
        """End all connections."""
        for client in list(self.clients):
            client.end()


# What a relay says in its own name: head and body both tell that it was not the upstream.


def redirection(url: bytes) -> ResponseHead:
    """A redirect for a browser; the connection ends afterwards.

    Raises:
        HeadError: The URL contains a line break.
    """
    fields = (
        made(b"Server", TAP.encode()),
        made(b"Location", url),
        made(b"Cache-Control", b"no-store"),
        made(b"Content-Length", b"0"),
        made(b"Connection", b"close"),
    )
    return ResponseHead(minor=1, status=302, line=_line(302), fields=fields)


def refusal(status: int, words: str, method: bytes) -> tuple[ResponseHead, bytes]:
    """An error answer in the usual JSON form; the connection ends afterwards.

    Args:
        status: The HTTP status.
        words: The reason.
        method: The request's.
    """
    error: dict[str, JSON] = {"message": f"{TAP}: {words}", "type": TAP, "code": status}
    body = json.dumps({"error": error}, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    head = ResponseHead(
        minor=1,
        status=status,
        line=_line(status),
        fields=(
            made(b"Server", TAP.encode()),
            made(b"X-Tui-Host-Tap", b"refused" if status != 502 else b"no valid answer from the upstream"),
            made(b"Content-Type", b"application/json"),
            made(b"Content-Length", b"%d" % len(body)),
            made(b"Connection", b"close"),
        ),
    )
    return head, b"" if method == b"HEAD" else body


def _line(status: int) -> bytes:
    return b"HTTP/1.1 %d %s\r\n" % (status, HTTPStatus(status).phrase.encode())


# How connections end so that the peer learns the reason.


def break_off(transport: asyncio.Transport, *, with_reset: bool) -> None:
    """End a connection in the middle of something.

    Args:
        transport: The connection.
        with_reset: Reset the connection and discard unsent bytes; otherwise close early.
    """
    if not with_reset:
        transport.close()
        return
    # asyncio gives no socket but a view of it, which offers this much; a Unix socket or a TLS layer may have none.
    raw: object = transport.get_extra_info("socket")
    set_option: object = getattr(raw, "setsockopt", None)
    if callable(set_option):
        set_option(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    transport.abort()


def end_writing(transport: asyncio.Transport) -> bool:
    """Half-close a connection for writing; returns False for a connection without half-close."""
    if not transport.can_write_eof():
        return False
    try:
        transport.write_eof()
    except OSError:  # nobody is there any more, which asyncio is about to notice
        transport.abort()
    return True
