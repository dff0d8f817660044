"""What is known of a server, as the lines of a sheet: facts, tools with schemas, other lists, log, standard error."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_host.answers.sheet import Form, Sheet, SheetLine, Style
from tui_host.capture.visible import line
from tui_host.servers.catalog import Resource, Tool

if TYPE_CHECKING:
    from tui_host.answers.masks import Mask
    from tui_host.answers.request_weights import ToolWeight
    from tui_host.errors import JSON
    from tui_host.servers.catalog import Hints, OfferedPrompt, ServerStatus

_LABEL_CHARACTERS = 300
_BEGINNING_CHARACTERS = 80
_NAME_CELLS = 14
_AWAY = ("failed", "lost")
_REMEDIES = {"failed": "r reconnects", "lost": "r tries at once", "stopped": "r connects", "disabled": "r connects"}


def name_of(item: Tool | Resource | OfferedPrompt) -> str:
    """Return the name by which a server knows what it offers."""
    return item.uri if isinstance(item, Resource) else item.name


def sheet_of(status: ServerStatus, lists: Sequence[SheetLine], mask: Mask, *, instructed: str, wanted: str) -> Sheet:
    """Return all that is known of a server, masked before it is cut; with words to filter by, only the lists."""
    reason = f"{status.state}{f': {line(mask(status.detail), 600)}' if status.detail else ''}"
    notes = [_REMEDIES.get(status.state, ""), *(f"notice: {line(mask(notice), 400)}" for notice in status.notices)]
    if wanted:
        filtered = (_filtered(entry, wanted.lower().split()) for entry in lists)
        lists = sorted(filtered, key=lambda entry: not entry.children)
        return Sheet(what=f"{status.name}: {reason}", lines=lists, notes=notes)
    facts = list(_facts(status, mask, instructed))
    count = len(status.stderr)
    words = f"last {count} line{'s' * (count != 1)}" if count else "nothing"
    errors = _text("stderr", f"{'stderr':<{_NAME_CELLS}}{words}", mask("\n".join(status.stderr)))
    if status.state in _AWAY:  # what may say why comes first
        failure = SheetLine(key="failure", label=reason, style="failed", is_wrapped=True)
        return Sheet(what=status.name, lines=[failure, replace(errors, opened=True), *facts, *lists], notes=notes)
    return Sheet(what=f"{status.name}: {reason}", lines=[*facts, *lists, errors], notes=notes)


def _filtered(entry: SheetLine, words: Sequence[str]) -> SheetLine:
    searched = [(child, f"{child.label}\n{child.note}".lower()) for child in entry.children]
    children = tuple(child for child, text in searched if all(word in text for word in words))
    label = f"{entry.key} ({len(children):,} of {len(entry.children):,})"
    return replace(entry, label=label, children=children, opened=True)


def _facts(status: ServerStatus, mask: Mask, instructed: str) -> Iterator[SheetLine]:
    def fact(name: str, words: str, text: str = "", form: Form = "plain") -> SheetLine:
        return _text(name, f"{name:<{_NAME_CELLS}}{mask(words)}", mask(text), form)

    if status.command:
        yield fact("command" if status.transport == "stdio" else "url", status.command)
    if status.server_info:
        yield fact("introduced as", status.server_info)
    if status.protocol_version:
        yield fact("protocol", f"{status.protocol_version} ({status.era}), {status.transport}")
    if status.capabilities is not None:
        names = ", ".join(status.capabilities) if isinstance(status.capabilities, dict) else ""
        yield fact("capabilities", names or "none", json.dumps(status.capabilities, ensure_ascii=False), "json")
    if status.instructions:
        beginning = line(mask(status.instructions), _BEGINNING_CHARACTERS)
        yield fact("instructions", f"{instructed}: {beginning}", status.instructions)
    malformed = f", {status.malformed:,} malformed" if status.malformed else ""
    yield fact("frames", f"{status.frames_out:,} out, {status.frames_in:,} in{malformed}; f2 lists them")
    if status.log:
        counts = ", ".join(f"{count:,} {level}" for level, count in status.log_counts)
        lines = [
            f"{entry.level:<9} {f'{entry.logger}: ' if entry.logger else ''}{entry.text}"
            for entry in reversed(status.log)
        ]
        yield fact("log", f"{counts}; the last {len(lines):,}, newest first", "\n".join(lines))


def offers_of(status: ServerStatus) -> Mapping[str, Sequence[Tool | Resource | OfferedPrompt]]:
    """Return what a server offers, by the keys of the lists in its sheet."""
    return {
        "tools": status.tools,
        "resources": status.resources,
        "templates": status.templates,
        "prompts": status.prompts,
    }


def lists_of(
    status: ServerStatus, mask: Mask, off: frozenset[str], weights: Mapping[str, ToolWeight]
) -> list[SheetLine]:
    """Return the tools, and the other lists that have items; `weights` are those in the coming request, `off` is switched off."""
    lists: list[SheetLine] = []
    for name, items in offers_of(status).items():
        if items or name == "tools":
            tools = [item for item in items if isinstance(item, Tool)]
            sent = [weights[tool.name] for tool in tools if tool.name in weights]
            figures = {"bytes": sum(tool.size for tool in sent), "tokens": sum(tool.tokens for tool in sent)}
            lines = [_tool(tool, mask, weights.get(tool.name), is_off=tool.name in off) for tool in tools]
            lines += [_offered(item, mask) for item in items if not isinstance(item, Tool)]
            entry = SheetLine(
                key=name,
                label=f"{name} ({len(items):,})",
                values=figures if sent else {},
                children=tuple(lines),
                opened=name == "tools",
                style="what",
            )
            lists.append(entry)
    return lists


def _tool(tool: Tool, mask: Mask, weight: ToolWeight | None, *, is_off: bool) -> SheetLine:
    about = mask(tool.description)
    parts = [_text("description", about or "(no description)")]
    if tool.annotations:
        parts.append(_text("annotations", f"the server claims: {mask(_hints(tool.annotations))}"))
    parts.append(replace(_json("schema", "input schema", tool.schema, mask), opened=True))
    if tool.output_schema is not None:
        parts.append(_json("output", "output schema", tool.output_schema, mask))
    problem = f"  not sent: {mask(tool.problem)}" if tool.problem else ""
    style: Style = "note" if is_off else "key"
    return SheetLine(
        key=tool.name,
        label=f"{mask(tool.name)}{problem}{'  off' * is_off}",
        values={} if weight is None else {"bytes": weight.size, "tokens": weight.tokens},
        note=line(mask(tool.title) or about, _LABEL_CHARACTERS),
        children=tuple(parts),
        style="failed" if problem else style,
    )


def _offered(item: Resource | OfferedPrompt, mask: Mask) -> SheetLine:
    words = name_of(item)
    if isinstance(item, Resource):
        facts = {"name": item.name, "description": item.description, "type": item.media_type}
        facts["the server claims"] = _hints(item.annotations)
    else:
        facts = {"title": item.title, "description": item.description}
        for argument in item.arguments:
            need = "required" if argument.required else "optional"
            facts[f"argument {argument.name}"] = f"{need}. {argument.description}".removesuffix(". ")
            words += f" {{{argument.name}}}" if argument.required else f" [{argument.name}]"
    told = {name: mask(text) for name, text in facts.items() if text}
    return SheetLine(
        key=name_of(item),
        label=mask(words),
        values={"bytes": item.size} if isinstance(item, Resource) else {},
        note=line(next(iter(told.values()), ""), _LABEL_CHARACTERS),
        children=tuple(_text(name, f"{name}: {text}") for name, text in told.items()),
        style="key",
    )


def _hints(hints: Hints) -> str:
    return ", ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in hints)


def _text(key: str, label: str, text: str = "", form: Form = "plain") -> SheetLine:
    """Return a line that opens if there is more text than it shows."""
    shown = line(label, _LABEL_CHARACTERS)
    text = text or (label if shown != label else "")
    return SheetLine(key=key, label=shown, text=(lambda: text) if text else None, form=form)


def _json(key: str, label: str, value: JSON, mask: Mask) -> SheetLine:
    return SheetLine(key=key, label=label, text=lambda: mask(json.dumps(value, ensure_ascii=False)), form="json")
