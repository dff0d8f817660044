"""What a tap asks for itself: metadata, before a client gets it. It goes the way of all requests, is recorded, and says whose it is."""

from __future__ import annotations

import anyio
from typing_extensions import override

from tui_host.tap.http.client_end import ClientEnd
from tui_host.tap.http.logins import Logins
from tui_host.tap.http.refusal import NAME
from tui_host.tap.http.relay import Relay
from tui_host.tap.http.upstream_side import UpstreamSide
from tui_host.tap.message_heads import HeadError, RequestHead, made

PATIENCE_SECONDS = 5.0
"""How long a client waits for what the tap has to ask for; after that its request goes on as it is, and for a while all others do too."""

TOO_SLOW = (
    "metadata for a login took too long to come: for a minute the tap asks for none, and leaves logins to the host"
)
ANSWER_LIMIT = 2 << 20
"""Bytes of one answer that the tap reads of its own accord."""


async def learn(relay: Relay, logins: Logins, targets: tuple[bytes, ...]) -> None:
    """Read a server's metadata, and that of the authorization servers in it.

    Args:
        relay: Whose they are.
        logins: Learns from what passes.
        targets: The relay's own names of the server's metadata.
    """
    with anyio.move_on_after(PATIENCE_SECONDS) as patience:
        for target in targets:
            if await _ask(relay, logins, target):
                logins.was_asked(target)
        async with anyio.create_task_group() as group:
            for places in logins.metadata.unknown():
                group.start_soon(_learn_server, relay, logins, places)
    if patience.cancelled_caught:
        logins.rest()
        relay.tell(TOO_SLOW)


async def _learn_server(relay: Relay, logins: Logins, places: tuple[bytes, ...]) -> None:
    for place in places:
        await _ask(relay, logins, place)
        if places not in set(logins.metadata.unknown()):
            return


async def _ask(relay: Relay, logins: Logins, target: bytes) -> bool:
    """Whether there was an answer, and not that it cannot be given now."""
    fields = (made(b"Host", b""), made(b"User-Agent", NAME.encode()), made(b"Accept", b"application/json"))
    head = RequestHead(method=b"GET", target=target, minor=1, fields=fields)
    route = logins.route(head)
    if route is None or route.shown:
        return False
    asking = _Asking()
    try:
        passed = relay.passed(head, route)
        block = route.upstream.written(passed)
    except HeadError:
        return False  # nothing of the kind is sent
    reporter = relay.reporter(passed, route.upstream.origin)
    upstream = UpstreamSide(relay, asking, route.upstream)
    relay.group.start_soon(upstream.connect, None)
    upstream.expect(head, reporter)
    upstream.write(block)
    reporter.sent_all()
    try:
        await asking.over.wait()
    finally:
        upstream.abandon()
        reporter.close()
    return asking.is_whole and asking.began[9:10] in b"234"


class _Asking(ClientEnd):
    """The place of a client. What comes has been read on its way.

    Attributes:
        over: Nothing follows.
        is_whole: The answer has come as a whole.
        began: The beginning of what has come.
    """

    def __init__(self) -> None:
        self.over = anyio.Event()
        self.is_whole = False
        self.began = b""
        self._room = ANSWER_LIMIT

    @override
    def write(self, data: bytes) -> None:
        """It has been read; what is too long to be metadata is read no further."""
        self.began = self.began or data
        self._room -= len(data)
        if self._room < 0:
            self.over.set()

    @override
    def sink(self) -> int | None:
        """None."""

    @override
    def break_off(self) -> None:
        """It is over."""
        self.over.set()

    @override
    def pause(self, *, paused: bool) -> None:
        """Nothing else is sent."""

    @override
    def tunnel(self) -> None:
        """Nobody has asked for one."""

    @override
    def answered(self, *, lasts: bool) -> None:
        """It is over."""
        self.is_whole = True
        self.over.set()

    @override
    def failed(self, words: str) -> None:
        """It is over."""
        self.over.set()

    @override
    def cut(self, words: str, *, was_reset: bool) -> None:
        """It is over."""
        self.over.set()

    @override
    def close(self, *, was_reset: bool = False) -> None:
        """It is over."""
        self.over.set()
