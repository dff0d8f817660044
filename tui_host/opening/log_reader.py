"""Reads logs: lines of JSON-RPC messages, bodies and events of streams, with an optional time and direction before each.

A line may also be an object that holds such messages in its members, as scripts write one for each message or exchange.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from tui_host.errors import JSON
from tui_host.llm.body_kinds import AnswerPart
from tui_host.opening.body_dialects import Body, body_of, is_bare_error, request_dialects, to_json, url_dialect
from tui_host.opening.exchange_assembly import MIXED, REMEDY, Exchange
from tui_host.opening.import_types import TOO_LATE, File, Moment, Notes, TimedDraft, line_of, place_of
from tui_host.opening.log_frames import LogFrames
from tui_host.opening.log_lines import LogClock, LogLines, LogValue

OTHERS = "lines that are of neither wire"
_STDERR = re.compile(r"std_?err|\berr\b", re.IGNORECASE)
_EVENT_NAME = re.compile(r"(?:\A|\s)event:[ \t]?([\w.]{1,80})\s*$")
_DONE = re.compile(r"\bdata:[ \t]*\[DONE\]")
_ADDRESS = re.compile(r"(?<![^\s\"'`(\[<=:])(?:https?://|/)[^\s\"'`()\[\]<>{},;]{1,2000}")
_WORD_CHARACTERS, _WORDS_CHARACTERS = 100, 1000  # of a member that may be a time, a direction or an address, and of all
_DEPTH = 3  # of the objects around a message: a line, its exchange, the request in it
_PROGRESS_BYTES = 1 << 14
_PIECE = AnswerPart(is_event=True)  # of the stream that is read, whatever it says


class _Message(NamedTuple):
    words: str
    data: bytes
    value: JSON
    body: Body

    @property
    def is_event(self) -> bool:
        return self.body.part is not None and self.body.part.is_event


def read_log(file: File, notes: Notes, peer: str) -> Iterator[TimedDraft] | None:
    """Read the messages of a log in the order of its lines; None if no line has one."""
    drafts = _LogReader(file, notes, peer).drafts()
    first: list[TimedDraft] = []
    for draft in drafts:
        first.append(draft)
        if draft.record.wire != "stderr":
            return chain(first, drafts)
    return None


class _Asked(NamedTuple):
    """A request that may get an answer, in one of these dialects; an answer without a request has none."""

    sent: bytes
    dialects: frozenset[str]
    exchange: Exchange

    @property
    def waits(self) -> bool:
        return not self.exchange.is_answered


class _LogReader:
    def __init__(self, file: File, notes: Notes, peer: str) -> None:
        self._file = file
        self._notes = notes
        self._clock = LogClock(file.data, file.time_ns)
        self._frames = LogFrames(notes, peer, file.name)
        self._exchanges = _LogExchanges(file, notes, peer)
        self._label = self._url = ""  # what a line without a value says of the next value
        self._event = b""

    def drafts(self) -> Iterator[TimedDraft]:
        lines, progress, at = LogLines(self._file.data), self._notes.progress, 0
        progress.expected += len(self._file.data)
        unknown: LogValue | None = None  # nothing of this line is known so far
        for line in lines:
            if lines.at - at > _PROGRESS_BYTES:
                progress.advance(lines.at - at)
                at = lines.at
            is_known = yield from self._line(line)
            if unknown is not None and not line.is_further:
                self._leave_out(unknown)
                unknown = None
            if is_known:
                unknown = None
            elif not line.is_further:
                unknown = line
        if unknown is not None:
            self._leave_out(unknown)
        yield from self._exchanges.end_all()
        progress.advance(len(self._file.data) - at)
        self._frames.note_guesses()
        for _ in range(self._clock.too_late):
            self._notes.leave_out(TOO_LATE, self._file.name)

    def _leave_out(self, line: LogValue) -> None:
        self._notes.leave_out(OTHERS, self._file.name, lambda: place_of(self._file, line.at))

    def _line(self, line: LogValue) -> Generator[TimedDraft, None, bool]:
        """Read a value, or a line without one; returns whether it means anything."""
        if not line.data:
            return (yield from self._words(line.before))
        before, label, self._label = line.before, self._label, ""
        words = before if before.strip() else label
        if before.rstrip().endswith("data:"):
            return (yield from self._stream_event(line, words))
        messages = _once_each(_messages_in(line.data, line.value, words, _DEPTH))
        for message in messages:
            yield from self._message(message, line.at)
        if messages:
            return True
        if is_bare_error(line.value) and self._exchanges.is_waiting:
            at = self._clock.at(words)
            yield from self._exchanges.answer(line.data, at, Body("answer", "ollama"), form="json", place=line.at)
            return True
        return False

    def _message(self, message: _Message, place: int) -> Iterator[TimedDraft]:
        words, data, value, body = message
        at = self._clock.at(words)
        if body.kind == "frame":
            yield from self._exchanges.flush()
            yield TimedDraft(at, self._frames.frame(data, words, value))
        elif body.kind == "request":
            url, self._url = _address_in(words) or self._url, ""
            yield from self._exchanges.request(data, at, request_dialects(value), body.dialect, url)
        elif body.part is not None and body.part.is_event and body.dialect != "ollama":
            event = b"data: %s\n\n" % (data if b"\n" not in data else to_json(value))
            yield from self._exchanges.answer(event, at, body, form="sse", place=place)
        elif body.part is not None and body.part.is_event:
            line = data if b"\n" not in data else to_json(value)
            yield from self._exchanges.answer(line + b"\n", at, body, form="ndjson", place=place)
        else:
            yield from self._exchanges.answer(data + b"\n", at, body, form="json", place=place)

    def _stream_event(self, line: LogValue, words: str) -> Generator[TimedDraft, None, bool]:
        """Read an event of a stream: an answer's, a server's message, or one that means nothing, such as `ping`."""
        body = body_of(line.value)
        if body is not None and body.kind == "frame":
            yield from self._message(_Message(words, line.data, line.value, body), line.at)
            return True
        if body is None and not self._exchanges.is_answering:
            return False
        # The empty line behind an event is dropped by whoever writes line by line.
        name, self._event = self._event, b""
        event, at = b"%sdata: %s\n\n" % (name, line.data), self._clock.at(words)
        yield from self._exchanges.answer(event, at, body or Body("answer", part=_PIECE), form="sse", place=line.at)
        return True

    def _words(self, text: str) -> Generator[TimedDraft, None, bool]:
        """Read a line without a value; returns whether it means anything."""
        self._clock.hear(text[:300])
        if _DONE.search(text):
            done, is_answering = (
                Body("answer", part=AnswerPart(is_event=True, is_empty=True)),
                self._exchanges.is_answering,
            )
            if is_answering:
                yield from self._exchanges.answer(b"data: [DONE]\n\n", self._clock.at(""), done, form="sse", place=0)
            return is_answering
        if (event := _EVENT_NAME.search(text)) is not None:
            self._event = b"event: %s\n" % event[1].encode()
            return True
        if text.startswith(": ") and self._exchanges.is_answering:  # a gateway's comment in the stream
            comment = text.encode("utf-8", "replace") + b"\n\n"
            yield from self._exchanges.answer(
                comment, self._clock.at(""), Body("answer", part=_PIECE), form="sse", place=0
            )
            return True
        if _STDERR.search(text[:80]):
            yield from self._exchanges.flush()
            yield TimedDraft(self._clock.at(""), self._frames.line(text))
            return True
        self._label = text[:300] if text.rstrip().endswith((":", "：")) else ""
        self._url = _address_in(text[:300]) or self._url
        return bool(self._label or _address_in(text[:300])) or not text.strip(" \t[]{},")


class _LogExchanges:
    """Finds the request of each answer: the one that waits, or the one whose stream goes on."""

    def __init__(self, file: File, notes: Notes, peer: str) -> None:
        self._file = file
        self._notes = notes
        self._peer = peer
        self._open: list[_Asked] = []
        self._held: tuple[_Asked, Moment, str, str] | None = None  # a request whose answer may tell its dialect
        self._last: Exchange | None = None  # the exchange whose answer came last
        self._has_told_mixed = self._has_told_alone = self._is_in_doubt = False

    @property
    def is_waiting(self) -> bool:
        return any(asked.waits for asked in self._open)

    @property
    def is_answering(self) -> bool:
        return self._last is not None and not self._last.is_over

    def flush(self) -> Iterator[TimedDraft]:
        """Write what waits for more, before a record of another exchange or wire."""
        yield from self._release("")
        if self._last is not None:
            yield from self._last.flush()

    def _release(self, dialect: str) -> Iterator[TimedDraft]:
        if self._held is not None:
            (asked, at, likely, url), self._held = self._held, None
            known = url_dialect(url) or dialect or likely
            yield from asked.exchange.request(asked.sent, at, dialect=known, url=url)

    def request(
        self, data: bytes, at: Moment, dialects: frozenset[str], dialect: str, url: str
    ) -> Iterator[TimedDraft]:
        yield from self.flush()
        for asked in list(self._open):
            # Of those that waited when an answer stood alone, nobody knows which got it.
            if (
                self._is_in_doubt or asked.exchange.is_finished or (asked.sent == data and asked.waits)
            ):  # it is sent again
                yield from self._end(asked.exchange)
        self._is_in_doubt = False
        named = url_dialect(url)
        asked = _Asked(data, frozenset((named,)) if named else dialects, Exchange(self._notes, self._peer))
        self._open.append(asked)
        self._held = asked, at, dialect, url

    def answer(self, data: bytes, at: Moment, body: Body, *, form: str, place: int) -> Iterator[TimedDraft]:
        """Add a piece of an answer."""
        exchange = self._exchange_of(body, place)
        if self._held is not None and self._held[0].exchange is exchange:
            yield from self._release(body.dialect)
        if exchange is not self._last:
            yield from self.flush()
        self._last = exchange
        yield from exchange.answer(data, at, dialect=body.dialect, form=form)
        exchange.learn(body.part, body.dialect)
        if exchange.is_mixed and not self._has_told_mixed:
            self._has_told_mixed = True
            where = f"{self._file.name}, line {line_of(self._file.data, place)}"
            self._notes.messages.append(f"{where}: {MIXED}. {REMEDY}")
        if form == "json" or data.startswith(b"data: [DONE]"):
            yield from self._end(exchange)

    def _exchange_of(self, body: Body, place: int) -> Exchange:
        part, last = body.part or AnswerPart(), self._last
        for asked in self._open:
            if part.stream and asked.exchange.stream == part.stream:
                return asked.exchange
        is_rest = part.is_empty and not part.begins  # the number of tokens, or the end of the stream
        goes_on = part.is_event and (is_rest or not (part.begins or (last is not None and last.is_finished)))
        if last is not None and not last.is_over and goes_on and not (part.stream and last.stream):
            return last
        waiting = [asked for asked in self._open if asked.waits]
        fitting = [asked for asked in waiting if not body.dialect or body.dialect in asked.dialects] or waiting
        if len(fitting) == 1:
            return fitting[0].exchange
        if last is not None and not last.is_over and part.begins and not (last.is_finished or last.stream):
            last.mix()  # a second stream begins in the first, and nothing will tell their events apart
            return last
        self._is_in_doubt |= len(fitting) > 1
        if self._is_in_doubt and not self._has_told_alone:
            self._has_told_alone = True
            where = f"{self._file.name}, line {line_of(self._file.data, place)}"
            self._notes.messages.append(
                f"{where}: several requests wait, and nothing tells to which this answer belongs: it stands alone. {REMEDY}"
            )
        alone = Exchange(self._notes, self._peer)
        self._open.append(_Asked(b"", frozenset(), alone))
        return alone

    def _end(self, exchange: Exchange) -> Iterator[TimedDraft]:
        yield from exchange.finish()
        self._open = [asked for asked in self._open if asked.exchange is not exchange]

    def end_all(self) -> Iterator[TimedDraft]:
        yield from self.flush()
        for asked in list(self._open):
            yield from self._end(asked.exchange)


def _messages_in(data: bytes | None, value: JSON, words: str, depth: int) -> Iterator[_Message]:
    """Find the messages in a value: itself, or those in its members, each with the names and short texts around it."""
    body = body_of(value)
    if body is not None:
        yield _Message(words, to_json(value) if data is None else data, value, body)
    elif isinstance(value, str) and "{" in value:  # a body as a text, or the events of a stream
        for line in LogLines(value.encode("utf-8", "surrogatepass")):
            yield from _messages_in(line.data, line.value, f"{words} {line.before}", depth - 1)
    elif isinstance(value, list) and depth:
        for item in value:
            yield from _messages_in(None, item, words, depth - 1)  # written anew only where it is a message
    elif isinstance(value, Mapping) and depth:
        texts = [f"{item}" for item in value.values() if isinstance(item, str | int | float)]
        around = " ".join([words, *(text for text in texts if len(text) <= _WORD_CHARACTERS and "{" not in text)])
        for name, item in value.items():
            yield from _messages_in(None, item, f"{around[:_WORDS_CHARACTERS]} {name}", depth - 1)


def _once_each(found: Iterator[_Message]) -> list[_Message]:
    """Return the messages of a line in the order of the wire, without what is in it twice: as a text, and parsed."""
    messages: list[_Message] = []
    has_answer = False
    for message in sorted(found, key=lambda message: (message.body.kind == "answer", message.is_event)):
        is_known = not message.is_event and any(message.value == earlier.value for earlier in messages)
        if not is_known and not (message.is_event and has_answer):
            messages.append(message)
            has_answer |= message.body.kind == "answer" and not message.is_event
    return messages


def _address_in(words: str) -> str:
    """Return the address of an API in some words; empty without one."""
    return next((match[0] for match in _ADDRESS.finditer(words) if url_dialect(match[0])), "")
