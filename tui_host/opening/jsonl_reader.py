"""Reads sessions in tui-host's own record lines, without loss. Source: docs/usage.md, Record lines.

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

from tui_host.capture.exports.jsonl_export import FORMAT, in_words, parse, read_time
from tui_host.capture.json.file_values import VALUE_LIMIT, Data, read_value
from tui_host.capture.json.narrowing import clean, mapping, short
from tui_host.capture.record import Record
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.wall_clock import WallClock
from tui_host.errors import JSON, TuiHostError
from tui_host.opening.import_types import File, Moment, Notes, Progress, TimedDraft, unreadable

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
_ANEW = "export the session again, or remove the line"
_SOURCES = ("chat", "ask", "tap", "import")


def recognise(file: File) -> bool:
    """Whether the first line of a file begins a session."""
    end = file.data.find(b"\n", 0, _HEAD_LIMIT)
    line = file.data[: max(end, 0) or 1 << 16]
    return line.startswith(_FIRST) or (b'"tui_host"' in line and "tui_host" in mapping(read_value(line)))


def sessions_of(file: File) -> Sequence[SessionInfo]:
    """Read the lines that begin sessions.

    Raises:
        TuiHostError: A line is invalid, or has a form that this version does not know.
    """
    number, first = next(_lines(file.data), (0, b""))
    if number != 1:
        raise unreadable(file, "this session's line is broken off", "line 1", _ANEW)
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
        head = mapping(json.loads(line))
        if head.get("tui_host") != FORMAT:
            what = f"this version reads form {FORMAT} of record lines, not {short(head.get('tui_host'))}"
            raise unreadable(file, what, f"line {number}", "open it with the version of tui-host that wrote it")
        return _session(mapping(head.get("session")))
    except (ValueError, TypeError, RecursionError, OverflowError) as error:
        what = f"this is not a session's line: {clean(in_words(error))}"
        raise unreadable(file, what, f"line {number}", _ANEW) from error


def broken_lines(file: File) -> Iterator[str]:
    """Describe lines that break off, as in a killed tap's log. Such lines are left out."""
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
    """Reads logs of taps as one capture: on one clock, and without repeating records in several files."""

    def __init__(self, notes: Notes, count: int) -> None:
        self._notes = notes
        self._count = count
        self._ids: dict[tuple[str, str], str] = {}
        self._clock = WallClock()
        self._read: set[tuple[str, int]] = set()

    def read(self, file: File) -> Iterator[TimedDraft]:
        """Read the records of a file.

        Raises:
            TuiHostError: The file is not a tap's, or a line is not a record. Names the line.
        """
        for session in sessions_of(file):
            if session.source != "tap":
                raise unreadable(file, "a session that is no tap's is read alone", remedy="name this file by itself")
        return self._seen(file)

    def _seen(self, file: File) -> Iterator[TimedDraft]:
        by_capture: dict[str, list[TimedDraft]] = {}
        for record, _ in records(file, "", self._notes.progress):
            if record.kind == "link":
                continue  # links are found again: their ids differ here
            if self._count > 1:
                size, key = len(self._read), (record.capture, record.seq)
                self._read.add(key)
                if len(self._read) == size:
                    continue  # the same record in an export and in its tap's log
            seen = self._of(record)
            if len(file.data) > VALUE_LIMIT:  # too much to hold in memory or to join
                yield seen
            else:  # read everything first: one tap's last record may be earlier than another's first
                by_capture.setdefault(record.capture, []).append(seen)
        yield from merge(*by_capture.values(), key=lambda seen: seen.at.ns)

    def _of(self, record: Record) -> TimedDraft:
        capture, draft = record.capture, record
        exchange, connection = draft.exchange, draft.connection
        if exchange is not None:
            key = capture, exchange
            exchange = self._ids.get(key) or self._ids.setdefault(key, self._notes.new_exchange())
        if connection is not None:
            key = capture, f"connection {connection}"
            connection = self._ids.get(key) or self._ids.setdefault(key, self._notes.new_connection(draft.peer))
        at = Moment(self._clock.at_ns(record), is_told=record.mono_ns is not None)
        return TimedDraft(at, replace(draft, place=self._notes.place, exchange=exchange, connection=connection))


def captures_of(file: File, progress: Progress) -> Sequence[str]:
    """Return the captures that have records in the file, in order; captures with only preamble records come last.

    Examines every line. In lines written by tui-host, only the ends are searched.

    Raises:
        TuiHostError: A line is not a record. Names the line.
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
    """Read the records of the named session, each with whether it belongs to the preamble.

    Raises:
        TuiHostError: A line is not a record. Names the line.
    """
    last: dict[tuple[str, bool], int] = {}
    for number, line in _record_lines(file, progress):
        record, is_preamble = _record_of(file, number, line, session)
        if record.seq <= last.get((record.capture, is_preamble), 0):
            raise unreadable(file, "this is not a record: seq does not grow", f"line {number}", _ANEW)
        last[record.capture, is_preamble] = record.seq
        place = record.place
        if not is_preamble and place.session is None:
            record = replace(record, place=replace(place, session=session))
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
        raise unreadable(file, what, f"line {number}", _ANEW) from error
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
    """Return the end of the last whole line."""
    begin = data.rfind(b"\n") + 1
    return begin if begin and _is_half(data, begin, len(data)) else len(data)


def _is_half(data: Data, begin: int, end: int) -> bool:
    """Whether a line breaks off."""
    if end - begin <= LINE_LIMIT and data[begin:end].strip():
        try:
            json.loads(data[begin:end])
        except RecursionError:
            return False  # reported when the line is read
        except ValueError:
            return True
    return False


def _check(record: Record) -> None:
    """Check that the database can store a record under a unique key."""
    place = record.place
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
