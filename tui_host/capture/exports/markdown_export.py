"""Exports a session as Markdown: the conversation, and under each step its requests, responses and frames.

Foreign text is put into quotes and fences that it cannot end (a quote closes whatever it leaves open), so that it
cannot be mistaken for the host's own text. Within a line, foreign text is code; in a heading, words without markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from tui_host.capture.connection_end import reason_of_end
from tui_host.capture.content_codings import decode_records
from tui_host.capture.exports.parts import Records, keyless, placed_items
from tui_host.capture.frames.frame_heads import read_frame
from tui_host.capture.http.exchange_end import missing_in_words, read_ending
from tui_host.capture.json.narrowing import text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.record import MISSING, Head, Record
from tui_host.capture.session_summary import SessionInfo, rfc3339
from tui_host.capture.visible import visible

_BREAK = re.compile(r"\r\n|\r|\n")
_MARKUP = re.compile(r"[\\`*_\[\]<>!|~#&$]|:(?=//)|(?<=\bwww)\.|@(?=\w)")
"""Characters that begin markup or a link in a line, and those that may end one."""
_TICKS = re.compile(r"`+")
_OF_CALL = (
    ("sent", "What was sent instead:", "json"),
    ("result", "Its result:", ""),
    ("contents", "The result contains:", None),
    ("structured", "Its structured content:", "json"),
    ("output_misfits", "The result does not fit the tool's output schema:", None),
)
"""What a call may have: the field, its heading, and the language of its fence; None for a quote."""


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


def pieces(session: SessionInfo, records: Records, items: Sequence[str]) -> Iterator[bytes]:
    """Yield the document piece by piece. Items that cannot be read are left out."""
    for block in _blocks(session, _Traffic(records), items):
        yield f"{keyless(block)}\n\n".encode("utf-8", "backslashreplace")


def _blocks(session: SessionInfo, traffic: _Traffic, items: Iterable[str]) -> Iterator[str]:
    yield f"# {words(keyless(session.title)) or 'untitled'}"
    yield f"{session.id} · {code(session.model)} · {code(session.protocol)} · {rfc3339(session.created_ns)}"
    if session.parent is not None:
        yield f"{words(session.parent.words())} · {session.parent.parent}"
    placed = [(turn, step, item) for turn, step, item in placed_items(items) if item]
    for turn, of_turn in groupby(placed, lambda place: place[0]):
        yield f"## Turn {turn}"
        for step, of_step in groupby(of_turn, lambda place: place[1]):
            if step:
                yield f"### Step {step}"
            for _, _, item in of_step:
                yield from _item({name: text_or_empty(value) for name, value in item.items()}, session.user)
            if step:
                yield from traffic.written(turn, step)
        yield from traffic.written(turn)
    for turn in sorted({key[0] for key in traffic.steps}):
        yield f"## Turn {turn}: on the wires"
        yield from traffic.written(turn)
    if traffic.preamble:
        yield "## Before: how the servers were connected"
        yield from traffic.blocks(traffic.preamble)


def _item(texts: Mapping[str, str], user: str) -> Iterator[str]:
    text = texts.get("text", "")
    match texts.get("item"):
        case "user":
            origin, role = code(texts.get("origin", "")), code(texts.get("role", ""))
            yield f"**{user}**{f' · from the prompt {origin}' if origin else ''}{f', as {role}' if role else ''}"
            yield quote(text)
        case "answer":
            if texts.get("thinking"):
                yield "**Model**, thinking"
                yield quote(texts["thinking"])
            if text.strip():
                yield "**Model**"
                yield quote(text)
            if texts.get("state", "") not in {"", "done"}:
                yield f"The answer is not complete: {code(texts['state'])}"
        case "call":
            server, tool = texts.get("server", ""), texts.get("tool", "")
            decided = texts.get("words") or texts.get("state", "")
            yield f"**Call** {code(f'{server}.{tool}' if server else tool)} · {code(decided)}"
            yield fence(texts.get("asked", ""), "json")
            for name, heading, language in _OF_CALL:
                is_shown = name != "sent" or texts.get("decision") == "edited"  # else it differs in spelling alone
                if is_shown and (value := texts.get(name)):
                    yield heading
                    yield quote(value) if language is None else fence(value, language)
        case "note" if texts.get("what"):
            yield "**Host**"
            yield quote(" · ".join(filter(None, map(texts.get, ("where", "what", "remedy")))))
        case _:
            return


class _Traffic:
    """A session's records by turn and step, with the bodies of answers apart. What has been written is taken away."""

    def __init__(self, records: Records) -> None:
        self.steps: dict[tuple[int, int], list[Record]] = {}
        self.preamble: list[Record] = []
        self._bodies: dict[tuple[str, str | None], list[Record]] = {}
        self._framed: set[tuple[str, str | None]] = set()  # exchanges whose bodies stand there as frames
        self._unasked: set[tuple[str, str | None]] = set()
        self._answered: set[tuple[str, str | None]] = set()  # exchanges with the head of an answer
        place = (0, 0)
        for record, is_preamble in records:
            exchange = record.capture, record.exchange
            if record.kind == "chunk":
                self._bodies.setdefault(exchange, []).append(record)
                continue
            if record.kind == "request" and record.malformed == MISSING:
                self._unasked.add(exchange)
            elif record.kind == "frame" and record.exchange:
                self._framed.add(exchange)
            elif record.kind == "response":
                self._answered.add(exchange)
            if record.place.turn is not None and not is_preamble:  # without a step, it stays where it was captured
                place = (record.place.turn, record.place.step or 0)
            (self.preamble if is_preamble else self.steps.setdefault(place, [])).append(record)

    def written(self, turn: int, step: int | None = None) -> Iterator[str]:
        """Take away and write the records of a step, or all remaining records of a turn."""
        keys = [key for key in self.steps if key[0] == turn and step in {None, key[1]}]
        yield from self.blocks([record for key in keys for record in self.steps.pop(key)])

    def blocks(self, records: Iterable[Record]) -> Iterator[str]:
        """Write some records."""
        for writer, group in groupby(records, lambda record: record.peer if record.kind == "line" else ""):
            if writer:
                yield f"**{code(writer)} standard error**"
                yield fence(b"".join(record.data for record in group).decode("utf-8", "backslashreplace"))
                continue
            for record in group:
                words, of_body = self._words(record)
                body, problem = decode_records(of_body)
                if words:
                    yield words
                if problem:
                    how = ", shown as far as they can be read" if body else " that cannot be shown as text"
                    yield f"{sum(len(part.data) for part in of_body)} bytes{how}: {code(problem)}"
                if body:
                    text = body.decode("utf-8", "backslashreplace")
                    yield fence(text, "json" if text.lstrip()[:1] in {"{", "["} else "")

    def _words(self, record: Record) -> tuple[str, Sequence[Record]]:
        """Return the line above a record, and the records of the body that stands below it."""
        way = f"**host → {code(record.peer)}**" if record.direction == "out" else f"**{code(record.peer)} → host**"
        exchange, head = (record.capture, record.exchange), record.head or Head()
        fault = f" · malformed: {code(record.malformed)}" if record.malformed else ""
        if record.malformed == MISSING:
            fault = f" · {MISSING}"
        match record.kind:
            case "request":
                asked = code(f"{head.method} {head.url or ''}") if head.method else ""
                return f"{way} request {asked}".rstrip() + fault, [record] if exchange not in self._framed else ()
            case "response":
                body = self._bodies.get(exchange, ()) if exchange not in self._framed else ()
                return f"{way} response {code(str(head.status or ''))}".rstrip() + fault, body
            case "end" if record.exchange is None:
                return f"**{code(record.peer)}** connection ended: {code(reason_of_end(record))}", ()
            case "end" if (ending := read_ending(record.data)).reason == MISSING:
                if exchange in self._answered:
                    return f"{way} the answer's body is {ending.missing}", ()
                return f"{way} {missing_in_words(len(self._unasked & self._bodies.keys()))}", ()
            case "error":
                ending = read_ending(record.data)
                return f"{way} failed: {code(f'{ending.reason} {ending.error}')}", ()
            case "frame":
                frame = read_frame(record.data, in_words=True).head
                number = f" #{frame.id}" if frame.id else ""
                return f"{way} {code((frame.method or frame.kind) + number)}{fault}", [record]
            case "decision":
                value = read_object(record.data)
                names = ("server", "tool", "words", "decision")
                server, tool, said, decision = (text_or_empty(value.get(name)) for name in names)
                name = f"{server}.{tool}" if value else ""
                return f"**Decision** {code(' · '.join(filter(None, (name, said, decision))))}", ()
            case _:  # links join what is already shown; ends add nothing
                return "", ()
