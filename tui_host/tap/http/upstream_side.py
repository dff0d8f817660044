"""The connection to the upstream that serves a client's connection."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

import anyio
from typing_extensions import override

from tui_host.capture.http.client_faults import words_of
from tui_host.tap.http.exchange_reporter import ExchangeReporter
from tui_host.tap.http.hop_headers import to_client
from tui_host.tap.http.relay import Relay, break_off, end_writing
from tui_host.tap.http.relayed_bodies import BodyError
from tui_host.tap.http.relayed_messages import RelayedAnswer
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
"""Bytes of a request that may wait for the connection; with more, reading pauses."""


class ClientEnd(Protocol):
    """The client's side of the relay, as the upstream's side uses it."""

    def write(self, data: bytes) -> None:
        """Write bytes to the client."""
        ...

    def pause(self, *, paused: bool) -> None:
        """Pause or resume reading from the client."""
        ...

    def tunnel(self) -> None:
        """Pass all further bytes on without reading them."""
        ...

    def answered(self, *, keeps_alive: bool) -> None:
        """Called when the response is complete; `keeps_alive` tells whether the connection stays open."""
        ...

    def failed(self, words: str) -> None:
        """Called when the upstream gave no usable answer, and nothing has been passed on."""
        ...

    def cut(self, words: str, *, was_reset: bool) -> None:
        """Called when the upstream's connection was cut within an answer."""
        ...

    def close(self, *, was_reset: bool = False) -> None:
        """Called when the upstream's connection ended between answers."""
        ...


class UpstreamSide(asyncio.BufferedProtocol):
    """Sends requests to the upstream, and reads its responses.

    Attributes:
        upstream: The upstream.
        is_full: Whether too many bytes wait to be sent.
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
        self._answer: RelayedAnswer | None = None
        self._tunnel = False
        self._abandoned = False
        self._input_ended = False

    async def connect(self) -> None:
        """Connect. A failure is reported to the client's side."""
        with self._connecting:
            try:
                await self.upstream.connect(lambda: self)
            except (OSError, UnicodeError) as error:
                if not self._abandoned:
                    self._abandoned = True
                    self._client.failed(self.upstream.failure_words(error))
            except Exception as error:  # noqa: BLE001 - the last resort: what breaks one connection breaks no other
                self._mistaken(error)

    # Called by asyncio.

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.Transport):
            raise TypeError("a transport that cannot be read and written")
        if self._abandoned:
            transport.abort()
            return
        self._transport = transport
        unsent, self._unsent = b"".join(self._unsent), []
        self._client.pause(paused=False)  # resume before writing: more bytes may wait than can be sent at once
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
        if self._abandoned:
            return
        self._abandoned = True
        answer, reporter = self._answer, self._reporter
        is_open = answer is not None and answer.ends_with_connection
        if answer is not None:
            if is_open and exc is None:
                answer.end()
            self._client.write(answer.held())
        elif self._request is not None:
            self._client.write(bytes(self._waiting))  # an incomplete head is passed on, for the client to judge
        if is_open and exc is None:
            self._client.answered(keeps_alive=False)
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

    # Called by the client's side.

    def expect(self, request: RequestHead, reporter: ExchangeReporter) -> None:
        """Expect the response to this request."""
        self._request = request
        self._reporter = reporter

    def write(self, data: bytes) -> None:
        """Write bytes to the upstream."""
        if self._transport is not None:
            self._transport.write(data)
        elif not self._abandoned:
            self._unsent.append(data)
            self._unsent_size += len(data)
            if self._unsent_size > UNCONNECTED_LIMIT:
                self._client.pause(paused=True)

    def pause(self, *, paused: bool) -> None:
        """Pause or resume reading from the upstream."""
        if self._transport is None:
            return
        if paused:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def end_input(self) -> bool:
        """Close the sending side; returns False if the connection cannot do this."""
        transport = self._transport
        self._input_ended = True
        if transport is None:
            return self.upstream.trust is None
        return end_writing(transport)

    def abandon(self, *, with_reset: bool = False) -> None:
        """End the connection at once after the client has gone."""
        if self._abandoned:
            return
        self._abandoned = True
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
        """Pass on responses whose head is complete."""
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
        """Pass on a response's head with the beginning of its body."""
        if head.status == 101:
            if not request.wants_websocket:
                raise HeadError(502, "the upstream switches to a protocol that the host did not request")
            self._change_protocol(head, rest)
            return
        if self._reporter is None:
            raise HeadError(502, "an answer without a request")
        answer = RelayedAnswer(request, head, self._relay.rewriting, self._reporter)
        self._answer = answer
        self._pass(answer, rest)

    def _pass(self, answer: RelayedAnswer, data: bytes) -> None:
        """Pass on a piece of a response. The client's side may end this connection in the same call."""
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

    def _pass_unframed(self, answer: RelayedAnswer) -> None:
        """Pass everything on without reading it until the connection ends, for the client to judge."""
        words = f"the upstream's answer: {answer.fault}"
        if not answer.is_unchanged:
            self._client.write(answer.held())
            self._break(words)
            return
        if self._reporter is not None:
            self._reporter.fail(words, "cut by peer")
        self._answer = self._reporter = None
        self._tunnel = True

    def _finish(self, answer: RelayedAnswer) -> None:
        keeps_alive = answer.keeps_alive and not answer.rest
        self._answer = self._request = self._reporter = None
        if not keeps_alive:
            self._abandoned = True
            if self._transport is not None:
                self._transport.close()
        self._client.answered(keeps_alive=keeps_alive)

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
        self._relay.tell(f"a defect of tui-host broke a connection: {error!r}")
        self._break(str(error))

    def _break(self, words: str) -> None:
        self._abandoned = True
        if self._transport is not None:
            self._transport.abort()
        self._client.cut(words, was_reset=True)
