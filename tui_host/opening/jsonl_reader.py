"""Sessions in our own record lines, read back exactly. Source: docs/usage.md, Record lines.

A record of a session's own need not name it in its line, so all belong to it but those of its connections' preamble: what was selected
for an export is then selected again, in the same order. What taps recorded may also be read as what others captured is: with other
files, or several sessions of one file (taps append to their log, also several at once) as one story.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import merge

from tui_host.capture.exports.jsonl_export import FORMAT, in_words, load_line, parse, read_time
from tui_host.capture.json.narrowing import clean, mapping, short
from tui_host.capture.json.scan import BrokenError, Data, members
from tui_host.capture.record import Record
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.wall_clock import WallClock
from tui_host.errors import JSON, TuiHostError
from tui_host.opening.import_types import VALUE_LIMIT, File, Moment, Notes, Progress, TimedDraft, unreadable

LINE_LIMIT = 256 << 20
"""Bytes of a line: a body of the largest size that is kept, as text and in base64."""
_HEAD_LIMIT = 1 << 20
_FIRST = b'{"tui_host"'
_NEXT = b"\n" + _FIRST
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
_CAPTURE = re.compile(rb'\{"capture":"([A-Za-z0-9._-]{1,100})","seq":')
_PREAMBLE = b',"preamble":true}'
_SEQ_LIMIT = 1 << 40
_NUMBER_LIMIT = 1 << 62
_SOURCES = ("chat", "ask", "tap", "import")


def recognise(file: File) -> bool:
    """Whether the first line is the line of a session."""
    end = file.data.find(b"\n", 0, _HEAD_LIMIT)
    line = file.data[: max(end, 0) or 1 << 16]
    try:
        return b'"tui_host"' in line and any(key == b"tui_host" for key, _ in members(line, 0))
    except BrokenError:
        return line.startswith(_FIRST)  # told where it is read


def sessions_of(file: File) -> Sequence[SessionInfo]:
    """Read the lines that begin a session.

    Raises:
        TuiHostError: One says it wrongly, or in a form that this version does not know.
    """
    number, first = next(_lines(file.data), (0, b""))
    if number != 1:
        raise unreadable(file, "this session's line is broken off", "line 1")
    sessions = [_session_of(file, 1, first)]
    if file.data.find(_NEXT) >= 0:
        sessions += [
            _session_of(file, number, line)
            for number, line in _lines(file.data)
            if number > 1 and line.startswith(_FIRST)
        ]
    return sessions


def _session_of(file: File, number: int, line: bytes) -> SessionInfo:
    try:
        head = mapping(load_line(line))
        if head.get("tui_host") != FORMAT:
            what = f"this version reads form {FORMAT} of record lines, not {short(head.get('tui_host'))}"
            raise unreadable(file, what, f"line {number}")
        return _session(mapping(head.get("session")))
    except (ValueError, TypeError, RecursionError, OverflowError) as error:
        raise unreadable(file, f"this is not a session's line: {clean(in_words(error))}", f"line {number}") from error


def broken_lines(file: File) -> Iterator[str]:
    """Sentences on lines that break off, as in the log of a killed tap. Broken lines are left out."""
    if _end(file.data) < len(file.data):
        yield f"{file.name} ends within a line: it is read up to there."
    count, at = 0, file.data.find(_NEXT)
    while at >= 0:
        count += _is_half(file.data, file.data.rfind(b"\n", 0, at) + 1, at)
        at = file.data.find(_NEXT, at + 1)
    if count:
        lines = "a line" if count == 1 else f"{count:,} lines"
        yield f"{file.name} has {lines} broken off before another session begins: left out."


class Taps:
    """Reads the logs of taps as one capture: on one clock, and records in several files only once."""

    def __init__(self, notes: Notes, count: int) -> None:
        self._notes = notes
        self._count = count
        self._ids: dict[tuple[str, str], str] = {}
        self._clock = WallClock()
        self._read: set[tuple[str, int]] = set()

    def read(self, file: File) -> Iterator[TimedDraft]:
        """Read a file.

        Raises:
            TuiHostError: It is no tap's, or a line is no record; names it.
        """
        for session in sessions_of(file):
            if session.source != "tap":
                raise unreadable(file, "a session that is no tap's is read alone, one file at a time")
        return self._seen(file)

    def _seen(self, file: File) -> Iterator[TimedDraft]:
        by_capture: dict[str, list[TimedDraft]] = {}
        for record, _ in records(file, "", self._notes.progress):
            if record.draft.kind == "link":
                continue  # found anew: what it names has other names here
            if self._count > 1:
                size, key = len(self._read), (record.capture, record.seq)
                self._read.add(key)
                if len(self._read) == size:
                    continue  # a session's export, and its tap's own log
            seen = self._of(record)
            if len(file.data) > VALUE_LIMIT:  # that much is not held in memory, nor joined
                yield seen
            else:  # nothing is given before all is read: what one tap wrote last may be before what another wrote first
                by_capture.setdefault(record.capture, []).append(seen)
        yield from merge(*by_capture.values(), key=lambda seen: seen.at.ns)

    def _of(self, record: Record) -> TimedDraft:
        capture, draft = record.capture, record.draft
        exchange, connection = draft.exchange, draft.connection
        if exchange is not None:
            key = capture, exchange
            exchange = self._ids.get(key) or self._ids.setdefault(key, self._notes.new_exchange())
        if connection is not None:
            key = capture, f"connection {connection}"
            connection = self._ids.get(key) or self._ids.setdefault(key, self._notes.new_connection(draft.peer))
        at = Moment(self._clock.at_ns(record), is_told=record.mono_ns is not None)
        return TimedDraft(at, replace(draft, exchange=exchange, connection=connection))


def captures_of(file: File, progress: Progress) -> Sequence[str]:
    """The captures with records in the file, in order; captures with preamble records only come last.

    Looks at every line; of one that is written as we write them only at its ends, where what is looked for stands.

    Raises:
        TuiHostError: Another line is no record; names it.
    """
    own: dict[str, None] = {}
    before: dict[str, None] = {}
    for number, line in _record_lines(file, progress):
        match = _CAPTURE.match(line)
        if match is not None:
            capture, is_preamble = match[1].decode(), line.rstrip().endswith(_PREAMBLE)
        else:
            record, is_preamble = _record_of(file, number, line, "")
            capture = record.capture
        (before if is_preamble else own)[capture] = None
    return list(own | before)


def records(file: File, session: str, progress: Progress) -> Iterator[tuple[Record, bool]]:
    """Read the records for the session of that name, each with whether it belongs to the preamble.

    Raises:
        TuiHostError: A line is no record; names it.
    """
    last: dict[tuple[str, bool], int] = {}
    for number, line in _record_lines(file, progress):
        record, is_preamble = _record_of(file, number, line, session)
        if record.seq <= last.get((record.capture, is_preamble), 0):
            raise unreadable(file, "this is not a record: seq does not grow", f"line {number}")
        last[record.capture, is_preamble] = record.seq
        place = record.draft.place
        if not is_preamble and place.session is None:
            record = replace(record, draft=replace(record.draft, place=replace(place, session=session)))
        yield record, is_preamble


def _record_lines(file: File, progress: Progress) -> Iterator[tuple[int, bytes]]:
    progress.expected += len(file.data)
    for number, line in _lines(file.data):
        progress.advance(len(line) + 1)
        if number > 1 and line.strip() and not line.startswith(_FIRST):
            yield number, line


def _record_of(file: File, number: int, line: bytes, session: str) -> tuple[Record, bool]:
    try:
        if len(line) > LINE_LIMIT:
            raise ValueError(f"it is longer than {LINE_LIMIT >> 20} MiB")  # noqa: TRY301 - told below, with the line
        record, is_preamble = parse(line, session=session)
        _check(record)
    except (TuiHostError, ValueError, RecursionError) as error:
        what = error.what if isinstance(error, TuiHostError) else f"this is not a record: {error}"
        raise unreadable(file, what, f"line {number}") from error
    return record, is_preamble


def _lines(data: Data) -> Iterator[tuple[int, bytes]]:
    at, number, last = 0, 0, _end(data)
    while at < last:
        end = data.find(b"\n", at)
        end = last if end < 0 else end
        number += 1
        if data[end : end + len(_NEXT)] != _NEXT or not _is_half(data, at, end):
            yield number, data[at : min(end, at + LINE_LIMIT + 1)]
        at = end + 1


def _end(data: Data) -> int:
    """Where the last whole line ends."""
    begin = data.rfind(b"\n") + 1
    return begin if begin and _is_half(data, begin, len(data)) else len(data)


def _is_half(data: Data, begin: int, end: int) -> bool:
    """Whether a line breaks off."""
    if end - begin <= LINE_LIMIT and data[begin:end].strip():
        try:
            json.loads(data[begin:end])
        except RecursionError:
            return False  # told where it is read
        except ValueError:
            return True
    return False


def _check(record: Record) -> None:
    """Check that the database can keep a record and tell it from others."""
    place = record.draft.place
    numbers = (record.time_ns, record.mono_ns or 0, place.turn or 0, place.step or 0)
    if not _NAME.fullmatch(record.capture):
        raise ValueError("the capture's id is none")
    if not 0 < record.seq < _SEQ_LIMIT:
        raise ValueError("seq is no number from 1 on")
    if not all(0 <= number < _NUMBER_LIMIT for number in numbers):
        raise ValueError("a number is out of range")


def _session(value: Mapping[str, JSON]) -> SessionInfo:
    identity, source, turns = value.get("id"), value.get("source"), value.get("turns")
    if not isinstance(identity, str) or not _NAME.fullmatch(identity):
        raise ValueError("the session's id is none")
    if source not in _SOURCES:
        raise ValueError("source is none that is known")
    if not isinstance(turns, int) or not 0 <= turns < _NUMBER_LIMIT:
        raise ValueError("turns is no number")
    return SessionInfo(
        id=identity,
        title=_text(value, "title"),
        created_ns=_time_ns(value, "created"),
        updated_ns=_time_ns(value, "updated"),
        turns=turns,
        source=source,
        live=False,
        model=_text(value, "model"),
        protocol=_text(value, "protocol"),
    )


def _text(value: Mapping[str, JSON], name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str):
        raise ValueError(f"{name} is no text")  # noqa: TRY004 - one kind of mistake, told by the caller
    return text


def _time_ns(value: Mapping[str, JSON], name: str) -> int:
    told_ns = read_time(value, name)
    if not 0 <= told_ns < _NUMBER_LIMIT:
        raise ValueError("a time is out of range")
    return told_ns
