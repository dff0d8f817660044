"""A server as the lines of a sheet: facts, tools with schemas, other lists, log, standard error; requests to it without a model."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from tui_host.answers.masks import masked
from tui_host.answers.sheet import Sheet, SheetLine, Style, Value
from tui_host.capture.json.narrowing import short
from tui_host.capture.visible import decode, line
from tui_host.chat.call_arguments import canonical
from tui_host.chat.calls import call_directly
from tui_host.errors import JSON, TuiHostError
from tui_host.servers.catalog import ERAS, OfferedPrompt, Resource, Tool, expand
from tui_host.tui.keys import key_of

if TYPE_CHECKING:
    from tui_host.answers.masks import Mask
    from tui_host.answers.request_weights import ToolWeight
    from tui_host.capture.recorder import Recorder
    from tui_host.chat.session import Session
    from tui_host.servers.catalog import CallProgress, ContentBlock, ServerStatus
    from tui_host.servers.pool import Pool
    from tui_host.tui.widgets.prompt.server_offers import Form

Item: TypeAlias = Tool | Resource | OfferedPrompt
_LABEL_CHARACTERS, _BEGINNING_CHARACTERS = 300, 80
_AWAY = ("failed", "lost")
_REMEDIES = {"failed": "reconnects", "lost": "tries at once", "stopped": "connects", "disabled": "connects"}


def name_of(item: Item) -> str:
    """Return the name by which a server knows what it offers."""
    return item.uri if isinstance(item, Resource) else item.name


def offers_of(status: ServerStatus) -> Mapping[str, Sequence[Item]]:
    """Return what a server offers, by the keys of the lists in its sheet."""
    lists: dict[str, Sequence[Item]] = {"tools": status.tools, "resources": status.resources}
    return lists | {"templates": status.templates, "prompts": status.prompts}


def sheet_of(status: ServerStatus, lists: Sequence[SheetLine], mask: Mask, *, instructed: str, wanted: str) -> Sheet:
    """Return all that is known of a server, masked before it is cut; with words to filter by, only the lists."""
    state = f"{status.state}{f': {line(mask(status.detail), 600)}' if status.detail else ''}"
    remedy = f"{key_of('reconnect')} {_REMEDIES[status.state]}" if status.state in _REMEDIES else ""
    notes = [remedy, *(f"notice: {line(mask(notice), 400)}" for notice in status.notices)]
    whole = Sheet(what=f"{status.name}: {state}", lines=(), notes=notes)
    if wanted:
        filtered: list[SheetLine] = []
        for entry in lists:
            searched = [(child, f"{child.label}\n{child.note}".lower()) for child in entry.children]
            children = tuple(child for child, text in searched if all(word in text for word in wanted.lower().split()))
            label = f"{entry.key} ({len(children):,} of {len(entry.children):,})"
            filtered.append(replace(entry, label=label, children=children, opened=True))
        return replace(whole, lines=sorted(filtered, key=lambda entry: not entry.children))
    version, malformed = status.protocol_version, f", {status.malformed:,} malformed" if status.malformed else ""
    # Names, words, which are empty for what is not known, and further texts, standard error last.
    told = [
        ("command" if status.transport == "stdio" else "url", status.command, ""),
        ("introduced as", status.server_info, ""),
        ("protocol", f"{version} ({ERAS.get(status.era, status.era)}), {status.transport}" if version else "", ""),
    ]
    if status.capabilities is not None:
        names = ", ".join(status.capabilities) if isinstance(status.capabilities, dict) else ""
        told.append(("capabilities", names or "none", json.dumps(status.capabilities, ensure_ascii=False)))
    if status.instructions:
        beginning = line(mask(status.instructions), _BEGINNING_CHARACTERS)
        told.append(("instructions", f"{instructed}: {beginning}", status.instructions))
    frames = f"{status.frames_out:,} out, {status.frames_in:,} in{malformed}; {key_of('inspector')} lists them"
    told.append(("frames", frames, ""))
    if status.log:
        counts = ", ".join(f"{count:,} {level}" for level, count in status.log_counts)
        lines = [f"{said.level:<9} {f'{said.logger}: ' if said.logger else ''}{said.text}" for said in status.log]
        told.append(("log", f"{counts}; the last {len(lines):,}, newest first", "\n".join(reversed(lines))))
    count = len(status.stderr)
    ended = f"last {count} line{'s' * (count != 1)}" if count else "nothing"
    told.append(("stderr", ended, "\n".join(status.stderr)))
    *facts, errors = (_text(name, f"{name:<14}{mask(words)}", mask(text)) for name, words, text in told if words)
    if status.state in _AWAY:  # what may say why comes first
        failure = SheetLine(key="failure", label=state, style="failed", is_wrapped=True)
        return replace(whole, what=status.name, lines=[failure, replace(errors, opened=True), *facts, *lists])
    return replace(whole, lines=[*facts, *lists, errors])


def lists_of(
    status: ServerStatus, mask: Mask, off: frozenset[str], weights: Mapping[str, ToolWeight]
) -> list[SheetLine]:
    """Return the tools, and the other lists that have items; `weights` are those in the coming request, `off` is switched off."""
    lists: list[SheetLine] = []
    for name, items in offers_of(status).items():
        if items or name == "tools":
            lines = tuple(_offered(item, mask, off, weights) for item in items)
            sent = [weights[item.name] for item in items if isinstance(item, Tool) and item.name in weights]
            figures = {"bytes": sum(tool.size for tool in sent), "tokens": sum(tool.tokens for tool in sent)}
            entry = SheetLine(key=name, label=f"{name} ({len(items):,})", values=figures if sent else {}, style="what")
            lists.append(replace(entry, children=lines, opened=name == "tools"))
    return lists


def _offered(item: Item, mask: Mask, off: frozenset[str], weights: Mapping[str, ToolWeight]) -> SheetLine:
    words, values, schemas = name_of(item), dict[str, Value](), dict[str, object]()
    style: Style = "key"
    if isinstance(item, Tool):
        facts = {"title": item.title, "description": item.description}
        schemas = {"input schema": item.schema, "output schema": item.output_schema}
        if weight := weights.get(item.name):
            values = {"bytes": weight.size, "tokens": weight.tokens}
        if item.name in off:
            words, style = f"{words}  off", "note"
        if item.problem:
            words, style = f"{words}  not sent: {item.problem}", "failed"
    elif isinstance(item, Resource):
        facts = {"name": item.name, "description": item.description, "type": item.media_type}
        values = {"bytes": item.size}
    else:
        facts = {"title": item.title, "description": item.description}
        for argument in item.arguments:
            need = "required" if argument.required else "optional"
            facts[f"argument {argument.name}"] = f"{need}. {argument.description}".removesuffix(". ")
            words += f" {{{argument.name}}}" if argument.required else f" [{argument.name}]"
    if not isinstance(item, OfferedPrompt):
        hints = (f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in item.annotations)
        facts["the server claims"] = ", ".join(hints)
    told = {name: mask(text) for name, text in facts.items() if text}
    lines = [_text(name, f"{name}: {text}") for name, text in told.items()]
    for name, schema in schemas.items():
        if schema is not None:
            entry = SheetLine(key=name, label=name, form="json", opened=name == "input schema")
            lines.append(replace(entry, text=lambda schema=schema: mask(json.dumps(schema, ensure_ascii=False))))
    note = line(next(iter(told.values()), ""), _LABEL_CHARACTERS)
    return SheetLine(key=name_of(item), label=mask(words), values=values, note=note, children=tuple(lines), style=style)


def _text(key: str, label: str, text: str = "") -> SheetLine:
    """Return a line that opens if there is more text than it shows."""
    shown = line(label, _LABEL_CHARACTERS)
    text = text or (label if shown != label else "")
    return SheetLine(key=key, label=shown, text=(lambda: text) if text else None)


@dataclass(slots=True, eq=False)
class DirectRequest:
    """A request, and what came of it so far."""

    session: Session  # records it
    form: Form  # what was asked for, with the values that are sent
    tool: Tool | OfferedPrompt  # what is called: for a resource the tool that reads
    connection: str
    recorder: Recorder
    first: int  # number of the last record before it, which names it
    last: int = 0  # number of its last record; 0 while it runs
    state: str = "waiting for the server"
    failed: str = ""
    blocks: Sequence[ContentBlock] = ()
    raw: JSON = None

    async def make(self, pool: Pool) -> None:
        session, server, item, sent = self.session, self.form.server, self.form.item, self.form.given
        texts = {name: str(value) for name, value in sent.items()}

        def progressed(progress: CallProgress) -> None:
            self.state = f"running: {progress.progress:g} {progress.message}".strip()

        began, state = time.monotonic(), "stopped; the server may have acted"
        session.wait_for("tools")  # so that a question of the server is known to belong here
        try:
            if isinstance(self.tool, OfferedPrompt):
                session.begin_turn(f"prompt {server} {self.tool.name} {short(texts)}")
                place = session.place(step=1, call=f"direct_{session.turn}")
                filled = await pool.get_prompt(server, self.tool.name, texts, place=place)
                self.blocks = [message.content for message in filled.messages]
                self.raw, self.failed = filled.raw, filled.warning
            else:
                if isinstance(item, Resource):
                    sent = {"uri": expand(item.uri, texts) if item.is_template else item.uri}
                given = canonical(sent)
                output = await call_directly(pool, self.recorder, session, self.tool, given, on_progress=progressed)
                self.blocks, self.raw, self.failed = output.content, output.raw, output.warning
                if output.is_error:
                    self.failed = "the server says that the tool failed (isError)"
            state = f"answered after {(time.monotonic() - began) * 1000:,.0f} ms"
        except TuiHostError as error:
            self.failed, state = str(error), "failed"
        finally:
            session.wait_for("")
            self.state, self.last = state, self.recorder.reached

    def line(self, mask: Mask, *, is_newest: bool) -> SheetLine:
        lines: list[SheetLine] = []
        if self.failed:
            lines.append(SheetLine(key="failed", label=mask(self.failed), style="failed", is_wrapped=True))
        for number, block in enumerate(self.blocks):
            label, text = f"{block.kind} {block.media_type} {block.uri}".strip(), partial(mask, block.text)
            lines.append(SheetLine(key=f"block {number}", label=label, text=text, opened=True, style="key"))
        if self.raw is not None:
            received = partial(json.dumps, self.raw, ensure_ascii=False)
            lines.append(SheetLine(key="raw", label="result as received", text=received))
        lines.append(SheetLine(key="frames", label="frames", text=self._frames, form="plain", style="what"))
        label = f"{name_of(self.form.item)}: {self.state}  {short(self.form.given, 120) if self.form.given else ''}"
        whole = SheetLine(key=f"{self.first}", label=mask(label), children=tuple(lines), style="key")
        return replace(whole, opened=is_newest)

    def _frames(self) -> str:
        count = min(5000, (self.last or self.recorder.reached) - self.first)
        return "\n\n".join(
            f"{'-->' if record.direction == 'out' else '<--'} {masked(decode(record.data), record.redacted)}"
            for record in self.recorder.since(self.first, limit=count)
            if record.kind == "frame" and record.connection == self.connection
        )
