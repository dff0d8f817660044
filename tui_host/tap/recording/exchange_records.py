"""What an HTTP relay told of its exchanges, as records: heads as the upstream's side of the wire has them, bodies as they were sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
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
from tui_host.tap.report_kinds import (
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
"""Bytes of requests' bodies that are held at a time, of all that are being sent; what is more is not kept."""
ENDED_EARLY = "the tap was ended"
_ENDS = frozenset((COMPLETE, FAILED, CLOSED))
_CONNECTIONS, _CONNECTION = b"n", b"m"
"""In what is told of a state: how many connections there have been, and what is known of them; which one an exchange belongs to."""
_OF_STATE = frozenset((_CONNECTIONS, _CONNECTION))
_BEFORE_QUERY = re.compile(rb"[^?#]*")
_SLASHES = re.compile(rb"^(https?:|)/{2,}", re.IGNORECASE)
_SENT_LOST, _CHUNK_LOST = lost(SENT), lost(CHUNK)


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

    def named(self, connection: str) -> Observer:
        """Of the connection that is called so."""
        ...

    def state(self) -> bytes:
        """What is known of connections, for another one that goes on."""
        ...

    def restore(self, state: bytes) -> None:
        """Go on from what another one knew."""
        ...


class Later:
    """Records what has happened at a moment that is over.

    Args:
        recorder: Keeps the records.

    Attributes:
        at_ns: The moment, on the monotonic clock.
        number: Of the exchange that it is about, as the relay counts them.
        connections: How many there have been.
        is_known: There is a record of it already.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.at_ns = self.number = self.connections = 0
        self.is_known = False

    @property
    def redactor(self) -> Redactor:
        """Knows the secrets."""
        return self._recorder.redactor

    def append(self, draft: Draft, /) -> int:
        """Keep a record."""
        if self.is_known:
            self._recorder.learn(draft)
            return self._recorder.reached
        return self._recorder.append(draft, self.at_ns)

    def new_exchange(self) -> str:
        """The exchange's id: the same whoever asks for it."""
        return f"x{self.number}"

    def new_connection(self, server: str) -> str:
        """An id that no connection has had."""
        self.connections += 1
        return f"{server}#{self.connections}"


class Exchanges:
    """All exchanges of one relay.

    Args:
        recorder: Keeps the records.
        observers: Who observes them.
        place: Where they belong.
        fault: Takes what goes wrong here, in words.
    """

    def __init__(self, recorder: Later, observers: Observers, place: Place, fault: Callable[[str], None]) -> None:
        self._recorder = recorder
        self._observers = observers
        self._place = place
        self._fault = fault
        self._open: dict[int, _Exchange] = {}
        self._held = 0

    def restore(self, state: Iterable[Item]) -> None:
        """What had been told of exchanges that were not over."""
        names: dict[int, str] = {}
        self._recorder.is_known = True
        for item in state:
            kind, number, _, data = item
            if kind == _CONNECTIONS:
                self._recorder.connections = number
                self._observers.restore(data)
            elif kind == _CONNECTION:
                names[number] = data.decode()
            else:
                self.take(item)
            if kind == REQUEST and number in names:
                self._open[number].belongs_to(self._observers.named(names[number]))
        self._recorder.is_known = False

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is on its way."""
        return not self._open

    def state(self, told: Callable[[], Sequence[Item]]) -> Sequence[Item]:
        """What is told of exchanges that are not over."""
        known = (_CONNECTIONS, self._recorder.connections, 0, self._observers.state())
        names = ((number, exchange.connection) for number, exchange in self._open.items())
        of_each = ((_CONNECTION, number, 0, name.encode()) for number, name in names if name)
        on_their_way = (item for item in told() if item[1] in self._open and item[0] not in _OF_STATE)
        return [known, *of_each, *on_their_way] if self._open else [known]

    def take(self, item: Item) -> int:
        """The next thing that the relay tells; gives the bytes that its records take in memory."""
        kind, number, self._recorder.at_ns, data = item
        self._recorder.number = number
        try:
            self._take(kind, number, data)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other exchanges do not suffer for it
            self._fault(repr(error))
        return len(data) + OVERHEAD

    def finish(self) -> None:
        """Nothing follows: what is still on its way was cut off with the relay."""
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
            return
        if kind == SENT:
            self._held += exchange.sent(data, REQUESTS_LIMIT - self._held)
        elif kind == _SENT_LOST:
            exchange.left_out(int(data))
        elif kind != REQUEST:
            if kind == ASKED and data == UNREAD:
                exchange.is_unread = True
            self._held -= exchange.held
            _after_request(exchange, kind, data)
        if kind in _ENDS:
            del self._open[number]


def _after_request(exchange: _Exchange, kind: bytes, data: bytes) -> None:
    """What comes once a request is complete, or no more of it is recorded."""
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
    """One exchange that is not over yet.

    Attributes:
        held: Bytes of its request's body that wait for the rest.
        is_unread: The relay has refused it, and looked at no body: none is missing.
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

    def belongs_to(self, observer: Observer) -> None:
        """It has begun already, on its connection."""
        self._observer = observer

    @property
    def connection(self) -> str:
        """The one that it belongs to, empty where that is not known."""
        return (self._observer is not None and self._observer.connection) or ""

    def sent(self, data: bytes, room: int) -> int:
        """A piece of the request's body; gives how much of it is held."""
        if self._observed is not None:
            return 0
        kept = b"" if self._missed else data[: max(room, 0)]
        self._body.write(kept)
        self.held += len(kept)
        self._missed += len(data) - len(kept)
        return len(kept)

    def left_out(self, size: int) -> None:
        """So much of the request's body was not told: nothing after it is kept."""
        self._missed += size

    def begin(self) -> ObservedExchange:
        """The request is recorded, as far as it has come."""
        if self._observed is None:
            head, body = self._head, self._body.getvalue()
            self._body = BytesIO()
            self.held = 0
            framing = "none" if self.is_unread else request_framing(head)
            if isinstance(framing, int):  # its client may have gone, or been answered, before it was complete
                self._missed = max(self._missed, framing - len(body))
            self._observer = self._observer or self._observers.of(head, body)
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
        """The response's head."""
        if self._observed is not None and self._observer is not None:
            self._observed.response(head.status, header_pairs(head.pairs))
            self._observers.answered(self._observer, self._head, head)

    def announced(self, url: bytes) -> None:
        """Where messages are to be sent."""
        if self._observer is None:
            return
        try:
            place = urljoin(self._url, _plain(url).decode("latin-1"))
        except ValueError:
            return  # no URL: no client sends anything there
        self._observers.announced(self._observer, place)


def _plain(url: bytes) -> bytes:
    """A URL as clients take it: with one kind of slash, and two of them before the host."""
    return _SLASHES.sub(rb"\1//", _BEFORE_QUERY.sub(lambda found: found[0].replace(b"\\", b"/"), url, count=1))
