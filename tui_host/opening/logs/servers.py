"""The frames of a log: which server each is of, and which way it went, as far as its line or its method tells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from tui_host.capture.frames.correlator import REMEMBERED, Correlator
from tui_host.capture.frames.frame_heads import made_frame, read_frame
from tui_host.capture.record import Direction, Draft
from tui_host.errors import JSON
from tui_host.opening.drafts import Notes
from tui_host.opening.logs.ways import CLIENT, NAMED, SERVER, Ways, other

WAYS: Sequence[Direction] = ("out", "in")
_OF_CLAUDE = re.compile(r"(?:\[(?:info|debug|warn|error)\] )?\[([^\]]{1,60})\].*Message from (?:client|server): ?$")
"""Claude Desktop's `mcp.log` has the lines of all servers, each with its server's name."""

_UNNAMED = re.compile(
    rf"{SERVER}|{CLIENT}|(?:mcp|stdio|llm|model|agent|proxy|tap|user|me|std(?:in|out|err)|in|out|info|debug|trace|warn(?:ing)?|error)"
    r"|(?:req(?:uest)?|resp(?:onse)?|result|call|notification|message|json-?rpc|sent|send|recv|received)s?|[\d\W_]*",
    re.IGNORECASE,
)
"""What stands so in brackets and names no server."""


@dataclass(slots=True)
class _Server:
    peer: str
    connection: str
    correlator: Correlator = field(default_factory=Correlator)
    asked: dict[tuple[Direction, str], int] = field(default_factory=dict[tuple[Direction, str], int])
    count: int = 0

    def ask(self, way: Direction, identity: str) -> None:
        """A request went that way."""
        self.count += 1
        self.asked.pop((way, identity), None)
        self.asked[way, identity] = self.count
        if len(self.asked) > REMEMBERED:
            del self.asked[next(iter(self.asked))]

    def asking(self, identity: str) -> Sequence[Direction]:
        """Which ways requests went that have this id and no answer, the last one first."""
        ways: list[Direction] = [way for way in WAYS if (way, identity) in self.asked]
        return sorted(ways, key=lambda way: -self.asked[way, identity])


class Servers:
    """The servers that one log is about.

    Args:
        notes: Gives the ids.
        peer: What a server is called that the log does not name.
        name: The log's name.
        ways: What its words mean, as far as is known before it is read.
    """

    def __init__(self, notes: Notes, peer: str, name: str, ways: Ways) -> None:
        self._notes = notes
        self._peer = peer
        self._name = name
        self._ways = ways
        self._guessed = 0
        self._known: dict[str, _Server] = {}

    def line(self, text: bytes, name: str = "") -> Draft:
        """A line of the standard error of a server, which is called so where the log says it."""
        server = self._server("", name)
        return Draft(
            wire="stderr",
            kind="line",
            peer=server.peer,
            direction="in",
            connection=server.connection,
            data=text + b"\n",
        )

    def frame(self, data: bytes, before: str, value: JSON, name: str = "", cut: str = "") -> Draft:
        """A frame.

        Args:
            data: Its bytes.
            before: What stands before it in its line.
            value: What it says.
            name: What its server is called, where the log says so beside it.
            cut: Why its end is not there; empty where it is. A log may have the same whole elsewhere: it asks and answers nothing.
        """
        server = self._server(before, name)
        has_no_number = b"NaN" in data or b"Infinity" in data  # which no value tells from one that is a number
        head = (read_frame(data) if has_no_number else made_frame(value)).head
        asked = server.asking(head.id) if head.answers else ()
        direction = self._ways.way(server.peer, before, head.method, value, asked)
        if direction is None:
            self._guessed += 1
            direction = "out" if head.method else "in"
        if head.answers and not cut:
            server.asked.pop((other(direction), head.id), None)
        elif head.method and head.id and not cut:
            server.ask(direction, head.id)
        odd = "" if cut else server.correlator.see(direction, head).odd
        return Draft(
            wire="mcp",
            kind="frame",
            peer=server.peer,
            direction=direction,
            connection=server.connection,
            data=data + b"\n",
            malformed=cut or head.reason or odd or None,
        )

    def tell_guesses(self) -> None:
        """Of frames that neither their line, nor their method, nor what they answer says it of, a person is told so."""
        if self._guessed:
            count = f"{self._guessed:,} message{'s' * (self._guessed != 1)}"
            what = "requests are shown as the host's, answers as a server's"
            self._notes.told.append(f"{self._name} does not tell which way {count} went: {what}.")

    def _server(self, before: str, name: str = "") -> _Server:
        name = _named(before) or name or self._peer
        server = self._known.get(name)
        if server is None:
            server = self._known[name] = _Server(name, self._notes.new_connection(name))
        return server


@lru_cache(maxsize=1 << 8)
def _named(before: str) -> str:
    """The server's name, where what stands before a frame has one; else empty."""
    if found := _OF_CLAUDE.search(before):
        return found[1]
    found = NAMED.search(before)
    return "" if found is None or _UNNAMED.fullmatch(found[2]) else found[2].strip()
