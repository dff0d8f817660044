"""`servers`: what is configured, and what each server offers when it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import anyio

from tui_host.cli import diagnostics, output
from tui_host.errors import JSON, SettingsError
from tui_host.host.host import Host

if TYPE_CHECKING:
    from tui_host.cli.arguments import Arguments
    from tui_host.servers.catalog import ServerStatus
    from tui_host.settings.schema import ServerSpec, Settings

CHECK_SECONDS = 65
"""A little more than a connection's own limit, so that the reason is its own."""


def servers(arguments: Arguments, settings: Settings) -> int:
    """Do the command's action."""
    if arguments.action == "list":
        _list(settings, as_json=arguments.json)
        return diagnostics.DONE
    chosen = _chosen(settings.servers, arguments.words)
    return anyio.run(_check, settings, chosen, arguments.json)


def _chosen(specs: Mapping[str, ServerSpec], names: tuple[str, ...]) -> tuple[str, ...]:
    unknown = [name for name in names if name not in specs]
    if unknown:
        known = ", ".join(specs) or "none"
        raise SettingsError(
            f"no server {', '.join(unknown)} is configured", where="servers", remedy=f"there is {known}"
        )
    return names or tuple(name for name, spec in specs.items() if spec.enabled)


def _address(spec: ServerSpec) -> str:
    """The command or URL as it is configured: references, never values."""
    if spec.bundled:
        return f"bundled {spec.bundled}"
    if spec.url is not None:
        return spec.url.text
    words = [spec.command] if spec.command is not None else []
    return " ".join(template.text for template in (*words, *spec.args))


def _list(settings: Settings, *, as_json: bool) -> None:
    if as_json:
        output.value(
            {
                "servers": [
                    {"name": spec.name, "transport": spec.transport, "address": _address(spec), "enabled": spec.enabled}
                    for spec in settings.servers.values()
                ]
            }
        )
        return
    rows = [
        (spec.name, spec.transport, "enabled" if spec.enabled else "disabled", _address(spec))
        for spec in settings.servers.values()
    ]
    output.table([("NAME", "TRANSPORT", "STATE", "COMMAND OR URL"), *rows])


async def _check(settings: Settings, names: tuple[str, ...], as_json: bool) -> int:  # noqa: FBT001 - anyio.run passes by place
    host = Host(settings, source="ask", record=False)
    statuses: list[ServerStatus] = []
    async with anyio.create_task_group() as group:
        group.start_soon(host.serve)
        try:
            await host.ready()
            assert host.pool is not None  # noqa: S101 - there once the host is ready
            for name in names:
                if not settings.servers[name].enabled:
                    host.pool.start(name)
            await host.pool.settled(CHECK_SECONDS)
            statuses = [status for status in host.pool.statuses() if status.name in names]
        finally:
            host.stop()
    if as_json:
        output.value({"servers": [_to_json(status) for status in statuses]})
    else:
        for status in statuses:
            _tell(status)
    return diagnostics.DONE if all(status.state == "ready" for status in statuses) else diagnostics.FAILED


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
        "stderr": list(status.stderr),
    }


def _tell(status: ServerStatus) -> None:
    version = f"  {status.protocol_version} ({status.era})" if status.protocol_version else ""
    output.text(f"{status.name}: {status.state}{version}  {status.server_info}  {status.detail}".rstrip())
    for tool in status.tools:
        problem = f"  (not offered: {tool.problem})" if tool.problem else ""
        output.text(f"  {tool.name}{problem}")
    if status.state != "ready":
        for row in status.stderr[-5:]:
            output.text(f"  | {row}")
