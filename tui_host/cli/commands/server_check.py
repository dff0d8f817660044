"""`servers check`: connects to servers, and checks all that they offer."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_host.capture.visible import line, visible
from tui_host.cli import diagnostics, options, output
from tui_host.cli.hosting import (
    LIST_SECONDS,
    chosen_servers,
    host_of,
    pool_of,
    print_value,
    run_async,
    running,
    settled,
)
from tui_host.errors import JSON, ServerError, SettingsError, TuiHostError

if TYPE_CHECKING:
    from tui_host.cli.server_findings import Checked, Finding, Misfits
    from tui_host.servers.catalog import ServerStatus
    from tui_host.servers.pool import Pool
    from tui_host.settings.schema import ServerSpec, Settings

_STDERR_LINES = 5
_INSTRUCTIONS_CHARACTERS = 600


def add(parser: options.CommandParser) -> None:
    """Add the options."""
    options.json_too(parser)
    parser.words("*", "SERVER", "only these servers", str)
    parser.add_argument(
        "--call",
        nargs=2,
        action="append",
        default=[],
        metavar=("TOOL", "JSON"),
        help="call a tool of the one server, and check the result against its output schema; repeatable",
    )


def run(args: Namespace, settings: Settings) -> int:
    """Check the servers, print what was found, and return the exit code.

    Raises:
        SettingsError: A server is not configured, or a call's arguments are malformed.
    """
    chosen = chosen_servers(settings.servers, args.words)
    calls = [(name, _arguments(name, text)) for name, text in args.call]
    if calls and len(chosen) != 1:
        raise SettingsError("a tool to call needs one server", "servers check --call", "name the server")
    # Naming a server is consent to start it.
    specs = {name: replace(settings.servers[name], enabled=True) for name in chosen}
    return run_async(_check, settings, specs, calls, args)


def _arguments(tool: str, text: str) -> bytes:
    from tui_host.chat.call_arguments import canonical, read_arguments

    try:
        return canonical(read_arguments(text))
    except TuiHostError as error:
        raise SettingsError(error.what, f"servers check --call {tool}", "write a JSON object") from error


async def _check(
    settings: Settings, specs: Mapping[str, ServerSpec], calls: Sequence[tuple[str, bytes]], args: Namespace
) -> int:
    from anyio import to_thread

    from tui_host.cli.server_findings import check_server
    from tui_host.servers.pool import import_sdk

    host = host_of(settings, specs)
    await to_thread.run_sync(import_sdk)  # otherwise the first server's time would include this import
    async with running(host) as interruption:
        await settled(host, interruption)
        assert host.recorder is not None  # noqa: S101 - there once the host is ready
        pool = pool_of(host)
        await pool.listed(LIST_SECONDS)  # ready servers may still be listing
        if interruption.code is not None:
            return interruption.code
        checked = [await check_server(status, host.recorder, host.misfits) for status in pool.statuses()]
        for name, sent in calls:
            findings = await _call(pool, checked[0].status, name, sent, host.misfits)
            checked[0] = replace(checked[0], findings=(*checked[0].findings, *findings))
        if args.json:
            print_value(host, {"servers": [_to_json(server) for server in checked]})
        for row in () if args.json else (row for server in checked for row in lines_of(server)):
            output.text(visible(host.redacted(row), newlines=False))
        if not checked and not args.json:
            diagnostics.tell("no server is enabled")
    return diagnostics.DONE if all(server.is_right for server in checked) else diagnostics.FAILED


async def _call(pool: Pool, status: ServerStatus, name: str, sent: bytes, misfits: Misfits) -> Sequence[Finding]:
    from tui_host.capture.record import Place
    from tui_host.cli.server_findings import Finding, check_call

    tool = next((tool for tool in status.tools if tool.name == name and tool.problem is None), None)
    if tool is None:
        return [Finding(kind="mistake", tool=name, words="there is no such tool to call")]
    place = Place(session="", call=f"check_{name}")
    try:
        result = await pool.call(
            status.name, name, sent, place=place, fingerprint=tool.fingerprint, on_progress=lambda _: None
        )
    except ServerError as error:
        return [Finding(kind="mistake", tool=name, words=f"the call failed: {error}")]
    return await check_call(tool, result, misfits)


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
        "findings": [
            {"kind": finding.kind, "tool": finding.tool or None, "words": finding.words} for finding in checked.findings
        ],
        "notices": list(status.notices),
        "exit_code": status.exit_code,
        "noise": list(checked.noise),
        "stderr": list(status.stderr),
    }


def lines_of(checked: Checked) -> Iterator[str]:
    """Yield what is known of a server as text: what it offers, with the findings below each tool."""
    status = checked.status
    version = f"{status.protocol_version} ({status.era})" if status.protocol_version else ""
    ready = f"ready in {status.ready_ms:,.0f} ms" if status.ready_ms else ""
    yield "  ".join(filter(None, (f"{status.name}: {status.state}", version, status.server_info, status.detail, ready)))
    if status.instructions:
        yield f"  instructions: {line(status.instructions, _INSTRUCTIONS_CHARACTERS)}"
    of_tools: set[Finding] = set()
    for tool in status.tools:
        yield f"  {tool.name or 'a tool without a name'}  ~{checked.tokens[tool.name]:,} tokens"
        for finding in checked.findings:
            if tool.name and finding.tool == tool.name and finding not in of_tools:
                of_tools.add(finding)
                yield f"    {finding.kind}: {finding.words}"
    for name, count in (("resource", len(status.resources)), ("resource template", len(status.templates))):
        if count:
            yield f"  {count:,} {name}{'s' if count > 1 else ''}"
    if status.prompts:
        yield f"  prompts: {', '.join(prompt.name for prompt in status.prompts)}"
    yield from (f"  {finding.kind}: {finding.words}" for finding in checked.findings if finding not in of_tools)
    said = {finding.words for finding in checked.findings} | {f"{tool.name}: {tool.problem}" for tool in status.tools}
    yield from (f"  note: {notice}" for notice in status.notices if notice not in said)
    yield from (f"  | {row}" for row in status.stderr[-_STDERR_LINES:])
