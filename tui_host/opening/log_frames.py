"""Tells the server and the direction of each frame in a log.

Many methods and results can go one way alone. Of the others, the request with their id tells, or the words before them.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, field

from tui_host.capture.frames.correlator import REMEMBERED, Correlator
from tui_host.capture.frames.frame_heads import FrameHead, made_frame, read_frame
from tui_host.capture.json.narrowing import mapping
from tui_host.capture.record import Direction, Record
from tui_host.errors import JSON
from tui_host.opening.import_types import Notes

_SERVER, _CLIENT = r"(?:server|child|upstream|backend)", r"(?:client|host|editor)"
_TO = r"[\s_\])-]*(?:->|→|=>|to|2)[\s_\[(-]*"
_OUT = re.compile(
    rf"{_CLIENT}{_TO}{_SERVER}|(?:→|->|=>)\s*{_SERVER}\b|\[client says\]|from[ _-]?client|\bstdin\b|>>>|-->|==>|(?:->|→|>)\s*$"
    r"|\b(?:c2s|sent|send|sending|request|outgoing|out)\b|请求|发送|输入",
    re.IGNORECASE,
)
_IN = re.compile(
    rf"{_SERVER}{_TO}{_CLIENT}|\b{_SERVER}\s*(?:→|->|=>)|\[server says\]|from[ _-]?server|\bstdout\b|<<<|<--|<==|(?:<-|←|<)\s*$"
    r"|\b(?:s2c|received|recv|receiving|response|incoming|in)\b|响应|返回|接收|输出",
    re.IGNORECASE,
)
_OF_CLIENTS = re.compile(
    r"initialize$|tools/|resources/|prompts/|completion/|logging/|server/discover"
    r"|notifications/(?:initialized|roots/list_changed)"
)
_OF_SERVERS = re.compile(
    r"sampling/|elicitation/|roots/list$|notifications/(?:message$|elicitation/|progress$|\w+/(?:list_changed|updated))"
)
_RESULTS_OF_SERVERS = frozenset(
    ("serverInfo", "tools", "resources", "resourceTemplates", "contents", "prompts", "messages", "completion")
)
"""Members that only results of a server have."""
_OF_CLAUDE = re.compile(r"(?:\[(?:info|debug|warn|error)\] )?\[([^\]]{1,60})\].*Message from (?:client|server): ?$")
"""Lines of Claude Desktop's `mcp.log`: those of all servers, with the server's name in each."""


@dataclass(slots=True)
class _LoggedServer:
    peer: str
    connection: str
    correlator: Correlator = field(default_factory=Correlator)
    asked: OrderedDict[str, Direction] = field(default_factory=OrderedDict[str, Direction])


class LogFrames:
    """Makes the records of frames and of lines of standard error."""

    def __init__(self, notes: Notes, peer: str, name: str) -> None:
        self._notes = notes
        self._peer = peer
        self._name = name
        self._guesses = 0
        self._servers: dict[str, _LoggedServer] = {}

    def line(self, text: str) -> Record:
        server = self._server("")
        return Record(
            wire="stderr",
            kind="line",
            peer=server.peer,
            direction="in",
            place=self._notes.place,
            connection=server.connection,
            data=text.encode("utf-8", "surrogatepass") + b"\n",
        )

    def frame(self, data: bytes, words: str, value: JSON) -> Record:
        server = self._server(words)
        has_no_number = b"NaN" in data or b"Infinity" in data  # Python writes these, which are no JSON
        head = (read_frame(data) if has_no_number else made_frame(value)).head
        direction = _direction(server, words, head, value)
        if direction is None:
            self._guesses += 1
            direction = "out" if head.method else "in"
        if head.method and head.id:
            server.asked[head.id] = direction
            if len(server.asked) > REMEMBERED:
                server.asked.popitem(last=False)
        return Record(
            wire="mcp",
            kind="frame",
            peer=server.peer,
            direction=direction,
            place=self._notes.place,
            connection=server.connection,
            data=data + b"\n",
            malformed=head.reason or server.correlator.see(direction, head).odd or None,
        )

    def note_guesses(self) -> None:
        """Tell the user how many directions are guesses."""
        if self._guesses:
            count = f"{self._guesses:,} message{'s' * (self._guesses != 1)}"
            what = "requests are shown as the host's, answers as a server's"
            self._notes.messages.append(f"{self._name} does not tell which way {count} went: {what}.")

    def _server(self, words: str) -> _LoggedServer:
        match = _OF_CLAUDE.search(words)
        name = self._peer if match is None else match[1]
        if name not in self._servers:
            self._servers[name] = _LoggedServer(name, self._notes.new_connection(name))
        return self._servers[name]


def _direction(server: _LoggedServer, words: str, head: FrameHead, value: JSON) -> Direction | None:
    if _OF_CLIENTS.match(head.method):
        return "out"
    if _OF_SERVERS.match(head.method):
        return "in"
    asked = server.asked.pop(head.id, None) if head.answers else None
    if asked is not None:
        return "in" if asked == "out" else "out"
    result = mapping(mapping(value).get("result"))
    # A model's answer to a server has a list of content too, but beside a role.
    if _RESULTS_OF_SERVERS & result.keys() or ("content" in result and "role" not in result):
        return "in"
    is_out, is_in = _OUT.search(words) is not None, _IN.search(words) is not None
    if is_out == is_in:
        return None
    return "out" if is_out else "in"
