"""Turns what an HTTP relay reported into observed exchanges: heads as the upstream saw them, bodies as they were sent."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from urllib.parse import urljoin

from tui_host.capture.http.exchange_end import read_ending
from tui_host.capture.http.observer import ObservedExchange, Observer, header_pairs
from tui_host.capture.record import Place
from tui_host.tap.message_heads import RequestHead, ResponseHead, read_request, read_response, request_framing
from tui_host.tap.relay import (
    ANNOUNCED,
    ASKED,
    CHUNK,
    CLOSED,
    COMPLETE,
    FAILED,
    GAP,
    LEFT_OUT,
    REQUEST,
    RESPONSE,
    SENT,
    UNREAD,
)
from tui_host.tap.ring import Item
from tui_host.tap.session import TapRecorder

ENDED_EARLY = "the tap was ended"


class Observers:
    """Finds the observer of each exchange: one for all exchanges with a model's API."""

    def __init__(self, recorder: TapRecorder, peer: str, *, is_mcp: bool = False) -> None:
        wire, logins = ("mcp", "all") if is_mcp else ("llm", "some")
        self._without_connection = Observer(recorder, wire=wire, peer=peer, logins=logins)

    def observer_of(self, head: RequestHead, body: bytes) -> Observer:
        """Return the observer of a request."""
        del head, body
        return self._without_connection

    def answered(self, observer: Observer, head: RequestHead, response: ResponseHead) -> None:
        """Take in the head of a response, which may name the connection of a client."""

    def announced(self, observer: Observer, url: str) -> None:
        """Take in the URL for messages that an event stream announces."""


class TappedExchanges:
    """Records the exchanges of an HTTP relay.

    Args:
        recorder: Stores the records.
        observers: Observe the exchanges.
        place: The place of every record.
        tell_fault: Receives messages about faults in this code.
    """

    def __init__(
        self, recorder: TapRecorder, observers: Observers, place: Place, tell_fault: Callable[[str], None]
    ) -> None:
        self._recorder = recorder
        self._observers = observers
        self._place = place
        self._tell_fault = tell_fault
        self._open: dict[int, _TappedExchange] = {}

    def take(self, item: Item) -> None:
        """Record what an item tells."""
        self._recorder.at_ns, self._recorder.number = item.at_ns, item.number
        try:
            self._take(item)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other exchanges do not suffer for it
            self._tell_fault(f"an exchange is not recorded: {error!r}")

    def finish(self) -> None:
        """Record that exchanges in progress were cut off when the relay ended."""
        self._cut(ENDED_EARLY)

    def _take(self, item: Item) -> None:
        if item.kind == GAP:
            self._cut(f"not recorded to its end: {int(item.data):,} bytes of the traffic came too fast")
            return
        if item.kind == REQUEST:
            origin, _, block = item.data.partition(b"\n")
            self._open[item.number] = _TappedExchange(
                self._observers, read_request(block), origin.decode(), self._place
            )
            return
        exchange = self._open.get(item.number)
        if exchange is None:
            return  # it began before a recorder that died, or before a gap
        if item.kind == SENT:
            exchange.sent(item.data)
        elif item.kind == LEFT_OUT:
            exchange.left_out(int(item.data))
        elif exchange.after_request(item.kind, item.data):
            del self._open[item.number]

    def _cut(self, words: str) -> None:
        for number, exchange in self._open.items():
            self._recorder.number = number
            exchange.begin().fail(words, "failed")
        self._open.clear()


class _TappedExchange:
    """An exchange in progress."""

    def __init__(self, observers: Observers, head: RequestHead, origin: str, place: Place) -> None:
        self._observers = observers
        self._head = head
        self._url = origin + head.target.decode("latin-1")
        self._place = place
        self._body = BytesIO()  # returns all bytes without a copy, which would double a large body in memory
        self._missed = 0
        self._observer: Observer | None = None
        self._observed: ObservedExchange | None = None
        self._is_unread = False

    def sent(self, data: bytes) -> None:
        """Take a piece of the request's body."""
        if self._observed is None and not self._missed:
            self._body.write(data)
        else:
            self._missed += len(data)

    def left_out(self, size: int) -> None:
        """Count bytes that the relay did not report. No later bytes of the same body are stored."""
        if self._observed is None:
            self._missed += size
        else:
            self._observed.missed(size)

    def begin(self) -> ObservedExchange:
        """Record the request as received so far. Later calls have no effect."""
        if self._observed is None:
            head, body = self._head, self._body.getvalue()
            self._body = BytesIO()
            framing = "none" if self._is_unread else request_framing(head)
            if isinstance(framing, int):  # the client may have gone, or got its answer, before the body was complete
                self._missed = max(self._missed, framing - len(body))
            self._observer = self._observers.observer_of(head, body)
            self._observed = self._observer.begin(
                head.method.decode("ascii", "replace"),
                self._url,
                header_pairs(head.pairs),
                body,
                self._place,
                missed=self._missed,
            )
        return self._observed

    def after_request(self, kind: bytes, data: bytes) -> bool:
        """Record what comes after a request's body; returns whether the exchange has ended."""
        self._is_unread = kind == ASKED and data == UNREAD
        observed = self.begin()
        if kind == CHUNK:
            observed.chunk(data)
        elif kind == RESPONSE:
            self._answered(observed, read_response(data))
        elif kind == ANNOUNCED:
            self._announced(data)
        elif kind == COMPLETE:
            observed.end()
        elif kind == CLOSED:
            observed.close()
        elif kind == FAILED:
            ending = read_ending(data)
            observed.fail(ending.error, ending.reason)
        return kind in {COMPLETE, CLOSED, FAILED}

    def _answered(self, observed: ObservedExchange, head: ResponseHead) -> None:
        observed.response(head.status, header_pairs(head.pairs))
        if self._observer is not None:
            self._observers.answered(self._observer, self._head, head)

    def _announced(self, url: bytes) -> None:
        try:
            place = urljoin(self._url, url.decode("latin-1"))
        except ValueError:
            return  # not a URL: no client sends messages there
        if self._observer is not None:
            self._observers.announced(self._observer, place)
