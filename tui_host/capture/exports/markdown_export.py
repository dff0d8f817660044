"""Exports a session as Markdown: the conversation, and under each step its requests, responses and frames.

Foreign text is put into quotes and fences that it cannot end (a quote closes whatever it leaves open), so that it
cannot be mistaken for the host's own text. Within a line, foreign text is code; in a heading, words without markup.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeAlias

from tui_host.capture.connection_end import reason_of_end
from tui_host.capture.exports.keyless import keyless
from tui_host.capture.frames.frame_heads import frame_head
from tui_host.capture.http.decoded_body import decode_drafts
from tui_host.capture.http.exchange_end import missing_in_words, read_ending
from tui_host.capture.record import MISSING, Record
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.visible import visible
from tui_host.errors import JSON

Item: TypeAlias = Mapping[str, JSON]
StepKey: TypeAlias = tuple[int, int]

_BREAK = re.compile(r"\r\n|\r|\n")
_MARKUP = re.compile(r"[\\`*_\[\]<>!|~#&$]|:(?=//)|(?<=\bwww)\.|@(?=\w)")
"""Characters that begin markup or a link in a line, and those that may end one."""
_TICKS = re.compile(r"`+")


@dataclass(slots=True)
class _Wires:
    """A session's records, sorted by step."""

    steps: dict[StepKey, list[Record]] = field(default_factory=dict[StepKey, list[Record]])
    preamble: list[Record] = field(default_factory=list[Record])
    bodies: dict[tuple[str, str], list[Record]] = field(default_factory=dict[tuple[str, str], list[Record]])
    framed: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    unasked: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def take(self, turn: int, step: int | None = None) -> list[Record]:
        """Remove and return the records of a step, or all remaining records of a turn."""
        keys = [key for key in self.steps if key[0] == turn and step in {None, key[1]}]
        return [record for key in keys for record in self.steps.pop(key)]


def pieces(session: SessionInfo, items: Iterable[str], records: Iterable[tuple[Record, bool]]) -> Iterator[bytes]:
    """Yield the document piece by piece. Items that cannot be read are left out."""
    for block in _blocks(session, items, records):
        yield f"{keyless(block)}\n\n".encode("utf-8", "backslashreplace")


def quote(text: str) -> str:
    """Return a text as a block quote in which no markup stays open and no character acts on a terminal."""
    return "\n".join(f"> {visible(line)}".rstrip() for line in _BREAK.split(text))


def fence(text: str, language: str = "") -> str:
    """Return a text as a code block, with a fence longer than any in the text, and with no character that acts or hides."""
    text = visible(text.replace("\r\n", "\n"))
    longest = max(map(len, _TICKS.findall(text))) if "```" in text else 2  # bodies are large, and most contain no fence
    ticks = "`" * (1 + longest)
    end = "" if text.endswith("\n") else "\n"
    return f"{ticks}{language}\n{text}{end}{ticks}"


def words(text: str) -> str:
    """Return a text as words in a line, without markup and without characters that act or hide."""
    return _MARKUP.sub(r"\\\g<0>", visible(" ".join(text.split())))


def code(text: str) -> str:
    """Return a text as code within a line."""
    text = visible(" ".join(text.split()))
    ticks = "`" * (1 + max(map(len, _TICKS.findall(text)), default=0))
    space = " " if "`" in text else ""
    return f"{ticks}{space}{text}{space}{ticks}" if text else ""


def _blocks(session: SessionInfo, items: Iterable[str], records: Iterable[tuple[Record, bool]]) -> Iterator[str]:
    wires = _sorted(records)
    yield f"# {words(keyless(session.title)) or 'untitled'}"
    yield f"{session.id} · {code(session.model)} · {code(session.protocol)} · {session.created}"
    for turn, of_turn in groupby(_placed(items), lambda placed: placed[0][0]):
        yield f"## Turn {turn}"
        for step, of_step in groupby(of_turn, lambda placed: placed[0][1]):
            if step:
                yield f"### Step {step}"
            for _, item in of_step:
                yield from _item(item, session.user)
            if step:
                yield from _traffic(wires, wires.take(turn, step))
        yield from _traffic(wires, wires.take(turn))
    for turn in sorted({key[0] for key in wires.steps}):
        yield f"## Turn {turn}: on the wires"
        yield from _traffic(wires, wires.take(turn))
    if wires.preamble:
        yield "## Before: how the servers were connected"
        yield from _traffic(wires, wires.preamble)


def _sorted(records: Iterable[tuple[Record, bool]]) -> _Wires:
    wires = _Wires()
    place: StepKey = (0, 0)
    for record, is_preamble in records:
        exchange = (record.capture, record.exchange or "")
        if record.kind == "chunk":
            wires.bodies.setdefault(exchange, []).append(record)
            continue
        if record.kind == "request" and record.malformed == MISSING:
            wires.unasked.add(exchange)
        if record.kind == "frame" and record.exchange:
            wires.framed.add(exchange)
        if is_preamble:
            wires.preamble.append(record)
            continue
        if record.place.turn is not None:  # a record without a step stays where it was captured
            place = (record.place.turn, record.place.step or 0)
        wires.steps.setdefault(place, []).append(record)
    return wires


def _placed(items: Iterable[str]) -> Iterator[tuple[StepKey, Item]]:
    """Yield items with turn and step. A note belongs to the step in which it was made."""
    place: StepKey = (0, 0)
    for item in _read(items):
        turn = _number(item, "turn") or place[0]
        step = _number(item, "step") or (place[1] if turn == place[0] else 0)
        place = (turn, step)
        yield place, item


def _read(items: Iterable[str]) -> Iterator[Item]:
    for text in items:
        try:
            value: JSON = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, Mapping):
            yield value


def _item(item: Item, user: str) -> Iterator[str]:
    match item.get("item"):
        case "user":
            origin, role = _text(item, "origin"), _text(item, "role")
            yield f"**{user}**{f' · from the prompt {code(origin)}' if origin else ''}{f', as {code(role)}' if role else ''}"
            yield quote(_text(item, "text"))
        case "answer":
            if thinking := _text(item, "thinking"):
                yield "**Model**, thinking"
                yield quote(thinking)
            if (answer := _text(item, "text")).strip():
                yield "**Model**"
                yield quote(answer)
            if (state := _text(item, "state")) not in {"", "done"}:
                yield f"The answer is not complete: {code(state)}"
        case "call":
            yield from _call(item)
        case "note":
            yield "**Host**"
            yield quote(" · ".join(text for name in ("where", "what", "remedy") if (text := _text(item, name))))
        case _:
            return


def _call(item: Item) -> Iterator[str]:
    server, tool = _text(item, "server"), _text(item, "tool")
    decided = _text(item, "words") or _text(item, "state")
    yield f"**Call** {code(f'{server}.{tool}' if server else tool)} · {code(decided)}"
    asked, sent = _text(item, "asked"), _text(item, "sent")
    yield fence(asked, "json")
    if sent and _text(item, "decision") == "edited":  # else it differs in spaces and spelling alone
        yield "What was sent instead:"
        yield fence(sent, "json")
    if result := _text(item, "result"):
        yield "Its result:"
        yield fence(result)
    if contents := _text(item, "contents"):
        yield "The result contains:"
        yield quote(contents)
    if structured := _text(item, "structured"):
        yield "Its structured content:"
        yield fence(structured, "json")
    if misfits := _text(item, "output_misfits"):
        yield "The result does not fit the tool's output schema:"
        yield quote(misfits)


def _traffic(wires: _Wires, records: Sequence[Record]) -> Iterator[str]:
    for said_by, group in groupby(records, lambda record: record.peer if record.kind == "line" else ""):
        if said_by:
            lines = b"".join(record.data for record in group)
            yield f"**{code(said_by)} standard error**"
            yield fence(lines.decode("utf-8", "backslashreplace"))
        else:
            for record in group:
                yield from _record(wires, record)


def _record(wires: _Wires, record: Record) -> Iterator[str]:
    exchange = (record.capture, record.exchange or "")
    head = record.head
    match record.kind:
        case "request":
            line = f"{head.method} {head.url or ''}" if head is not None and head.method else ""
            yield f"{_way(record)} request {code(line)}".rstrip() + _malformed(record)
            if exchange not in wires.framed:
                yield from _body([record])
        case "response":
            status = str(head.status) if head is not None and head.status else ""
            yield f"{_way(record)} response {code(status)}".rstrip() + _malformed(record)
            if exchange not in wires.framed:
                yield from _body(wires.bodies.get(exchange, ()))
        case "end" if record.exchange is None:
            yield f"**{code(record.peer)}** connection ended: {code(reason_of_end(record))}"
        case "end" if read_ending(record.data).reason == MISSING:
            yield f"{_way(record)} {missing_in_words(len(wires.unasked & wires.bodies.keys()))}"
        case "error":
            ending = read_ending(record.data)
            yield f"{_way(record)} failed: {code(f'{ending.reason} {ending.error}')}"
        case "frame":
            frame = frame_head(record.data)
            number = f" #{frame.id}" if frame.id else ""
            yield f"{_way(record)} {code((frame.method or frame.kind) + number)}{_malformed(record)}"
            yield from _body([record])
        case "decision":
            yield f"**Decision** {code(_decision(record.data))}"
        case _:
            return  # links join what is already shown; ends add nothing


def _way(draft: Record) -> str:
    return f"**host → {code(draft.peer)}**" if draft.direction == "out" else f"**{code(draft.peer)} → host**"


def _malformed(draft: Record) -> str:
    if draft.malformed == MISSING:
        return f" · {MISSING}"
    return f" · malformed: {code(draft.malformed)}" if draft.malformed else ""


def _decision(data: bytes) -> str:
    try:
        value: JSON = json.loads(data)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(value, Mapping):
        return ""
    return " · ".join(
        text
        for text in (
            f"{_text(value, 'server')}.{_text(value, 'tool')}",
            _text(value, "words"),
            _text(value, "decision"),
        )
        if text
    )


def _body(drafts: Sequence[Record]) -> Iterator[str]:
    size = sum(len(draft.data) for draft in drafts)
    if not size:
        return
    body, problem = decode_drafts(drafts)
    if problem:
        yield f"{size} bytes{', shown as far as they can be read' if body else ' that cannot be shown as text'}: {code(problem)}"
    if problem and not body:
        return
    text = body.decode("utf-8", "backslashreplace")
    yield fence(text, "json" if text.lstrip()[:1] in {"{", "["} else "")


def _text(item: Item, name: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) else ""


def _number(item: Item, name: str) -> int:
    value = item.get(name)
    return value if isinstance(value, int) else 0
