"""Determines the server and the direction of each frame in a log.

The direction is known from the method or the result, otherwise from the words before the frame. Their meaning differs:
`IN` means «to the server» in a server's log, and «from the server» in a host's. Messages that only one side can send
show which side has written a log.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from tui_host.capture.frames.correlator import REMEMBERED, Correlator
from tui_host.capture.frames.frame_heads import made_frame, read_frame
from tui_host.capture.json.narrowing import mapping
from tui_host.capture.record import Direction, Draft
from tui_host.errors import JSON
from tui_host.opening.import_types import Notes
from tui_host.opening.logs.log_time import TIME

SERVER = r"(?:the )?(?:mcp[ _-]?)?(?:server|child|upstream|backend)"
CLIENT = r"(?:the )?(?:mcp[ _-]?)?(?:client|host|editor)"
_TO = r"[\s_\])-]*(?:->|→|=>|to|2)[\s_\[(-]*"
_OUT_BY_NAME = re.compile(
    rf"{CLIENT}{_TO}{SERVER}|(?:→|->|=>|(?:\b|_)to)[ _-]*{SERVER}\b|→\s*mcp|\[client says\]|\bstdin\b|\bfrom[ _-]?client"
    r"|\b(?:c2s|c->s)\b",
    re.IGNORECASE,
)
_IN_BY_NAME = re.compile(
    rf"{SERVER}{_TO}{CLIENT}|\b{SERVER}\s*(?:→|->|=>)|(?:\b|_)to[ _-]?client|\[server says\]|\bstdout\b|\bfrom[ _-]?server"
    r"|\b(?:s2c|s->c)\b",
    re.IGNORECASE,
)
"""Words that name the sender or the receiver: they mean the same in every log."""
_OUT_FROM_HERE = re.compile(
    r">>>|-->|==>|(?:->|→|>)\s*$|\b(?:sent|send|sending|request|req|outgoing|out)\b|请求|发送|输入", re.IGNORECASE
)
_IN_TO_HERE = re.compile(
    r"<<<|<--|<==|(?:<-|←|<)\s*$|\b(?:received|recv|receiving|response|resp|incoming|in)\b|响应|返回|接收|输出",
    re.IGNORECASE,
)
"""Words whose meaning depends on the side that writes the log."""
_OF_CLIENTS = re.compile(
    r"initialize$|tools/|resources/|prompts/|completion/|logging/|server/discover"
    r"|notifications/(?:initialized|roots/list_changed)"
)
_OF_SERVERS = re.compile(
    r"sampling/|elicitation/|roots/list$|notifications/(?:message$|elicitation/|\w+/(?:list_changed|updated))"
)
_MOSTLY_OF_SERVERS = "notifications/progress"
_RESULTS = {
    "serverInfo": "initialize",
    "tools": "tools/list",
    "resources": "resources/list",
    "resourceTemplates": "resources/templates/list",
    "contents": "resources/read",
    "prompts": "prompts/list",
    "messages": "prompts/get",
    "completion": "completion/complete",
    "roots": "roots/list",
    "action": "elicitation/create",
}
"""The method that a result answers, by a member that only this method's results have."""
NAMED = re.compile(r"([-=]+>|<[-=]+|>{2,}|<{2,}|→|←)[ \t]*\[([^\][]{1,60})\][ \t]*:?[ \t]*$")
"""An arrow, followed by the server's name."""
_NUMBERS = re.compile(r"(?<![A-Za-z])\d+(?![A-Za-z])")
_CLEAR = 2
"""How many times more evidence must speak for a meaning than against it."""


class _Meaning(NamedTuple):
    """The usual meaning of words: a direction or None, and whether they name the sender or the receiver."""

    direction: Direction | None
    is_named: bool


class _FrameDirections:
    """Determines directions, and learns from messages that have only one possible direction."""

    def __init__(self) -> None:
        self._as_usual: Counter[bool] = Counter()
        self._turned: Counter[bool] = Counter()

    def direction(self, before: str, method: str, value: JSON, asked: Sequence[Direction]) -> Direction | None:
        """Return the direction of a message; None if unknown."""
        word = _without_numbers(before)
        usual = _usual_meaning(word)
        meaning, is_sure = self._meaning(usual)
        certain = certain_direction(method, value)
        if not method and ((is_sure and usual.is_named) or (not word and len(asked) == 1)):
            certain = None  # a named side, or the only open request, is stronger evidence than a result's members
        if certain:
            if usual.direction is not None:
                (self._as_usual if usual.direction == certain else self._turned)[usual.is_named] += 1
            return certain
        if method == _MOSTLY_OF_SERVERS:
            return meaning if meaning and is_sure else "in"
        return _opposite(asked[0]) if asked and not is_sure else meaning

    def _meaning(self, usual: _Meaning) -> tuple[Direction | None, bool]:
        """Return the direction that words mean in this log, and whether no message contradicts it."""
        if usual.direction is None:
            return None, False
        straight, turned = self._as_usual[usual.is_named], self._turned[usual.is_named]
        if not straight + turned:
            return usual.direction, usual.is_named
        if straight >= _CLEAR * turned:
            return usual.direction, not turned
        return (_opposite(usual.direction), not straight) if turned >= _CLEAR * straight else (None, False)


def _method_direction(method: str) -> Direction | None:
    """Return the only possible direction of a request or notification; None if both sides can send it."""
    if _OF_CLIENTS.match(method):
        return "out"
    return "in" if _OF_SERVERS.match(method) else None


def answered_method(result: JSON) -> str:
    """Return the method that a result answers, judged by its members; empty if unknown."""
    members = mapping(result)
    for name, method in _RESULTS.items():
        if name in members:
            return method
    if isinstance(members.get("content"), list) and "role" not in members:
        return "tools/call"
    return "sampling/createMessage" if {"role", "content", "model"} <= members.keys() else ""


def certain_direction(method: str, value: JSON) -> Direction | None:
    """Return the only possible direction of a message; None if both are possible."""
    if method:
        return _method_direction(method)
    asked = _method_direction(answered_method(mapping(value).get("result")))
    return _opposite(asked) if asked else None


def _opposite(direction: Direction) -> Direction:
    """Return the other direction."""
    return "in" if direction == "out" else "out"


def tells_direction(words: str) -> bool:
    """Whether words have a usual meaning as a direction."""
    return _usual_meaning(_without_numbers(words)).direction is not None


@lru_cache(maxsize=1 << 8)
def _without_numbers(before: str) -> str:
    """Return the words before a message, without times, numbers and the server's name."""
    return " ".join(_NUMBERS.sub("", NAMED.sub(r"\1", TIME.sub("", before))).lower().split())


@lru_cache(maxsize=1 << 8)
def _usual_meaning(word: str) -> _Meaning:
    is_out, is_in = _OUT_BY_NAME.search(word) is not None, _IN_BY_NAME.search(word) is not None
    if is_out != is_in:
        return _Meaning("out" if is_out else "in", is_named=True)
    is_out, is_in = _OUT_FROM_HERE.search(word) is not None, _IN_TO_HERE.search(word) is not None
    return _Meaning(None if is_out == is_in else "out" if is_out else "in", is_named=False)


_DIRECTIONS: Sequence[Direction] = ("out", "in")
_OF_CLAUDE = re.compile(r"(?:\[(?:info|debug|warn|error)\] )?\[([^\]]{1,60})\].*Message from (?:client|server): ?$")
"""Lines of Claude Desktop's `mcp.log`: lines of all servers, with the server's name in each."""
_NO_NAME = re.compile(
    rf"{SERVER}|{CLIENT}|(?:mcp|stdio|llm|model|agent|proxy|tap|user|me|std(?:in|out|err)|in|out|info|debug|trace|warn(?:ing)?|error)"
    r"|(?:req(?:uest)?|resp(?:onse)?s?|result|call|notification|message|json-?rpc|sent|send|recv|received)s?|[\d\W_]*",
    re.IGNORECASE,
)
"""Words in brackets that are not a server's name."""


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
        """Return the directions of open requests with an id, the latest first."""
        directions: list[Direction] = [way for way in _DIRECTIONS if (way, identity) in self.open_requests]
        return sorted(directions, key=lambda way: -self.open_requests[way, identity])


class LogServers:
    """Makes the frames and standard-error lines of a log."""

    def __init__(self, notes: Notes, peer: str, name: str) -> None:
        self._notes = notes
        self._peer = peer
        self._name = name
        self._directions = _FrameDirections()
        self._guesses = 0
        self._servers: dict[str, _Server] = {}

    def line(self, text: bytes) -> Draft:
        """Make the record of a line of standard error."""
        server = self._server("")
        return Draft(
            wire="stderr",
            kind="line",
            peer=server.peer,
            direction="in",
            place=self._notes.place,
            connection=server.connection,
            data=text + b"\n",
        )

    def frame(self, data: bytes, before: str, value: JSON, name: str = "") -> Draft:
        """Make the record of a frame."""
        server = self._server(before, name)
        has_no_number = b"NaN" in data or b"Infinity" in data  # Python accepts these non-JSON numbers, so look for them
        head = (read_frame(data) if has_no_number else made_frame(value)).head
        asked = server.asked(head.id) if head.answers else ()
        direction = self._directions.direction(before, head.method, value, asked)
        if direction is None:
            self._guesses += 1
            direction = "out" if head.method else "in"
        if head.answers:
            server.open_requests.pop((_opposite(direction), head.id), None)
        elif head.method and head.id:
            server.ask(direction, head.id)
        odd = server.correlator.see(direction, head).odd
        return Draft(
            wire="mcp",
            kind="frame",
            peer=server.peer,
            direction=direction,
            place=self._notes.place,
            connection=server.connection,
            data=data + b"\n",
            malformed=head.reason or odd or None,
        )

    def note_guesses(self) -> None:
        """Tell the user how many directions are guesses."""
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
    """Return the server's name in the words before a frame; empty without one."""
    if match := _OF_CLAUDE.search(before):
        return match[1]
    match = NAMED.search(before)
    return "" if match is None or _NO_NAME.fullmatch(match[2]) else match[2].strip()
