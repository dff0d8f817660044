"""Records of HTTP exchanges, made from a relay's reports: heads as the upstream saw them, bodies as they were sent.

Imported late, by the recorder.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urljoin

from tui_host.capture.http.exchange_end import read_ending
from tui_host.capture.http.observer import BODY_LIMIT, ObservedExchange, Observer, header_pairs
from tui_host.capture.record import Draft, Place
from tui_host.capture.recorder import OVERHEAD, Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.tap.message_framing import request_framing
from tui_host.tap.message_heads import RequestHead, ResponseHead, read_request, read_response
from tui_host.tap.recording.channel_write import (
    ANNOUNCED,
    ASKED,
    CHUNK,
    CLOSED,
    COMPLETE,
    FAILED,
    REQUEST,
    RESPONSE,
    SENT,
    UNREAD,
    lost,
)

if TYPE_CHECKING:
    from tui_host.tap.recording.channel_write import Item

REQUESTS_LIMIT = 2 * BODY_LIMIT
"""Bytes of unfinished requests' bodies to hold in all; more are not kept."""
ENDED_EARLY = "the tap was ended"
_ENDS = frozenset((COMPLETE, FAILED, CLOSED))
_SENT_LOST, _CHUNK_LOST = lost(SENT), lost(CHUNK)


class Observers(Protocol):
    """Finds the observer of each exchange."""

    def of(self, head: RequestHead, body: bytes) -> Observer:
        """The observer of a request."""
        ...

    def answered(self, observer: Observer, head: RequestHead, response: ResponseHead) -> None:
        """Learn from the head of a response."""
        ...

    def announced(self, observer: Observer, url: str) -> None:
        """Learn from an event stream where messages are to be sent."""
        ...


class TimedRecorder:
    """Records events with their own time instead of the present.

    Args:
        recorder: Keeps the records.

    Attributes:
        at_ns: The moment, on the monotonic clock.
        number: The relay's number of the exchange that is recorded.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.at_ns = self.number = 0

    @property
    def redactor(self) -> Redactor:
        """The recorder's redactor."""
        return self._recorder.redactor

    def append(self, draft: Draft, /) -> int:
        """Keep a record; returns the record's number."""
        return self._recorder.append(draft, self.at_ns)

    def new_exchange(self) -> str:
        """The exchange's id."""
        return f"x{self.number}"

    def new_connection(self, server: str) -> str:
        """An id for a connection, unique in the capture."""
        return self._recorder.new_connection(server)


class ExchangeRecords:
    """Records the exchanges of a relay.

    Args:
        recorder: Keeps the records.
        observers: Observe the exchanges.
        place: Where the records belong.
        tell_fault: Takes what goes wrong here, in words.

    Attributes:
        unfinished: Bytes of requests' bodies that are held until their request has ended.
    """

    def __init__(
        self, recorder: TimedRecorder, observers: Observers, place: Place, tell_fault: Callable[[str], None]
    ) -> None:
        self._recorder = recorder
        self._observers = observers
        self._place = place
        self._tell_fault = tell_fault
        self._open: dict[int, _Exchange] = {}
        self.unfinished = 0

    def take(self, item: Item) -> int:
        """Record the next item; returns the bytes that the new records take in memory."""
        kind, number, self._recorder.at_ns, data = item
        self._recorder.number = number
        try:
            self._take(kind, number, data)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other exchanges do not suffer for it
            self._tell_fault(repr(error))
        return len(data) + OVERHEAD

    def finish(self) -> None:
        """Record that exchanges in progress were cut off with the relay."""
        for number, exchange in self._open.items():
            self._recorder.number = number
            exchange.begin().fail(ENDED_EARLY, "failed")
        self._open.clear()

    def _take(self, kind: bytes, number: int, data: bytes) -> None:
        if kind == REQUEST:
            origin, _, block = data.partition(b"\n")
            self._open[number] = _Exchange(self._observers, read_request(block), origin.decode(), self._place)
        exchange = self._open.get(number)
        if exchange is None:
            return  # it began before a recorder that died, or nothing was told of it
        if kind == SENT:
            self.unfinished += exchange.sent(data, REQUESTS_LIMIT - self.unfinished)
        elif kind == _SENT_LOST:
            exchange.left_out(int(data))
        elif kind != REQUEST:
            if kind == ASKED and data == UNREAD:
                exchange.is_unread = True
            self.unfinished -= exchange.held
            _after_request(exchange, kind, data)
        if kind in _ENDS:
            del self._open[number]


def _after_request(exchange: _Exchange, kind: bytes, data: bytes) -> None:
    """Record an item that follows a complete request."""
    observed = exchange.begin()
    if kind == CHUNK:
        observed.chunk(data)
    elif kind == _CHUNK_LOST:
        observed.missed(int(data))
    elif kind == RESPONSE:
        exchange.answered(read_response(data))
    elif kind == ANNOUNCED:
        exchange.announced(data)
    elif kind == COMPLETE:
        observed.end()
    elif kind == CLOSED:
        observed.close()
    elif kind == FAILED:
        ending = read_ending(data)
        observed.fail(ending.error, ending.reason)


class _Exchange:
    """An exchange in progress.

    Attributes:
        held: Bytes of the request's body that wait for the rest.
        is_unread: The relay refused the request and did not look at its body, so nothing of that is missing.
    """

    def __init__(self, observers: Observers, head: RequestHead, origin: str, place: Place) -> None:
        self._observers = observers
        self._head = head
        self._url = origin + head.target.decode("latin-1")
        self._place = place
        self._body = BytesIO()  # gives all of it away without a copy, which twice a large body would be
        self._missed = 0
        self._observer: Observer | None = None
        self._observed: ObservedExchange | None = None
        self.held = 0
        self.is_unread = False

    def sent(self, data: bytes, room: int) -> int:
        """Take a piece of the request's body; returns the number of bytes held."""
        if self._observed is not None:
            return 0
        kept = b"" if self._missed else data[: max(room, 0)]
        self._body.write(kept)
        self.held += len(kept)
        self._missed += len(data) - len(kept)
        return len(kept)

    def left_out(self, size: int) -> None:
        """Count bytes of the request's body that were not reported: nothing after them is kept."""
        self._missed += size

    def begin(self) -> ObservedExchange:
        """Record the request as far as it has come. Later calls change nothing."""
        if self._observed is None:
            head, body = self._head, self._body.getvalue()
            self._body = BytesIO()
            self.held = 0
            framing = "none" if self.is_unread else request_framing(head)
            if isinstance(framing, int):  # its client may have gone, or been answered, before it was complete
                self._missed = max(self._missed, framing - len(body))
            self._observer = self._observers.of(head, body)
            self._observed = self._observer.begin(
                head.method.decode("ascii", "replace"),
                self._url,
                header_pairs(head.pairs),
                body,
                self._place,
                missed=self._missed,
            )
        return self._observed

    def answered(self, head: ResponseHead) -> None:
        """Record the response's head."""
        if self._observed is not None and self._observer is not None:
            self._observed.response(head.status, header_pairs(head.pairs))
            self._observers.answered(self._observer, self._head, head)

    def announced(self, url: bytes) -> None:
        """Note where messages are to be sent."""
        if self._observer is None:
            return
        try:
            place = urljoin(self._url, url.decode("latin-1"))
        except ValueError:
            return  # no URL: no client sends anything there
        self._observers.announced(self._observer, place)
