"""A client's requests, read, let in, and held until they can go on: a short form until the form is complete."""

from __future__ import annotations

from dataclasses import dataclass

from tui_host.tap.http.logins import Route
from tui_host.tap.http.relay import Relay
from tui_host.tap.message_framing import Framing, request_framing
from tui_host.tap.message_heads import HeadEnd, HeadError, RequestHead, read_request

PIPELINED_LIMIT = 64 << 10
"""Bytes that a client may send ahead of an answer before reading pauses."""
NOT_NAMED = "no metadata has named the authorization server that this place stood for: log in again"

_UNREAD = b"GET"
"""The method of unreadable requests, so that their answer has a body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRequest:
    """A request ready to go on.

    Attributes:
        head: The head, with the length of a changed form.
        framing: The body's framing.
        route: Where the request goes.
        begun: Bytes that have come behind the head.
    """

    head: RequestHead
    framing: Framing
    route: Route
    begun: bytes


class ClientRequests:
    """Bytes from a client, not yet taken.

    Args:
        relay: The relay.

    Attributes:
        method: The method of the last request; GET if unreadable.
    """

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self._came = bytearray()
        self._end = HeadEnd()
        self._waiting: tuple[RequestHead, Framing, Route, int] | None = None  # with the size of its form
        self.method = _UNREAD

    def add(self, data: bytes) -> None:
        """Add new bytes."""
        self._came += data

    def take(self) -> bytes:
        """Remove and return all bytes."""
        came = bytes(self._came)
        self._came.clear()
        self._end.forget()
        return came

    @property
    def has_head(self) -> bool:
        """Whether a whole head has come, or too much for a head."""
        self._skip_blank_lines()
        try:
            return self._end.find(self._came) is not None
        except HeadError:
            return True

    @property
    def is_too_much(self) -> bool:
        """Whether reading should pause until some bytes are taken."""
        return len(self._came) > PIPELINED_LIMIT

    def next(self) -> ClientRequest | None:
        """The next request ready to go on; None without one.

        Raises:
            HeadError: The request is refused. A readable one has been recorded.
        """
        if self._waiting is None:
            self._waiting = self._read()
        if self._waiting is None or len(self._came) < self._waiting[3]:
            return None
        head, framing, route, size = self._waiting
        self._waiting = None
        begun = self.take()
        if size and self._relay.logins is not None:
            head, form = self._relay.logins.form(head, begun[:size])
            framing, begun = len(form), form + begun[size:]
        return ClientRequest(head=head, framing=framing, route=route, begun=begun)

    def _read(self) -> tuple[RequestHead, Framing, Route, int] | None:
        """Read the next head and let the request in; None while the head is incomplete.

        Raises:
            HeadError: The request is refused. A readable one has been recorded.
        """
        came, relay = self._came, self._relay
        self._skip_blank_lines()
        self.method = _UNREAD
        end = self._end.find(came)
        if end is None:
            return None
        head = read_request(bytes(came[:end]))
        self.method = head.method
        framing = request_framing(head)
        try:
            route = self._let_in(head)
        except HeadError as error:
            relay.refused(head, error)
            raise
        del came[:end]
        return head, framing, route, 0 if relay.logins is None else relay.logins.form_size(head)

    def _let_in(self, head: RequestHead) -> Route:
        """Where a request goes.

        Raises:
            HeadError: The request is refused.
        """
        route = self._relay.route(head)
        self._relay.gate.check(head, is_shown=route is not None and bool(route.shown))
        if route is None:
            raise HeadError(404, NOT_NAMED)
        return route

    def _skip_blank_lines(self) -> None:
        """Drop empty lines, which some clients send behind a body."""
        while self._came.startswith((b"\r\n", b"\n")):
            del self._came[: self._came.index(b"\n") + 1]
            self._end.forget()
