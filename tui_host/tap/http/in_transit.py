"""A request and an answer on their way through a relay: heads and what came of their bodies, recorded before they are given on."""

from __future__ import annotations

import time

from tui_host.tap.http.exchange_reporter import ExchangeReporter
from tui_host.tap.http.hop_headers import to_client
from tui_host.tap.http.relayed_bodies import BodyError, OpenBody, body_of, framed, last_chunk
from tui_host.tap.http.rewriting import Rewriting
from tui_host.tap.message_framing import Framing, response_framing
from tui_host.tap.message_heads import RequestHead, ResponseHead, response_bytes


class Request:
    """A request from its head on until it is answered.

    Args:
        head: As the client sent it.
        framing: How its body is framed, on either side.
        reporter: Has it recorded.

    Attributes:
        rest: What stood behind its end.
        is_answered: The response is complete.
        lasts: Whether the client's connection may be used again after it.
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
        """Whether it has come to its end."""
        return self._body.done

    def feed(self, data: bytes) -> bytes:
        """What the upstream gets of these bytes: all of the request's, in the chunks that they came in.

        Raises:
            BodyError: The body is not framed as it should be.
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
    """From its head on to its end.

    Args:
        request: What it answers, as the client sent it.
        head: As the upstream sent it.
        rewriting: Changes what has to be changed.
        reporter: Has it recorded.

    Attributes:
        lasts: Whether both connections may be used again after it.
        has_begun: The client has something of it.
        rest: What stood behind its end.
        fault: How it is framed wrongly; what came before that has been given on.

    Raises:
        HeadError: It cannot be told how long it is.
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
        """What the client gets for what came; at first also for the head, with which something may have come, or nothing.

        Raises:
            BodyError: It cannot be changed as it has to be.
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
        """What came of the body, as the client gets it."""
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
        """Whether it has come to its end."""
        return self._body.done

    @property
    def ends_with_connection(self) -> bool:
        """Whether nothing but the connection's end reports where it ends."""
        return isinstance(self._body, OpenBody)

    @property
    def is_as_it_came(self) -> bool:
        """Whether the client gets it in the very chunks that the upstream sent, and nothing in it is changed."""
        return self._is_chunked and self._filter is None

    def left(self) -> bytes:
        """What the client gets of what is held of it, where nothing follows."""
        try:
            held = self._filter.finish() if self._filter is not None else b""
        except BodyError:
            return b""  # it ends in the middle, which the client is told another way
        return framed(held) if held and self._is_chunked else held

    @property
    def plain(self) -> int:
        """So many bytes that follow, if they come, may pass unseen: they are neither changed nor recorded."""
        return 0 if self._is_chunked or self._filter is not None or not self._reporter.has_enough else self._body.plain

    def passed(self, size: int) -> None:
        """So many of these have passed."""
        self._body.passed(size)
        self._reporter.unseen(size)

    def end(self) -> None:
        """It has come to its end without being fed."""
        self._reporter.end()


def _framing_of_changed(was: Framing, *, is_old: bool) -> Framing:
    """How a body is framed that is not as long as it was, before one that reads chunks, or an old one that may not."""
    if not isinstance(was, int):
        return was
    return "close" if is_old else "chunked"
