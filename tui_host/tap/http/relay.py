"""The relay of an HTTP tap: what it decides about requests, and a link for each client, through which exchanges pass.

Both connections last equally long and end alike: closed, half closed or reset. Only incomplete heads, forms and metadata
of logins are held back, and bytes that the other side does not accept, which is then not read.
"""

from __future__ import annotations

import asyncio
import errno
import json
import signal
import socket
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from itertools import count
from typing import Literal

import anyio
import anyio.lowlevel

from tui_host.capture.http.client_faults import words_of
from tui_host.capture.http.exchange_end import Ending, Reason
from tui_host.capture.record import TAP
from tui_host.errors import JSON, TuiHostError
from tui_host.tap import http_messages as messages
from tui_host.tap import relay as kinds
from tui_host.tap.http.logins import Route, TapPlaces
from tui_host.tap.http.relayed_exchange import RelayedExchange, Report
from tui_host.tap.http.request_gate import Gate
from tui_host.tap.http.sides import Side
from tui_host.tap.http.upstream import MACHINE, Upstream, depth_of_name
from tui_host.tap.http_messages import HeadBuffer, HeaderLine, HeadError, MessageHead, SizedBody, for_next_hop

READ_BYTES = 1 << 20  # to read at once at most; larger reads make large bodies cheaper
LOOPBACK = "127.0.0.1"
BACKLOG = 1024
CUT = "the upstream ended the connection before its answer was complete"


class Relay:
    """Decides about requests to the port of `listener`: `report` takes what is to be recorded, `tell` messages for the user."""

    def __init__(
        self,
        listener: socket.socket,
        upstream: Upstream,
        *,
        is_mcp: bool,
        report: Report,
        tell: Callable[[str], None],
        allowed_origins: Sequence[str] = (),
        allowed_hosts: Sequence[str] = (),
    ) -> None:
        port: int = listener.getsockname()[1]
        self.origin = f"http://{LOOPBACK}:{port}"
        self.places = TapPlaces(upstream, self.origin, tell, is_mcp=is_mcp)
        self.tell = tell
        self.links: set[ClientLink] = set()
        self.buffer = memoryview(bytearray(READ_BYTES))
        self._listener = listener
        self.report = report
        self.gate = Gate(port, allowed_origins, allowed_hosts, allows_forms=is_mcp)
        self.numbers = count(1)  # of exchanges

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[None]:
        """Relay while the block runs, then break off exchanges in progress."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: ClientLink(self).client, sock=self._listener, backlog=BACKLOG)

        def tell(_loop: asyncio.AbstractEventLoop, context: Mapping[str, object]) -> None:
            if server.is_serving():  # a closed server may still get callbacks that were already scheduled
                self.tell(f"a connection broke: {context.get('exception') or context.get('message')!r}")

        loop.set_exception_handler(tell)
        try:
            yield
        finally:
            server.close()
            for link in list(self.links):
                link.end()
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()  # lets the event loop close the sockets

    async def serve(self, started: Callable[[], None], ended_by: Mapping[signal.Signals, int]) -> int:
        """Relay until a signal ends that; returns the signal's exit code. `started` is called when it listens."""
        # If the parent process has switched a signal off (nohup, a background job), the signal stays switched off.
        heeded = [number for number in ended_by if signal.getsignal(number) is not signal.SIG_IGN]
        with anyio.open_signal_receiver(*heeded) as signals:
            async with self.listening():
                started()
                async for number in signals:
                    return ended_by[signal.Signals(number)]
        raise AssertionError("signals end")


class ClientLink:
    """Relays between a client, whose side is `client`, and the upstream."""

    def __init__(self, relay: Relay) -> None:
        self.client = Side(relay.buffer, take=self._from_client, ended=self._client_ended, lost=self._client_lost)
        self._relay = relay
        self._upstream: Side | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._route: Route | None = None  # to which the upstream's side is connected
        self._exchange: RelayedExchange | None = None
        self._requests, self._answers = HeadBuffer(), HeadBuffer()
        self._arrived: tuple[MessageHead, SizedBody, Route] | None = None  # a request whose form has not come whole
        self._method = b"GET"  # of the last request; assumed for an unreadable one, so that its answer has a body
        self._is_tunnel = self._has_ended = False
        relay.links.add(self)

    # The client.

    def _from_client(self, data: bytes) -> None:
        exchange = self._exchange
        if self._is_tunnel and self._upstream is not None:
            self._upstream.write(data)
        elif exchange is not None and not exchange.request.is_done:
            self._pass_request(exchange, data)
        else:
            self._requests.add(data, is_body=self._arrived is not None)
            if exchange is None:
                self._next_requests()
            elif self._requests:  # sent ahead: no more is read until the answer is complete
                self.client.pause(paused=True)

    def _client_ended(self) -> bool:
        """Close the upstream's sending side behind the client's data; returns False where the client counts as gone."""
        self._has_ended = True
        exchange, route = self._exchange, self._route
        if exchange is not None and exchange.request.is_done and self._requests and not self._is_tunnel:
            return True
        # TLS has no half-closed connection: an upstream that could not be told would go on for nobody.
        if exchange is None or self._upstream is None or route is None or route.upstream.trust is not None:
            return False
        self._upstream.end_writing()
        return True

    def _client_lost(self, exc: Exception | None) -> None:
        self._relay.links.discard(self)
        exchange, self._exchange = self._exchange, None
        in_order = "close" if exchange is None else "abort"
        self._drop_upstream(in_order if exc is None else "reset")
        if exchange is not None:
            exchange.finish(kinds.CLOSED)

    # Requests.

    def _next_requests(self) -> None:
        """Pass on the requests that have come, one at a time."""
        relay, places, head = self._relay, self._relay.places, None
        try:
            while self._exchange is None and not self.client.is_closed:
                if self._arrived is None:
                    self._method, head = b"GET", None
                    block = self._requests.take_head()
                    if block is None:
                        return
                    head = messages.read_request(block)
                    self._method = head.method
                    body, route = messages.request_body(head), places.route(head)
                    relay.gate.check(head, is_redirect=bool(route.redirect_url))
                    self._arrived = head, body, route
                head, body, route = self._arrived
                size = route.form_size
                if len(self._requests) < size:
                    return
                self._arrived = None
                form = places.with_server_url(self._requests.take(size)) if size else b""
                if len(form) != size:
                    body, head = SizedBody(len(form)), head.with_value(b"content-length", b"%d" % len(form))
                self._begin(head, body, route, form)
        except HeadError as error:
            name, method = "a request", b"GET"
            if head is not None:  # else it could not be read, and is only told
                path = head.target.partition(b"?")[0].decode("latin-1")  # the query may contain the client's credential
                name, method = f"{head.method.decode()} {path}", head.method
            relay.tell(f"refused {name}: {error.words}")
            self._say(*refusal(error.status, error.words, method), head)

    def _begin(self, head: MessageHead, body: SizedBody, route: Route, form: bytes) -> None:
        relay, server, previous = self._relay, route.upstream, self._route
        if route.redirect_url:  # send a browser to the real page
            answer = own_answer(302, Location=route.redirect_url, Cache_Control=b"no-store", Content_Length=b"0")
            self._say(answer, b"", head)
            return
        passed = relay.places.for_upstream(head, route, relay.gate.own_origins)
        if self._upstream is None or previous is None or previous.upstream is not server:
            self._drop_upstream("abort")
            side = Side(relay.buffer, take=self._from_upstream, lost=lambda exc: self._upstream_lost(side, exc))
            self._upstream = side
            side.peer, self.client.peer = self.client, side
            self._answers.take()
            self._connecting = asyncio.get_running_loop().create_task(self._connect(server, side))
        asked = server.origin.encode() + b"\n" + passed.block
        exchange = self._exchange = RelayedExchange(head, body, asked, relay.report, next(relay.numbers))
        self._route = route
        self._pass_request(exchange, form + self._requests.take(), server.head_bytes(passed))

    async def _connect(self, server: Upstream, side: Side) -> None:
        try:
            await server.connect(lambda: side)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client is not to wait for what does not come
            if self._upstream is side:
                self._fail(502, server.failure_words(error))

    def _pass_request(self, exchange: RelayedExchange, data: bytes, before: bytes = b"") -> None:
        """Pass on a piece of a request's body; before the first piece, the request's head."""
        size = exchange.feed_request(data)
        if exchange.request.fault:
            self._fail(400, exchange.request.fault)
            return
        if self._upstream is not None:
            self._upstream.write(before + data[:size])
        if exchange.request.is_done:
            self._requests.add(data[size:])
            if exchange.answer is not None and exchange.answer.is_done:
                self._finish(exchange)

    # Answers.

    def _from_upstream(self, data: bytes) -> None:
        exchange = self._exchange
        if exchange is None or (answer := exchange.answer) is None:
            self._answers.add(data)
            self._next_answer()
            return
        try:
            out, rest = exchange.feed_answer(answer, data)
        except HeadError as error:
            self._fail(error.status, error.words)
            return
        self.client.write(out)
        if answer.is_done:
            # Bytes behind the answer belong to no request, so the connection is used no more.
            exchange.keeps_upstream = exchange.keeps_upstream and not rest
            if not exchange.keeps_upstream:
                self._drop_upstream("close")
            if exchange.request.is_done or not exchange.keeps_upstream:
                self._finish(exchange)

    def _next_answer(self) -> None:
        """Pass on the head of the answer, with interim ones before it."""
        try:
            while self._answers:
                exchange, route = self._exchange, self._route
                if exchange is None or route is None:
                    self._cut("the upstream sent bytes without a request", was_reset=True)
                    return
                block = self._answers.take_head()
                if block is None:
                    return
                response = messages.read_response(block)
                is_switch = response.status == 101
                if response.status < 200 and not is_switch:
                    self.client.write(for_next_hop(response).block)
                    continue
                if is_switch and not route.upgrades:
                    self._fail(502, "the upstream switches to a protocol that the host did not request")
                    return
                passed, change = self._relay.places.answer(exchange.head, route, response)
                exchange.begin_answer(response, for_next_hop(passed, upgrades=is_switch), change)
                self._from_upstream(self._answers.take())
                if is_switch:
                    self._is_tunnel = True
                    if self._requests:
                        self._from_client(self._requests.take())
                    if self._has_ended:
                        self._client_ended()
                return
        except HeadError as error:
            self._fail(502, error.words)

    def _finish(self, exchange: RelayedExchange) -> None:
        self._exchange = None
        if not exchange.request.is_done and not self._has_ended:
            self.client.end("linger")
        elif not (exchange.request.is_done and exchange.keeps_upstream and exchange.head.keeps_alive):
            self.client.end("close")
        else:
            self.client.pause(paused=self._upstream is not None and self._upstream.is_full)
            self._next_requests()
            if self._has_ended and not self._client_ended():
                self.client.end("close")

    # Ends.

    def end(self) -> None:
        """End both connections. An answer in progress is broken off so that no client takes it for complete."""
        self._cut("the tap was ended", was_reset=self._exchange is not None, reason="failed")

    def _upstream_lost(self, side: Side, exc: Exception | None) -> None:
        if side is not self._upstream:
            return
        self._upstream = None
        exchange = self._exchange
        if exchange is None:
            self.client.end("close")
            return
        if exchange.answer is None:
            self.client.write(self._answers.take())  # an incomplete head is passed on, for the client to judge
        elif exc is None and exchange.answer.is_open:
            exchange.answer.is_done = True
            self._from_upstream(b"")
            return
        self._cut(CUT if exc is None else words_of(exc), was_reset=exc is not None)

    def _cut(self, words: str, *, was_reset: bool, reason: Reason = "cut by peer") -> None:
        """End an exchange in progress, and the client's connection in the same way as the upstream's ended."""
        exchange, self._exchange = self._exchange, None
        self._drop_upstream("abort")
        if exchange is not None and self._has_ended and reason == "cut by peer":
            exchange.finish(kinds.CLOSED)  # the client closed first, and the upstream then the whole connection
        elif exchange is not None:
            exchange.finish(kinds.FAILED, Ending(reason=reason, error=words))
        self.client.end("reset" if was_reset else "close")

    def _fail(self, status: int, words: str) -> None:
        """Answer in place of the upstream, unless a part of its own answer has been passed on."""
        exchange = self._exchange
        if exchange is not None and exchange.has_begun:
            self._cut(words, was_reset=True)
            return
        self._exchange = None
        self._drop_upstream("abort")
        answered = f"the tap itself answered {status}: {words}"
        self._relay.tell(answered)
        if exchange is not None:
            exchange.finish(kinds.FAILED, Ending(reason="not connected", error=answered))
        self._say(*refusal(status, words, self._method))

    def _drop_upstream(self, how: Literal["close", "abort", "reset"]) -> None:
        """Use the upstream's connection no more, and end it."""
        side, self._upstream = self._upstream, None
        self.client.peer = None
        if self._connecting is not None:
            self._connecting.cancel()
        if side is not None:
            side.peer = None
            side.end(how)

    def _say(self, response: MessageHead, body: bytes, head: MessageHead | None = None) -> None:
        """Give an answer made by the relay; one to the request with a head is recorded, under the host that this names."""
        if head is not None:
            number, asked = next(self._relay.numbers), b"http://" + head.value(b"host") + b"\n" + head.block
            answered = ((kinds.RESPONSE, response.block), (kinds.CHUNK, body), (kinds.COMPLETE, b""))
            for kind, data in ((kinds.REQUEST, asked), (kinds.ASKED, kinds.UNREAD), *answered):
                self._relay.report(kind, number, data)
        self.client.write(response.block + body)
        self.client.end("linger")


def refusal(status: int, words: str, method: bytes) -> tuple[MessageHead, bytes]:
    """Make an error answer in the usual JSON form. Both head and body say that they do not come from the upstream."""
    error: dict[str, JSON] = {"message": f"{TAP}: {words}", "type": TAP, "code": status}
    body = json.dumps({"error": error}, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    reason = b"refused" if status != 502 else b"no valid answer from the upstream"
    head = own_answer(status, X_Tui_Host_Tap=reason, Content_Type=b"application/json", Content_Length=b"%d" % len(body))
    return head, b"" if method == b"HEAD" else body


def own_answer(status: int, **fields: bytes) -> MessageHead:
    """Make the head of an answer that ends the connection; `Content_Type` is a header. Raises HeadError for a line break."""
    first = b"HTTP/1.1 %d %s\r\n" % (status, HTTPStatus(status).phrase.encode())
    named = {"Server": TAP.encode(), **fields, "Connection": b"close"}
    lines: list[HeaderLine] = []
    for name, value in named.items():
        key = name.replace("_", "-").encode()
        lines.append(HeaderLine(key.lower(), b"", key + b":\r\n").with_value(value))
    return MessageHead(first=first, minor=1, status=status, fields=tuple(lines))


def bound(port: int, upstream: Upstream) -> socket.socket:
    """Return a socket at a port of this machine, 0 for any. Raises TuiHostError if it is taken, or the upstream's own."""
    # Name the protocol: otherwise asyncio leaves Nagle's algorithm on for accepted connections, which delays answers.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
    except OSError as error:
        listener.close()
        taken = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be had: {error.strerror or error}"
        remedy = "choose another with --port N, or any free one with --port 0"
        raise TuiHostError(f"port {port} {taken}", "--port", remedy) from error
    is_here = depth_of_name(upstream.url.hostname or "") == MACHINE
    if is_here and upstream.url.port == listener.getsockname()[1]:  # requests would come back again and again
        listener.close()
        raise TuiHostError(f"{upstream.origin} is this tap itself", "--upstream", "name the upstream server")
    return listener
