"""What a relay records of each exchange: heads as the upstream's side of the wire has them, bodies as they were sent.

All of it comes after the bytes have been passed on, and nothing that goes wrong here reaches them. Source: threats.md, PXY-09.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol
from urllib.parse import urljoin

from tui_host.capture.ending import Reason
from tui_host.capture.http import BODY_LIMIT, Headers, ObservedExchange, Observer
from tui_host.capture.record import Place
from tui_host.tap.heads import Fields, RequestHead, ResponseHead

REQUESTS_LIMIT = 128 << 20
"""Bytes of requests' bodies that are held at a time, of all that are being sent; what is more is not kept."""


class Observers(Protocol):
    """Finds the observer of an exchange."""

    def of(self, head: RequestHead, body: bytes) -> Observer:
        """For a request."""
        ...

    def answered(self, observer: Observer, head: RequestHead, response: ResponseHead) -> None:
        """A request's response has begun."""
        ...

    def announced(self, observer: Observer, url: str) -> None:
        """An event stream has told where messages are to be sent."""
        ...


class Held:
    """How much of requests' bodies is held, of all exchanges together."""

    def __init__(self) -> None:
        self.size = 0


class Witness:
    """Records one exchange, whose request comes in pieces and may have no end.

    Args:
        observers: Who records.
        head: The request's head as it goes to the upstream.
        url: The request's whole URL.
        place: Where it belongs.
        held: Shared by all exchanges of a relay.
        fault: Takes what goes wrong here, in words.
    """

    def __init__(
        self,
        observers: Observers,
        head: RequestHead,
        url: str,
        *,
        place: Place,
        held: Held,
        fault: Callable[[str], None],
    ) -> None:
        self._observers = observers
        self._head = head
        self._url = url
        self._place = place
        self._held = held
        self._fault = fault
        self._body = bytearray()
        self._missed = 0
        self._exchange: ObservedExchange | None = None
        self._observer: Observer | None = None

    def sent(self, data: bytes) -> None:
        """Bytes of the request's body have gone on."""
        if self._exchange is not None:
            return
        room = max(min(BODY_LIMIT - len(self._body), REQUESTS_LIMIT - self._held.size), 0)
        kept = data[:room]
        self._body += kept
        self._held.size += len(kept)
        self._missed += len(data) - len(kept)

    def sent_all(self) -> None:
        """The request is complete, or no more of it can be recorded: what follows belongs to the response."""
        if self._exchange is None:
            self._safely(self._begin)

    def answered(self, head: ResponseHead) -> None:
        """The head of the response has come."""
        self.sent_all()
        exchange, observer = self._exchange, self._observer
        if exchange is not None and observer is not None:
            self._safely(lambda: exchange.response(head.status, pairs(head.fields)))
            self._safely(lambda: self._observers.answered(observer, self._head, head))

    def announced(self, url: bytes) -> None:
        """The answer has told where messages are to be sent."""
        observer = self._observer
        if observer is not None:
            self._safely(lambda: self._observers.announced(observer, urljoin(self._url, url.decode("latin-1"))))

    def chunk(self, data: bytes) -> None:
        """Bytes of the response's body have come."""
        if self._exchange is not None:
            try:
                self._exchange.chunk(data)
            except Exception as error:  # noqa: BLE001 - whatever it is, what passes does not suffer for it
                self._fault(repr(error))

    def end(self) -> None:
        """The response is complete."""
        exchange = self._exchange
        if exchange is not None:
            self._safely(exchange.end)

    def fail(self, words: str, reason: Reason) -> None:
        """The exchange came to an end that nobody wanted."""
        self.sent_all()
        exchange = self._exchange
        if exchange is not None:
            self._safely(lambda: exchange.fail(words, reason))

    def close(self) -> None:
        """The host reads no further."""
        self.sent_all()
        exchange = self._exchange
        if exchange is not None:
            self._safely(exchange.close)

    def _begin(self) -> None:
        head, body = self._head, bytes(self._body)
        self._held.size -= len(self._body)
        self._body = bytearray()
        self._observer = self._observers.of(head, body)
        method = head.method.decode("ascii", "replace")
        announced = head.value(b"content-length")
        if announced.isdigit():  # its client may have gone, or been answered, before it was complete
            self._missed = max(self._missed, int(announced) - len(body))
        self._exchange = self._observer.begin(
            method, self._url, pairs(head.fields), body, self._place, missed=self._missed
        )

    def _safely(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - whatever it is, what passes does not suffer for it
            self._fault(repr(error))


def pairs(fields: Fields) -> Headers:
    """Headers as records have them."""
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in fields)
