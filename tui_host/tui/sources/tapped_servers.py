"""Servers of a tapped session, as known from their frames: names, lists, counts."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_host.capture.frames.frame_summary import introduced
from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.capture.json.reading import read_json
from tui_host.capture.visible import decode
from tui_host.errors import JSON
from tui_host.servers.catalog import ServerStatus, State, Tool
from tui_host.servers.tool_definitions import read_tools

if TYPE_CHECKING:
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.record import Record
    from tui_host.tui.sources.live import SessionSource

LOOK_SECONDS = 0.01
"""Longest time to read frames in one look, in seconds, so that the screen does not wait."""
MOST = 4 << 20
"""Bytes of a frame that is read."""
KEPT = 100
"""Number of a server's frames to list."""
LINES = 20
"""Number of the last lines of standard error to show."""
LISTS: Mapping[str, str] = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
"""By the method that requests a list: the member of the result that contains it."""
_INTRODUCING = {"initialize": "stateful", "server/discover": "stateless"}
_ABILITIES = "io.modelcontextprotocol/clientCapabilities"


class TappedServer:
    """A server of another host, as far as its frames were read.

    Attributes:
        status: Its status, in the form in which one's own are; a new object after each change of any fact. `ready` while
            more may come, `stopped` after that.
        client: Name and version that the host states.
        abilities: The capabilities that the host states; None if it states none.
        listed: What the server listed, by the lists' names. Lists that the host did not request are missing.
    """

    def __init__(self, name: str) -> None:
        self.status = ServerStatus(name=name, state="ready")
        self.client = ""
        self.abilities: JSON = None
        self.listed: dict[str, tuple[JSON, ...]] = {}
        self.captures: set[str] = set()
        self.newest = -1  # of the rows with its frames
        self.recent: deque[int] = deque(maxlen=KEPT)
        self.repeated: dict[int, int] = {}  # the frames of a row that has several
        self.lines: deque[int] = deque(maxlen=LINES)
        self.passed = [0, 0]  # in and out
        self.malformed = 0
        self.has_more = self.has_new_lines = self.has_failed = False

    def count(self, row: Row) -> bool:
        """Count the frames of a new or growing row; whether the row is new."""
        before = self.repeated.get(row.number, int(row.number <= self.newest))
        more = max(row.events, 1) - before
        if row.events > 1:
            self.repeated[row.number] = row.events
        self.passed[row.outward] += more
        self.malformed += bool(row.malformed) and not before
        self.has_more = True
        if not before:
            self.newest = row.number
            self.recent.append(row.number)
        return not before


class TappedServers:
    """Reads facts about servers from a session's rows.

    Args:
        source: The session.
    """

    def __init__(self, source: SessionSource) -> None:
        self._source = source
        self._servers: dict[str, TappedServer] = {}
        self._revision = 0
        self._waiting: deque[int] = deque()

    @property
    def whose(self) -> str:
        """The owner of the servers."""
        return self._source.origin

    @property
    def servers(self) -> Sequence[TappedServer]:
        """The known servers, in order of appearance."""
        return list(self._servers.values())

    @property
    def is_behind(self) -> bool:
        """Whether the last look left frames unread."""
        return bool(self._waiting)

    def look(self) -> None:
        """Read new rows for a limited time."""
        ladder = self._source.ladder
        if ladder.revision != self._revision:
            self._waiting.extend(ladder.changed_since(self._revision))
            self._revision = ladder.revision
        until = time.perf_counter() + LOOK_SECONDS
        while self._waiting and time.perf_counter() < until:
            row = ladder.rows[self._waiting.popleft()]
            if row.lane == "mcp" and row.peer:
                self._take(self._servers.setdefault(row.peer, TappedServer(row.peer)), row)
        for server in self._servers.values():
            self._sum_up(server)

    def last(self, name: str) -> Sequence[Record]:
        """Return the last frames of a server, oldest first."""
        rows = [self._source.ladder.rows[number] for number in self._servers[name].recent]
        records = (self._source.record((row.capture, row.seq)) for row in rows)
        return [record for record in records if record is not None]

    def _take(self, server: TappedServer, row: Row) -> None:
        server.captures.add(row.capture)
        if row.kind == "line":
            server.has_new_lines = True
            if row.number not in server.lines:
                server.lines.append(row.number)
        elif row.kind in {"frame", "fault"} and server.count(row) and row.kind == "frame":
            if row.exchange:
                server.status = replace(server.status, transport="http")
            if row.answer and not row.outward:
                self._answered(server, row)
            elif row.outward and row.method in _INTRODUCING:
                self._introduced(server, self._value(row))

    def _answered(self, server: TappedServer, row: Row) -> None:
        asked = self._source.ladder.partner(row.number)
        if asked is None or row.method not in {*_INTRODUCING, *LISTS}:
            return
        answer = self._value(row)
        result = mapping(answer.get("result"))
        if row.method in LISTS and not row.error:
            request = self._value(self._source.ladder.rows[asked])
            is_more = mapping(request.get("params")).get("cursor") is not None
            self._lists(server, LISTS[row.method], result, is_more=is_more)
        elif row.method in _INTRODUCING:
            server.has_failed = row.error
            reason = text_or_empty(mapping(answer.get("error")).get("message"))
            server.status = replace(server.status, detail=reason if row.error else "")
            if not row.error:
                self._introduces(server, row.method, result)

    def _introduced(self, server: TappedServer, request: Mapping[str, JSON]) -> None:
        """Take the host's name and abilities."""
        params = mapping(request.get("params"))
        meta = mapping(params.get("_meta"))
        server.client = _named(introduced(params, "clientInfo"))
        server.abilities = params.get("capabilities", meta.get(_ABILITIES))

    def _introduces(self, server: TappedServer, method: str, result: Mapping[str, JSON]) -> None:
        """Take the server's name, version and capabilities."""
        versions = items(result.get("supportedVersions")) or [result.get("protocolVersion")]
        server.status = replace(
            server.status,
            era=_INTRODUCING[method],
            server_info=_named(introduced(result, "serverInfo")),
            protocol_version=", ".join(map(text_or_empty, versions)),
            capabilities=result.get("capabilities", {}),
            instructions=text_or_empty(result.get("instructions")),
        )

    def _lists(self, server: TappedServer, name: str, result: Mapping[str, JSON], *, is_more: bool) -> None:
        before = server.listed.get(name, ()) if is_more else ()
        listed = server.listed[name] = (*before, *items(result.get(name)))
        tools = tuple(_tools(server.status.name, listed)) if name == "tools" else server.status.tools
        server.status = replace(server.status, tools=tools)

    def _value(self, row: Row) -> Mapping[str, JSON]:
        """Return a frame as a mapping; empty if unreadable."""
        try:
            return mapping(read_json(self._source.body(row))) if row.size <= MOST else {}
        except (ValueError, RecursionError):
            return {}

    def _sum_up(self, server: TappedServer) -> None:
        """Update the state, the counts and the last lines of standard error."""
        is_live = any(self._source.runs(capture) for capture in server.captures)
        state: State = "failed" if server.has_failed else "ready" if is_live else "stopped"
        if state != server.status.state:
            server.status = replace(server.status, state=state)
        if server.has_more:
            server.has_more = False
            came, went = server.passed
            server.status = replace(server.status, frames_in=came, frames_out=went, malformed=server.malformed)
        if server.has_new_lines:
            server.has_new_lines = False
            server.status = replace(server.status, stderr=tuple(self._stderr(server)))

    def _stderr(self, server: TappedServer) -> Sequence[str]:
        lines: list[str] = []
        for number in reversed(server.lines):
            if len(lines) >= LINES:
                break
            last = self._source.tail(self._source.ladder.rows[number], LINES)
            lines = [*decode(b"".join(record.data for record in last)).splitlines(), *lines]
        return lines[-LINES:]


def _tools(server: str, listed: Sequence[JSON]) -> Iterator[Tool]:
    """Yield the listed tools, without problems that only this host would have."""
    for tool in read_tools(listed, server=server, identity=""):
        yield replace(tool, problem=None) if tool.name else tool


def _named(info: Mapping[str, JSON]) -> str:
    """Return a program's name and version."""
    return " ".join(filter(None, (text_or_empty(info.get(key)) for key in ("name", "version"))))
