"""Requests and answers on their way through the relay. Each piece is recorded before it is passed on."""

from __future__ import annotations

import time

from tui_host.tap.http.exchange_reporter import ExchangeReporter
from tui_host.tap.http.hop_headers import to_client
from tui_host.tap.http.relayed_bodies import BodyError, OpenBody, body_of, framed, last_chunk
from tui_host.tap.http.url_rewriting import UrlRewriting
from tui_host.tap.message_framing import Framing, response_framing
from tui_host.tap.message_heads import RequestHead, ResponseHead, response_bytes


class RelayedRequest:
    """A request that passes through the relay, until it is answered.

    Args:
        head: The client's head.
        framing: The body's framing, which is the same on both sides.
        reporter: Reports the exchange.

    Attributes:
        rest: Bytes received after the request's end.
        is_answered: Whether the response is complete.
        keeps_alive: Whether the client's connection may be used for another request.
    """

    def __init__(self, head: RequestHead, framing: Framing, reporter: ExchangeReporter) -> None:
        self.head = head
        self.reporter = reporter
        self.rest = b""
        self.is_answered = False
        self.keeps_alive = head.keeps_alive
        self._body = body_of(framing)

    @property
    def is_sent(self) -> bool:
        """Whether the request has been passed on completely."""
        return self._body.done

    def feed(self, data: bytes) -> bytes:
        """Take bytes from the client; returns the bytes that belong to the request, in their original chunks.

        Raises:
            BodyError: The body's framing is wrong.
        """
        body, reporter = self._body, self.reporter
        payload, self.rest = body.feed(data)
        at_ns = time.monotonic_ns()
        if payload:
            reporter.sent(payload, at_ns)
        if body.done:
            reporter.sent_all(at_ns)
        return data[: len(data) - len(self.rest)]


class RelayedAnswer:
    """An answer that passes through the relay.

    Args:
        request: The client's request.
        head: The upstream's head.
        rewriting: Changes URLs in the head and the body.
        reporter: Reports the exchange.

    Attributes:
        keeps_alive: Whether both connections may be used for another request.
        has_begun: Whether the client has received the beginning of the answer.
        rest: Bytes received after the answer's end.
        fault: An error in the framing. Everything before the error has been passed on.

    Raises:
        HeadError: The length of the body is unclear.
    """

    def __init__(
        self, request: RequestHead, head: ResponseHead, rewriting: UrlRewriting, reporter: ExchangeReporter
    ) -> None:
        was = response_framing(head, request.method)
        passed, self._filter = rewriting.answer(request, head, reporter.announced)
        framing, changed_to = was, None
        if self._filter is not None:
            framing = _framing_of_changed(was, is_old=0 in {request.minor, head.minor})
            changed_to = None if framing == was == "close" else framing  # `close` states no length that could change
        self._head = head
        self._said = response_bytes(to_client(passed, changed_to=changed_to))
        self._body = body_of(was)
        self._is_chunked = framing == "chunked"
        self._reporter = reporter
        self.keeps_alive = head.keeps_alive and framing != "close"
        self.has_begun = False
        self.rest = b""
        self.fault = ""

    def feed(self, data: bytes) -> bytes:
        """Take bytes from the upstream; returns bytes for the client, the first time with the head.

        Raises:
            BodyError: The body cannot be changed as it has to be.
        """
        body, reporter = self._body, self._reporter
        try:
            payload, self.rest = body.feed(data)
        except BodyError as error:
            payload, self.rest, self.fault = error.body, b"", str(error)
        out = self._passed(data, payload)
        at_ns = time.monotonic_ns()
        if not self.has_begun:
            self.has_begun = True
            reporter.answered(self._head, at_ns)
            out = self._said + out
        if payload:
            reporter.chunk(payload, at_ns)
        if body.done:
            reporter.end(at_ns)
        return out

    def _passed(self, data: bytes, payload: bytes) -> bytes:
        """Return the bytes for the client from a piece of the body."""
        if self.is_unchanged:
            return data if self.fault else data[: len(data) - len(self.rest)]
        is_done, out = self._body.done, payload
        if self._filter is not None:
            out = self._filter.feed(payload) + (self._filter.finish() if is_done else b"")
        if self._is_chunked:
            out = framed(out) if out else b""
            out += last_chunk(self._body) if is_done else b""
        return out

    @property
    def is_done(self) -> bool:
        """Whether the answer is complete."""
        return self._body.done

    @property
    def ends_with_connection(self) -> bool:
        """Whether the answer ends only with the connection."""
        return isinstance(self._body, OpenBody)

    @property
    def is_unchanged(self) -> bool:
        """Whether the client gets the upstream's chunks as they are."""
        return self._is_chunked and self._filter is None

    def held(self) -> bytes:
        """Return the bytes held back for the client, when the answer ends early."""
        try:
            held = self._filter.finish() if self._filter is not None else b""
        except BodyError:
            return b""  # the body ends in the middle, which the client learns from the connection's end
        return framed(held) if held and self._is_chunked else held

    def end(self) -> None:
        """Finish the answer: no more bytes follow."""
        self._reporter.end()


def _framing_of_changed(was: Framing, *, is_old: bool) -> Framing:
    """Return the framing for a body whose length changes: chunks, or for HTTP/1.0 the connection's end."""
    if not isinstance(was, int):
        return was
    return "close" if is_old else "chunked"
