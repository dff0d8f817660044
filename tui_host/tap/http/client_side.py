"""A client's connection to a relay, with its own connection to the upstream."""

from __future__ import annotations

import asyncio

from typing_extensions import override

from tui_host.tap.http.client_requests import ClientRequest, ClientRequests
from tui_host.tap.http.in_transit import Request
from tui_host.tap.http.relay import Relay, break_off, end_writing, redirection, refusal
from tui_host.tap.http.relayed_bodies import BodyError
from tui_host.tap.http.splice import descriptor_of
from tui_host.tap.http.upstream_side import UpstreamSide
from tui_host.tap.message_heads import HeadError, ResponseHead, response_bytes

LINGER_SECONDS = 2.0
"""How long a refused client may still send, so that it reads the refusal."""
ENDED = "the tap was ended"


class ClientSide(asyncio.BufferedProtocol):
    """A client's connection: reads requests and passes them on."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self._transport: asyncio.Transport | None = None
        self._requests = ClientRequests(relay)
        self._request: Request | None = None
        self._upstream: UpstreamSide | None = None
        self._tunnel = False
        self._ignoring = False
        self._has_ended = False
        self._paused = False

    # What asyncio says.

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
        """Keep the connection open for answers after a half-close."""
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

    # What the upstream's side says.

    def write(self, data: bytes) -> None:
        """Bytes for the client."""
        if self._transport is not None and not self._ignoring:
            self._transport.write(data)

    def sink(self) -> int | None:
        """The client's socket for direct writing; None while written data waits."""
        transport = self._transport
        if transport is None or transport.is_closing() or transport.get_write_buffer_size():
            return None
        return descriptor_of(transport)

    def break_off(self) -> None:
        """Nothing can be written to the client any more."""
        if self._transport is not None:
            self._transport.abort()

    def pause(self, *, paused: bool) -> None:
        """Read no more, or again."""
        if self._transport is None or paused == self._paused or self._ignoring:
            return
        self._paused = paused
        if paused:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def tunnel(self) -> None:
        """Pass bytes unread from now on."""
        self._tunnel = True
        sent, upstream = self._requests.take(), self._upstream
        if sent and upstream is not None:
            upstream.write(sent)
        if self._has_ended and upstream is not None:
            upstream.end_input()

    def answered(self, *, lasts: bool) -> None:
        """The response is complete."""
        request = self._request
        if request is None:
            return
        request.is_answered = True
        request.lasts = request.lasts and lasts
        if request.is_sent or not lasts:
            self._finish(request)

    def failed(self, words: str) -> None:
        """Answer 502: nothing of an upstream's answer has been passed on."""
        request = self._request
        method = request.head.method if request is not None else b"GET"
        self._refuse(HeadError(502, words), method)
        self._relay.tell(f"the host was answered 502 by the tap itself: {words}")
        self._request = None
        if request is not None:
            request.reporter.fail(words, "not connected")

    def cut(self, words: str, *, was_reset: bool) -> None:
        """End the client's connection in the way the upstream's ended."""
        transport, request = self._transport, self._request
        self._request = None
        if request is not None and self._has_ended:
            request.reporter.close()  # the client had ended first, and the upstream took that for the end of all
        elif request is not None:
            request.reporter.fail(words, "cut by peer")
        if transport is not None and not self._ignoring:
            break_off(transport, with_reset=was_reset)

    def close(self, *, was_reset: bool = False) -> None:
        """The upstream's connection ended between two requests, or with the end of a response."""
        transport = self._transport
        if transport is not None:  # what was said before is not lost with it
            break_off(transport, with_reset=was_reset and not transport.get_write_buffer_size())

    def end(self) -> None:
        """End the tap, breaking off exchanges so that no client takes them for complete."""
        request, self._request = self._request, None
        if self._upstream is not None:
            self._upstream.abandon()
        if request is not None:
            request.reporter.fail(ENDED, "failed")
        if self._transport is not None:
            break_off(self._transport, with_reset=request is not None)

    # Requests.

    def _next(self) -> None:
        """Take requests that can go on."""
        while self._request is None and not self._ignoring and self._transport is not None:
            try:
                arrived = self._requests.next()
                if arrived is None:
                    return
                self._take(arrived)
            except HeadError as error:
                self._refuse(error, self._requests.method)

    def _go_on(self) -> None:
        """Take the next request; close once a half-closed client has all answers."""
        self.pause(paused=self._upstream is not None and self._upstream.is_full)
        self._next()
        if self._has_ended and self._transport is not None and not self._hands_on_the_end():
            self._transport.close()

    def _hands_on_the_end(self) -> bool:
        """Pass a half-close on behind the client's data; returns False if no answer is to come."""
        request, upstream = self._request, self._upstream
        if request is not None and request.is_sent and self._has_more(request):
            return True
        if upstream is None or (request is None and not self._tunnel):
            return False
        return upstream.end_input()

    def _has_more(self, request: Request) -> bool:
        """Whether more requests follow. Half a head at the end is no request."""
        return not self._tunnel and (request.head.wants_websocket or self._requests.has_head)

    def _take(self, arrived: ClientRequest) -> None:
        relay, head, route = self._relay, arrived.head, arrived.route
        if route.shown:  # to a browser, which is sent on
            response = redirection(route.shown)
            relay.answered(head, response, b"")
            self._say(response, b"")
            return
        upstream = route.upstream
        passed = relay.passed(head, route)
        request = self._request = Request(head, arrived.framing, relay.reporter(passed, upstream.origin))
        upstream_side = self._upstream
        if upstream_side is not None and upstream_side.upstream is not upstream:
            upstream_side.abandon()
            upstream_side = None
        if upstream_side is None:
            upstream_side = self._upstream = UpstreamSide(relay, self, upstream)
            relay.group.start_soon(upstream_side.connect)
        upstream_side.expect(head, request.reporter)
        self._pass(request, upstream_side, arrived.begun, upstream.written(passed))

    def _pass(self, request: Request, upstream: UpstreamSide, data: bytes, before: bytes = b"") -> None:
        """Pass on a piece of a request's body, with the head before the first piece."""
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

    def _finish(self, request: Request) -> None:
        self._request = None
        if not request.is_sent and not self._has_ended:
            self._linger()
        elif not request.is_sent or not request.lasts:
            self.close()
        else:
            self._go_on()

    # Answers of the relay's own.

    def _refuse(self, error: HeadError, method: bytes) -> None:
        self._say(*refusal(error.status, error.words, method))

    def _say(self, said: ResponseHead, body: bytes) -> None:
        """Answer in the relay's own name, and end the connection after some time for reading."""
        transport = self._transport
        if transport is None or self._ignoring:
            return
        transport.write(response_bytes(said) + body)
        self._linger()

    def _linger(self) -> None:
        """End the connection after some time for reading, since the client may still be sending."""
        transport = self._transport
        if transport is None:
            return
        self.pause(paused=False)
        self._ignoring = True
        self._requests.take()
        end_writing(transport)
        asyncio.get_running_loop().call_later(LINGER_SECONDS, transport.abort)
