"""Reads files with a single body: a request to a model, or an answer, whole or as a stream. Bytes stay unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tui_host.capture.json.file_values import VALUE_LIMIT, elements, read_value
from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON
from tui_host.opening.body_dialects import (
    Body,
    answer_of,
    answer_with,
    history_dialect,
    is_bare_error,
    request_dialect,
    request_dialects,
    to_json,
)
from tui_host.opening.exchange_assembly import NO_ANSWER_BUT, Exchange, MixedEvents
from tui_host.opening.import_types import LATEST_NS, File, Moment, Notes, TimedDraft, line_of

_FIELD = re.compile(rb"(?:data|event|id|retry)(?::|\r?$)|:")
_LINE = re.compile(rb"[^\r\n]+")
_EMPTY_LINE = re.compile(rb"\n[ \t]*\r?\n|\r\r")
_EVENT_END = re.compile(rb"(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?!\n))+")
_LINE_END = re.compile(rb"\n+")
_OBJECTS = re.compile(rb"\s*(?:\{|\[\s*\{)")


class BodyFile(NamedTuple):
    """The content of a file with one body.

    Attributes:
        form: `messages`, `json`, `sse` or `ndjson`.
        dialects: For a request, all dialects in which it may be written.
    """

    is_request: bool
    dialect: str
    form: str
    dialects: frozenset[str] = frozenset()


def recognise(file: File) -> BodyFile | None:
    """Recognise a file with a single body; None for any other file."""
    if not 0 < len(file.data) <= VALUE_LIMIT:
        return None
    data = file.data[:]
    value = read_value(data) if _OBJECTS.match(data) else None
    return _of_stream(data) if value is None else _of_value(value)


def _of_value(value: JSON) -> BodyFile | None:
    answer = answer_of(value)
    if answer is not None or is_bare_error(value):
        return BodyFile(is_request=False, dialect="ollama" if answer is None else answer.dialect, form="json")
    if dialect := request_dialect(value):
        return BodyFile(is_request=True, dialect=dialect, form="json", dialects=request_dialects(value))
    dialect = history_dialect(value)
    return BodyFile(is_request=True, dialect=dialect, form="messages") if dialect else None


def _of_stream(data: bytes) -> BodyFile | None:
    """Recognise a single stream. Other lines, a second stream, or events without empty lines make the file a log."""
    form = dialect = ""
    ends = events = 0
    mixed = MixedEvents()
    for match in _LINE.finditer(data):
        line = match[0]
        if not line.strip():
            continue
        form = form or ("ndjson" if line.lstrip()[:1] == b"{" else "sse")
        if form == "sse" and not _FIELD.match(line):
            return None
        event = line if form == "ndjson" else line[5:].strip() if line.startswith(b"data:") else b""
        if event == b"[DONE]":
            ends += 1
        elif event:
            answer = answer_of(read_value(event))
            if answer is None and form == "ndjson":
                return None
            events += 1
            if answer is not None:
                is_second = ends > 0 and not _is_rest(answer)
                dialect = dialect or answer.dialect
                if answer.part is not None:
                    mixed.see(answer.dialect, answer.part)
                if is_second or mixed.are_there or (form == "ndjson" and dialect != "ollama"):
                    return None
                ends += answer.part is not None and answer.part.ends
    if not dialect or (form == "sse" and events > 1 and not _EMPTY_LINE.search(data.strip())):
        return None
    return BodyFile(is_request=False, dialect=dialect, form=form)


def _is_rest(answer: Body) -> bool:
    return answer.part is not None and answer.part.is_empty and not answer.part.begins


def read(files: Sequence[tuple[File, BodyFile]], notes: Notes, peer: str) -> Iterator[TimedDraft]:
    """Yield each request with the first answer in its dialect, in any order of the files; anything else alone."""
    at = Moment(min(file.time_ns for file, _ in files), is_told=False)
    answers = [answer for answer in files if not answer[1].is_request]
    for file, body in files:
        if body.form == "messages":
            yield from exchanges_in(file, notes, peer, body.dialect)
        elif body.is_request:
            fitting = next((answer for answer in answers if answer[1].dialect in body.dialects), None)
            exchange = Exchange(notes, peer)
            dialect = body.dialect if fitting is None else fitting[1].dialect
            yield from exchange.request(file.data[:], at, dialect=dialect)
            if fitting is None:
                yield from exchange.finish()
            else:
                answers.remove(fitting)
                yield from _answer(*fitting, at, exchange, notes)
    for file, body in answers:
        yield from _answer(file, body, at, Exchange(notes, peer), notes)


def _answer(file: File, body: BodyFile, at: Moment, exchange: Exchange, notes: Notes) -> Iterator[TimedDraft]:
    data = file.data[:]
    last = b""
    for piece in _pieces(data, body.form):
        yield from exchange.answer(piece, at, dialect=body.dialect, form=body.form)
        yield from exchange.flush()  # count events as if they had arrived one by one
        last = piece
    is_cut = body.form != "json" and _is_cut(last)
    if is_cut:
        where = f"line {line_of(data, len(data) - len(last))}"
        notes.messages.append(f"{file.name}, {where}: the stream is cut off within an event.")
    yield from exchange.finish(is_cut=is_cut)


def _is_cut(piece: bytes) -> bool:
    """Whether the JSON of a stream's last event breaks off."""
    event = piece[piece.rfind(b"data:") + 5 :] if b"data:" in piece else piece
    return event.lstrip()[:1] == b"{" and read_value(event.strip()) is None


def _pieces(data: bytes, form: str) -> Iterator[bytes]:
    """Split a stream after each event or line; return any other body whole."""
    end = {"sse": _EVENT_END, "ndjson": _LINE_END}.get(form)
    at = 0
    for match in end.finditer(data) if end is not None else ():
        yield data[at : match.end()]
        at = match.end()
    if at < len(data) or not data:
        yield data[at:]


NO_HEAD = "method, address, headers, and all of the body but its messages: the file has them alone"
SHOWN_LIMIT = 32 << 20
"""Largest requests to show, in bytes: each repeats the ones before."""
_MILLISECONDS_IN_2001 = 10**12


class _Message(NamedTuple):
    value: Mapping[str, JSON]
    start: int
    end: int
    told_ns: int

    @property
    def is_models(self) -> bool:
        return self.value.get("role") == "assistant"


def exchanges_in(file: File, notes: Notes, peer: str, dialect: str) -> Iterator[TimedDraft]:
    """Make exchanges from a list of messages."""
    data = file.data[:]
    messages = [_message(mapping(value), start, end) for value, start, end in elements(data, data.find(b"["))]
    first = next((number for number, message in enumerate(messages) if not message.is_models), 0)
    answers = [number for number, message in enumerate(messages) if message.is_models and number > first]
    if sum(messages[number].start for number in answers) > SHOWN_LIMIT:
        notes.messages.append(f"{file.name} is long: it is shown as one request, and the chat tells only how it ends.")
        answers = []
    are_timed = all(message.told_ns for message in messages)
    begin, latest_ns = messages[0].start, 0

    def at(message: _Message) -> Moment:
        nonlocal latest_ns
        latest_ns = max(latest_ns, message.told_ns)
        return Moment(latest_ns) if are_timed else Moment(file.time_ns, is_told=False)

    def asked(exchange: Exchange, last: _Message) -> Iterator[TimedDraft]:
        body = b'{"messages":[%s]}' % data[begin : last.end]
        return exchange.request(body, at(last), dialect=dialect, lacks=NO_HEAD)

    for number in answers:
        answer, exchange = messages[number], Exchange(notes, peer)
        yield from asked(exchange, messages[number - 1])
        whole = to_json(answer_with(answer.value, dialect))
        yield from exchange.answer(whole, at(answer), dialect=dialect, form="json", lacks=NO_ANSWER_BUT)
        yield from exchange.finish()
    if not answers or answers[-1] < len(messages) - 1:
        exchange = Exchange(notes, peer)
        yield from asked(exchange, messages[-1])
        yield from exchange.finish()


def _message(value: Mapping[str, JSON], start: int, end: int) -> _Message:
    timestamp = value.get("ts")
    milliseconds = timestamp if isinstance(timestamp, int | float) else 0
    told_ns = int(milliseconds * 10**6) if _MILLISECONDS_IN_2001 < milliseconds <= LATEST_NS / 10**6 else 0
    return _Message(value, start, end, told_ns)
