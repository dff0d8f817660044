"""Details of a server as a tree: facts, tools with schemas, frames, standard error."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from tui_host.answers.masks import Mask, masked
from tui_host.answers.sheet import SheetLine, Style
from tui_host.capture.frames.frame_heads import FrameHead, frame_head
from tui_host.capture.record import lasted
from tui_host.capture.short_units import short_size
from tui_host.capture.visible import decode, line
from tui_host.llm.outline import estimate_tokens
from tui_host.llm.schema_adaptation import adapt
from tui_host.tui.screens.server_catalog import Lists, ServerChoices, filtered

if TYPE_CHECKING:
    from tui_host.answers.masks import Mask
    from tui_host.capture.record import Record
    from tui_host.capture.recorder import Recorder
    from tui_host.errors import JSON
    from tui_host.llm.dialects.dialect import Dialect
    from tui_host.servers.catalog import LogLine, ServerStatus, Tool

KEPT = 100
"""Number of frames to list for a server; the inspector shows all."""
_PER_LOOK = 2000
_LABEL = 300
_SHORT = 24
"""Length in characters up to which a fact stays on its line; a longer one can be opened."""
_NAME = 14
"""Width of a fact's name, in cells."""
_AWAY = ("failed", "lost")
_SEVERE = ("error", "critical", "alert", "emergency")
_LOG_STYLES: Mapping[str, Style] = {"debug": "note", "warning": "secret", **dict.fromkeys(_SEVERE, "failed")}


class FrameFlow:
    """The number of frames on a connection, and its last frames.

    Attributes:
        sent: Number of frames sent.
        received: Number of frames received.
    """

    def __init__(self, connection: str) -> None:
        self.connection = connection  # the connection's id
        self.sent = self.received = 0
        self.last: deque[Record] = deque(maxlen=KEPT)  # the last frames, oldest first

    def add(self, record: Record) -> None:
        """Add a frame."""
        self.last.append(record)
        if record.direction == "out":
            self.sent += 1
        else:
            self.received += 1


class Frames:
    """The frames of each server's newest connection, read from the recorder."""

    def __init__(self) -> None:
        self._seen = 0
        self._flows: dict[str, FrameFlow] = {}

    def look(self, recorder: Recorder) -> None:
        """Read new frames, a limited number per look."""
        for record in recorder.since(self._seen, limit=_PER_LOOK):
            self._seen = record.seq
            if record.wire != "mcp" or record.kind != "frame":
                continue
            flow = self._flows.get(record.peer)
            if flow is None or flow.connection != (record.connection or ""):
                flow = self._flows[record.peer] = FrameFlow(record.connection or "")
            flow.add(record)

    def of(self, status: ServerStatus) -> FrameFlow:
        """Return the frames of a server's current connection."""
        flow = self._flows.get(status.name)
        return flow if flow is not None and flow.connection == status.connection else FrameFlow(status.connection)


def failure_of(status: ServerStatus, mask: Mask) -> str:
    """Return the reason of a failure; empty if the server has not failed."""
    return f"{status.state}: {line(mask(status.detail), 600)}" if status.state in _AWAY else ""


def notes_of(status: ServerStatus, mask: Mask) -> list[str]:
    """Return the lines above the tree: the state, and the keys to press."""
    notices = [f"notice: {line(mask(notice), 400)}" for notice in status.notices]
    if status.state in _AWAY:
        return ["r reconnects" if status.state == "failed" else "r tries at once", *notices]
    reason = f": {line(mask(status.detail), 600)}" if status.detail else ""
    remedy = ["r connects"] if status.state in {"stopped", "disabled"} else []
    return [f"{status.state}{reason}", *remedy, *notices]


class Parts:
    """Builds the entries of a server. Entries of tools are built once per listing: a server may have hundreds.

    Args:
        mask: Hides secrets. Applied before text is cut, so that no part of a secret is shown.
        dialect: The dialect for which schemas are adapted; None if tools are described in words.
    """

    def __init__(self, mask: Mask, dialect: Dialect | None = None) -> None:
        self._mask = mask
        self._dialect = dialect
        self._listing: tuple[object, object] | None = None
        self._tools = SheetLine(key="tools", label="tools")
        self._lists = Lists(mask)
        self._log: tuple[Sequence[LogLine], SheetLine] | None = None

    def of(self, status: ServerStatus, frames: FrameFlow, chosen: ServerChoices) -> list[SheetLine]:
        """Return all entries of a server with its frames, filtered as the person wants them."""
        if self._listing is None or self._listing[0] is not status.tools or self._listing[1] != chosen.off:
            self._listing = status.tools, chosen.off
            self._tools = self._of_tools(status, chosen.off)
        lists = [filtered(entry, chosen.wanted) for entry in self._lists.of(status)]
        if chosen.wanted:
            lists = [filtered(self._tools, chosen.wanted), *lists]
            return sorted(lists, key=lambda entry: not entry.children)
        errors = [_stderr(status, self._mask)] if status.stderr else []
        parts = [
            *(errors if status.state in _AWAY else ()),
            *_facts(status, self._mask, chosen.instructions),
            self._tools,
            *lists,
            _frames(status, frames),
            *self._of_log(status),
            *(errors if status.state not in _AWAY else ()),
        ]
        if not status.stderr and status.transport == "stdio":
            parts.append(_fact("stderr", "nothing"))
        return parts

    def _of_log(self, status: ServerStatus) -> Sequence[SheetLine]:
        if not status.log:
            return ()
        if self._log is None or self._log[0] is not status.log:
            counts = ", ".join(f"{count:,} {level}" for level, count in status.log_counts)
            lines = tuple(_log_line(entry, number, self._mask) for number, entry in enumerate(reversed(status.log)))
            label = f"{'log':<{_NAME}}{counts}; the last {len(lines):,}, newest first"
            self._log = status.log, SheetLine(key="log", label=label, children=lines, style="what")
        return (self._log[1],)

    def _of_tools(self, status: ServerStatus, off: frozenset[str]) -> SheetLine:
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
        return _tools(shown, mask, self._dialect, frozenset(map(mask, off)))


def _fact(name: str, words: str, *, text: str = "") -> SheetLine:
    """Return an entry for a fact; a long fact opens."""
    text = text or (words if len(words) > _SHORT else "")
    return SheetLine(key=name, label=f"{name:<{_NAME}}{words}", text=(lambda: text) if text else None)


def _facts(status: ServerStatus, mask: Mask, instructed: str) -> list[SheetLine]:
    command = mask(status.command)
    place = "command" if status.transport == "stdio" else "url"
    facts = [_fact(place, command, text=command)] if command else []
    if status.server_info:
        facts.append(_fact("calls itself", mask(status.server_info)))
    if status.protocol_version:
        facts.append(_fact("protocol", f"{status.protocol_version} ({status.era}), {status.transport}"))
    if status.capabilities is not None:
        names = ", ".join(status.capabilities) if isinstance(status.capabilities, dict) else ""
        facts.append(_fact("capabilities", mask(names) or "none", text=mask(spelled(status.capabilities))))
    if status.instructions:
        instructions = mask(status.instructions)
        note = line(instructions, _LABEL) if instructed else ""
        facts.append(
            replace(_fact("instructions", instructed or instructions, text=instructions), form="plain", note=note)
        )
    if status.exit_code is not None:
        facts.append(_fact("exit code", str(status.exit_code)))
    return facts


def _stderr(status: ServerStatus, mask: Mask) -> SheetLine:
    count = len(status.stderr)
    return SheetLine(
        key="stderr",
        label=f"{'stderr':<{_NAME}}last {count} line{'s' if count != 1 else ''}",
        text=lambda: mask("\n".join(status.stderr)),
        form="plain",
        opened=status.state in _AWAY,
        style="what",
    )


def _log_line(entry: LogLine, number: int, mask: Mask) -> SheetLine:
    words = f"{entry.level:<9} {f'{entry.logger}: ' if entry.logger else ''}{entry.text}"
    style = _LOG_STYLES.get(entry.level, "")
    return SheetLine(key=f"{entry.mono_ns} {number}", label=mask(words), style=style, is_wrapped=True)


def _tools(tools: Sequence[Tool], mask: Mask, dialect: Dialect | None, off: frozenset[str]) -> SheetLine:
    offered = [tool for tool in tools if tool.problem is None and tool.name not in off]
    tokens = sum(tokens_of(tool) for tool in offered)
    return SheetLine(
        key="tools",
        label=f"tools ({len(tools):,})",
        figures=_size(sum(tool.size for tool in tools), tokens) if tools else (),
        children=tuple(_tool(tool, mask, _adaptation(tool, dialect), is_off=tool.name in off) for tool in tools),
        opened=True,
        style="what",
    )


def _size(size: int, tokens: int) -> tuple[str, str]:
    return short_size(size) + "B" * (size >= 1000), f"~{tokens:,} tok"


@lru_cache(maxsize=4096)
def _estimate(fingerprint: str, definition: str) -> int:  # noqa: ARG001 - the fingerprint spares comparing long texts
    return estimate_tokens(definition.encode("utf-8", "replace"))


def tokens_of(tool: Tool) -> int:
    """Estimate the tokens of a tool's name, description and schema in each request."""
    schema = "" if tool.schema is None else json.dumps(tool.schema, ensure_ascii=False, separators=(",", ":"))
    return _estimate(tool.fingerprint, f"{tool.name} {tool.description} {schema}")


def _adaptation(tool: Tool, dialect: Dialect | None) -> str:
    """Say what is changed in a tool's schema for the dialect; empty if nothing is."""
    if dialect is None or tool.problem is not None:
        return ""
    changes = adapt(tool.schema, dialect.schema_rules).changes
    return f"adapted for {dialect.name}: {'; '.join(changes)}" if changes else ""


def _tool(tool: Tool, mask: Mask, adaptation: str, *, is_off: bool) -> SheetLine:
    parts = [
        SheetLine(
            key="description", label=tool.description or "(no description)", text=lambda: tool.description, form="plain"
        )
    ]
    if adaptation:
        parts.append(SheetLine(key="adapted", label=adaptation, text=lambda: adaptation, form="plain"))
    parts.append(SheetLine(key="schema", label="input schema", text=lambda: mask(spelled(tool.schema)), opened=True))
    if tool.output_schema is not None:
        parts.append(SheetLine(key="output", label="output schema", text=lambda: mask(spelled(tool.output_schema))))
    if tool.annotations:
        hints = mask(", ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in tool.annotations))
        parts.append(SheetLine(key="annotations", label=f"the server claims: {hints}", text=lambda: hints))
    label, style = tool.name, "note" if is_off else "key"
    if tool.problem is not None:
        label, style = f"{tool.name}  not sent: {tool.problem}", "failed"
    return SheetLine(
        key=tool.name,
        label=f"{label}  off" if is_off else label,
        figures=_size(tool.size, tokens_of(tool)),
        note=line(adaptation or tool.title or tool.description, _LABEL),
        children=tuple(parts),
        style=style,
    )


def _frames(status: ServerStatus, flow: FrameFlow) -> SheetLine:
    malformed = f", {status.malformed:,} malformed" if status.malformed else ""
    shown = f"; the last {KEPT}, newest first" if flow.sent + flow.received > KEPT else ""
    return SheetLine(
        key="frames",
        label=f"frames        {flow.sent:,} out, {flow.received:,} in{malformed}{shown}",
        children=tuple(frame_entry(record, flow.last[0].mono_ns) for record in reversed(flow.last)),
        style="what",
    )


def frame_entry(record: Record, start_ns: int | None) -> SheetLine:
    """Return a frame as an entry, with its time since `start_ns`."""
    arrow = "-->" if record.direction == "out" else "<--"
    head = _head(record.data)
    name = head.method or (head.kind if head.answers else "frame")
    number = f" #{head.id}" if head.id else ""
    words = f"malformed: {record.malformed}" if record.malformed else head.words
    since = lasted(start_ns, record.mono_ns)
    return SheetLine(
        key=f"{record.seq}",
        label=f"{arrow} {name}{number}  {masked(words, record.redacted)}",
        figures=("" if since is None else f"+{since / 1e9:.2f} s", short_size(len(record.data))),
        text=lambda: masked(decode(record.data), record.redacted),
        style="failed" if record.malformed else "",
    )


@lru_cache(maxsize=512)
def _head(data: bytes) -> FrameHead:
    return frame_head(data)


def spelled(value: JSON) -> str:
    """Format JSON for a person, without escaping characters."""
    return json.dumps(value, ensure_ascii=False)
