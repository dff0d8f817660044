"""The frames of a log: which server each is of, and which way it went, as far as its line or its method tells."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from tui_host.capture.correlator import Correlator
from tui_host.capture.frames import made_frame, read_frame
from tui_host.capture.imports.clock import TIME
from tui_host.capture.imports.seen import Notes
from tui_host.capture.record import Direction, Draft
from tui_host.errors import JSON

_SERVER = r"(?:the )?(?:mcp[ _-]?)?(?:server|child|upstream|backend)"
_CLIENT = r"(?:the )?(?:mcp[ _-]?)?(?:client|host|editor)"
_TO = r"[\s_\])-]*(?:->|→|=>|to|2)[\s_\[(-]*"
_OUT = re.compile(
    rf">>>|-->|==>|(?:->|→|>)\s*$|{_CLIENT}{_TO}{_SERVER}|(?:→|->|=>|(?:\b|_)to)[ _-]*{_SERVER}\b|→\s*mcp|\[client says\]|\bstdin\b"
    r"|\bfrom[ _-]?client|\b(?:sent|send|sending|request|req|outgoing|out|c2s|c->s)\b|请求|发送|输入",
    re.IGNORECASE,
)
_IN = re.compile(
    rf"<<<|<--|<==|(?:<-|←|<)\s*$|{_SERVER}{_TO}{_CLIENT}|\b{_SERVER}\s*(?:→|->|=>)|(?:\b|_)to[ _-]?client|\[server says\]|\bstdout\b"
    r"|\bfrom[ _-]?server|\b(?:received|recv|receiving|response|resp|incoming|in|s2c|s->c)\b|响应|返回|接收|输出",
    re.IGNORECASE,
)
_OF_SERVERS = re.compile(
    r"sampling/|elicitation/|roots/list$|notifications/(?:message|progress|elicitation/|\w+/(?:list_changed|updated))"
)
_OF_CLIENTS = re.compile(
    r"initialize$|tools/|resources/|prompts/|completion/|logging/|server/discover"
    r"|notifications/(?:initialized|roots/list_changed)"
)
_OF_CLAUDE = re.compile(r"(?:\[(?:info|debug|warn|error)\] )?\[([^\]]{1,60})\].*Message from (?:client|server): ?$")
"""Claude Desktop's `mcp.log` has the lines of all servers, each with its server's name."""

_NAMED = re.compile(r"([-=]+>|<[-=]+|>{2,}|<{2,}|→|←)[ \t]*\[([^\][]{1,60})\][ \t]*:?[ \t]*$")
"""Behind an arrow stands who gets it, or whom it came from. What stands before one may as well be who writes the log."""
_UNNAMED = re.compile(
    rf"{_SERVER}|{_CLIENT}|(?:mcp|stdio|llm|model|agent|proxy|tap|user|me|std(?:in|out|err)|in|out|info|debug|trace|warn(?:ing)?|error)"
    r"|(?:req(?:uest)?|resp(?:onse)?|result|call|notification|message|json-?rpc|sent|send|recv|received)s?|[\d\W_]*",
    re.IGNORECASE,
)
"""What stands so in brackets and names no server."""


@dataclass(slots=True)
class _Server:
    peer: str
    connection: str
    correlator: Correlator = field(default_factory=Correlator)
    asked: dict[str, Direction] = field(default_factory=dict[str, Direction])


class Servers:
    """The servers that one log is about.

    Args:
        notes: Gives the ids.
        peer: What a server is called that the log does not name.
        name: The log's name.
    """

    def __init__(self, notes: Notes, peer: str, name: str) -> None:
        self._notes = notes
        self._peer = peer
        self._name = name
        self._guessed = 0
        self._known: dict[str, _Server] = {}

    def line(self, text: bytes) -> Draft:
        """A line of a server's standard error."""
        server = self._server("")
        return Draft(
            wire="stderr",
            kind="line",
            peer=server.peer,
            direction="in",
            connection=server.connection,
            data=text + b"\n",
        )

    def frame(self, data: bytes, before: str, value: JSON, name: str = "") -> Draft:
        """A frame.

        Args:
            data: Its bytes.
            before: What stands before it in its line.
            value: What it says.
            name: What its server is called, where the log says so beside it.
        """
        server = self._server(before, name)
        has_no_number = b"NaN" in data or b"Infinity" in data  # which no value tells from one that is a number
        head = (read_frame(data) if has_no_number else made_frame(value)).head
        direction = _direction(before, head.method)
        if direction is None:
            asked = server.asked.get(head.id) if head.answers else None
            self._guessed += asked is None
            direction = "out" if head.method or asked == "in" else "in"
        if head.method and head.id:
            server.asked[head.id] = direction
        seen = server.correlator.see(direction, head)
        return Draft(
            wire="mcp",
            kind="frame",
            peer=server.peer,
            direction=direction,
            connection=server.connection,
            data=data + b"\n",
            malformed=head.reason or seen.odd or None,
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
    found = _NAMED.search(before)
    return "" if found is None or _UNNAMED.fullmatch(found[2]) else found[2].strip()


def _direction(before: str, method: str) -> Direction | None:
    """Which way a frame went: as its method tells, else as what stands before it; None where neither does."""
    if _OF_SERVERS.match(method):
        return "in"
    if _OF_CLIENTS.match(method):
        return "out"
    return _told(TIME.sub("", before))


@lru_cache(maxsize=1 << 8)
def _told(before: str) -> Direction | None:
    """The direction that words tell; None where they tell none, or both."""
    before = _NAMED.sub(r"\1", before)
    is_out, is_in = _OUT.search(before) is not None, _IN.search(before) is not None
    return None if is_out == is_in else "out" if is_out else "in"
