"""The frames of a log, each with its server and direction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from tui_host.capture.frames.correlator import REMEMBERED, Correlator
from tui_host.capture.frames.frame_heads import made_frame, read_frame
from tui_host.capture.record import Direction, Draft
from tui_host.errors import JSON
from tui_host.opening.import_types import Notes
from tui_host.opening.logs.frame_direction import CLIENT, NAMED, SERVER, FrameDirections, opposite

_DIRECTIONS: Sequence[Direction] = ("out", "in")
_OF_CLAUDE = re.compile(r"(?:\[(?:info|debug|warn|error)\] )?\[([^\]]{1,60})\].*Message from (?:client|server): ?$")
"""Claude Desktop's `mcp.log` has the lines of all servers, each with its server's name."""
_NO_NAME = re.compile(
    rf"{SERVER}|{CLIENT}|(?:mcp|stdio|llm|model|agent|proxy|tap|user|me|std(?:in|out|err)|in|out|info|debug|trace|warn(?:ing)?|error)"
    r"|(?:req(?:uest)?|resp(?:onse)?s?|result|call|notification|message|json-?rpc|sent|send|recv|received)s?|[\d\W_]*",
    re.IGNORECASE,
)
"""Words in brackets that name no server."""


@dataclass(slots=True)
class _Server:
    peer: str
    connection: str
    correlator: Correlator = field(default_factory=Correlator)
    open_requests: dict[tuple[Direction, str], int] = field(default_factory=dict[tuple[Direction, str], int])
    count: int = 0

    def ask(self, direction: Direction, identity: str) -> None:
        self.count += 1
        self.open_requests.pop((direction, identity), None)
        self.open_requests[direction, identity] = self.count
        if len(self.open_requests) > REMEMBERED:
            del self.open_requests[next(iter(self.open_requests))]

    def asked(self, identity: str) -> Sequence[Direction]:
        """The directions of the open requests with an id, the latest first."""
        directions: list[Direction] = [way for way in _DIRECTIONS if (way, identity) in self.open_requests]
        return sorted(directions, key=lambda way: -self.open_requests[way, identity])


class LogServers:
    """Makes the frames and lines of standard error of one log."""

    def __init__(self, notes: Notes, peer: str, name: str, directions: FrameDirections) -> None:
        self._notes = notes
        self._peer = peer
        self._name = name
        self._directions = directions
        self._guesses = 0
        self._servers: dict[str, _Server] = {}

    def line(self, text: bytes, name: str = "") -> Draft:
        """A line of a server's standard error."""
        server = self._server("", name)
        return Draft(
            wire="stderr",
            kind="line",
            peer=server.peer,
            direction="in",
            connection=server.connection,
            data=text + b"\n",
        )

    def frame(self, data: bytes, before: str, value: JSON, name: str = "") -> Draft:
        """A frame."""
        server = self._server(before, name)
        has_no_number = b"NaN" in data or b"Infinity" in data  # a parsed value does not show that these are no JSON
        head = (read_frame(data) if has_no_number else made_frame(value)).head
        asked = server.asked(head.id) if head.answers else ()
        direction = self._directions.direction(before, head.method, value, asked)
        if direction is None:
            self._guesses += 1
            direction = "out" if head.method else "in"
        if head.answers:
            server.open_requests.pop((opposite(direction), head.id), None)
        elif head.method and head.id:
            server.ask(direction, head.id)
        odd = server.correlator.see(direction, head).odd
        return Draft(
            wire="mcp",
            kind="frame",
            peer=server.peer,
            direction=direction,
            connection=server.connection,
            data=data + b"\n",
            malformed=head.reason or odd or None,
        )

    def note_guesses(self) -> None:
        """Tell a person how many directions are guesses."""
        if self._guesses:
            count = f"{self._guesses:,} message{'s' * (self._guesses != 1)}"
            what = "requests are shown as the host's, answers as a server's"
            self._notes.messages.append(f"{self._name} does not tell which way {count} went: {what}.")

    def _server(self, before: str, name: str = "") -> _Server:
        name = _server_name(before) or name or self._peer
        server = self._servers.get(name)
        if server is None:
            server = self._servers[name] = _Server(name, self._notes.new_connection(name))
        return server


@lru_cache(maxsize=1 << 8)
def _server_name(before: str) -> str:
    """The name of the server in the words before a frame; empty without one."""
    if match := _OF_CLAUDE.search(before):
        return match[1]
    match = NAMED.search(before)
    return "" if match is None or _NO_NAME.fullmatch(match[2]) else match[2].strip()
