"""Exports a session as Markdown: the conversation, and under each step its requests, responses and frames.

Foreign text is put into quotes and fences that it cannot end (a quote closes whatever it leaves open), so that it
cannot be mistaken for the host's own text. Within a line, foreign text is code; in a heading, words without markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TypeAlias

from tui_host.capture.connection_end import reason_of_end
from tui_host.capture.content_codings import decode_records
from tui_host.capture.exports.keyless import keyless
from tui_host.capture.exports.parts import Records
from tui_host.capture.frames.frame_heads import frame_head
from tui_host.capture.http.exchange_end import missing_in_words, read_ending
from tui_host.capture.json.narrowing import number_or_zero, text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.record import MISSING, Record
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.visible import visible
from tui_host.errors import JSON

_Step: TypeAlias = tuple[int, int]
_Id: TypeAlias = tuple[str, str]

_BREAK = re.compile(r"\r\n|\r|\n")
_MARKUP = re.compile(r"[\\`*_\[\]<>!|~#&$]|:(?=//)|(?<=\bwww)\.|@(?=\w)")
"""Characters that begin markup or a link in a line, and those that may end one."""
_TICKS = re.compile(r"`+")


def pieces(session: SessionInfo, records: Records, items: Sequence[str]) -> Iterator[bytes]:
    """Yield the document piece by piece. Items that cannot be read are left out."""
    for block in _blocks(session, _Traffic(records), items):
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


class _Traffic:
    """A session's records by step, with the bodies of answers apart. What has been written is taken away."""

    def __init__(self, records: Records) -> None:
        self.steps: dict[_Step, list[Record]] = {}
        self.preamble: list[Record] = []
        self._bodies: dict[_Id, list[Record]] = {}
        self._framed: set[_Id] = set()  # exchanges whose bodies stand there as frames
        self._unasked: set[_Id] = set()
        place: _Step = (0, 0)
        for record, is_preamble in records:
            exchange = _exchange(record)
            if record.kind == "chunk":
                self._bodies.setdefault(exchange, []).append(record)
                continue
            if record.kind == "request" and record.malformed == MISSING:
                self._unasked.add(exchange)
            if record.kind == "frame" and record.exchange:
                self._framed.add(exchange)
            if is_preamble:
                self.preamble.append(record)
                continue
            if record.place.turn is not None:  # a record without a step stays where it was captured
                place = (record.place.turn, record.place.step or 0)
            self.steps.setdefault(place, []).append(record)

    def written(self, turn: int, step: int | None = None) -> Iterator[str]:
        """Take away and write the records of a step, or all remaining records of a turn."""
        keys = [key for key in self.steps if key[0] == turn and step in {None, key[1]}]
        yield from self.blocks([record for key in keys for record in self.steps.pop(key)])

    def blocks(self, records: Iterable[Record]) -> Iterator[str]:
        """Write some records."""
        for said_by, group in groupby(records, lambda record: record.peer if record.kind == "line" else ""):
            if said_by:
                lines = b"".join(record.data for record in group)
                yield f"**{code(said_by)} standard error**"
                yield fence(lines.decode("utf-8", "backslashreplace"))
            else:
                for record in group:
                    yield from self._record(record)

    def _record(self, record: Record) -> Iterator[str]:
        way = f"**host → {code(record.peer)}**" if record.direction == "out" else f"**{code(record.peer)} → host**"
        exchange, head = _exchange(record), record.head
        match record.kind:
            case "request":
                line = f"{head.method} {head.url or ''}" if head is not None and head.method else ""
                yield f"{way} request {code(line)}".rstrip() + _malformed(record)
                if exchange not in self._framed:
                    yield from _body([record])
            case "response":
                status = str(head.status) if head is not None and head.status else ""
                yield f"{way} response {code(status)}".rstrip() + _malformed(record)
                if exchange not in self._framed:
                    yield from _body(self._bodies.get(exchange, ()))
            case "end" if record.exchange is None:
                yield f"**{code(record.peer)}** connection ended: {code(reason_of_end(record))}"
            case "end" if read_ending(record.data).reason == MISSING:
                yield f"{way} {missing_in_words(len(self._unasked & self._bodies.keys()))}"
            case "error":
                ending = read_ending(record.data)
                yield f"{way} failed: {code(f'{ending.reason} {ending.error}')}"
            case "frame":
                frame = frame_head(record.data)
                number = f" #{frame.id}" if frame.id else ""
                yield f"{way} {code((frame.method or frame.kind) + number)}{_malformed(record)}"
                yield from _body([record])
            case "decision":
                yield f"**Decision** {code(_decision(read_object(record.data)))}"
            case _:
                return  # links join what is already shown; ends add nothing


def _exchange(record: Record) -> _Id:
    return record.capture, record.exchange or ""


def _malformed(record: Record) -> str:
    if record.malformed == MISSING:
        return f" · {MISSING}"
    return f" · malformed: {code(record.malformed)}" if record.malformed else ""


def _decision(value: Mapping[str, JSON]) -> str:
    if not value:
        return ""
    server, tool, reason, decision = (
        text_or_empty(value.get(name)) for name in ("server", "tool", "words", "decision")
    )
    return " · ".join(filter(None, (f"{server}.{tool}", reason, decision)))


def _body(records: Sequence[Record]) -> Iterator[str]:
    size = sum(len(record.data) for record in records)
    if not size:
        return
    body, problem = decode_records(records)
    if problem:
        how = ", shown as far as they can be read" if body else " that cannot be shown as text"
        yield f"{size} bytes{how}: {code(problem)}"
    if body or not problem:
        text = body.decode("utf-8", "backslashreplace")
        yield fence(text, "json" if text.lstrip()[:1] in {"{", "["} else "")


def _blocks(session: SessionInfo, traffic: _Traffic, items: Iterable[str]) -> Iterator[str]:
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
                yield from traffic.written(turn, step)
        yield from traffic.written(turn)
    for turn in sorted({key[0] for key in traffic.steps}):
        yield f"## Turn {turn}: on the wires"
        yield from traffic.written(turn)
    if traffic.preamble:
        yield "## Before: how the servers were connected"
        yield from traffic.blocks(traffic.preamble)


def _placed(items: Iterable[str]) -> Iterator[tuple[_Step, Mapping[str, JSON]]]:
    """Yield items with turn and step. A note belongs to the step in which it was made."""
    place: _Step = (0, 0)
    for text in items:
        item = read_object(text.encode("utf-8", "surrogatepass"))
        if item:
            turn = number_or_zero(item.get("turn")) or place[0]
            step = number_or_zero(item.get("step")) or (place[1] if turn == place[0] else 0)
            place = (turn, step)
            yield place, item


def _item(item: Mapping[str, JSON], user: str) -> Iterator[str]:
    texts = {name: text_or_empty(value) for name, value in item.items()}
    match texts.get("item"):
        case "user":
            origin, role = (code(texts.get(name, "")) for name in ("origin", "role"))
            yield f"**{user}**{f' · from the prompt {origin}' if origin else ''}{f', as {role}' if role else ''}"
            yield quote(texts.get("text", ""))
        case "answer":
            if texts.get("thinking"):
                yield "**Model**, thinking"
                yield quote(texts["thinking"])
            if texts.get("text", "").strip():
                yield "**Model**"
                yield quote(texts["text"])
            if texts.get("state", "") not in {"", "done"}:
                yield f"The answer is not complete: {code(texts['state'])}"
        case "call":
            yield from _call(texts)
        case "note":
            yield "**Host**"
            yield quote(" · ".join(filter(None, (texts.get(name, "") for name in ("where", "what", "remedy")))))
        case _:
            return


_OF_CALL = (
    ("sent", "What was sent instead:", "json"),
    ("result", "Its result:", ""),
    ("contents", "The result contains:", None),
    ("structured", "Its structured content:", "json"),
    ("output_misfits", "The result does not fit the tool's output schema:", None),
)
"""What a call may have: the field, its heading, and the language of its fence; None for a quote."""


def _call(texts: Mapping[str, str]) -> Iterator[str]:
    server, tool = texts.get("server", ""), texts.get("tool", "")
    decided = texts.get("words") or texts.get("state", "")
    yield f"**Call** {code(f'{server}.{tool}' if server else tool)} · {code(decided)}"
    yield fence(texts.get("asked", ""), "json")
    for name, heading, language in _OF_CALL:
        is_shown = name != "sent" or texts.get("decision") == "edited"  # else it differs in spaces and spelling alone
        if is_shown and (text := texts.get(name)):
            yield heading
            yield quote(text) if language is None else fence(text, language)
