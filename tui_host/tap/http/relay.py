"""What all links of a relay share, and the answers that the relay makes itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from http import HTTPStatus
from itertools import count

from tui_host.capture.record import TAP
from tui_host.errors import JSON
from tui_host.tap.http.logins import Route, TapPlaces
from tui_host.tap.http.relayed_exchange import RelayedExchange, Report, for_next_hop
from tui_host.tap.http.request_gate import Gate
from tui_host.tap.http.upstream import Upstream
from tui_host.tap.message_heads import Framing, HeadError, RequestHead, ResponseHead, new_field

READ_BYTES = 1 << 20
"""Largest number of bytes to read at once. Larger reads make large bodies cheaper."""
ENDED = "the tap was ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The parameters of a relay."""

    upstream: Upstream
    port: int  # to listen on; 0 for any
    is_mcp: bool
    allowed_origins: tuple[str, ...] = ()  # of web pages that the user allows
    allowed_hosts: tuple[str, ...] = ()  # further names of this machine
    report: Report
    answer_limit: int | None  # bytes of an answer to record at most; None for all
    tell: Callable[[str], None]  # receives messages for the user


class Relay:
    """Decides about requests to its port, and counts exchanges."""

    def __init__(self, service: Service, port: int, own: str) -> None:
        self.places = TapPlaces(service.upstream, own, service.tell, is_mcp=service.is_mcp)
        self.tell = service.tell
        self.ends: set[Callable[[], None]] = set()  # of the open links
        self.buffer = memoryview(bytearray(READ_BYTES))
        self._service = service
        self._gate = Gate(
            port,
            allowed_origins=service.allowed_origins,
            allowed_hosts=service.allowed_hosts,
            allows_forms=service.is_mcp,
        )
        self._numbers = count(1)
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, task: Coroutine[None, None, None]) -> None:
        """Run something until it is done, or the relay ends."""
        started = asyncio.get_running_loop().create_task(task)
        self._tasks.add(started)  # the event loop keeps no reference to it
        started.add_done_callback(self._tasks.discard)

    def end(self) -> None:
        """End all connections."""
        for end in list(self.ends):
            end()
        for task in self._tasks:
            task.cancel()

    def admit(self, head: RequestHead) -> Route:
        """Return where a request goes. Raises HeadError if it is refused, which has been recorded and told."""
        try:
            route = self.places.route(head)
            self._gate.check(head, is_redirect=bool(route.redirect_url))
        except HeadError as error:
            self.record_answer(head, *refusal(error.status, error.words, head.method))
            path = head.target.partition(b"?")[0].decode("latin-1")  # the query may contain the client's credential
            self.tell(f"refused {head.method.decode()} {path}: {error.words}")
            raise
        return route

    def head_for(self, head: RequestHead, route: Route) -> RequestHead:
        """Return a request's head for the upstream: only Host, Origin, and what belongs to one hop differ."""
        upstream = route.upstream
        passed = for_next_hop(self.places.for_upstream(head, route), upgrades=head.wants_websocket)
        fields = list(passed.fields)
        for number, field in enumerate(fields):
            if field.key == b"host":
                fields[number] = field.with_value(upstream.host)
            elif field.key == b"origin" and field.value in self._gate.own_origins:
                fields[number] = field.with_value(upstream.origin.encode())
        return replace(passed, fields=tuple(fields))

    def new_exchange(self, head: RequestHead, framing: Framing) -> RelayedExchange:
        """Return an exchange for a request."""
        service = self._service
        return RelayedExchange(head, framing, service.report, next(self._numbers), answer_limit=service.answer_limit)

    def record_answer(self, head: RequestHead, response: ResponseHead, body: bytes) -> None:
        """Record an answer made by the relay, under the host that the request names."""
        exchange = self.new_exchange(head, 0)
        exchange.begin(head, f"http://{head.value(b'host').decode('latin-1')}")
        exchange.refuse(response, body)


def redirection(url: bytes) -> ResponseHead:
    """Make a redirect for a browser. The connection is closed afterwards. Raises HeadError for a line break in the URL."""
    return _response(302, Location=url, Cache_Control=b"no-store", Content_Length=b"0")


def refusal(status: int, words: str, method: bytes) -> tuple[ResponseHead, bytes]:
    """Make an error answer in the usual JSON form. Both head and body say that they do not come from the upstream."""
    error: dict[str, JSON] = {"message": f"{TAP}: {words}", "type": TAP, "code": status}
    body = json.dumps({"error": error}, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    reason = b"refused" if status != 502 else b"no valid answer from the upstream"
    head = _response(status, X_Tui_Host_Tap=reason, Content_Type=b"application/json", Content_Length=b"%d" % len(body))
    return head, b"" if method == b"HEAD" else body


def _response(status: int, **fields: bytes) -> ResponseHead:
    """Make a head. The connection is closed after it; `Content_Type` is a header."""
    first = b"HTTP/1.1 %d %s\r\n" % (status, HTTPStatus(status).phrase.encode())
    named = {"Server": TAP.encode(), **fields, "Connection": b"close"}
    lines = tuple(new_field(name.replace("_", "-").encode(), value) for name, value in named.items())
    return ResponseHead(first=first, minor=1, status=status, fields=lines)
