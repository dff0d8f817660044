"""`servers check`: connects to servers, and says what they offer, what is wrong with it, and what could be better."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeAlias

from tui_host.capture.json.narrowing import mapping
from tui_host.capture.record import Place
from tui_host.capture.visible import line, visible
from tui_host.chat.call_arguments import canonical
from tui_host.cli import diagnostics, options, output
from tui_host.cli.answerers import given_arguments
from tui_host.cli.hosting import LIST_SECONDS, chosen_servers, opened, print_value, run_host, settled
from tui_host.errors import JSON, ServerError, SettingsError
from tui_host.host.host import Host
from tui_host.llm.dialects.table import DIALECTS
from tui_host.llm.outline import estimate_tokens
from tui_host.llm.schema_adaptation import adapt
from tui_host.llm.tool_names import NameTable
from tui_host.servers.catalog import ERAS
from tui_host.servers.tool_definitions import NEEDS_TASKS

if TYPE_CHECKING:
    from tui_host.capture.recorder import Recorder
    from tui_host.servers.catalog import ServerStatus, Tool, ToolOutput
    from tui_host.settings.schema import Settings

Misfits: TypeAlias = Callable[[JSON, JSON], Awaitable[Sequence[str] | None]]
"""Returns the schema errors of a value; None if the schema is unusable."""
_NOISE_LINES, _STDERR_LINES, _NAMES = 5, 5, 10
_INSTRUCTIONS_CHARACTERS = 600


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding about a server, or about one of its tools. A `mistake` fails the check; `advice` does not."""

    kind: Literal["mistake", "advice"]
    words: str
    tool: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedServer:
    """A server once all was listed, what was found, and lines on its standard output that are no JSON-RPC."""

    status: ServerStatus
    noise: Sequence[str] = ()
    findings: list[Finding] = field(default_factory=list[Finding])

    def note(self, kind: Literal["mistake", "advice"], words: str, tool: str = "") -> None:
        """Add a finding."""
        self.findings.append(Finding(kind, words, tool))


def add(parser: options.CommandParser) -> None:
    """Add the options."""
    parser.flag("--json", options.AS_JSON)
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
    """Check the servers, print what was found, and return the exit code."""
    chosen = chosen_servers(settings.servers, args.words)
    calls = [(name, canonical(given_arguments(text, f"servers check --call {name}"))) for name, text in args.call]
    if calls and len(chosen) != 1:
        raise SettingsError("a tool to call needs one server", "servers check --call", "name the server")
    # Naming a server is consent to start it.
    servers = {name: replace(settings.servers[name], enabled=True) for name in chosen}
    host = Host(replace(settings, servers=servers), source="ask", record=False)

    async def check(_: object) -> int:
        from anyio import to_thread

        from tui_host.servers.sdk_import import import_sdk

        await to_thread.run_sync(import_sdk)  # otherwise the first server's time would include this import
        await settled(host)
        pool, recorder = opened(host)
        await pool.listed(LIST_SECONDS)  # ready servers may still be listing
        checked = [await check_server(status, recorder, host.misfits) for status in pool.statuses()]
        for name, sent in calls:
            server, place = checked[0], Place(session="", call=f"check_{name}")
            tool = next((tool for tool in server.status.tools if tool.name == name and tool.problem is None), None)
            if tool is None:
                server.note("mistake", "there is no such tool to call", name)
                continue
            try:
                result = await pool.call(
                    tool.server, name, sent, place=place, fingerprint=tool.fingerprint, on_progress=lambda _: None
                )
            except ServerError as error:
                server.note("mistake", f"the call failed: {error}", name)
                continue
            for words in filter(None, (result.warning, *await output_faults(tool, result, host.misfits))):
                server.note("mistake", words, name)
        if args.json:
            print_value(host, {"servers": [_to_json(server) for server in checked]})
        for row in () if args.json else (row for server in checked for row in lines_of(server)):
            output.text(visible(host.redactor.text(row), newlines=False))
        if not checked:
            diagnostics.tell("no server is enabled")
        kinds = {finding.kind for server in checked for finding in server.findings}
        is_right = "mistake" not in kinds and all(server.status.state == "ready" for server in checked)
        return diagnostics.DONE if is_right else diagnostics.FAILED

    return run_host(host, check)


def _to_json(checked: CheckedServer) -> dict[str, JSON]:
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
            {"name": tool.name, "description": tool.description, "tokens": tokens_of(tool), "problem": tool.problem}
            for tool in status.tools
        ],
        "resources": [resource.uri for resource in status.resources],
        "templates": [resource.uri for resource in status.templates],
        "prompts": [prompt.name for prompt in status.prompts],
        "findings": [{**asdict(finding), "tool": finding.tool or None} for finding in checked.findings],
        "notices": list(status.notices),
        "exit_code": status.exit_code,
        "noise": [*checked.noise],
        "stderr": list(status.stderr),
    }


def lines_of(checked: CheckedServer) -> Iterator[str]:
    """Yield what is known of a server as text: what it offers, with the findings below each tool."""
    status = checked.status
    version = f"{status.protocol_version} ({ERAS.get(status.era, status.era)})" if status.protocol_version else ""
    ready = f"ready in {status.ready_ms:,.0f} ms" if status.ready_ms else ""
    yield "  ".join(filter(None, (f"{status.name}: {status.state}", version, status.server_info, status.detail, ready)))
    if status.instructions:
        yield f"  instructions: {line(status.instructions, _INSTRUCTIONS_CHARACTERS)}"
    names = {tool.name for tool in status.tools if tool.name}
    for tool in status.tools:
        yield f"  {tool.name or 'a tool without a name'}  ~{tokens_of(tool):,} tokens"
        of_tool = (finding for finding in checked.findings if tool.name and finding.tool == tool.name)
        yield from (f"    {finding.kind}: {finding.words}" for finding in of_tool)
    if status.resources or status.templates:
        yield f"  resources: {len(status.resources):,}, and {len(status.templates):,} templates"
    if status.prompts:
        yield f"  prompts: {', '.join(prompt.name for prompt in status.prompts)}"
    yield from (f"  {finding.kind}: {finding.words}" for finding in checked.findings if finding.tool not in names)
    said = {finding.words for finding in checked.findings} | {f"{tool.name}: {tool.problem}" for tool in status.tools}
    yield from (f"  note: {notice}" for notice in status.notices if notice not in said)
    yield from (f"  | {row}" for row in status.stderr[-_STDERR_LINES:])


async def check_server(status: ServerStatus, recorder: Recorder, misfits: Misfits) -> CheckedServer:
    """Check what a server offers, once everything was listed."""
    drafts = (record for record in recorder.since(0, limit=100_000))
    # The wire keeps what it could not read, so the check shows the line itself and not only a count.
    broken = (draft.data for draft in drafts if draft.malformed is not None and draft.peer == status.name)
    noise = [data.decode(errors="replace").strip()[:200] for data in islice(broken, _NOISE_LINES)]
    checked = CheckedServer(status=status, noise=noise)
    if status.malformed:
        first = noise[0] if noise else ""
        checked.note("mistake", f"{status.malformed:,} lines on standard output are no JSON-RPC: «{first}»")
    if status.state != "ready":
        return checked
    unlisted = [notice for notice in status.notices if "cannot be listed" in notice or ": page " in notice]
    for notice in unlisted:
        checked.note("mistake", notice)
    resources = (*status.resources, *status.templates)
    for name, listed in (("tools", status.tools), ("resources", resources), ("prompts", status.prompts)):
        is_told = any(notice.startswith(name) for notice in unlisted)
        if name in mapping(status.capabilities) and not listed and not is_told:
            checked.note("advice", f"it declares {name} and has none")
        # Tools without a description are named one by one: a model needs theirs most.
        bare = [item.name or "?" for item in listed if not item.description and name != "tools"]
        if bare:
            checked.note("advice", f"{name} without a description: {', '.join(bare[:_NAMES])}")
    for tool in status.tools:
        await _check_tool(checked, tool, misfits)
    # Names that a dialect's rule changes.
    offered = [(tool.server, tool.name) for tool in status.tools if tool.problem is None]
    changed: dict[tuple[str, str], list[str]] = {}
    for dialect in DIALECTS.values():
        table = NameTable.make(offered, dialect.name_rule)
        for server, tool in offered:
            name = table.names[server, tool]
            if name != f"{server}__{tool}":
                changed.setdefault((tool, name), []).append(dialect.name)
    for (tool, name), dialects in changed.items():
        checked.note("advice", f"a model sees it as {name} ({', '.join(dialects)})", tool)
    return checked


async def output_faults(tool: Tool, output: ToolOutput, misfits: Misfits) -> list[str]:
    """Check the result of a real call against the tool's output schema."""
    if output.is_error:
        return [f"the call reports an error: {' '.join(block.text for block in output.content)[:200]}"]
    if tool.output_schema is None:
        return []
    if "structuredContent" not in mapping(output.raw):
        return ["it has an output schema, but the result has no structured content"]
    errors = await misfits(tool.output_schema, output.structured) or ()
    return [f"the result does not fit the output schema: {error}" for error in errors]


def tokens_of(tool: Tool) -> int:
    """Estimate the tokens of a tool's definition in a request."""
    definition = {"name": f"{tool.server}__{tool.name}", "description": tool.description, "parameters": tool.schema}
    return estimate_tokens(json.dumps(definition, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"))


async def _check_tool(checked: CheckedServer, tool: Tool, misfits: Misfits) -> None:
    if tool.problem == NEEDS_TASKS:
        checked.note("advice", f"not offered to models: {tool.problem}", tool.name)
    elif tool.problem is not None:
        checked.note("mistake", f"not offered to models: {tool.problem}", tool.name)
    else:
        for name, schema in (("input", tool.schema), ("output", tool.output_schema)):
            if schema is not None and await misfits(schema, {}) is None:  # any value shows whether a schema is usable
                words = f"its {name} schema is no valid JSON Schema, or takes too long to check"
                checked.note("mistake", words, tool.name)
        refusing: dict[str, list[str]] = {}
        for name, dialect in DIALECTS.items():
            for change in adapt(tool.schema, dialect.writer.rules).changes:
                refusing.setdefault(change, []).append(name)
        for change, names in refusing.items():
            words = "would refuse the input schema as it is; what is sent is adapted"
            checked.note("advice", f"{', '.join(names)} {words}: {change}", tool.name)
    if not tool.description:
        checked.note("advice", "no description: a model sees only its name and arguments", tool.name)
    properties = mapping(mapping(tool.schema).get("properties"))
    bare = [name for name, inner in properties.items() if not mapping(inner).get("description")]
    if bare:
        checked.note("advice", f"arguments without a description: {', '.join(bare[:_NAMES])}", tool.name)
