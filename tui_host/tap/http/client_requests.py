"""Requests as a client sends them, until each can go on: read, let in, and held where something has to be there first.

That is the rest of a short form, which is looked into, or what the tap has to know of a server before its client does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from tui_host.tap.http import loop_detection as rounds
from tui_host.tap.http.logins import Logins, Route
from tui_host.tap.http.own_requests import learn
from tui_host.tap.http.relay import Relay
from tui_host.tap.message_framing import Framing, request_framing
from tui_host.tap.message_heads import HeadEnd, HeadError, RequestHead, read_request

PIPELINED_LIMIT = 64 << 10
"""Bytes that a client may send ahead of an answer before no more is read from it."""
NOT_NAMED = "no metadata of the upstream names the authorization server that this place stood for: sign in anew"

_UNREAD = b"GET"
"""What a request counts as that cannot be read: one whose answer has a body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """A request that can go on.

    Attributes:
        head: As it is to be taken: a form in it is the one that is meant.
        framing: How its body is framed.
        route: Where it goes.
        begun: What has come behind its head.
    """

    head: RequestHead
    framing: Framing
    route: Route
    begun: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _LetIn:
    """A request that the gate has let in.

    Attributes:
        head: As the client sent it.
        framing: How its body is framed.
        route: Where it goes; None for a place that nobody has named yet.
        form_size: Bytes of its body that have to be there before it can go on.
    """

    head: RequestHead
    framing: Framing
    route: Route | None
    form_size: int


class Arriving:
    """What a client has sent that nobody has taken yet.

    Args:
        relay: What it asks.
        learned: Called once a request need wait no longer for what the tap had to know.

    Attributes:
        rounds: How many taps have marked the connection.
        is_learning: A request waits for what the tap has to know.
        method: Of the request whose head was looked at last, as far as that could be read.
    """

    def __init__(self, relay: Relay, learned: Callable[[], None]) -> None:
        self._relay = relay
        self._learned = learned
        self._came = bytearray()
        self._end = HeadEnd()
        self._let_in: _LetIn | None = None
        self.rounds = 0
        self.is_learning = False
        self.method = _UNREAD

    def add(self, data: bytes) -> None:
        """It has come."""
        self._came += data

    def take(self) -> bytes:
        """All that has come, as it is."""
        came = bytes(self._came)
        self._came.clear()
        self._end.forget()
        return came

    @property
    def has_head(self) -> bool:
        """Whether the head of another request has come, or so much that it is none."""
        self._skip_blank_lines()
        try:
            return self._end.find(self._came) is not None
        except HeadError:
            return True

    @property
    def is_too_much(self) -> bool:
        """Whether no more should be read before this has been taken."""
        return len(self._came) > PIPELINED_LIMIT

    def next(self) -> Arrived | None:
        """The next request that can go on; None while there is none.

        Raises:
            HeadError: It is refused, which has been noted if it could be read.
        """
        if self.is_learning:
            return None
        if self._let_in is None:
            self._let_in = self._read()
        found = self._let_in
        if found is None or self.is_learning or len(self._came) < found.form_size:
            return None
        self._let_in = None
        head, framing, size, begun = found.head, found.framing, found.form_size, self.take()
        if found.route is None:
            raise self._refused(head, HeadError(404, NOT_NAMED))
        if size and self._relay.logins is not None:
            head, form = self._relay.logins.form(head, begun[:size])
            framing, begun = len(form), form + begun[size:]
        return Arrived(head=head, framing=framing, route=found.route, begun=begun)

    def _read(self) -> _LetIn | None:
        """The next request's head, if it is there; what the tap has to know for it is asked for.

        Raises:
            HeadError: It is refused, which has been noted if it could be read.
        """
        came = self._came
        self._skip_blank_lines()
        self.method = _UNREAD
        end = self._end.find(came)
        if end is None:
            return None
        head = read_request(bytes(came[:end]))
        self.method = head.method
        framing = request_framing(head)
        route = self._relay.route(head)
        try:
            self._relay.gate.check(head, is_shown=route is not None and bool(route.shown))
            rounds.check(self.rounds)
        except HeadError as error:
            raise self._refused(head, error) from None
        del came[:end]
        logins = self._relay.logins
        if logins is None:
            return _LetIn(head=head, framing=framing, route=route, form_size=0)
        let_in = _LetIn(head=head, framing=framing, route=route, form_size=logins.form_size(head))
        unread = logins.unread(head)
        if unread is not None:
            self.is_learning = True
            self._relay.group.start_soon(self._learn, logins, unread, let_in)
        return let_in

    def _skip_blank_lines(self) -> None:
        """Some clients end a body with a line that is none of it."""
        while self._came.startswith((b"\r\n", b"\n")):
            del self._came[: self._came.index(b"\n") + 1]
            self._end.forget()

    def _refused(self, head: RequestHead, error: HeadError) -> HeadError:
        self._relay.refused(head, error)
        return error

    async def _learn(self, logins: Logins, unread: tuple[bytes, ...], waiting: _LetIn) -> None:
        await learn(self._relay, logins, unread)
        self._let_in = replace(waiting, route=self._relay.route(waiting.head))
        self.is_learning = False
        asyncio.get_running_loop().call_soon(self._learned)  # what goes wrong there ends no task of the relay's
