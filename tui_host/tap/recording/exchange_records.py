"""Makes records of HTTP exchanges from a relay's reports: heads as the upstream saw them, bodies as they were sent.

Imported late, by the recorder.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urljoin

from tui_host.capture.http.exchange_end import read_ending
from tui_host.capture.http.observer import BODY_LIMIT, ObservedExchange, Observer, header_pairs
from tui_host.capture.record import Place, Record
from tui_host.capture.recorder import OVERHEAD, Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.tap.message_heads import RequestHead, ResponseHead, read_request, read_response, request_framing
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
"""Largest number of bytes of unfinished requests' bodies to hold; more are not stored."""
ENDED_EARLY = "the tap was ended"
_ENDS = frozenset((COMPLETE, FAILED, CLOSED))
_SENT_LOST, _CHUNK_LOST = lost(SENT), lost(CHUNK)


class Observers(Protocol):
    """Finds the observer of each exchange."""

    def observer_of(self, head: RequestHead, body: bytes) -> Observer:
        """Return the observer of a request."""
        ...

    def answered(self, observer: Observer, head: RequestHead, response: ResponseHead) -> None:
        """Called with the head of a response."""
        ...

    def announced(self, observer: Observer, url: str) -> None:
        """Called with the URL for messages that an event stream announces."""
        ...


class TimedRecorder:
    """Records events with the time when they happened, not the current time.

    Args:
        recorder: Stores the records.

    Attributes:
        at_ns: The time of the event, on the monotonic clock.
        number: The relay's number for the current exchange.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.at_ns = self.number = 0

    @property
    def redactor(self) -> Redactor:
        """The recorder's redactor."""
        return self._recorder.redactor

    def append(self, draft: Record, /) -> int:
        """Store a record; returns the record's number."""
        return self._recorder.append(draft, self.at_ns)

    def new_exchange(self) -> str:
        """Return the id of the current exchange."""
        return f"x{self.number}"

    def new_connection(self, server: str) -> str:
        """Return an id for a connection, unique in the capture."""
        return self._recorder.new_connection(server)


class ExchangeRecords:
    """Makes the records of a relay's exchanges.

    Args:
        recorder: Stores the records.
        observers: Observe the exchanges.
        place: The place for the records.
        tell_fault: Receives messages about faults in this code.

    Attributes:
        unfinished: Number of bytes held of bodies whose request has not ended.
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
        """Record the next item; returns how many bytes the new records take in memory."""
        kind, number, self._recorder.at_ns, data = item
        self._recorder.number = number
        try:
            self._take(kind, number, data)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other exchanges do not suffer for it
            self._tell_fault(repr(error))
        return len(data) + OVERHEAD

    def finish(self) -> None:
        """Record that exchanges in progress were cut off when the relay ended."""
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
            return  # the exchange began before a recorder that died, or its beginning was not reported
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
    """Record an item that comes after a complete request."""
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
        held: Number of bytes of the request's body that wait for the rest.
        is_unread: Whether the relay refused the request without reading its body, so that no part counts as missing.
    """

    def __init__(self, observers: Observers, head: RequestHead, origin: str, place: Place) -> None:
        self._observers = observers
        self._head = head
        self._url = origin + head.target.decode("latin-1")
        self._place = place
        self._body = BytesIO()  # BytesIO returns all bytes without a copy, which would double a large body in memory
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
        """Count bytes of the request's body that were not reported. No later bytes are stored."""
        self._missed += size

    def begin(self) -> ObservedExchange:
        """Record the request as received so far. Later calls have no effect."""
        if self._observed is None:
            head, body = self._head, self._body.getvalue()
            self._body = BytesIO()
            self.held = 0
            framing = "none" if self.is_unread else request_framing(head)
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

    def answered(self, head: ResponseHead) -> None:
        """Record the response's head."""
        if self._observed is not None and self._observer is not None:
            self._observed.response(head.status, header_pairs(head.pairs))
            self._observers.answered(self._observer, self._head, head)

    def announced(self, url: bytes) -> None:
        """Note the URL for messages that the server announces."""
        if self._observer is None:
            return
        try:
            place = urljoin(self._url, url.decode("latin-1"))
        except ValueError:
            return  # not a URL: no client sends messages there
        self._observers.announced(self._observer, place)
