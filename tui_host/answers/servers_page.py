"""The servers as they were in a session: their versions, their connections with their ends, their tools and what these cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tui_host.answers.bodies import body_of, first_data
from tui_host.answers.request_weights import requests_of, weigh
from tui_host.answers.sheet import Sheet, SheetLine, Value
from tui_host.answers.values import parsed
from tui_host.answers.wires import MOST, Section, Wires
from tui_host.capture.connection_end import ORDERLY
from tui_host.capture.frames.frame_heads import introduced
from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.capture.ladder.row import Row
from tui_host.capture.visible import line
from tui_host.errors import JSON
from tui_host.llm.outline import estimate_tokens
from tui_host.servers.catalog import ERAS
from tui_host.settings.credential_places import in_url

EMPTY = "The servers of the session stand here once one has begun: version, connections with their ends, tools and what they cost."
_ERAS: Mapping[str, str] = {"initialize": ERAS["stateful"], "server/discover": ERAS["stateless"]}
_Connection: TypeAlias = tuple[SheetLine, str, bool, bool]
_FEW = 2  # connections without calls that are folded into one line
_LAST = 5  # lines of standard error before an end that are shown


def servers_page(wires: Wires, section: Section) -> Sheet:  # noqa: ARG001 - as all pages of headings
    """Make the page `Servers`: of the whole session, from whichever heading."""
    servers = _servers(wires)
    weighed = weigh(wires, requests_of(wires, Section(is_session=True)))
    lines: list[SheetLine] = []
    idle: list[SheetLine] = []
    for name, server in servers.items():
        connections = [_connection(wires, number, rows) for number, rows in enumerate(server.connections.values(), 1)]
        offered = [
            (request.request, tokens)
            for request in weighed
            if (tokens := sum(tool.tokens for tool in request.tools if tool.server == name))
        ]
        about = [server.introduced, f"MCP {server.protocol}" if server.protocol else "", server.era]
        if offered or server.tools:
            requests = f"{len(weighed)} request{'' if len(weighed) == 1 else 's'}"
            about.append(f"offered in {len(offered) or 'none'} of {requests}")
        unused = [shown for shown, _, is_fine, is_used in connections if is_fine and not is_used]
        unused = unused if len(unused) >= _FEW else []
        below = [shown for shown, *_ in connections if shown not in unused]
        if unused:
            words = f"{len(unused)} connections without calls"
            below.append(SheetLine(key="unused", label=words, style="note", children=tuple(unused)))
        failed = [end for _, end, is_fine, _ in connections if not is_fine]
        definitions = (str(tool).encode("utf-8", "backslashreplace") for tool in server.tools.values())
        tokens = offered[-1][1] if offered else sum(map(estimate_tokens, definitions))
        label = line("  ".join((name, " · ".join(filter(None, about)))), 200)
        mark = line(failed[-1], 40) if failed else "tools changed" * bool(server.changes)
        values: dict[str, Value] = {"tools": len(server.tools), "tokens": tokens, "calls": server.calls}
        shown = SheetLine(key=name, label=label, values=values, mark=mark, style="what", opened=True)
        is_offered = offered or server.calls or failed or not weighed
        (lines if is_offered else idle).append(replace(shown, children=(*server.changes, *below)))
    if idle:
        words = f"{len(idle)} more server{'' if len(idle) == 1 else 's'} connected, none offered to the model"
        lines.append(SheetLine(key="idle", label=words, style="note", children=tuple(idle)))
    return Sheet(what="servers of the session, as they were then", lines=lines, empty=EMPTY)


@dataclass(slots=True)
class _Server:
    introduced: str = ""
    protocol: str = ""
    era: str = ""
    tools: dict[str, JSON] = field(default_factory=dict[str, JSON])  # their definitions, by name
    before: Mapping[str, JSON] = field(default_factory=dict[str, JSON])  # those of the list before
    changes: list[SheetLine] = field(default_factory=list[SheetLine])
    calls: int = 0
    connections: dict[tuple[str, str], list[Row]] = field(default_factory=dict[tuple[str, str], list[Row]])


def _servers(wires: Wires) -> dict[str, _Server]:
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
        is_answer = row.kind == "frame" and row.answer and not row.outward and not row.error and row.size <= MOST
        if not is_answer or (row.method not in _ERAS and row.method != "tools/list"):
            continue
        result = mapping(mapping(parsed("".join(body_of(wires, row).pieces()))).get("result"))
        if row.method == "tools/list":
            asked = wires.ladder.partner_of(row)
            if asked is None or not mapping(mapping(parsed(first_data(wires, asked))).get("params")).get("cursor"):
                server.before, server.tools = server.tools, {}  # the first page of a list
            server.tools |= {text_or_empty(mapping(tool).get("name")): tool for tool in items(result.get("tools"))}
            if server.before and not result.get("nextCursor"):
                server.changes += _tool_changes(wires, row, server.before, server.tools)
            continue
        info = introduced(result, "serverInfo")
        versions = items(result.get("supportedVersions")) or [result.get("protocolVersion")]
        server.introduced = f"{text_or_empty(info.get('name'))} {text_or_empty(info.get('version'))}".strip()
        server.protocol = ", ".join(map(text_or_empty, versions))
        server.era = _ERAS[row.method]
    return servers


def _tool_changes(wires: Wires, row: Row, old: Mapping[str, JSON], new: Mapping[str, JSON]) -> Iterator[SheetLine]:
    """Yield a line that says what a list of tools has changed, if it has."""
    changed = [name for name in new if name in old and old[name] != new[name]]
    changes = {"new": new.keys() - old.keys(), "changed": changed, "gone": old.keys() - new.keys()}
    words = "; ".join(f"{what}: {', '.join(sorted(names))}" for what, names in changes.items() if names)
    turn = wires.ladder.sections.turn_of(row.number)
    label = f"tools changed ({wires.called(row)}{f', turn {turn}' if turn else ''})  {line(words, 300)}"
    if words:
        yield SheetLine(key=label, label=label, style="new", target=(row.capture, row.seq), is_wrapped=True)


def _connection(wires: Wires, number: int, rows: Sequence[Row]) -> _Connection:
    end = next((row.words for row in reversed(rows) if row.kind == "end"), "")
    is_fine = not end or end in ORDERLY
    url = next((row.url for row in rows if row.url), "")
    for span in sorted(in_url(url), key=lambda each: -each.start):
        url = f"{url[: span.start]}•••{url[span.end :]}"
    errors: list[str] = []
    for row in reversed([row for row in rows if row.kind == "line"]):
        if len(errors) < _LAST:
            errors = [*"".join(body_of(wires, row).pieces()).splitlines(), *errors]
    words = f"connection {number}", wires.hide(url), end or "still connected when the record ends"
    shown = SheetLine(
        key=f"{number}",
        label=line("  ".join(filter(None, words)), 300),
        style="" if is_fine else "failed",
        target=(rows[0].capture, rows[0].seq),
        opened=not is_fine,
        children=tuple(
            SheetLine(key=f"{place}", label=f"stderr  {line(wires.hide(text), 300)}", style="note")
            for place, text in enumerate(errors[-_LAST:])
        ),
    )
    return shown, end, is_fine, any(row.turn for row in rows)
