"""A client's connection to a relay, and the connection to the upstream that belongs to it."""

from __future__ import annotations

import asyncio
import time
from typing import Literal

from typing_extensions import override

from tui_host.tap.heads import (
    Framing,
    HeadError,
    RequestHead,
    ResponseHead,
    end_of_head,
    read_request,
    request_framing,
    response_bytes,
)
from tui_host.tap.http import rounds
from tui_host.tap.http.asking import learn
from tui_host.tap.http.bodies import Body, BodyError, body_of, framed, last_chunk
from tui_host.tap.http.breaking import break_off, end_writing
from tui_host.tap.http.logins import Logins, Route
from tui_host.tap.http.refusal import redirection, refusal
from tui_host.tap.http.relay import Relay
from tui_host.tap.http.splicing import descriptor_of
from tui_host.tap.http.upstream_side import UpstreamSide
from tui_host.tap.http.witness import Witness

PIPELINED_LIMIT = 64 << 10
"""Bytes that a client may send ahead of an answer before no more is read from it."""
LINGER_SECONDS = 2.0
"""How long a refused client may still send, so that it reads the refusal."""
ENDED = "the tap was ended"
NOT_NAMED = "no metadata of the upstream names the authorization server that this place stood for: sign in anew"


class _Exchange:
    """One request and its response while they pass."""

    def __init__(self, head: RequestHead, framing: Framing, witness: Witness) -> None:
        self.head = head
        self.witness = witness
        self.chunked = framing == "chunked"
        self.body: Body = body_of(framing)
        self.answered = False
        self.lasts = head.lasts


class ClientSide(asyncio.BufferedProtocol):
    """A client's connection: reads requests, and passes them on."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self._transport: asyncio.Transport | None = None
        self._waiting = bytearray()
        self._exchange: _Exchange | None = None
        self._asking: Literal["not yet", "now", "done"] = "not yet"  # what the next request has to wait for
        self._upstream: UpstreamSide | None = None
        self._tunnel = False
        self._ignoring = False
        self._has_ended = False
        self._paused = False
        self._rounds = 0

    # What asyncio says.

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.Transport):
            raise TypeError("a transport that cannot be read and written")
        self._transport = transport
        self._rounds = rounds.rounds(transport.get_extra_info("peername"))
        self._relay.clients.add(self)

    @override
    def get_buffer(self, sizehint: int) -> memoryview:
        return self._relay.buffer

    @override
    def buffer_updated(self, nbytes: int) -> None:
        if self._ignoring:
            return
        data = bytes(self._relay.buffer[:nbytes])
        upstream, exchange = self._upstream, self._exchange
        if self._tunnel and upstream is not None:
            upstream.write(data)
        elif exchange is not None and not exchange.body.done and upstream is not None:
            self._pass(exchange, upstream, data)
        else:
            self._waiting += data
            if exchange is None:
                self._next()
            else:
                self._hold_back()

    @override
    def eof_received(self) -> bool:
        """The client sends no more, though it may still read."""
        self._has_ended = True
        return self._hands_on_the_end()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._relay.clients.discard(self)
        self._transport = None
        exchange, self._exchange = self._exchange, None
        if self._upstream is not None:
            self._upstream.abandon(with_reset=exc is not None)
        if exchange is not None:
            exchange.witness.close()

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
        if self._transport is not None:
            self._transport.write(data)

    def sink(self) -> int | None:
        """The client's socket, if it may be written to; None while something waits to be."""
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
        """From now on what comes is passed as it is."""
        self._tunnel = True
        if self._waiting and self._upstream is not None:
            self._upstream.write(bytes(self._waiting))
            self._waiting.clear()

    def answered(self, *, lasts: bool) -> None:
        """The response is complete."""
        exchange = self._exchange
        if exchange is None:
            return
        exchange.answered = True
        exchange.lasts = exchange.lasts and lasts
        if exchange.body.done or not lasts:
            self._finish(exchange)

    def failed(self, words: str) -> None:
        """The upstream could not be asked, or what it answers cannot be passed on; nothing of it has been."""
        exchange = self._exchange
        method = exchange.head.method if exchange is not None else b"GET"
        self._refuse(HeadError(502, words), method)
        self._exchange = None
        if exchange is not None:
            exchange.witness.fail(words, "not connected")

    def cut(self, words: str, *, was_reset: bool) -> None:
        """The upstream's connection ended; the client's ends as it did."""
        transport, exchange = self._transport, self._exchange
        self._exchange = None
        if exchange is not None and self._has_ended:
            exchange.witness.close()  # the client had ended first, and the upstream took that for the end of all
        elif exchange is not None:
            exchange.witness.fail(words, "cut by peer")
        if transport is not None and not self._ignoring:
            break_off(transport, with_reset=was_reset)

    def close(self) -> None:
        """The upstream's connection ended between two requests, or with the end of a response."""
        if self._transport is not None:
            self._transport.close()

    def end(self) -> None:
        """The tap ends: what is on its way is broken off so that nobody takes it for complete."""
        exchange, self._exchange = self._exchange, None
        if self._upstream is not None:
            self._upstream.abandon()
        if exchange is not None:
            exchange.witness.fail(ENDED, "failed")
        if self._transport is not None:
            break_off(self._transport, with_reset=exchange is not None)

    # Requests.

    def _next(self) -> None:
        """Take the next request, if its head is there."""
        waiting = self._waiting
        while self._exchange is None and waiting and not self._ignoring and self._transport is not None:
            if waiting.startswith((b"\r\n", b"\n")):  # some clients end a body with a line that is none of it
                del waiting[: waiting.index(b"\n") + 1]
                continue
            try:
                found = end_of_head(waiting)
                if found is None:
                    return
                head, rest = read_request(bytes(waiting[: found[0]])), bytes(waiting[found[1] :])
                logins = self._relay.logins
                if logins is not None:
                    if self._waits(logins, head, rest):
                        return
                    head, rest = logins.form(head, rest)
                waiting.clear()
                self._take(head, rest)
            except HeadError as error:
                self._refuse(error)

    def _waits(self, logins: Logins, head: RequestHead, rest: bytes) -> bool:
        """Whether a request has to wait: for the rest of a form that is looked into, or for what the tap has to know first."""
        if self._asking == "now":
            self._hold_back()
            return True
        is_short = len(rest) < logins.form_size(head)
        targets = logins.unread(head) if self._asking == "not yet" else None
        if not (is_short or targets is not None) or not self._relay.gate.takes(head):
            return False
        if targets is None:
            return True
        self._asking = "now"
        self._relay.group.start_soon(self._learn, logins, targets)
        return True

    async def _learn(self, logins: Logins, targets: tuple[bytes, ...]) -> None:
        await learn(self._relay, logins, targets)
        self._asking = "done"
        self.pause(paused=False)
        asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        """Take the next request; a client that sends no more is left once all of its have been answered."""
        self._next()
        if self._has_ended and self._transport is not None and not self._hands_on_the_end():
            self._transport.close()

    def _hands_on_the_end(self) -> bool:
        """Tell the upstream that nothing follows, behind all that the client has sent. False if no answer is to come."""
        exchange, upstream = self._exchange, self._upstream
        if self._asking == "now" or (exchange is not None and exchange.body.done and self._waiting):
            return True
        if upstream is None or (exchange is None and not self._tunnel):
            return False
        return upstream.end_input()

    def _check(self, head: RequestHead) -> Route:
        """Where a request goes.

        Raises:
            HeadError: It is refused, which has been noted.
        """
        route = self._relay.route(head)
        try:
            self._relay.gate.check(head, is_shown=route is not None and bool(route.shown))
            rounds.check(self._rounds)
            return _named(route)
        except HeadError as error:
            self._note_refusal(head, error)
            raise

    def _take(self, head: RequestHead, rest: bytes) -> None:
        relay = self._relay
        framing = request_framing(head)
        self._asking = "not yet"
        route = self._check(head)
        if route.shown:
            self._show(head, route.shown)
            return
        upstream = route.upstream
        passed = relay.passed(head, route)
        exchange = self._exchange = _Exchange(head, framing, relay.witness(passed, upstream.origin))
        other = self._upstream
        if other is not None and other.upstream is not upstream:
            other.abandon()
            other = None
        if other is None:
            other = self._upstream = UpstreamSide(relay, self, upstream)
            relay.group.start_soon(other.connect, rounds.source(self._rounds, len(relay.clients)))
        other.expect(head, exchange.witness)
        self._pass(exchange, other, rest, upstream.written(passed))

    def _pass(self, exchange: _Exchange, upstream: UpstreamSide, data: bytes, before: bytes = b"") -> None:
        """Pass on a piece of a request's body, after its head."""
        body = exchange.body
        try:
            payload, rest = body.feed(data)
        except BodyError as error:
            self._exchange = None
            exchange.witness.close()
            upstream.abandon()
            self._refuse(HeadError(400, str(error)))
            return
        out = before
        if exchange.chunked:
            out += framed(payload) if payload else b""
            out += last_chunk(body) if body.done else b""
        else:
            out += payload
        at_ns = time.monotonic_ns()
        if payload:
            exchange.witness.sent(payload, at_ns)
        if body.done:
            exchange.witness.sent_all(at_ns)
        if out:
            upstream.write(out)
        if body.done:
            self._waiting += rest
            self._hold_back()
            if exchange.answered:
                self._finish(exchange)

    def _hold_back(self) -> None:
        if len(self._waiting) > PIPELINED_LIMIT:
            self.pause(paused=True)

    def _finish(self, exchange: _Exchange) -> None:
        self._exchange = None
        if not exchange.body.done and not self._has_ended:
            self._linger()
        elif not exchange.body.done or not exchange.lasts:
            self.close()
        else:
            self.pause(paused=False)
            self._go_on()

    # Answers of the relay's own.

    def _show(self, head: RequestHead, url: bytes) -> None:
        """Send a browser on."""
        said = redirection(url)
        self._note(head, said, b"")
        self._say(said, b"")

    def _note(self, head: RequestHead, said: ResponseHead, body: bytes) -> None:
        """What the relay answers itself is recorded, as asked of whatever host it names."""
        self._relay.witness(head, f"http://{head.value(b'host').decode('latin-1')}").refused(said, body)

    def _note_refusal(self, head: RequestHead, error: HeadError) -> None:
        self._note(head, *refusal(error.status, error.words, head.method))
        path = head.target.partition(b"?")[0].decode("latin-1")  # a query may have the client's credential in it
        self._relay.tell(f"refused {head.method.decode()} {path}: {error.words}")

    def _refuse(self, error: HeadError, method: bytes = b"GET") -> None:
        self._say(*refusal(error.status, error.words, method))

    def _say(self, said: ResponseHead, body: bytes) -> None:
        """Answer in the relay's own name, and end the connection once the client has had time to read that."""
        transport = self._transport
        if transport is None or self._ignoring:
            return
        transport.write(response_bytes(said) + body)
        self._linger()

    def _linger(self) -> None:
        """End the connection once the client, which may still be sending, has had time to read the answer."""
        transport = self._transport
        if transport is None:
            return
        self.pause(paused=False)
        self._ignoring = True
        self._waiting.clear()
        end_writing(transport)
        asyncio.get_running_loop().call_later(LINGER_SECONDS, transport.abort)


def _named(route: Route | None) -> Route:
    """The same.

    Raises:
        HeadError: There is none.
    """
    if route is None:
        raise HeadError(404, NOT_NAMED)
    return route
