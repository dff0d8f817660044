"""Requests and answers on their way through a relay, recorded before they go on."""

from __future__ import annotations

import time

from tui_host.tap.http.exchange_reporter import ExchangeReporter
from tui_host.tap.http.hop_headers import to_client
from tui_host.tap.http.relayed_bodies import BodyError, OpenBody, body_of, framed, last_chunk
from tui_host.tap.http.rewriting import Rewriting
from tui_host.tap.message_framing import Framing, response_framing
from tui_host.tap.message_heads import RequestHead, ResponseHead, response_bytes


class Request:
    """A request in transit, until answered.

    Args:
        head: The client's head.
        framing: The body's framing, on both sides.
        reporter: Reports the exchange.

    Attributes:
        rest: Bytes behind the end.
        is_answered: The response is complete.
        lasts: Whether the client's connection may be used again.
    """

    def __init__(self, head: RequestHead, framing: Framing, reporter: ExchangeReporter) -> None:
        self.head = head
        self.reporter = reporter
        self.rest = b""
        self.is_answered = False
        self.lasts = head.lasts
        self._body = body_of(framing)

    @property
    def is_sent(self) -> bool:
        """Whether the request is complete."""
        return self._body.done

    def feed(self, data: bytes) -> bytes:
        """Take bytes from the client; returns the request's share, in the original chunks.

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


class Answer:
    """An answer in transit.

    Args:
        request: The client's request.
        head: The upstream's head.
        rewriting: Changes head and body.
        reporter: Reports the exchange.

    Attributes:
        lasts: Whether both connections may be used again.
        has_begun: The client has received the beginning.
        rest: Bytes behind the end.
        fault: An error in the framing; everything before the error has been passed on.

    Raises:
        HeadError: The body's length is unclear.
    """

    def __init__(
        self, request: RequestHead, head: ResponseHead, rewriting: Rewriting, reporter: ExchangeReporter
    ) -> None:
        was = response_framing(head, request.method)
        passed, self._filter = rewriting.answer(request, head, reporter.announced)
        framing, changed_to = was, None
        if self._filter is not None:
            framing = _framing_of_changed(was, is_old=0 in {request.minor, head.minor})
            changed_to = None if framing == was == "close" else framing  # which says nothing of its length as it is
        self._head = head
        self._said = response_bytes(to_client(passed, changed_to=changed_to))
        self._body = body_of(was)
        self._is_chunked = framing == "chunked"
        self._reporter = reporter
        self.lasts = head.lasts and framing != "close"
        self.has_begun = False
        self.rest = b""
        self.fault = ""

    def feed(self, data: bytes) -> bytes:
        """Take bytes from the upstream; returns the bytes for the client, including the head at first.

        Raises:
            BodyError: The body cannot be changed as necessary.
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
        """The bytes for the client from a piece of the body."""
        if self.is_as_it_came:
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
        """Whether only the connection's end marks the answer's end."""
        return isinstance(self._body, OpenBody)

    @property
    def is_as_it_came(self) -> bool:
        """Whether the client gets the upstream's chunks unchanged."""
        return self._is_chunked and self._filter is None

    def left(self) -> bytes:
        """The held bytes for the client at an early end."""
        try:
            held = self._filter.finish() if self._filter is not None else b""
        except BodyError:
            return b""  # it ends in the middle, which the client is told another way
        return framed(held) if held and self._is_chunked else held

    @property
    def plain(self) -> int:
        """How many following bytes may pass unread, neither changed nor recorded."""
        return 0 if self._is_chunked or self._filter is not None or not self._reporter.has_enough else self._body.plain

    def passed(self, size: int) -> None:
        """Count bytes that passed unread."""
        self._body.passed(size)
        self._reporter.unseen(size)

    def end(self) -> None:
        """Finish without further bytes."""
        self._reporter.end()


def _framing_of_changed(was: Framing, *, is_old: bool) -> Framing:
    """The framing of a body whose length changes: chunks, or the connection's end for HTTP/1.0."""
    if not isinstance(was, int):
        return was
    return "close" if is_old else "chunked"
