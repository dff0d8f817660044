"""Reads logs of proxies, loggers and hosts: the messages in each line, and the words around them.

Request lines and `data:` lines, JSON-RPC messages with or without a prefix and a direction, or an object of a logger for each message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON
from tui_host.llm.body_kinds import AnswerPart
from tui_host.opening.body_dialects import (
    Body,
    body_of,
    is_bare_error,
    part_of_answer,
    request_dialects,
    to_json,
    url_dialect,
)
from tui_host.opening.exchange_assembly import NO_ANSWER_BUT, NO_STATUS
from tui_host.opening.import_types import TOO_LATE, File, Notes, TimedDraft, place_of
from tui_host.opening.logs.log_assembly import AnswerPiece, LogAssembly
from tui_host.opening.logs.log_frames import LogServers, tells_direction
from tui_host.opening.logs.log_lines import Line, LogLines
from tui_host.opening.logs.log_time import TIME, LogClock
from tui_host.opening.logs.logged_objects import Context, WireData, key_in, split_exchange, texts_in, wire_data_in
from tui_host.opening.logs.stream_text import DONE, stream_of
from tui_host.opening.logs.unsupported import UnreadLines, is_printed

OTHERS = "lines that are of neither wire"

_STDERR = re.compile(r"std_?err|\berr\b", re.IGNORECASE)
_DATA_AT_END = re.compile(r"(?<!\w)data:[ \t]*\Z")
_EVENT_NAME = re.compile(r"(?:\A|\s)event:[ \t]?([\w.]{1,80})\s*$")
_ADDRESS = re.compile(r"(?<![^\s\"'`(\[<=:])(?:https?://|/)[^\s\"'`()\[\]<>{},;]{1,2000}")
_EVENT = "data: "
_OF_EVENT = Context(_EVENT)
_BRACKETS = " \t[]{},"
_HOLDS_JSON = re.compile(rb'\{(?:\\[nrt]|[ \t])*\\["n]|\bdata:|\bevent:')
"""A text inside an object that may contain JSON or an event of a stream."""
_NESTED_LIMIT = 2
"""Most levels of loggers' objects inside each other, as when one logger includes another's output."""
_AHEAD = 1 << 20
"""Number of bytes in which to look for the dialect of answers."""
_HEAD = 1 << 16
"""Number of bytes in which to look for a log's first time."""


def read_log(file: File, notes: Notes, peer: str) -> Iterator[TimedDraft] | None:
    """Read the messages in a log.

    Returns:
        The drafts in the order of the lines, or None if no line contains a message.
    """
    drafts = _LogReader(file, notes, peer).drafts()
    first: list[TimedDraft] = []
    for draft in drafts:
        first.append(draft)
        if draft.draft.wire != "stderr":
            return chain(first, drafts)
    return None


class _LogReader:
    def __init__(self, file: File, notes: Notes, peer: str) -> None:
        self._file = file
        self._notes = notes
        self._clock = LogClock(file.time_ns, file.changed_ns)
        self._found: list[TimedDraft] = []
        self._servers = LogServers(notes, peer, file.name)
        self._exchanges = LogAssembly(file, notes, peer, self._found)
        self._unread = UnreadLines(file)
        self._label = self._lead = self._url = ""
        self._event_name = b""
        self._path: tuple[str, ...] = ()
        self._place = self._nested = 0
        self._unknown: Line | None = None
        self._spoken: str | None = None
        self._streamed: Body | None = None

    def drafts(self) -> Iterator[TimedDraft]:
        """Yield all drafts. Drafts before the log's first time get that time."""
        lines = LogLines(self._file.data)
        progress = self._notes.progress
        progress.expected += len(self._file.data)
        at, is_begun = 0, False
        for line in lines:
            if lines.at - at > 1 << 14:
                progress.advance(lines.at - at)
                at = lines.at
            self._take(line)
            if self._streamed is not None:
                body, self._streamed = self._streamed, None
                self._take_events(lines, body)
            if self._found and (is_begun or self._clock.first_ns or lines.at > _HEAD):
                yield from self._found if is_begun else self._begun()
                is_begun = True
                self._found.clear()
        self._leave_out()
        self._exchanges.finish()
        yield from self._found if is_begun else self._begun()
        self._found.clear()
        progress.advance(len(self._file.data) - at)
        self._servers.note_guesses()
        self._notes.messages += self._unread.messages()

    def _begun(self) -> Iterator[TimedDraft]:
        first_ns = self._clock.first_ns
        for draft in self._found:
            yield draft._replace(at=draft.at._replace(ns=first_ns)) if first_ns and not draft.at.is_told else draft

    def _take(self, line: Line) -> None:
        self._place = line.at
        late_times = self._clock.late_times
        is_taken = self._line(line, None)
        if self._clock.late_times > late_times:
            self._notes.leave_out(TOO_LATE, self._file.name)
        if not is_taken or (line.value is None and line.before.endswith("{")):
            self._unread.see(line)
        if not line.is_further:
            self._leave_out()
            self._unknown = None if is_taken else line
        elif is_taken:
            self._unknown = None

    def _take_events(self, lines: LogLines, first: Body) -> None:
        """Read the events that continue an answer, up to one that begins or ends an answer."""
        stream, ends, end = (first.part.stream, first.part.ends, lines.at) if first.part else ("", False, lines.at)
        for value, event_end in lines.events():
            part = part_of_answer(value, first.dialect)
            if (
                part is None
                or not part.is_event
                or part.begins
                or part.stream != stream
                or (ends and (part.ends or not part.is_empty))
            ):
                break
            ends, end = ends or part.ends, event_end
        if end > lines.at:
            data = self._file.data[lines.at + 1 : end] + b"\n"
            part = AnswerPart(is_event=True, stream=stream, ends=ends)
            self._answer(data, _OF_EVENT, first.dialect, "sse", part=part)
            lines.at = end

    def _leave_out(self) -> None:
        """Count the last line as left out if nothing in it was recognised."""
        line, self._unknown = self._unknown, None
        if line is not None:
            self._notes.leave_out(OTHERS, self._file.name, lambda: place_of(self._file, line.at))

    def _line(self, line: Line, outer: Context | None) -> bool:
        """Read a line of the log, or of a text in an object; returns whether it contains anything known."""
        before = line.before
        if line.value is None:
            return self._words(before, outer)
        if before == _EVENT and outer is None and not line.is_further:  # most lines: the words mean nothing
            self._lead, self._label = before, ""
            return self._value(line.data, line.value, _OF_EVENT, is_event=True)
        if is_printed(before):
            return False
        if line.is_further and not tells_direction(before):
            before = f"{self._lead} {before}"
        elif not before.strip():
            before, self._label = self._label, ""
        self._lead, self._label = before, ""
        if outer is not None:
            context = outer._replace(words=_joined_words(outer.words, before), key=key_in(before) or outer.key)
        else:
            context = Context(before, key=key_in(before))
        return self._value(line.data, line.value, context, is_event=_DATA_AT_END.search(line.before) is not None)

    def _value(self, data: bytes, value: JSON, context: Context, *, is_event: bool) -> bool:
        body = body_of(value)
        if body is not None:
            both = split_exchange(mapping(value), body.dialect, context) if body.kind == "request" else ()
            if both:
                self._all(both)
            else:
                self._body(data, value, body, context, is_event=is_event)
            return True
        exchange = self._exchanges.open_exchange(context.key)
        if exchange is not None and is_bare_error(value) and not exchange.is_answered:
            self._answer(data, context, "ollama", "json")
            return True
        if exchange is not None and is_event:  # such as `ping`
            self._event(data, context, Body("answer"))
            return True
        if self._stream_piece(data, value, context):
            return True
        wire_data = wire_data_in(value, context)
        self._all(wire_data)
        return bool(wire_data) or self._texts(data, value, context)

    def _all(self, found: Sequence[WireData]) -> None:
        """Read all messages found in an object."""
        for wire_data in found:
            if wire_data.kind == "text":
                self._path = wire_data.context.path
                part = wire_data.part
                closes = part is not None and part.ends and b"[DONE]" in wire_data.data
                name, self._event_name = self._event_name, b""
                data = name + wire_data.data if wire_data.data.startswith(b"data:") else wire_data.data
                self._answer(data, wire_data.context, wire_data.dialect, "sse", part=part, closes=closes)
            else:
                body = Body(wire_data.kind, wire_data.dialect, wire_data.part)
                self._body(wire_data.data, wire_data.value, body, wire_data.context, is_message=wire_data.is_message)

    def _body(
        self,
        data: bytes,
        value: JSON,
        body: Body,
        context: Context,
        *,
        is_event: bool = False,
        is_message: bool = False,
    ) -> None:
        """Read a frame, a request or an answer."""
        part = body.part
        if body.kind == "frame":
            at = self._clock.at(context.words)
            draft = self._servers.frame(data, context.words, value, context.server)
            self._exchanges.add_other(TimedDraft(at, draft))
        elif body.kind == "request":
            url = _address_in(f"{context.words} {context.url}") or self._url
            self._url, self._event_name = "", b""
            at = self._clock.at(context.words)
            dialect = url_dialect(url) or self._likely_dialect(value, body.dialect)
            self._exchanges.add_request(data, at, dialect=dialect, url=url, key=context.key)
        elif is_event or (part is not None and part.is_event and body.dialect != "ollama"):
            self._event(data if b"\n" not in data else to_json(value), context, body)
            self._streamed = body if context is _OF_EVENT else None
        elif body.dialect == "ollama" and part is not None and part.is_event and not is_message:
            line = (data if b"\n" not in data else to_json(value)) + b"\n"
            self._answer(line, context, body.dialect, "ndjson", part=part, closes=part.ends)
        else:
            lacks = NO_ANSWER_BUT if is_message else NO_STATUS
            self._answer(data + b"\n", context, body.dialect, "json", part=part, closes=True, lacks=lacks)

    def _likely_dialect(self, value: JSON, dialect: str) -> str:
        """Return the dialect of a request; if several are possible, that of the first answer that follows."""
        possible = request_dialects(value)
        if len(possible) > 1:
            if self._spoken is None:
                self._spoken = _first_answer_dialect(self._file.data[self._place : self._place + _AHEAD])
            dialect = self._spoken if self._spoken in possible else dialect
        return dialect

    def _event(self, data: bytes, context: Context, body: Body) -> None:
        name, self._event_name = self._event_name, b""
        event = b"%sdata: %s\n\n" % (name, data)  # logs drop the empty line after an event
        self._answer(event, context, body.dialect, "sse", part=body.part)

    def _answer(
        self,
        data: bytes,
        context: Context,
        dialect: str,
        form: str,
        *,
        part: AnswerPart | None = None,
        closes: bool = False,
        lacks: str = NO_STATUS,
    ) -> None:
        at = self._clock.at(context.words)
        piece = AnswerPiece(data, at, dialect, form, part, context.key, closes, lacks, self._place)
        self._exchanges.add_answer(piece)

    def _words(self, text: str, outer: Context | None) -> bool:
        """Read a line without JSON; returns whether it means anything."""
        words = text[:300]
        self._clock.hear(words if outer is None else _joined_words(outer.words, words))
        self._label = words if words.rstrip().endswith((":", "：")) else ""
        exchange = self._exchanges.open_exchange(key_in(words))
        context = Context(
            "" if outer is None else outer.words, key=key_in(words) or ("" if outer is None else outer.key)
        )
        if "data:" in words and DONE.search(words[words.find("data:") :]):
            if exchange is not None:
                self._answer(b"data: [DONE]\n\n", context, "", "sse", closes=True)
            return exchange is not None
        if (event := _EVENT_NAME.search(words)) is not None:
            self._event_name = b"event: %s\n" % event[1].encode()
            return True
        if exchange is not None and text.startswith(": "):
            self._answer(text.encode("utf-8", "replace") + b"\n\n", context, "", "sse")
            return True
        if outer is not None:
            return False
        if _STDERR.search(words[:80]):
            self._exchanges.add_other(
                TimedDraft(self._clock.at(""), self._servers.line(text.encode("utf-8", "surrogatepass")))
            )
            return True
        if url := _address_in(words):
            self._url = url
            return True
        return bool(self._label) or not text.strip(_BRACKETS)

    def _stream_piece(self, data: bytes, value: JSON, context: Context) -> bool:
        """Read a stream's next piece, cut anywhere, from a logger's object; returns False if there is none."""
        exchange = self._exchanges.open_exchange(context.key)
        item: JSON = value
        for name in self._path:
            item = mapping(item).get(name)
        if exchange is None or not (b"data:" in data or b"event:" in data or (self._path and isinstance(item, str))):
            return False
        for near, text in texts_in(value, context):
            stream = stream_of(text)
            if stream is not None and (stream.dialect or stream.is_done):
                return False  # read like any other text
            if stream is not None or (near.path == self._path and exchange.is_answered):
                self._path = near.path
                piece = text.encode("utf-8", "surrogatepass") if stream is None else stream.data
                self._answer(piece, near, "", "sse", closes="[DONE]" in text)
                return True
        return False

    def _texts(self, data: bytes, value: JSON, context: Context) -> bool:
        """Read each text in a logger's object as a line; returns whether any means something."""
        if self._nested == _NESTED_LIMIT or _HOLDS_JSON.search(data) is None:
            return False
        self._nested += 1
        taken: list[str] = []
        for near, text in texts_in(value, context):
            if any(
                text.rstrip().endswith(taken_text) or taken_text.endswith(text.rstrip()) for taken_text in taken[:4]
            ):
                continue  # Loguru writes the message twice: alone, and at the end of a whole line
            lines = LogLines(text.encode("utf-8", "surrogatepass"))
            if sum([self._line(line, near) for line in lines]):
                taken.append(text.rstrip())
        self._nested -= 1
        return bool(taken)


def _first_answer_dialect(data: bytes) -> str:
    """Return the dialect of the first answer in a piece of a log; empty without an answer."""
    for line in LogLines(data):
        body = body_of(line.value)
        if body is not None and body.kind == "answer":
            return body.dialect
        held = wire_data_in(line.value, Context("")) if isinstance(line.value, Mapping) and body is None else ()
        if answer := next(
            (
                data_in_object
                for data_in_object in held
                if data_in_object.dialect and data_in_object.kind in {"answer", "text"}
            ),
            None,
        ):
            return answer.dialect
    return ""


def _address_in(words: str) -> str:
    """Return the address of a model in words; empty if there is none."""
    if "/" not in words:
        return ""
    return next((match[0] for match in _ADDRESS.finditer(words) if url_dialect(match[0])), "")


def _joined_words(around: str, own: str) -> str:
    """Return a text's words, completed by the object's words if a time or direction is missing."""
    own_time = TIME.search(own)
    if tells_direction(own):
        time = None if own_time else TIME.search(around)
        around = "" if time is None else time[0]
    elif own_time:
        around = TIME.sub("", around)
    return f"{around} {own}"
