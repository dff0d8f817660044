"""A request on its way through a relay: what came of its body goes on as it came. It is recorded before it is given on."""

from __future__ import annotations

import time

from tui_host.tap.http.exchange_reporter import ExchangeReporter
from tui_host.tap.http.relayed_bodies import body_of
from tui_host.tap.message_framing import Framing
from tui_host.tap.message_heads import RequestHead


class Request:
    """From its head on until it is answered.

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
        """What of it the upstream gets: all, in the chunks that it came in.

        Raises:
            BodyError: It is not framed as it should be.
        """
        body, reporter = self._body, self.reporter
        payload, self.rest = body.feed(data)
        at_ns = time.monotonic_ns()
        if payload:
            reporter.sent(payload, at_ns)
        if body.done:
            reporter.sent_all(at_ns)
        return data[: len(data) - len(self.rest)]
