"""What is wrong with a server, and what could be better: for those who write servers, and for CI."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
MOST_NOISE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A finding about a server.

    Attributes:
        kind: A `mistake` fails the check; `advice` does not.
        tool: The tool's name; empty for the server as a whole.
        words: What was found.
    """

    kind: Literal["mistake", "advice"]
    words: str
    tool: str = ""

    def to_json(self) -> dict[str, JSON]:
        """Return the finding as printed by `--json`."""
        return {"kind": self.kind, "tool": self.tool or None, "words": self.words}


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A checked server.

    Attributes:
        status: The server's status once everything was listed.
        findings: Mistakes and advice.
        tokens: Estimated tokens of each tool's definition in a request, by the tool's name.
        noise: The first lines on standard output that are no JSON-RPC.
    """

    status: ServerStatus
    findings: tuple[Finding, ...] = ()
    tokens: Mapping[str, int] = field(default_factory=dict[str, int])
    noise: tuple[str, ...] = ()

    @property
    def is_right(self) -> bool:
        """Whether the server is ready and has no mistake."""
        return self.status.state == "ready" and not any(finding.kind == "mistake" for finding in self.findings)

    def with_findings(self, findings: Sequence[Finding]) -> Checked:
        """Return the same with further findings."""
        return replace(self, findings=(*self.findings, *findings))


async def check_server(status: ServerStatus, recorder: Recorder, misfits: Misfits) -> Checked:
    """Check what a server offers.

    Args:
        status: The server's status once everything was listed.
        recorder: Has the server's frames.
        misfits: Checks values against schemas.
    """
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
    return Checked(
        status=status,
        findings=tuple(findings),
        tokens={tool.name: tokens_of(tool) for tool in status.tools},
        noise=noise,
    )


async def check_call(tool: Tool, output: ToolOutput, misfits: Misfits) -> tuple[Finding, ...]:
    """Check the result of a real call against the tool's output schema."""
    if output.is_error:
        text = " ".join(block.text for block in output.content)[:200]
        return (Finding(kind="mistake", tool=tool.name, words=f"the call reports an error: {text}"),)
    findings = [Finding(kind="mistake", tool=tool.name, words=output.warning)] if output.warning else []
    if tool.output_schema is not None:
        if "structuredContent" not in mapping(output.raw):
            words = "it has an output schema, but the result has no structured content"
            findings.append(Finding(kind="mistake", tool=tool.name, words=words))
        else:
            errors = await misfits(tool.output_schema, output.structured) or ()
            findings += [
                Finding(kind="mistake", tool=tool.name, words=f"the result does not fit the output schema: {error}")
                for error in errors
            ]
    return tuple(findings)


def tokens_of(tool: Tool) -> int:
    """Estimate the tokens of a tool's definition in a request."""
    definition = {"name": f"{tool.server}__{tool.name}", "description": tool.description, "parameters": tool.schema}
    return estimate_tokens(json.dumps(definition, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"))


def _noise(status: ServerStatus, recorder: Recorder) -> Iterator[str]:
    count = 0
    for record in recorder.since(0, limit=100_000):
        draft = record.draft
        is_noise = draft.kind == "frame" and draft.direction == "in" and draft.malformed is not None
        if is_noise and draft.peer == status.name and count < MOST_NOISE:
            count += 1
            yield draft.data.decode(errors="replace").strip()[:200]


def _of_lists(status: ServerStatus) -> Iterator[Finding]:
    declared = mapping(status.capabilities)
    lists = {
        "tools": status.tools,
        "resources": (*status.resources, *status.templates),
        "prompts": status.prompts,
    }
    unlisted = [notice for notice in status.notices if "cannot be listed" in notice or ": page " in notice]
    for notice in unlisted:
        yield Finding(kind="mistake", words=notice)
    for name, listed in lists.items():
        if name in declared and not listed and not any(notice.startswith(name) for notice in unlisted):
            yield Finding(kind="advice", words=f"it declares {name} and has none")
    for name, listed in (("resources", lists["resources"]), ("prompts", status.prompts)):
        bare = [item.name or "?" for item in listed if not item.description]
        if bare:
            yield Finding(kind="advice", words=f"{name} without a description: {', '.join(bare[:10])}")


async def _of_schemas(tool: Tool, misfits: Misfits) -> Sequence[Finding]:
    if tool.problem is not None:
        kind = "advice" if tool.problem == NEEDS_TASKS else "mistake"
        return (Finding(kind=kind, tool=tool.name, words=f"not offered to models: {tool.problem}"),)
    findings: list[Finding] = []
    for name, schema in (("input", tool.schema), ("output", tool.output_schema)):
        if schema is not None and await misfits(schema, {}) is None:
            words = f"its {name} schema is no valid JSON Schema, or takes too long to check"
            findings.append(Finding(kind="mistake", tool=tool.name, words=words))
    refused: dict[str, list[str]] = {}
    for name, dialect in DIALECTS.items():
        for change in adapt(tool.schema, dialect.schema_rules).changes:
            refused.setdefault(change, []).append(name)
    for change, names in refused.items():
        words = f"{', '.join(names)} would refuse the input schema; before it is sent, tui-host {_present(change)}"
        findings.append(Finding(kind="advice", tool=tool.name, words=words))
    return findings


def _present(change: str) -> str:
    """Word a change that was made as a change that is made each time."""
    verb, space, rest = change.partition(" ")
    verbs = {"wrote": "writes", "added": "adds", "removed": "removes", "merged": "merges", "renamed": "renames"}
    return f"{verbs[verb]}{space}{rest}" if verb in verbs else f"sees to it that {change}"


def _of_texts(tool: Tool) -> Iterator[Finding]:
    if not tool.description:
        yield Finding(kind="advice", tool=tool.name, words="no description: a model sees only its name and arguments")
    properties = mapping(mapping(tool.schema).get("properties"))
    bare = [name for name, inner in properties.items() if not mapping(inner).get("description")]
    if bare:
        yield Finding(kind="advice", tool=tool.name, words=f"arguments without a description: {', '.join(bare[:10])}")


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
        yield Finding(kind="advice", tool=tool, words=f"a model sees it as {name} ({', '.join(dialects)})")
