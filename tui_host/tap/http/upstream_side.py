"""A connection to the upstream, made for a client's connection."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

import anyio
from typing_extensions import override

from tui_host.capture.http.client_faults import words_of
from tui_host.tap.http.exchange_reporter import ExchangeReporter
from tui_host.tap.http.hop_headers import to_client
from tui_host.tap.http.in_transit import Answer
from tui_host.tap.http.relay import Relay, break_off, end_writing
from tui_host.tap.http.relayed_bodies import BodyError
from tui_host.tap.http.splice import WORTH, Splice, Spliced, descriptor_of
from tui_host.tap.http.upstream import Upstream
from tui_host.tap.message_heads import (
    HeadEnd,
    HeadError,
    RequestHead,
    ResponseHead,
    read_response,
    response_bytes,
)

UNCONNECTED_LIMIT = 256 << 10
"""Bytes of a request that wait for the connection before reading pauses."""


class ClientEnd(Protocol):
    """The client's connection, as used by the upstream's."""

    def write(self, data: bytes) -> None:
        """Bytes for the client."""
        ...

    def sink(self) -> int | None:
        """The client's socket for direct writing; None while written data waits."""
        ...

    def break_off(self) -> None:
        """Nothing can be written to the client any more."""
        ...

    def pause(self, *, paused: bool) -> None:
        """Read no more, or again."""
        ...

    def tunnel(self) -> None:
        """Pass bytes unread from now on."""
        ...

    def answered(self, *, lasts: bool) -> None:
        """The response is complete; whether the connection lasts."""
        ...

    def failed(self, words: str) -> None:
        """Learn of an upstream without a usable answer; nothing has been passed on."""
        ...

    def cut(self, words: str, *, was_reset: bool) -> None:
        """Learn of a connection cut within an answer."""
        ...

    def close(self, *, was_reset: bool = False) -> None:
        """Learn of a connection ended between answers."""
        ...


class UpstreamSide(asyncio.BufferedProtocol):
    """Passes requests on, and reads responses.

    Attributes:
        upstream: The upstream.
        is_full: Too many bytes wait to be sent.
    """

    def __init__(self, relay: Relay, client: ClientEnd, upstream: Upstream) -> None:
        self._relay = relay
        self._client = client
        self.upstream = upstream
        self.is_full = False
        self._transport: asyncio.Transport | None = None
        self._connecting = anyio.CancelScope()
        self._unsent: list[bytes] = []
        self._unsent_size = 0
        self._waiting = bytearray()
        self._end = HeadEnd()
        self._request: RequestHead | None = None
        self._reporter: ExchangeReporter | None = None
        self._answer: Answer | None = None
        self._tunnel = False
        self._abandoned = False
        self._input_ended = False
        self._splice: Splice | None = None
        self._fault: OSError | None = None

    async def connect(self) -> None:
        """Connect; the client's side learns of a failure."""
        with self._connecting:
            try:
                await self.upstream.connect(lambda: self)
            except (OSError, UnicodeError) as error:
                if not self._abandoned:
                    self._abandoned = True
                    self._client.failed(self.upstream.unreached(error))
            except Exception as error:  # noqa: BLE001 - the last resort: what breaks one connection breaks no other
                self._mistaken(error)

    # What asyncio says.

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.Transport):
            raise TypeError("a transport that cannot be read and written")
        if self._abandoned:
            transport.abort()
            return
        self._transport = transport
        unsent, self._unsent = b"".join(self._unsent), []
        self._client.pause(paused=False)  # not behind this: it may be more than goes at once
        transport.write(unsent)
        if self._input_ended:
            end_writing(transport)

    @override
    def get_buffer(self, sizehint: int) -> memoryview:
        return self._relay.buffer

    @override
    def buffer_updated(self, nbytes: int) -> None:
        if self._abandoned:
            return
        try:
            self._take(bytes(self._relay.buffer[:nbytes]))
        except Exception as error:  # noqa: BLE001 - as in `connect`: the client is not to wait for what does not come
            self._mistaken(error)

    def _take(self, data: bytes) -> None:
        answer = self._answer
        if answer is not None:
            self._pass(answer, data)
            self._begin_splice()
        elif self._tunnel:
            if self._reporter is not None:
                self._reporter.chunk(data)
            self._client.write(data)
        else:
            self._waiting += data
            self._next()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        exc = exc or self._fault
        self._stop_splice()
        if self._abandoned:
            return
        self._abandoned = True
        answer, reporter = self._answer, self._reporter
        is_open = answer is not None and answer.ends_with_connection
        if answer is not None:
            if is_open and exc is None:
                answer.end()
            self._client.write(answer.left())
        elif self._request is not None:
            self._client.write(bytes(self._waiting))  # half a head, for the client to judge
        if is_open and exc is None:
            self._client.answered(lasts=False)
        elif exc is None and self._tunnel and reporter is not None:
            reporter.end()
            self._client.close()
        elif self._request is None:
            self._client.close(was_reset=exc is not None)
        else:
            words = (
                words_of(exc) if exc is not None else "the upstream ended the connection before its answer was complete"
            )
            self._client.cut(words, was_reset=exc is not None)

    @override
    def pause_writing(self) -> None:
        self.is_full = True
        self._client.pause(paused=True)

    @override
    def resume_writing(self) -> None:
        self.is_full = False
        self._client.pause(paused=False)

    # What the client's side says.

    def expect(self, request: RequestHead, reporter: ExchangeReporter) -> None:
        """Expect a response to this request."""
        self._request = request
        self._reporter = reporter

    def write(self, data: bytes) -> None:
        """Bytes for the upstream."""
        if self._transport is not None:
            self._transport.write(data)
        elif not self._abandoned:
            self._unsent.append(data)
            self._unsent_size += len(data)
            if self._unsent_size > UNCONNECTED_LIMIT:
                self._client.pause(paused=True)

    def pause(self, *, paused: bool) -> None:
        """Read no more, or again."""
        if self._transport is None or self._splice is not None:
            return
        if paused:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def end_input(self) -> bool:
        """Half-close for writing; returns False for a connection without half-close."""
        transport = self._transport
        self._input_ended = True
        if transport is None:
            return self.upstream.trust is None
        return end_writing(transport)

    def abandon(self, *, with_reset: bool = False) -> None:
        """End at once after the client has gone."""
        if self._abandoned:
            return
        self._abandoned = True
        self._stop_splice()
        self._connecting.cancel()
        if self._transport is None:
            return
        if with_reset:
            break_off(self._transport, with_reset=True)
        elif self._request is None:
            self._transport.close()
        else:
            self._transport.abort()

    # Responses.

    def _next(self) -> None:
        """Pass on complete heads."""
        waiting = self._waiting
        try:
            while waiting and self._answer is None and not self._tunnel and not self._abandoned:
                end = self._end.find(waiting)
                if self._request is None:
                    self._break("the upstream sent bytes without a request")
                    return
                if end is None:
                    return
                block, rest = bytes(waiting[:end]), bytes(waiting[end:])
                waiting.clear()
                head = read_response(block)
                if head.is_final:
                    self._begin(self._request, head, rest)
                    return
                self._client.write(response_bytes(to_client(head)))
                waiting += rest
        except HeadError as error:
            self._fail(error.words)

    def _begin(self, request: RequestHead, head: ResponseHead, rest: bytes) -> None:
        """Pass on the answer's head, with the beginning of the body."""
        if head.status == 101:
            if not request.wants_websocket:
                raise HeadError(502, "the upstream switches to a protocol that the host did not request")
            self._change_protocol(head, rest)
            return
        if self._reporter is None:
            raise HeadError(502, "an answer to nothing")
        answer = Answer(request, head, self._relay.rewriting, self._reporter)
        self._answer = answer
        self._pass(answer, rest)

    def _pass(self, answer: Answer, data: bytes) -> None:
        """Pass on a piece of an answer. The client may end this tap afterwards."""
        try:
            out = answer.feed(data)
        except BodyError as error:
            if answer.has_begun:
                self._break(f"the upstream's answer: {error}")
            else:
                self._fail(str(error))
            return
        if out:
            self._client.write(out)
        if answer.fault:
            self._pass_unframed(answer)
        elif answer.is_done:
            self._finish(answer)

    def _pass_unframed(self, answer: Answer) -> None:
        """Pass everything unread to the connection's end, for the client to judge."""
        words = f"the upstream's answer: {answer.fault}"
        if not answer.is_as_it_came:
            self._client.write(answer.left())
            self._break(words)
            return
        if self._reporter is not None:
            self._reporter.fail(words, "cut by peer")
        self._answer = self._reporter = None
        self._tunnel = True

    def _begin_splice(self) -> None:
        """Let bytes pass unread, where possible."""
        transport, answer = self._transport, self._answer
        if transport is None or answer is None:
            return
        size = answer.plain
        if size < WORTH:
            return
        source, sink = descriptor_of(transport), self._client.sink()
        if source is None or sink is None:
            return
        try:
            self._splice = Splice(source, sink, size, self._spliced)
        except OSError:
            return  # it is passed on as before
        transport.pause_reading()

    def _spliced(self, how: Spliced) -> None:
        """Go on after bytes passed unread."""
        transport, answer = self._transport, self._answer
        self._stop_splice()
        if how.sink is not None:
            self._client.break_off()
        elif transport is not None and how.source is not None:
            self._fault = how.source
            transport.abort()
        elif transport is not None and answer is not None:
            transport.resume_reading()
            if answer.is_done:
                answer.end()
                self._finish(answer)

    def _stop_splice(self) -> None:
        splice, self._splice = self._splice, None
        if splice is not None and self._answer is not None:
            self._answer.passed(splice.stop())

    def _finish(self, answer: Answer) -> None:
        lasts = answer.lasts and not answer.rest
        self._answer = self._request = self._reporter = None
        if not lasts:
            self._abandoned = True
            if self._transport is not None:
                self._transport.close()
        self._client.answered(lasts=lasts)

    def _change_protocol(self, head: ResponseHead, rest: bytes) -> None:
        self._tunnel = True
        if self._reporter is not None:
            at_ns = time.monotonic_ns()
            self._reporter.answered(head, at_ns)
            self._reporter.chunk(rest, at_ns)
        self._client.write(response_bytes(to_client(head)) + rest)
        self._client.tunnel()

    def _fail(self, words: str) -> None:
        self._abandoned = True
        if self._transport is not None:
            self._transport.abort()
        self._client.failed(words)

    def _mistaken(self, error: Exception) -> None:
        self._relay.tell(f"a connection was broken off by a mistake of tui-host's own: {error!r}")
        self._break(str(error))

    def _break(self, words: str) -> None:
        self._abandoned = True
        if self._transport is not None:
            self._transport.abort()
        self._client.cut(words, was_reset=True)
