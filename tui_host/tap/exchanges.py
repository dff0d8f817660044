"""Turns what an HTTP relay reported into observed exchanges: heads as the upstream saw them, bodies as they were sent."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from io import BytesIO
from urllib.parse import urljoin

from tui_host.capture.frames.correlator import Correlator
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


@dataclass(slots=True, eq=False)
class Connections:
    """Finds the observer of each exchange: one for a model's API and for logins, and one for each client of an MCP server.

    Clients are told apart by session id or by announced endpoint, else by their names. `is_whole` tells whether connections
    are recorded from their beginning.
    """

    recorder: TapRecorder
    _peer: str
    _: KW_ONLY
    is_mcp: bool
    is_whole: bool = True
    _without_connection: Observer | None = None
    _by_agent: dict[bytes, Observer] = field(default_factory=dict[bytes, Observer])
    by_session: dict[bytes, Observer] = field(default_factory=dict[bytes, Observer])
    """By what begins a client's session: its id, or the target of an announced endpoint."""

    def observer_of(self, head: MessageHead, body: bytes) -> Observer:
        """Return the observer of a request."""
        observer = self.by_session.get(head.value(b"mcp-session-id") or head.target)
        if not self.is_mcp or (observer is None and head.method == b"POST" and not is_rpc(body)):
            if self._without_connection is None:
                wire, logins = ("mcp", "all") if self.is_mcp else ("llm", "some")
                self._without_connection = Observer(self.recorder, wire=wire, peer=self._peer, logins=logins)
            return self._without_connection
        if observer is not None:
            return observer
        listens = head.method == b"GET" and b"text/event-stream" in head.value(b"accept").lower()
        begins = listens or b'"initialize"' in body
        agent = head.value(b"user-agent")
        observer = self._by_agent.get(agent)
        if begins or observer is None:
            peer, correlator = self._peer, Correlator(is_whole=self.is_whole or begins)
            connection = self.recorder.new_connection(peer)
            observer = Observer(
                self.recorder, wire="mcp", peer=peer, connection=connection, correlator=correlator, logins="some"
            )
            _remember(self._by_agent, agent, observer)
        return observer


def _remember(observers: dict[bytes, Observer], key: bytes, observer: Observer) -> None:
    observers[key] = observer
    while len(observers) > REMEMBERED:
        del observers[next(iter(observers))]


@dataclass(slots=True, eq=False)
class TappedExchanges:
    """Records the exchanges of an HTTP relay."""

    _recorder: TapRecorder
    _connections: Connections
    _place: Place
    _open: dict[int, _TappedExchange] = field(default_factory=dict[int, "_TappedExchange"])

    def take(self, item: Item) -> None:
        """Record what an item tells."""
        self._recorder.at_ns, self._recorder.number = item.at_ns, item.number
        if item.kind == kinds.GAP:
            self.finish(f"not recorded to its end: {int(item.data):,} bytes of the traffic came too fast")
        elif item.kind == kinds.REQUEST:
            origin, _, block = item.data.partition(b"\n")
            head = read_request(block)
            url = (origin + head.target).decode("latin-1")
            self._open[item.number] = _TappedExchange(self._connections, self._place, head, url)
        # An unknown number is of an exchange that began before a recorder that died, or before a gap.
        elif item.number in self._open and self._open[item.number].take(item.kind, item.data):
            del self._open[item.number]

    def finish(self, words: str = "the tap was ended") -> None:
        """Record that exchanges in progress were cut off, when the relay ended or for another reason."""
        for number, exchange in self._open.items():
            self._recorder.number = number
            exchange.begin()[1].end("failed", words)
        self._open.clear()


@dataclass(slots=True, eq=False)
class _TappedExchange:
    """An exchange in progress, as its first item begins it."""

    _connections: Connections
    _place: Place
    _head: MessageHead
    _url: str
    # Returns all bytes without a copy, which would double a large body in memory.
    _body: BytesIO = field(default_factory=BytesIO)
    _missed: int = 0
    _is_unread: bool = False
    _begun: tuple[Observer, ObservedExchange] | None = None

    def take(self, kind: bytes, data: bytes) -> bool:
        """Record what an item tells; returns whether the exchange has ended."""
        if kind == kinds.SENT:
            if self._begun is None:
                self._missed += len(data) - self._body.write(data[: BODY_LIMIT - self._body.tell()])
            return False
        self._is_unread = kind == kinds.ASKED and data == kinds.UNREAD
        observer, observed = self.begin()
        connections = self._connections
        if kind == kinds.CHUNK:
            observed.chunk(data)
        elif kind == kinds.RESPONSE:
            response = read_response(data)
            observed.response(response.status, header_pairs(response.pairs))
            session = response.value(b"mcp-session-id")
            if connections.is_mcp and session:
                _remember(connections.by_session, session, observer)
        elif kind == kinds.ANNOUNCED:
            with suppress(ValueError):  # it is no URL: no client sends messages there
                parts = parts_of(urljoin(self._url, data.decode("latin-1")))
                target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
                for span in in_url(target):  # the session's id, to be redacted in the stream that is recorded next
                    connections.recorder.redactor.learn_value(span.name, target[span.start : span.end])
                _remember(connections.by_session, target.encode("latin-1"), observer)
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
