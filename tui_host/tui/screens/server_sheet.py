"""What is known of a server, as the lines of a sheet: facts, tools with schemas, other lists, frames, log, standard error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from tui_host.answers.masks import masked
from tui_host.answers.sheet import Sheet, SheetLine, Style
from tui_host.capture.frames.frame_heads import frame_head
from tui_host.capture.record import lasted
from tui_host.capture.short_units import short_size
from tui_host.capture.visible import decode, line
from tui_host.llm.schema_adaptation import adapt
from tui_host.servers.catalog import Resource

if TYPE_CHECKING:
    from tui_host.answers.masks import Mask
    from tui_host.capture.record import Record
    from tui_host.capture.recorder import Recorder
    from tui_host.errors import JSON
    from tui_host.llm.dialects.dialect import Dialect
    from tui_host.servers.catalog import Hints, LogLine, OfferedPrompt, ServerStatus, Tool

KEPT = 100
"""Number of frames to list for a server; the inspector shows all."""
_PER_LOOK = 2000
_LABEL = 300
_SHORT = 24
"""Length in characters up to which a fact stays on its line; a longer one can be opened."""
_NAME = 14
"""Width of a fact's name, in cells."""
AWAY = ("failed", "lost")
_REMEDIES = {"failed": "r reconnects", "lost": "r tries at once", "stopped": "r connects", "disabled": "r connects"}
_CLOSED = (SheetLine(key="", label="…"),)
"""Stands below a line that nobody has opened, whose own lines change all the time."""
_SEVERE = ("error", "critical", "alert", "emergency")
_LOG_STYLES: Mapping[str, Style] = {"debug": "note", "warning": "secret", **dict.fromkeys(_SEVERE, "failed")}


class LastFrames:
    """The last frames of a connection: those that come, and where `first` is given those before it, read backwards."""

    def __init__(self, connection: str = "", seen: int = 0, *, first: int = 0) -> None:
        self.connection = connection
        self.frames: list[Record] = []  # oldest first
        self._seen, self._first = seen, first  # the records that were read: those between the two

    def look(self, recorder: Recorder) -> None:
        """Read some of the records that were not read yet."""
        newer = recorder.since(self._seen, limit=_PER_LOOK)
        older: Sequence[Record] = ()
        if len(self.frames) < KEPT and self._first:
            before, self._first = self._first, max(0, self._first - _PER_LOOK)
            older = recorder.since(self._first, limit=before - self._first)
        if newer:
            self._seen = newer[-1].seq
        records = (record for record in (*older, *self.frames, *newer) if record.kind == "frame")
        self.frames = [record for record in records if record.connection == self.connection][-KEPT:]

    def lines(self) -> tuple[SheetLine, ...]:
        """Return the frames as lines, the newest first, with their time since the oldest."""
        return tuple(_frame(record, self.frames[0].mono_ns) for record in reversed(self.frames))


def _frame(record: Record, start_ns: int | None) -> SheetLine:
    name, words = _head(record.data)
    words = f"malformed: {record.malformed}" if record.malformed else words
    since = lasted(start_ns, record.mono_ns)
    return SheetLine(
        key=f"{record.seq}",
        label=f"{'-->' if record.direction == 'out' else '<--'} {name}  {masked(words, record.redacted)}",
        figures=("" if since is None else f"+{since / 1e9:.2f} s", short_size(len(record.data))),
        text=lambda: masked(decode(record.data), record.redacted),
        style="failed" if record.malformed else "",
    )


@lru_cache(maxsize=512)
def _head(data: bytes) -> tuple[str, str]:
    head = frame_head(data)
    name = head.method or (head.kind if head.answers else "frame")
    return f"{name} #{head.id}" if head.id else name, head.words


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerChoices:
    """What the person chose for a server, and what the coming request makes of it."""

    off: frozenset[str] = frozenset()  # names of tools that are switched off
    instructions: str = ""  # whether the server's instructions are sent, in words
    wanted: str = ""  # words by which the lists are filtered; empty for whole lists
    tokens: Mapping[str, int] = field(default_factory=dict[str, int])  # of the tools that the coming request offers
    shows_log: bool = False  # whether the log is open


class ServerSheets:
    """Makes the sheet of a server. The lines of a list are made once per listing: there may be thousands.

    Args:
        mask: Hides secrets. Applied before text is cut, so that no part of a secret is shown.
        dialect: The dialect for which schemas are adapted; None if tools are described in words.
    """

    def __init__(self, mask: Mask, dialect: Dialect | None = None) -> None:
        self._mask, self._dialect = mask, dialect
        self._kept: dict[tuple[str, str], tuple[object, tuple[SheetLine, ...]]] = {}

    def of(self, status: ServerStatus, frames: LastFrames | None, chosen: ServerChoices) -> Sheet:
        """Return all that is known of a server; with words to filter by, only the lists. Nobody looks at frames that are None."""
        mask, is_away = self._mask, status.state in AWAY
        reason = f"{status.state}{f': {line(mask(status.detail), 600)}' if status.detail else ''}"
        notes = [_REMEDIES.get(status.state, ""), *(f"notice: {line(mask(notice), 400)}" for notice in status.notices)]
        lists = [_filtered(entry, chosen.wanted) for entry in self._lists(status, chosen)]
        if chosen.wanted:
            return Sheet(
                what=f"{status.name}: {reason}", lines=sorted(lists, key=lambda entry: not entry.children), notes=notes
            )
        stderr = _stderr(status, mask)
        log = _log(status, mask, is_open=chosen.shows_log)
        lines = [*_facts(status, mask, chosen.instructions), *lists, _frames(status, frames), *log]
        if is_away:
            failure = SheetLine(key="failure", label=reason, style="failed", is_wrapped=True)
            return Sheet(what=status.name, lines=[failure, *stderr, *lines], notes=notes)
        return Sheet(what=f"{status.name}: {reason}", lines=[*lines, *stderr], notes=notes)

    def _lists(self, status: ServerStatus, chosen: ServerChoices) -> Iterator[SheetLine]:
        """Yield the tools, and the other lists that have items."""
        mask, tools, tokens = self._mask, status.tools, chosen.tokens
        size, sent = sum(tool.size for tool in tools), sum(tokens.get(tool.name, 0) for tool in tools)
        total = f"  {_size(size)}" * bool(tools) + f", ~{sent:,} tok" * bool(sent)
        off = chosen.off
        plain = self._made(status.name, "tools", (tools, off), lambda: (self._tool(tool, off) for tool in tools))
        children = self._made(
            status.name, "tokens", (plain, tokens), lambda: (_costing(entry, tokens) for entry in plain)
        )
        label, heads = f"tools ({len(tools):,}){total}", ("size", "tok") if tools else ()
        yield SheetLine(key="tools", label=label, figures=heads, children=children, opened=True, style="what")
        for name, items, make in (
            ("resources", status.resources, lambda: (_offered(item, mask) for item in status.resources)),
            ("templates", status.templates, lambda: (_offered(item, mask) for item in status.templates)),
            ("prompts", status.prompts, lambda: (_offered(item, mask) for item in status.prompts)),
            ("subscriptions", status.subscriptions, lambda: (_updates(item, mask) for item in status.subscriptions)),
        ):
            if items:
                children = self._made(status.name, name, items, make)
                yield SheetLine(key=name, label=f"{name} ({len(items):,})", children=children, style="what")

    def _made(
        self, server: str, name: str, basis: object, make: Callable[[], Iterable[SheetLine]]
    ) -> tuple[SheetLine, ...]:
        """Return the lines of a list, made again only where their basis has changed."""
        kept = self._kept.get((server, name))
        if kept is None or kept[0] != basis:
            kept = self._kept[server, name] = basis, tuple(make())
        return kept[1]

    def _tool(self, tool: Tool, off: frozenset[str]) -> SheetLine:
        mask, about = self._mask, self._mask(tool.description)
        changed = self._changes(tool)
        parts = [_text("description", about or "(no description)", about)]
        if changed:
            parts.append(_text("adapted", changed, changed))
        parts.append(replace(_json("schema", "input schema", tool.schema, mask), opened=True))
        if tool.output_schema is not None:
            parts.append(_json("output", "output schema", tool.output_schema, mask))
        if tool.annotations:
            hints = mask(_hints(tool.annotations))
            parts.append(_text("annotations", f"the server claims: {hints}", hints))
        is_off, problem = tool.name in off, f"  not sent: {mask(tool.problem)}" if tool.problem else ""
        style: Style = "note" if is_off else "key"
        return SheetLine(
            key=tool.name,
            label=f"{mask(tool.name)}{problem}{'  off' * is_off}",
            figures=(_size(tool.size),),
            note=line(changed or mask(tool.title) or about, _LABEL),
            children=tuple(parts),
            style="failed" if problem else style,
        )

    def _changes(self, tool: Tool) -> str:
        """Say what is changed in a tool's schema for the dialect; empty if nothing is."""
        dialect = self._dialect
        changes = () if dialect is None or tool.problem else adapt(tool.schema, dialect.schema_rules).changes
        return f"adapted for {dialect.name}: {'; '.join(changes)}" if dialect is not None and changes else ""


def _filtered(entry: SheetLine, wanted: str) -> SheetLine:
    """Return a list with only the items that have all words in their label or note."""
    words = wanted.lower().split()
    if not words:
        return entry
    searched = [(child, f"{child.label}\n{child.note}".lower()) for child in entry.children]
    children = tuple(child for child, text in searched if all(word in text for word in words))
    label = f"{entry.key} ({len(children):,} of {len(entry.children):,})"
    return replace(entry, label=label, children=children, opened=True)


def _costing(tool: SheetLine, tokens: Mapping[str, int]) -> SheetLine:
    sent = tokens.get(tool.key)
    return tool if sent is None else replace(tool, figures=(*tool.figures, f"~{sent:,}"))


def _size(size: int) -> str:
    return f"{short_size(size)}{'B' * (size >= 1000)}"


def _hints(hints: Hints) -> str:
    return ", ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in hints)


def _text(key: str, label: str, text: str) -> SheetLine:
    return SheetLine(key=key, label=label, text=lambda: text, form="plain")


def _json(key: str, label: str, value: JSON, mask: Mask) -> SheetLine:
    return SheetLine(key=key, label=label, text=lambda: mask(json.dumps(value, ensure_ascii=False)))


def _fact(name: str, words: str, text: str = "") -> SheetLine:
    """Return the line of a fact; a long fact opens."""
    label, text = f"{name:<{_NAME}}{words}", text or (words if len(words) > _SHORT else "")
    return _text(name, label, text) if text else SheetLine(key=name, label=label)


def _facts(status: ServerStatus, mask: Mask, instructed: str) -> Iterator[SheetLine]:
    if command := mask(status.command):
        yield _fact("command" if status.transport == "stdio" else "url", command, command)
    if status.server_info:
        yield _fact("introduced as", mask(status.server_info))
    if status.protocol_version:
        yield _fact("protocol", f"{status.protocol_version} ({status.era}), {status.transport}")
    if status.capabilities is not None:
        names = ", ".join(status.capabilities) if isinstance(status.capabilities, dict) else ""
        yield _json("capabilities", f"{'capabilities':<{_NAME}}{mask(names) or 'none'}", status.capabilities, mask)
    if instructions := mask(status.instructions):
        note = line(instructions, _LABEL) if instructed else ""
        yield replace(_fact("instructions", instructed or instructions, instructions), note=note)
    if status.exit_code is not None:
        yield _fact("exit code", str(status.exit_code))


def _stderr(status: ServerStatus, mask: Mask) -> Iterator[SheetLine]:
    """Yield the last lines of standard error, open where they may say why the server is away."""
    count = len(status.stderr)
    if count:
        label = f"{'stderr':<{_NAME}}last {count} line{'s' * (count != 1)}"
        entry = _text("stderr", label, mask("\n".join(status.stderr)))
        yield replace(entry, opened=status.state in AWAY, style="what")
    elif status.transport == "stdio":
        yield _fact("stderr", "nothing")


def _log(status: ServerStatus, mask: Mask, *, is_open: bool) -> Iterator[SheetLine]:
    if status.log:
        counts = ", ".join(f"{count:,} {level}" for level, count in status.log_counts)
        label = f"{'log':<{_NAME}}{counts}; the last {len(status.log):,}, newest first"
        lines = (
            tuple(_log_line(entry, at, mask) for at, entry in enumerate(reversed(status.log))) if is_open else _CLOSED
        )
        yield SheetLine(key="log", label=label, children=lines, style="what")


def _log_line(entry: LogLine, number: int, mask: Mask) -> SheetLine:
    words = f"{entry.level:<9} {f'{entry.logger}: ' if entry.logger else ''}{entry.text}"
    style = _LOG_STYLES.get(entry.level, "")
    return SheetLine(key=f"{entry.mono_ns} {number}", label=mask(words), style=style, is_wrapped=True)


def _frames(status: ServerStatus, last: LastFrames | None) -> SheetLine:
    malformed = f", {status.malformed:,} malformed" if status.malformed else ""
    shown = f"; the last {KEPT}, newest first" if status.frames_out + status.frames_in > KEPT else ""
    return frames_line(f"{status.frames_out:,} out, {status.frames_in:,} in{malformed}{shown}", last)


def frames_line(counts: str, last: LastFrames | None) -> SheetLine:
    """Return the line with the frames below; None while nobody looks at them."""
    label, children = f"{'frames':<{_NAME}}{counts}", _CLOSED if last is None else last.lines()
    return SheetLine(key="frames", label=label, figures=("at", "size"), children=children, style="what")


def _offered(item: Resource | OfferedPrompt, mask: Mask) -> SheetLine:
    """Return the line of a resource, a template or a prompt, with what is said of it below."""
    figures: tuple[str, ...] = ()
    if isinstance(item, Resource):
        name = words = item.uri
        facts = {"name": item.name, "description": item.description, "type": item.media_type}
        facts["the server claims"] = _hints(item.annotations)
        figures = () if item.size is None else (_size(item.size),)
    else:
        name = words = item.name
        facts = {"title": item.title, "description": item.description}
        for argument in item.arguments:
            need = "required" if argument.required else "optional"
            facts[f"argument {argument.name}"] = f"{need}. {argument.description}".removesuffix(". ")
            words += f" {{{argument.name}}}" if argument.required else f" [{argument.name}]"
    about = next(filter(None, facts.values()), "")  # the name or title, else the description
    below = ((fact, f"{fact}: {mask(text)}") for fact, text in facts.items() if text)
    return SheetLine(
        key=name,
        label=mask(words),
        figures=figures,
        note=line(mask(about), _LABEL),
        children=tuple(SheetLine(key=fact, label=label, is_wrapped=True) for fact, label in below),
        style="key",
    )


def _updates(subscription: tuple[str, int], mask: Mask) -> SheetLine:
    uri, count = subscription
    return SheetLine(key=uri, label=f"{mask(uri)}  {count:,} update{'s' * (count != 1)}", style="key")
