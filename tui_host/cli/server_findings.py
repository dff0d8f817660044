"""What is wrong with a server, and what could be better: for those who write servers, and for CI."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeAlias

from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON
from tui_host.llm.dialects.table import DIALECTS
from tui_host.llm.outline import estimate_tokens
from tui_host.llm.schema_adaptation import adapt
from tui_host.llm.tool_names import NameTable
from tui_host.servers.tool_definitions import NEEDS_TASKS

if TYPE_CHECKING:
    from tui_host.capture.recorder import Recorder
    from tui_host.servers.catalog import ServerStatus, Tool, ToolOutput

Misfits: TypeAlias = Callable[[JSON, JSON], Awaitable[Sequence[str] | None]]
"""Returns the schema errors of a value; None if the schema is unusable."""
_NOISE_LINES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A finding about a server, or about one of its tools. A `mistake` fails the check; `advice` does not."""

    kind: Literal["mistake", "advice"]
    words: str
    tool: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A checked server: its status once all was listed, estimated tokens by tool, and lines on stdout that are no JSON-RPC."""

    status: ServerStatus
    findings: tuple[Finding, ...] = ()
    tokens: Mapping[str, int] = field(default_factory=dict[str, int])
    noise: tuple[str, ...] = ()

    @property
    def is_right(self) -> bool:
        """Whether the server is ready and has no mistake."""
        return self.status.state == "ready" and not any(finding.kind == "mistake" for finding in self.findings)


async def check_server(status: ServerStatus, recorder: Recorder, misfits: Misfits) -> Checked:
    """Check what a server offers, once everything was listed."""
    noise = tuple(_noise(status, recorder))
    findings: list[Finding] = []
    if status.malformed:
        words = f"{status.malformed:,} lines on standard output are no JSON-RPC: «{noise[0] if noise else ''}»"
        findings.append(Finding(kind="mistake", words=words))
    if status.state == "ready":
        findings += _of_lists(status)
        for tool in status.tools:
            findings += await _of_schemas(tool, misfits)
            findings += _of_texts(tool)
        findings += _of_names(status.tools)
    tokens = {tool.name: tokens_of(tool) for tool in status.tools}
    return Checked(status=status, findings=tuple(findings), tokens=tokens, noise=noise)


async def check_call(tool: Tool, output: ToolOutput, misfits: Misfits) -> Sequence[Finding]:
    """Check the result of a real call against the tool's output schema."""
    if output.is_error:
        text = " ".join(block.text for block in output.content)[:200]
        return [_mistake(tool, f"the call reports an error: {text}")]
    findings = [_mistake(tool, output.warning)] if output.warning else []
    if tool.output_schema is not None and "structuredContent" not in mapping(output.raw):
        findings.append(_mistake(tool, "it has an output schema, but the result has no structured content"))
    elif tool.output_schema is not None:
        errors = await misfits(tool.output_schema, output.structured) or ()
        findings += [_mistake(tool, f"the result does not fit the output schema: {error}") for error in errors]
    return findings


def _mistake(tool: Tool, words: str) -> Finding:
    return Finding(kind="mistake", tool=tool.name, words=words)


def _advice(tool: str, words: str) -> Finding:
    return Finding(kind="advice", tool=tool, words=words)


def tokens_of(tool: Tool) -> int:
    """Estimate the tokens of a tool's definition in a request."""
    definition = {"name": f"{tool.server}__{tool.name}", "description": tool.description, "parameters": tool.schema}
    return estimate_tokens(json.dumps(definition, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"))


def _noise(status: ServerStatus, recorder: Recorder) -> Iterator[str]:
    drafts = (record.draft for record in recorder.since(0, limit=100_000))
    noise = (draft.data for draft in drafts if draft.malformed is not None and draft.peer == status.name)
    for data in islice(noise, _NOISE_LINES):
        yield data.decode(errors="replace").strip()[:200]


def _of_lists(status: ServerStatus) -> Iterator[Finding]:
    declared = mapping(status.capabilities)
    resources = (*status.resources, *status.templates)
    unlisted = [notice for notice in status.notices if "cannot be listed" in notice or ": page " in notice]
    yield from (Finding(kind="mistake", words=notice) for notice in unlisted)
    for name, listed in (("tools", status.tools), ("resources", resources), ("prompts", status.prompts)):
        if name in declared and not listed and not any(notice.startswith(name) for notice in unlisted):
            yield _advice("", f"it declares {name} and has none")
    for name, listed in (("resources", resources), ("prompts", status.prompts)):
        if bare := [item.name or "?" for item in listed if not item.description]:
            yield _advice("", f"{name} without a description: {', '.join(bare[:10])}")


async def _of_schemas(tool: Tool, misfits: Misfits) -> Sequence[Finding]:
    if tool.problem is not None:
        kind = "advice" if tool.problem == NEEDS_TASKS else "mistake"
        return [Finding(kind=kind, tool=tool.name, words=f"not offered to models: {tool.problem}")]
    findings: list[Finding] = []
    for name, schema in (("input", tool.schema), ("output", tool.output_schema)):
        if schema is not None and await misfits(schema, {}) is None:
            findings.append(_mistake(tool, f"its {name} schema is no valid JSON Schema, or takes too long to check"))
    refused: dict[str, list[str]] = {}
    for name, dialect in DIALECTS.items():
        for change in adapt(tool.schema, dialect.schema_rules).changes:
            refused.setdefault(change, []).append(name)
    for change, names in refused.items():
        words = f"{', '.join(names)} would refuse the input schema as it is; what is sent is adapted: {change}"
        findings.append(_advice(tool.name, words))
    return findings


def _of_texts(tool: Tool) -> Iterator[Finding]:
    if not tool.description:
        yield _advice(tool.name, "no description: a model sees only its name and arguments")
    properties = mapping(mapping(tool.schema).get("properties"))
    if bare := [name for name, inner in properties.items() if not mapping(inner).get("description")]:
        yield _advice(tool.name, f"arguments without a description: {', '.join(bare[:10])}")


def _of_names(tools: Sequence[Tool]) -> Iterator[Finding]:
    offered = [(tool.server, tool.name) for tool in tools if tool.problem is None]
    changed: dict[tuple[str, str], list[str]] = {}
    for dialect in DIALECTS.values():
        names = NameTable.make(offered, dialect.name_rule)
        for server, tool in offered:
            name = names.name(server, tool)
            if name != f"{server}__{tool}":
                changed.setdefault((tool, name), []).append(dialect.name)
    for (tool, name), dialects in changed.items():
        yield _advice(tool, f"a model sees it as {name} ({', '.join(dialects)})")
