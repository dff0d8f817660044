"""The servers as they were in a session: their versions, their connections with their ends, their tools and what these cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui_host.answers.bodies import body_of
from tui_host.answers.recorded_tools import MOST
from tui_host.answers.request_weights import WeighedRequest, requests_of, weigh
from tui_host.answers.section import Section
from tui_host.answers.sheet import Sheet, SheetLine, Style
from tui_host.capture.connection_end import is_orderly
from tui_host.capture.frames.frame_summary import introduced
from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.capture.json.reading import read_json
from tui_host.capture.visible import line
from tui_host.llm.outline import estimate_tokens
from tui_host.settings.credential_places import in_url

if TYPE_CHECKING:
    from tui_host.answers.steps import Steps
    from tui_host.answers.wires import Wires
    from tui_host.capture.ladder.row import Row
    from tui_host.errors import JSON

EMPTY = "The servers of the session stand here once one has begun: version, connections with their ends, tools and what they cost."
_ERAS: Mapping[str, str] = {"initialize": "stateful", "server/discover": "stateless"}
_FEW = 2
"""Connections without calls that are folded into one line."""
_LAST = 5
"""Lines of standard error before an end that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConnection:
    """A connection to a server."""

    number: int  # its number among the server's connections, from 1
    row: tuple[str, int]  # its first row
    url: str  # where it leads, credentials masked; empty for a process
    end: str  # why it ended: `exited 134`; empty if it did not, or nobody saw it
    is_orderly: bool  # whether it ended as hosts end connections, or did not end
    is_used: bool  # whether a turn sent something over it
    stderr: tuple[str, ...]  # the last lines of standard error


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInSession:
    """A server as it was in the session."""

    name: str  # its name in the settings
    introduced: str  # its own name and version
    protocol: str  # the version of MCP
    era: str  # `stateful` or `stateless`; empty before its introduction
    tools: int  # number of tools that it listed
    tokens: int  # tokens of its tools in the last request that offers them, an estimate; of its list without one
    offered_in: str  # that request; empty without one
    offered: int  # number of requests that offer its tools
    requests: int  # number of all requests
    calls: int  # number of calls sent to it
    connections: tuple[ServerConnection, ...]  # its connections

    @property
    def is_idle(self) -> bool:
        """Whether it took no part: requests were made without its tools, nothing was called, and nothing failed."""
        is_used = self.offered or self.calls or not all(connection.is_orderly for connection in self.connections)
        return bool(self.requests) and not is_used


def servers_page(wires: Wires, section: Section) -> Steps[Sheet]:  # noqa: ARG001 - as all pages of headings
    """Make the page `Servers`: of the whole session, from whichever heading."""
    servers = yield from servers_of(wires)
    idle = [server for server in servers if server.is_idle]
    lines = [_line(server) for server in servers if not server.is_idle]
    if idle:
        words = f"{len(idle)} more server{'' if len(idle) == 1 else 's'} connected, none offered to the model"
        lines.append(SheetLine(key="idle", label=words, style="note", children=tuple(map(_line, idle))))
    return Sheet(what="servers of the session, as they were then", lines=lines, empty=EMPTY)


@dataclass(slots=True)
class _Server:
    introduced: str = ""
    protocol: str = ""
    era: str = ""
    tools: dict[str, int] = field(default_factory=dict[str, int])
    calls: int = 0
    connections: dict[tuple[str, str], list[Row]] = field(default_factory=dict[tuple[str, str], list["Row"]])


def servers_of(wires: Wires) -> Steps[list[ServerInSession]]:
    """Collect the servers of the session from its rows."""
    servers: dict[str, _Server] = {}
    rows = wires.ladder.rows
    last = next((number for number in range(len(rows) - 1, -1, -1) if rows[number].turn), len(rows))
    captures = set[str]()
    for row in rows:
        if row.number <= last:
            captures.add(row.capture)
        if row.lane != "mcp" or not row.peer or row.capture not in captures:
            continue  # a capture that begins after the last turn is of a program that only shows the session
        server = servers.setdefault(row.peer, _Server())
        if row.connection:
            server.connections.setdefault((row.capture, row.connection), []).append(row)
        if row.kind == "frame" and row.method == "tools/call" and row.outward and not row.answer:
            server.calls += 1
        if row.kind == "frame" and row.answer and not row.outward and not row.error:
            _take(wires, server, row)
            yield f"{row.number:,} of {len(wires.ladder.rows):,} rows"
    weighed = yield from weigh(wires, requests_of(wires, Section(is_session=True)))
    return [_of(wires, name, server, weighed) for name, server in servers.items()]


def _take(wires: Wires, server: _Server, row: Row) -> None:
    """Take a server's introduction or its list of tools."""
    if (row.method not in _ERAS and row.method != "tools/list") or row.size > MOST:
        return
    try:
        value: JSON = read_json(body_of(wires, row).text)
    except ValueError:
        return
    result = mapping(mapping(value).get("result"))
    if row.method == "tools/list":
        for tool in items(result.get("tools")):
            name = text_or_empty(mapping(tool).get("name"))
            server.tools[name] = estimate_tokens(str(tool).encode("utf-8", "backslashreplace"))
        return
    info = introduced(result, "serverInfo")
    versions = items(result.get("supportedVersions")) or [result.get("protocolVersion")]
    server.introduced = f"{text_or_empty(info.get('name'))} {text_or_empty(info.get('version'))}".strip()
    server.protocol = ", ".join(map(text_or_empty, versions))
    server.era = _ERAS[row.method]


def _of(wires: Wires, name: str, server: _Server, weighed: Sequence[WeighedRequest]) -> ServerInSession:
    tokens, offered_in, requests = sum(server.tools.values()), "", 0
    for request in weighed:
        offered = [each.tokens for each in request.tools if each.server == name]
        if offered:
            tokens, offered_in, requests = sum(offered), request.weight.request, requests + 1
    return ServerInSession(
        name=name,
        introduced=server.introduced,
        protocol=server.protocol,
        era=server.era,
        tools=len(server.tools),
        tokens=tokens,
        offered_in=offered_in,
        offered=requests,
        requests=len(weighed),
        calls=server.calls,
        connections=tuple(
            _connection(wires, number, rows) for number, rows in enumerate(server.connections.values(), start=1)
        ),
    )


def _connection(wires: Wires, number: int, rows: Sequence[Row]) -> ServerConnection:
    end = next((row.words for row in reversed(rows) if row.kind == "end"), "")
    url = next((row.url for row in rows if row.url), "")
    for span in sorted(in_url(url), key=lambda each: -each.start):
        url = f"{url[: span.start]}•••{url[span.end :]}"
    return ServerConnection(
        number=number,
        row=(rows[0].capture, rows[0].seq),
        url=wires.hide(url),
        end=end,
        is_orderly=not end or is_orderly(end),
        is_used=any(row.turn for row in rows),
        stderr=tuple(_last_lines(wires, [row for row in rows if row.kind == "line"])),
    )


def _last_lines(wires: Wires, rows: Sequence[Row]) -> Iterator[str]:
    lines: list[str] = []
    for row in reversed(rows):
        if len(lines) >= _LAST:
            break
        lines = [*body_of(wires, row).text.splitlines(), *lines]
    yield from (wires.hide(text) for text in lines[-_LAST:])


def _line(server: ServerInSession) -> SheetLine:
    about = [
        server.introduced,
        f"MCP {server.protocol}" if server.protocol else "",
        server.era,
        f"offered in {server.offered or 'none'} of {server.requests} request{'' if server.requests == 1 else 's'}"
        if server.offered or server.tools
        else "",
    ]
    tools = f"{server.tools} tool{'' if server.tools == 1 else 's'}"
    calls = f"{server.calls} call{'' if server.calls == 1 else 's'}"
    failed = [connection for connection in server.connections if not connection.is_orderly]
    unused = [connection for connection in server.connections if connection.is_orderly and not connection.is_used]
    if len(unused) < _FEW:
        unused = []
    lines = [_connection_line(connection) for connection in server.connections if connection not in unused]
    if unused:
        more = tuple(map(_connection_line, unused))
        lines.append(
            SheetLine(key="unused", label=f"{len(more)} connections without calls", style="note", children=more)
        )
    return SheetLine(
        key=server.name,
        label=line("  ".join((server.name, " · ".join(filter(None, about)))), 200),
        figures=(tools, f"~{server.tokens:,}", calls),
        mark=line(failed[-1].end, 40) if failed else "",
        style="what",
        opened=True,
        children=tuple(lines),
    )


def _connection_line(connection: ServerConnection) -> SheetLine:
    words = [f"connection {connection.number}", connection.url, connection.end or "no end recorded"]
    style: Style = "" if connection.is_orderly else "failed"
    return SheetLine(
        key=f"{connection.number}",
        label=line("  ".join(filter(None, words)), 300),
        style=style,
        target=connection.row,
        opened=not connection.is_orderly,
        children=tuple(
            SheetLine(key=f"{number}", label=f"stderr  {line(text, 300)}", style="note")
            for number, text in enumerate(connection.stderr)
        ),
    )
