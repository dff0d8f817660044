"""A client's connection to the relay, which has a connection of its own to the upstream."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from typing_extensions import override

from tui_host.tap.http.logins import Route
from tui_host.tap.http.relay import Relay, break_off, end_writing, redirection, refusal
from tui_host.tap.http.relayed_bodies import BodyError
from tui_host.tap.http.relayed_messages import RelayedRequest
from tui_host.tap.http.upstream_side import UpstreamSide
from tui_host.tap.message_framing import Framing, request_framing
from tui_host.tap.message_heads import HeadEnd, HeadError, RequestHead, ResponseHead, read_request, response_bytes

LINGER_SECONDS = 2.0
"""Seconds that a refused client may still send, so that it reads the refusal."""
ENDED = "the tap was ended"
PIPELINED_LIMIT = 64 << 10
"""Bytes that a client may send before it has its answer; with more, reading pauses."""
NOT_NAMED = "no metadata has named the authorization server behind this URL: log in again"

_UNREAD = b"GET"
"""The method assumed for unreadable requests, so that their answer has a body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRequest:
    """A request that is ready to be passed on.

    Attributes:
        head: The request's head, with the new length if a form was changed.
        framing: The body's framing.
        route: The upstream and target of the request.
        body_start: Bytes already received after the head.
    """

    head: RequestHead
    framing: Framing
    route: Route
    body_start: bytes


class ClientRequests:
    """Splits a client's bytes into requests, and accepts or refuses each request.

    Args:
        relay: The relay, which holds the rules.

    Attributes:
        method: The method of the last request; GET if unreadable.
    """

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self._came = bytearray()
        self._end = HeadEnd()
        self._waiting: tuple[RequestHead, Framing, Route, int] | None = None  # with the size of the form to wait for
        self.method = _UNREAD

    def add(self, data: bytes) -> None:
        """Add bytes received from the client."""
        self._came += data

    def take(self) -> bytes:
        """Remove all bytes and return them."""
        came = bytes(self._came)
        self._came.clear()
        self._end.forget()
        return came

    @property
    def has_head(self) -> bool:
        """Whether a complete head has been received, or more bytes than a head may have."""
        self._skip_blank_lines()
        try:
            return self._end.find(self._came) is not None
        except HeadError:
            return True

    @property
    def is_too_much(self) -> bool:
        """Whether to pause reading until some bytes are taken."""
        return len(self._came) > PIPELINED_LIMIT

    def next(self) -> ClientRequest | None:
        """Return the next request that is ready to be passed on, None if there is none.

        Raises:
            HeadError: The request is refused. If it was readable, the refusal is recorded.
        """
        if self._waiting is None:
            self._waiting = self._read()
        if self._waiting is None or len(self._came) < self._waiting[3]:
            return None
        head, framing, route, size = self._waiting
        self._waiting = None
        body_start = self.take()
        if size and self._relay.logins is not None:
            head, form = self._relay.logins.form(head, body_start[:size])
            framing, body_start = len(form), form + body_start[size:]
        return ClientRequest(head=head, framing=framing, route=route, body_start=body_start)

    def _read(self) -> tuple[RequestHead, Framing, Route, int] | None:
        """Read and check the next head; None while the head is incomplete.

        Raises:
            HeadError: The request is refused. If it was readable, the refusal is recorded.
        """
        came, relay = self._came, self._relay
        self._skip_blank_lines()
        self.method = _UNREAD
        end = self._end.find(came)
        if end is None:
            return None
        head = read_request(bytes(came[:end]))
        self.method = head.method
        framing = request_framing(head)
        try:
            route = self._let_in(head)
        except HeadError as error:
            relay.record_refusal(head, error)
            raise
        del came[:end]
        return head, framing, route, 0 if relay.logins is None else relay.logins.form_size(head)

    def _let_in(self, head: RequestHead) -> Route:
        """Check a request, and return its upstream and target.

        Raises:
            HeadError: The request is refused.
        """
        route = self._relay.route(head)
        self._relay.gate.check(head, is_redirect=route is not None and bool(route.redirect_url))
        if route is None:
            raise HeadError(404, NOT_NAMED)
        return route

    def _skip_blank_lines(self) -> None:
        """Drop empty lines, which some clients send after a body."""
        while self._came.startswith((b"\r\n", b"\n")):
            del self._came[: self._came.index(b"\n") + 1]
            self._end.forget()


class ClientSide(asyncio.BufferedProtocol):
    """A client's connection: reads requests and passes them to the upstream."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self._transport: asyncio.Transport | None = None
        self._requests = ClientRequests(relay)
        self._request: RelayedRequest | None = None
        self._upstream: UpstreamSide | None = None
        self._tunnel = False
        self._ignoring = False
        self._has_ended = False
        self._paused = False

    # Called by asyncio.

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.Transport):
            raise TypeError("a transport that cannot be read and written")
        self._transport = transport
        self._relay.clients.add(self)

    @override
    def get_buffer(self, sizehint: int) -> memoryview:
        return self._relay.buffer

    @override
    def buffer_updated(self, nbytes: int) -> None:
        if self._ignoring:
            return
        data = bytes(self._relay.buffer[:nbytes])
        upstream, request = self._upstream, self._request
        if self._tunnel and upstream is not None:
            upstream.write(data)
        elif request is not None and not request.is_sent and upstream is not None:
            self._pass(request, upstream, data)
        else:
            self._requests.add(data)
            if request is None:
                self._next()
            else:
                self._hold_back()

    @override
    def eof_received(self) -> bool:
        """Keep the connection open for answers after the client has closed its sending side."""
        self._has_ended = True
        return self._hands_on_the_end()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._relay.clients.discard(self)
        self._transport = None
        request, self._request = self._request, None
        if self._upstream is not None:
            self._upstream.abandon(with_reset=exc is not None)
        if request is not None:
            request.reporter.close()

    @override
    def pause_writing(self) -> None:
        if self._upstream is not None:
            self._upstream.pause(paused=True)

    @override
    def resume_writing(self) -> None:
        if self._upstream is not None:
            self._upstream.pause(paused=False)

    # Called by the upstream's side.

    def write(self, data: bytes) -> None:
        """Write bytes to the client."""
        if self._transport is not None and not self._ignoring:
            self._transport.write(data)

    def pause(self, *, paused: bool) -> None:
        """Pause or resume reading from the client."""
        if self._transport is None or paused == self._paused or self._ignoring:
            return
        self._paused = paused
        if paused:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def tunnel(self) -> None:
        """Pass all further bytes on without reading them."""
        self._tunnel = True
        sent, upstream = self._requests.take(), self._upstream
        if sent and upstream is not None:
            upstream.write(sent)
        if self._has_ended and upstream is not None:
            upstream.end_input()

    def answered(self, *, keeps_alive: bool) -> None:
        """Finish the exchange: the response is complete."""
        request = self._request
        if request is None:
            return
        request.is_answered = True
        request.keeps_alive = request.keeps_alive and keeps_alive
        if request.is_sent or not keeps_alive:
            self._finish(request)

    def failed(self, words: str) -> None:
        """Answer 502; used when nothing of the upstream's answer has been passed on."""
        request = self._request
        method = request.head.method if request is not None else b"GET"
        self._refuse(HeadError(502, words), method)
        answered = f"the tap itself answered 502: {words}"
        self._relay.tell(answered)
        self._request = None
        if request is not None:
            request.reporter.fail(answered, "not connected")

    def cut(self, words: str, *, was_reset: bool) -> None:
        """End the client's connection in the same way as the upstream's connection ended."""
        transport, request = self._transport, self._request
        self._request = None
        if request is not None and self._has_ended:
            request.reporter.close()  # the client closed first, and the upstream then closed the whole connection
        elif request is not None:
            request.reporter.fail(words, "cut by peer")
        if transport is not None and not self._ignoring:
            break_off(transport, with_reset=was_reset)

    def close(self, *, was_reset: bool = False) -> None:
        """Close the connection after the upstream's has ended between two requests, or with a response."""
        transport = self._transport
        if transport is not None:  # bytes written before are still sent
            break_off(transport, with_reset=was_reset and not transport.get_write_buffer_size())

    def end(self) -> None:
        """End the tap. Responses in progress are broken off so that no client takes them for complete."""
        request, self._request = self._request, None
        if self._upstream is not None:
            self._upstream.abandon()
        if request is not None:
            request.reporter.fail(ENDED, "failed")
        if self._transport is not None:
            break_off(self._transport, with_reset=request is not None)

    # Requests.

    def _next(self) -> None:
        """Pass on all requests that are ready."""
        while self._request is None and not self._ignoring and self._transport is not None:
            try:
                arrived = self._requests.next()
                if arrived is None:
                    return
                self._take(arrived)
            except HeadError as error:
                self._refuse(error, self._requests.method)

    def _go_on(self) -> None:
        """Take the next request. Closes the connection if the client has closed its side and has all answers."""
        self.pause(paused=self._upstream is not None and self._upstream.is_full)
        self._next()
        if self._has_ended and self._transport is not None and not self._hands_on_the_end():
            self._transport.close()

    def _hands_on_the_end(self) -> bool:
        """Close the upstream's sending side after the client's data; returns False if no answer is expected."""
        request, upstream = self._request, self._upstream
        if request is not None and request.is_sent and self._has_more(request):
            return True
        if upstream is None or (request is None and not self._tunnel):
            return False
        return upstream.end_input()

    def _has_more(self, request: RelayedRequest) -> bool:
        """Whether more requests follow. An incomplete head at the end does not count."""
        return not self._tunnel and (request.head.wants_websocket or self._requests.has_head)

    def _take(self, arrived: ClientRequest) -> None:
        relay, head, route = self._relay, arrived.head, arrived.route
        if route.redirect_url:  # send a browser to the real page
            response = redirection(route.redirect_url)
            relay.record_answer(head, response, b"")
            self._say(response, b"")
            return
        upstream = route.upstream
        passed = relay.upstream_head(head, route)
        request = self._request = RelayedRequest(head, arrived.framing, relay.reporter(passed, upstream.origin))
        upstream_side = self._upstream
        if upstream_side is not None and upstream_side.upstream is not upstream:
            upstream_side.abandon()
            upstream_side = None
        if upstream_side is None:
            upstream_side = self._upstream = UpstreamSide(relay, self, upstream)
            relay.group.start_soon(upstream_side.connect)
        upstream_side.expect(head, request.reporter)
        self._pass(request, upstream_side, arrived.body_start, upstream.head_bytes(passed))

    def _pass(self, request: RelayedRequest, upstream: UpstreamSide, data: bytes, before: bytes = b"") -> None:
        """Pass on a piece of a request's body; before the first piece, the request's head."""
        try:
            out = before + request.feed(data)
        except BodyError as error:
            self._request = None
            request.reporter.close()
            upstream.abandon()
            self._refuse(HeadError(400, str(error)), request.head.method)
            return
        if out:
            upstream.write(out)
        if request.is_sent:
            self._requests.add(request.rest)
            self._hold_back()
            if request.is_answered:
                self._finish(request)

    def _hold_back(self) -> None:
        if self._requests.is_too_much:
            self.pause(paused=True)

    def _finish(self, request: RelayedRequest) -> None:
        self._request = None
        if not request.is_sent and not self._has_ended:
            self._linger()
        elif not request.is_sent or not request.keeps_alive:
            self.close()
        else:
            self._go_on()

    # Answers made by the relay.

    def _refuse(self, error: HeadError, method: bytes) -> None:
        self._say(*refusal(error.status, error.words, method))

    def _say(self, said: ResponseHead, body: bytes) -> None:
        """Send an answer made by the relay, and close the connection after the client had time to read it."""
        transport = self._transport
        if transport is None or self._ignoring:
            return
        transport.write(response_bytes(said) + body)
        self._linger()

    def _linger(self) -> None:
        """Close the connection after a delay, since the client may still be sending."""
        transport = self._transport
        if transport is None:
            return
        self.pause(paused=False)
        self._ignoring = True
        self._requests.take()
        end_writing(transport)
        asyncio.get_running_loop().call_later(LINGER_SECONDS, transport.abort)
