"""Details of a server as a tree: facts, tools with schemas, frames, standard error."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from tui_host.capture.frames.frame_heads import FrameHead, frame_head
from tui_host.capture.json.narrowing import mapping
from tui_host.capture.record import lasted
from tui_host.capture.short_units import short_size
from tui_host.capture.visible import decode, line
from tui_host.llm.outline import estimate_tokens
from tui_host.tui.masks import Mask, masked
from tui_host.tui.widgets.pages.tree_page import Entry

if TYPE_CHECKING:
    from tui_host.capture.record import Record
    from tui_host.capture.recorder import Recorder
    from tui_host.errors import JSON
    from tui_host.servers.catalog import ServerStatus, State, Tool
    from tui_host.tui.masks import Mask
    from tui_host.tui.sources.tapped_servers import TappedServer, TappedServers

KEPT = 100
"""Frames of one server that are listed; the inspector has them all."""
_PER_LOOK = 2000
_LABEL = 300
_SHORT = 24
"""Characters of a fact that stand on its line whatever the width; a longer one opens."""
_NAME = 14
"""Cells of a fact's name."""


class Flow:
    """The frames of a connection.

    Attributes:
        connection: Its id.
        sent: How many went out.
        received: How many came.
        last: The last ones, oldest first.
    """

    def __init__(self, connection: str) -> None:
        self.connection = connection
        self.sent = self.received = 0
        self.last: deque[Record] = deque(maxlen=KEPT)

    def add(self, record: Record) -> None:
        """Add a frame."""
        self.last.append(record)
        if record.draft.direction == "out":
            self.sent += 1
        else:
            self.received += 1


class Frames:
    """The frames of each server's newest connection, read from the recorder."""

    def __init__(self) -> None:
        self._seen = 0
        self._flows: dict[str, Flow] = {}

    def look(self, recorder: Recorder) -> None:
        """Read new frames, a limited number per look."""
        for record in recorder.since(self._seen, limit=_PER_LOOK):
            self._seen = record.seq
            draft = record.draft
            if draft.wire != "mcp" or draft.kind != "frame":
                continue
            flow = self._flows.get(draft.peer)
            if flow is None or flow.connection != (draft.connection or ""):
                flow = self._flows[draft.peer] = Flow(draft.connection or "")
            flow.add(record)

    def of(self, status: ServerStatus) -> Flow:
        """Return the frames of a server's present connection."""
        flow = self._flows.get(status.name)
        return flow if flow is not None and flow.connection == status.connection else Flow(status.connection)


def failure_of(status: ServerStatus, mask: Mask) -> str:
    """Return the reason of a failure; empty if the server has not failed."""
    return f"{status.state}: {line(mask(status.detail), 600)}" if status.state == "failed" else ""


def notes_of(status: ServerStatus, mask: Mask) -> list[str]:
    """Return the lines above the tree: the state, and the keys to press."""
    notices = [f"notice: {line(mask(notice), 400)}" for notice in status.notices]
    if status.state == "failed":
        return ["r reconnects", *notices]
    reason = f": {line(mask(status.detail), 600)}" if status.detail else ""
    remedy = ["r connects"] if status.state in {"stopped", "disabled"} else []
    return [f"{status.state}{reason}", *remedy, *notices]


class Parts:
    """Builds the entries of a server. Entries of tools are built once per listing: a server may have hundreds.

    Args:
        mask: Hides secrets; before anything is cut, so that no half of one is shown.
    """

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._listing: tuple[Tool, ...] | None = None
        self._tools = Entry(key="tools", label="tools")

    def of(self, status: ServerStatus, frames: Flow, lists: Sequence[Entry] | None = None) -> list[Entry]:
        """Return all entries of a server; `lists` are other lists than tools, or None to count them only."""
        if status.tools is not self._listing:
            self._listing, self._tools = status.tools, self._of_tools(status)
        errors = [_stderr(status, self._mask)] if status.stderr else []
        parts = [
            *(errors if status.state == "failed" else ()),
            *_facts(status, self._mask, is_counted=lists is None),
            self._tools,
            *(lists or ()),
            _frames(status, frames),
            *(errors if status.state != "failed" else ()),
        ]
        if not status.stderr and status.transport == "stdio":
            parts.append(fact("stderr", "nothing"))
        return parts

    def _of_tools(self, status: ServerStatus) -> Entry:
        mask = self._mask
        shown = [
            replace(
                tool,
                name=mask(tool.name),
                title=mask(tool.title),
                description=mask(tool.description),
                problem=None if tool.problem is None else mask(tool.problem),
            )
            for tool in status.tools
        ]
        return _tools(shown, mask)


def fact(name: str, words: str, *, text: str = "") -> Entry:
    """Return an entry for a fact; a long fact opens."""
    text = text or (words if len(words) > _SHORT else "")
    return Entry(key=name, label=f"{name:<{_NAME}}{words}", text=(lambda: text) if text else None)


def _facts(status: ServerStatus, mask: Mask, *, is_counted: bool) -> list[Entry]:
    resources, templates, prompts = status.resources
    command = mask(status.command)
    facts = [fact("command" if status.transport == "stdio" else "url", command, text=command)] if command else []
    if status.server_info:
        facts.append(fact("calls itself", mask(status.server_info)))
    if status.protocol_version:
        facts.append(fact("protocol", f"{status.protocol_version} ({status.era}), {status.transport}"))
    if status.capabilities is not None:
        names = ", ".join(status.capabilities) if isinstance(status.capabilities, dict) else ""
        facts.append(fact("capabilities", mask(names) or "none", text=mask(spelled(status.capabilities))))
    if status.state == "ready" and is_counted:
        counts = {"resource": resources, "template": templates, "prompt": prompts}
        counted = [f"{count:,} {name}{'s' if count != 1 else ''}" for name, count in counts.items() if count]
        facts.append(fact("also lists", ", ".join(counted) or "nothing"))
    if status.instructions:
        instructions = mask(status.instructions)
        facts.append(replace(fact("instructions", instructions, text=instructions), form="plain"))
    if status.exit_code is not None:
        facts.append(fact("exit code", str(status.exit_code)))
    return facts


def _stderr(status: ServerStatus, mask: Mask) -> Entry:
    count = len(status.stderr)
    return Entry(
        key="stderr",
        label=f"{'stderr':<{_NAME}}last {count} line{'s' if count != 1 else ''}",
        text=lambda: mask("\n".join(status.stderr)),
        form="plain",
        opened=status.state == "failed",
        style="what",
    )


def _tools(tools: Sequence[Tool], mask: Mask) -> Entry:
    offered = [tool for tool in tools if tool.problem is None]
    tokens = sum(_tokens(tool) for tool in offered)
    return Entry(
        key="tools",
        label=f"tools ({len(tools):,})",
        figures=_size(sum(tool.size for tool in tools), tokens) if tools else (),
        children=tuple(_tool(tool, mask) for tool in tools),
        opened=True,
        style="what",
    )


def _size(size: int, tokens: int) -> tuple[str, str]:
    return short_size(size) + "B" * (size >= 1000), f"~{tokens:,} tok"


@lru_cache(maxsize=4096)
def _estimate(fingerprint: str, definition: str) -> int:  # noqa: ARG001 - the fingerprint spares comparing long texts
    return estimate_tokens(definition.encode("utf-8", "replace"))


def _tokens(tool: Tool) -> int:
    """Estimate the tokens of a tool's name, description and schema in each request."""
    schema = "" if tool.schema is None else json.dumps(tool.schema, ensure_ascii=False, separators=(",", ":"))
    return _estimate(tool.fingerprint, f"{tool.name} {tool.description} {schema}")


def _tool(tool: Tool, mask: Mask) -> Entry:
    parts = [
        Entry(
            key="description", label=tool.description or "(no description)", text=lambda: tool.description, form="plain"
        )
    ]
    parts.append(Entry(key="schema", label="input schema", text=lambda: mask(spelled(tool.schema)), opened=True))
    if tool.output_schema is not None:
        parts.append(Entry(key="output", label="output schema", text=lambda: mask(spelled(tool.output_schema))))
    if tool.annotations:
        hints = mask(", ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in tool.annotations))
        parts.append(Entry(key="annotations", label=f"the server claims: {hints}", text=lambda: hints))
    problem = tool.problem is not None
    return Entry(
        key=tool.name,
        label=f"{tool.name}  not offered: {tool.problem}" if problem else tool.name,
        figures=_size(tool.size, _tokens(tool)),
        note=line(tool.title or tool.description, _LABEL),
        children=tuple(parts),
        style="failed" if problem else "key",
    )


def _frames(status: ServerStatus, flow: Flow) -> Entry:
    malformed = f", {status.malformed:,} malformed" if status.malformed else ""
    shown = f"; the last {KEPT}, newest first" if flow.sent + flow.received > KEPT else ""
    return Entry(
        key="frames",
        label=f"frames        {flow.sent:,} out, {flow.received:,} in{malformed}{shown}",
        children=tuple(_frame(record, flow.last[0].mono_ns) for record in reversed(flow.last)),
        style="what",
    )


def _frame(record: Record, start_ns: int | None) -> Entry:
    draft = record.draft
    arrow = "-->" if draft.direction == "out" else "<--"
    head = _head(draft.data)
    name = head.method or (head.kind if head.answers else "frame")
    number = f" #{head.id}" if head.id else ""
    words = f"malformed: {draft.malformed}" if draft.malformed else head.words
    since = lasted(start_ns, record.mono_ns)
    return Entry(
        key=f"{record.seq}",
        label=f"{arrow} {name}{number}  {masked(words, draft.redacted)}",
        figures=("" if since is None else f"+{since / 1e9:.2f} s", short_size(len(draft.data))),
        text=lambda: masked(decode(draft.data), draft.redacted),
        style="failed" if draft.malformed else "",
    )


@lru_cache(maxsize=512)
def _head(data: bytes) -> FrameHead:
    return frame_head(data)


def spelled(value: JSON) -> str:
    """JSON for people who read any language."""
    return json.dumps(value, ensure_ascii=False)


STATES: dict[State, str] = {"ready": "live", "stopped": "ended"}
"""What a server that is looked at from outside is said to be."""
READ_ONLY = "This server belongs to another host; you can only look at it."
_LISTED = {
    "resources": ("resources", "uri"),
    "resourceTemplates": ("templates", "uriTemplate"),
    "prompts": ("prompts", "name"),
}
"""By a list's name: what it is called here, and what names a thing in it."""
_ASKED = ("tools", "resources", "prompts")
_WORDS = 300


def state_of(told: TappedServer) -> str:
    """Return the state as a word."""
    return STATES.get(told.status.state, told.status.state)


def flow_of(told: TappedServer, servers: TappedServers) -> Flow:
    """Return the counts of a tapped server's frames, with the last frames."""
    flow = Flow(told.status.connection)
    flow.sent, flow.received = told.status.frames_out, told.status.frames_in
    flow.last.extend(servers.last(told.status.name))
    return flow


def told_notes(told: TappedServer, whose: str, mask: Mask) -> list[str]:
    """Return the line above the tree: state and owner."""
    reason = f": {line(mask(told.status.detail), 600)}" if told.status.detail else ""
    return [f"{state_of(told)}{reason}, {whose}: read only"]


def told_entries(told: TappedServer, flow: Flow, parts: Parts, mask: Mask) -> Sequence[Entry]:
    """Return all entries of a tapped server."""
    entries: list[Entry] = []
    if told.client:
        entries.append(fact("host", mask(told.client)))
    if told.abilities is not None:
        names = ", ".join(mapping(told.abilities)) or "nothing"
        entries.append(fact("host offers", mask(names), text=mask(spelled(told.abilities))))
    lists = [_list(name, told.listed[name], mask) for name in _LISTED if name in told.listed]
    offered = mapping(told.status.capabilities)
    missed = [name for name in _ASKED if name not in told.listed and name in offered]
    if missed:
        lists.append(fact("not requested", ", ".join(missed)))
    return [*entries, *parts.of(told.status, flow, lists)]


def _list(name: str, listed: Sequence[JSON], mask: Mask) -> Entry:
    called, names = _LISTED[name]
    return Entry(
        key=name,
        label=f"{called} ({len(listed):,})",
        children=tuple(_thing(number, mapping(thing), names, mask) for number, thing in enumerate(listed)),
        style="what",
    )


def _thing(number: int, thing: JSON, names: str, mask: Mask) -> Entry:
    fields = mapping(thing)
    texts = [value for key in (names, "title", "name", "description") if isinstance(value := fields.get(key), str)]
    first, *more = [*dict.fromkeys(texts)] or ["(no name)"]
    return Entry(
        key=f"{number}",
        label=mask(first),
        note=line(mask("  ".join(more)), _WORDS),
        text=lambda: mask(spelled(thing)),
        style="key",
    )
