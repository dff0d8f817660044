"""`servers`: lists the configured servers, or checks what each of them offers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from tui_host.capture.record import Place
from tui_host.capture.visible import visible
from tui_host.chat.call_arguments import canonical, read_arguments
from tui_host.cli import diagnostics
from tui_host.cli import standard_output as output
from tui_host.cli.chosen_servers import LIST_SECONDS, chosen_servers, patience, settled
from tui_host.cli.command_host import running
from tui_host.cli.server_check import Checked, Finding, check_call, check_server
from tui_host.errors import JSON, ServerError, SettingsError, TuiHostError
from tui_host.host.host import Host
from tui_host.host.schema_checker import SchemaChecker
from tui_host.servers.catalog import describe
from tui_host.servers.pool import import_sdk

if TYPE_CHECKING:
    from tui_host.cli.arguments import Arguments
    from tui_host.servers.catalog import ServerStatus
    from tui_host.servers.pool import Pool
    from tui_host.settings.schema import Settings

STDERR_LINES = 5


def servers(arguments: Arguments, settings: Settings) -> int:
    """Run the subcommand and return the exit code."""
    if arguments.action == "list":
        _list(settings, as_json=arguments.json)
        return diagnostics.DONE
    if arguments.action in {"import", "export"}:
        from tui_host.cli.server_import_command import export_servers, import_servers

        return (import_servers if arguments.action == "import" else export_servers)(arguments, settings)
    if arguments.action in {"login", "logout"}:
        from tui_host.cli.login_command import log_in_or_out

        return log_in_or_out(arguments, settings)
    if arguments.action != "check":
        from tui_host.cli.server_changes_command import change_servers

        return change_servers(arguments, settings)
    chosen = chosen_servers(settings.servers, arguments.words)
    calls = tuple((name, _arguments(name, text)) for name, text in arguments.call)
    if calls and len(chosen) != 1:
        raise SettingsError("a tool to call needs one server", "servers check --call", "name the server")
    return anyio.run(_check, settings, chosen, calls, arguments.json)


def _arguments(tool: str, text: str) -> bytes:
    try:
        return canonical(read_arguments(text))
    except TuiHostError as error:
        raise SettingsError(error.what, f"servers check --call {tool}", "write a JSON object") from error


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


async def _check(
    settings: Settings,
    names: tuple[str, ...],
    calls: tuple[tuple[str, bytes], ...],
    as_json: bool,  # noqa: FBT001 - anyio.run passes by place
) -> int:
    specs = {name: replace(settings.servers[name], enabled=True) for name in names}
    host = Host(replace(settings, servers=specs), source="ask", record=False)
    await to_thread.run_sync(import_sdk)  # otherwise the first server's time would include this import
    async with running(host) as interruption:
        for notice in host.notices:
            diagnostics.tell(notice)
        await settled(host, interruption, max(map(patience, specs.values()), default=0.0))
        assert host.pool is not None  # noqa: S101 - there once the host is ready
        assert host.recorder is not None  # noqa: S101
        await host.pool.listed(LIST_SECONDS)
        if interruption.code is not None:
            return interruption.code
        checker = SchemaChecker(settings.environment, host.pool.guard)
        try:
            checked = [await check_server(status, host.recorder, checker.misfits) for status in host.pool.statuses()]
            for name, sent in calls:
                findings = await _called(host.pool, checked[0].status, name, sent, checker)
                checked[0] = checked[0].with_findings(findings)
        finally:
            await checker.close()
        if as_json:
            value: JSON = json.loads(host.redacted_json(json.dumps([_to_json(server) for server in checked])))
            output.value({"servers": value})
        else:
            _tell(host, checked)
    return diagnostics.DONE if all(server.is_right for server in checked) else diagnostics.FAILED


async def _called(
    pool: Pool, status: ServerStatus, name: str, sent: bytes, checker: SchemaChecker
) -> tuple[Finding, ...]:
    tool = next((tool for tool in status.tools if tool.name == name and tool.problem is None), None)
    if tool is None:
        return (Finding(kind="mistake", tool=name, words="there is no such tool to call"),)
    place = Place(session="", call=f"check_{name}")
    try:
        result = await pool.call(
            status.name, name, sent, place=place, fingerprint=tool.fingerprint, on_progress=lambda _: None
        )
    except ServerError as error:
        return (Finding(kind="mistake", tool=name, words=f"the call failed: {error}"),)
    return await check_call(tool, result, checker.misfits)


def _to_json(checked: Checked) -> dict[str, JSON]:
    status = checked.status
    return {
        "name": status.name,
        "state": status.state,
        "detail": status.detail,
        "protocol": status.protocol_version,
        "era": status.era,
        "server": status.server_info,
        "ready_ms": round(status.ready_ms, 1) or None,
        "capabilities": status.capabilities,
        "instructions": status.instructions,
        "tools": [
            {
                "name": tool.name,
                "description": tool.description,
                "tokens": checked.tokens.get(tool.name),
                "problem": tool.problem,
            }
            for tool in status.tools
        ],
        "resources": [resource.uri for resource in status.resources],
        "templates": [resource.uri for resource in status.templates],
        "prompts": [prompt.name for prompt in status.prompts],
        "findings": [finding.to_json() for finding in checked.findings],
        "notices": list(status.notices),
        "exit_code": status.exit_code,
        "noise": list(checked.noise),
        "stderr": list(status.stderr),
    }


def _tell(host: Host, checked: Sequence[Checked]) -> None:
    if not checked:
        diagnostics.tell("no server is enabled")
    for server in checked:
        for row in _lines(server):
            output.text(visible(host.redacted(row), newlines=False))


def _lines(checked: Checked) -> Iterator[str]:
    status = checked.status
    version = f"{status.protocol_version} ({status.era})" if status.protocol_version else ""
    ready = f"ready in {status.ready_ms:,.0f} ms" if status.ready_ms else ""
    facts = (f"{status.name}: {status.state}", version, status.server_info, status.detail, ready)
    yield "  ".join(words for words in facts if words)
    findings = list(checked.findings)
    for tool in status.tools:
        name = tool.name or "a tool without a name"
        yield f"  {name}  ~{checked.tokens[tool.name]:,} tokens"
        yield from (f"    {words}" for words in _taken(findings, tool.name))
    for name, count in (
        ("resource", len(status.resources)),
        ("resource template", len(status.templates)),
        ("prompt", len(status.prompts)),
    ):
        if count:
            yield f"  {count:,} {name}{'s' if count > 1 else ''}"
    yield from (f"  {finding.kind}: {finding.words}" for finding in findings)
    said = [finding.words for finding in checked.findings]
    for notice in status.notices:
        if notice not in said and not any(notice == f"{tool.name}: {tool.problem}" for tool in status.tools):
            yield f"  note: {notice}"
    yield from (f"  | {row}" for row in status.stderr[-STDERR_LINES:])


def _taken(findings: list[Finding], tool: str) -> Iterator[str]:
    """Take the findings about a tool out of the list, and yield them in words."""
    for finding in [finding for finding in findings if tool and finding.tool == tool]:
        findings.remove(finding)
        yield f"{finding.kind}: {finding.words}"
