"""Turns what an HTTP relay reported into observed exchanges: heads as the upstream saw them, bodies as they were sent."""

from __future__ import annotations

from contextlib import suppress
from io import BytesIO
from urllib.parse import urljoin

from tui_host.capture.http.exchange_end import read_ending
from tui_host.capture.http.http_frames import is_rpc
from tui_host.capture.http.observer import BODY_LIMIT, ObservedExchange, Observer, header_pairs
from tui_host.capture.record import Place
from tui_host.settings.credential_places import in_url
from tui_host.settings.urls import parts_of
from tui_host.tap import relay as kinds
from tui_host.tap.http_messages import MessageHead, read_request, read_response, request_body
from tui_host.tap.ring import Item
from tui_host.tap.session import TapRecorder

REMEMBERED = 1000  # sessions of clients


class Connections:
    """Finds the observer of each exchange: one for a model's API and for logins, and one for each client of an MCP server.

    Clients are told apart by session id or by announced endpoint, else by their names. `is_whole` tells whether connections
    are recorded from their beginning.
    """

    def __init__(self, recorder: TapRecorder, peer: str, *, is_mcp: bool, is_whole: bool = True) -> None:
        self._recorder, self._peer, self._is_mcp, self._is_whole = recorder, peer, is_mcp, is_whole
        wire, logins = ("mcp", "all") if is_mcp else ("llm", "some")
        self._without_connection = Observer(recorder, wire=wire, peer=peer, logins=logins)
        self._by_agent: dict[bytes, Observer] = {}
        self._by_session: dict[bytes, Observer] = {}  # or by the target of an announced endpoint

    def observer_of(self, head: MessageHead, body: bytes) -> Observer:
        """Return the observer of a request."""
        observer = self._by_session.get(head.value(b"mcp-session-id") or head.target)
        if not self._is_mcp or (observer is None and head.method == b"POST" and not is_rpc(body)):
            return self._without_connection
        if observer is not None:
            return observer
        listens = head.method == b"GET" and b"text/event-stream" in head.value(b"accept").lower()
        begins = listens or b'"initialize"' in body
        agent = head.value(b"user-agent")
        observer = self._by_agent.get(agent)
        if begins or observer is None:
            peer, is_whole = self._peer, self._is_whole or begins
            connection = self._recorder.new_connection(peer)
            observer = Observer(
                self._recorder, wire="mcp", peer=peer, connection=connection, is_whole=is_whole, logins="some"
            )
            _remember(self._by_agent, agent, observer)
        return observer

    def answered(self, observer: Observer, response: MessageHead) -> None:
        """Take in the head of a response, which may begin a client's session."""
        session = response.value(b"mcp-session-id")
        if self._is_mcp and session:
            _remember(self._by_session, session, observer)

    def announced(self, observer: Observer, url: str) -> None:
        """Take in the URL to which a client will send its messages, as an event stream announces it."""
        parts = parts_of(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        for span in in_url(target):  # the session's id, to be redacted in the stream that is recorded next
            self._recorder.redactor.learn_value(span.name, target[span.start : span.end])
        _remember(self._by_session, target.encode("latin-1"), observer)


def _remember(observers: dict[bytes, Observer], key: bytes, observer: Observer) -> None:
    observers[key] = observer
    while len(observers) > REMEMBERED:
        del observers[next(iter(observers))]


class TappedExchanges:
    """Records the exchanges of an HTTP relay."""

    def __init__(self, recorder: TapRecorder, connections: Connections, place: Place) -> None:
        self._recorder = recorder
        self._connections = connections
        self._place = place
        self._open: dict[int, _TappedExchange] = {}

    def take(self, item: Item) -> None:
        """Record what an item tells."""
        self._recorder.at_ns, self._recorder.number = item.at_ns, item.number
        if item.kind == kinds.GAP:
            self.finish(f"not recorded to its end: {int(item.data):,} bytes of the traffic came too fast")
        elif item.kind == kinds.REQUEST:
            self._open[item.number] = _TappedExchange(self._connections, item.data, self._place)
        # An unknown number is of an exchange that began before a recorder that died, or before a gap.
        elif item.number in self._open and self._open[item.number].take(item.kind, item.data):
            del self._open[item.number]

    def finish(self, words: str = "the tap was ended") -> None:
        """Record that exchanges in progress were cut off, when the relay ended or for another reason."""
        for number, exchange in self._open.items():
            self._recorder.number = number
            exchange.begin()[1].end("failed", words)
        self._open.clear()


class _TappedExchange:
    """An exchange in progress, as its first item begins it."""

    def __init__(self, connections: Connections, data: bytes, place: Place) -> None:
        origin, _, block = data.partition(b"\n")
        self._connections = connections
        self._head = read_request(block)
        self._url = (origin + self._head.target).decode("latin-1")
        self._place = place
        self._body = BytesIO()  # returns all bytes without a copy, which would double a large body in memory
        self._missed = 0
        self._is_unread = False
        self._begun: tuple[Observer, ObservedExchange] | None = None

    def take(self, kind: bytes, data: bytes) -> bool:
        """Record what an item tells; returns whether the exchange has ended."""
        if kind == kinds.SENT:
            if self._begun is None:
                self._missed += len(data) - self._body.write(data[: BODY_LIMIT - self._body.tell()])
            return False
        self._is_unread = kind == kinds.ASKED and data == kinds.UNREAD
        observer, observed = self.begin()
        if kind == kinds.CHUNK:
            observed.chunk(data)
        elif kind == kinds.RESPONSE:
            response = read_response(data)
            observed.response(response.status, header_pairs(response.pairs))
            self._connections.answered(observer, response)
        elif kind == kinds.ANNOUNCED:
            with suppress(ValueError):  # it is no URL: no client sends messages there
                self._connections.announced(observer, urljoin(self._url, data.decode("latin-1")))
        elif kind == kinds.COMPLETE:
            observed.end()
        elif kind == kinds.CLOSED:
            observed.end("closed by host")
        elif kind == kinds.FAILED:
            ending = read_ending(data)
            observed.end(ending.reason, ending.error)
        return kind in {kinds.COMPLETE, kinds.CLOSED, kinds.FAILED}

    def begin(self) -> tuple[Observer, ObservedExchange]:
        """Record the request as received so far. Later calls have no effect."""
        if self._begun is None:
            head, body = self._head, self._body.getvalue()
            self._body = BytesIO()
            if not self._is_unread:  # the client may have gone, or got its answer, before the body was complete
                self._missed = max(self._missed, (request_body(head).size or 0) - len(body))
            observer = self._connections.observer_of(head, body)
            method, headers = head.method.decode("ascii", "replace"), header_pairs(head.pairs)
            observed = observer.begin(method, self._url, headers, body, self._place, missed=self._missed)
            self._begun = observer, observed
        return self._begun
