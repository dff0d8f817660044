"""`servers`: lists the configured servers, and checks what each offers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from tui_host.capture.visible import visible
from tui_host.cli import diagnostics
from tui_host.cli import standard_output as output
from tui_host.cli.command_host import Interruption, report_connecting, running
from tui_host.errors import JSON, SettingsError
from tui_host.host.host import Host
from tui_host.servers.catalog import describe

if TYPE_CHECKING:
    from tui_host.cli.arguments import Arguments
    from tui_host.servers.catalog import ServerStatus
    from tui_host.settings.schema import ServerSpec, Settings

LIST_SECONDS = 30.0
"""Least time allowed for listing, after a connection's own limit for connecting."""

STDERR_LINES = 5


def servers(arguments: Arguments, settings: Settings) -> int:
    """Run the command's action."""
    if arguments.action == "list":
        _list(settings, as_json=arguments.json)
        return diagnostics.DONE
    chosen = _chosen(settings.servers, arguments.words)
    return anyio.run(_check, settings, chosen, arguments.json)


def _chosen(specs: Mapping[str, ServerSpec], names: tuple[str, ...]) -> tuple[str, ...]:
    unknown = [name for name in names if name not in specs]
    if unknown:
        configured = ", ".join(specs) or "none"
        raise SettingsError(f"no server {', '.join(unknown)}", where="servers", remedy=f"choose from {configured}")
    return names or tuple(name for name, spec in specs.items() if spec.enabled)


def _list(settings: Settings, *, as_json: bool) -> None:
    for notice in settings.notices:
        diagnostics.tell(notice)
    if as_json:
        output.value(
            {
                "servers": [
                    {"name": spec.name, "transport": spec.transport, "address": describe(spec), "enabled": spec.enabled}
                    for spec in settings.servers.values()
                ]
            }
        )
        return
    rows = [
        (spec.name, spec.transport, "enabled" if spec.enabled else "disabled", describe(spec))
        for spec in settings.servers.values()
    ]
    output.table([("NAME", "TRANSPORT", "STATE", "COMMAND OR URL"), *rows])


async def _check(settings: Settings, names: tuple[str, ...], as_json: bool) -> int:  # noqa: FBT001 - anyio.run passes by place
    specs = {name: replace(settings.servers[name], enabled=True) for name in names}
    host = Host(replace(settings, servers=specs), source="ask", record=False)
    async with running(host) as interruption:
        for notice in host.notices:
            diagnostics.tell(notice)
        statuses = await _settled(host, interruption, max(map(_patience, specs.values()), default=0.0))
        if interruption.code is not None:
            return interruption.code
        if as_json:
            value: JSON = json.loads(host.redacted_json(json.dumps([_to_json(status) for status in statuses])))
            output.value({"servers": value})
        else:
            _tell(host, statuses)
    return diagnostics.DONE if all(status.state == "ready" for status in statuses) else diagnostics.FAILED


async def _settled(host: Host, interruption: Interruption, seconds: float) -> Sequence[ServerStatus]:
    """Wait until every server is connected or has failed."""
    assert host.pool is not None  # noqa: S101 - there once the host is ready
    async with anyio.create_task_group() as group:
        interruption.then(group.cancel_scope.cancel)
        group.start_soon(report_connecting, host, lambda: True)
        await host.pool.settled(seconds)
        group.cancel_scope.cancel()
    return host.pool.statuses()


def _patience(spec: ServerSpec) -> float:
    """Return the seconds within which a connection settles by itself; infinite without a limit."""
    return 2 * (spec.timeout + max(LIST_SECONDS, spec.timeout)) if spec.timeout else math.inf


def _to_json(status: ServerStatus) -> dict[str, JSON]:
    return {
        "name": status.name,
        "state": status.state,
        "detail": status.detail,
        "protocol": status.protocol_version,
        "era": status.era,
        "server": status.server_info,
        "capabilities": status.capabilities,
        "tools": [
            {"name": tool.name, "description": tool.description, "problem": tool.problem} for tool in status.tools
        ],
        "notices": list(status.notices),
        "exit_code": status.exit_code,
        "stderr": list(status.stderr),
    }


def _tell(host: Host, statuses: Sequence[ServerStatus]) -> None:
    if not statuses:
        diagnostics.tell("no server is enabled")
    for status in statuses:
        for row in _lines(status):
            output.text(visible(host.redacted(row), newlines=False))


def _lines(status: ServerStatus) -> Iterator[str]:
    version = f"{status.protocol_version} ({status.era})" if status.protocol_version else ""
    told_of_it = (f"{status.name}: {status.state}", version, status.server_info, status.detail)
    yield "  ".join(words for words in told_of_it if words)
    reported: set[str] = set()
    for tool in status.tools:
        name = tool.name or "a tool without a name"
        problem = f"  (not offered: {tool.problem})" if tool.problem else ""
        reported.add(f"{name}: {tool.problem}")
        yield f"  {name}{problem}"
    for notice in status.notices:
        if notice not in reported:
            yield f"  note: {notice}"
    if status.state != "ready":
        yield from (f"  | {row}" for row in status.stderr[-STDERR_LINES:])
