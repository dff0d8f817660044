"""Reads sessions in tui-host's own record lines, without loss: exports, and the logs of taps. Source: docs/usage.md, Record lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from tui_host.capture.exports.jsonl_export import FORMAT, in_words, parse, read_time
from tui_host.capture.json.narrowing import clean, mapping, short
from tui_host.capture.json.spans import read_value
from tui_host.capture.record import Record
from tui_host.capture.session_summary import SessionInfo
from tui_host.errors import JSON, TuiHostError
from tui_host.opening.files import CapturedFile

_FIRST = b'{"tui_host"'
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
_SEQ_LIMIT = 1 << 40
_NUMBER_LIMIT = 1 << 62
_ANEW = "export the session again, or remove the line"
_SOURCES = ("chat", "ask", "tap", "import")


def recognise(file: CapturedFile) -> bool:
    """Whether the first line of a file begins a session."""
    line = file.head.partition(b"\n")[0]
    return line.startswith(_FIRST) or (b'"tui_host"' in line and "tui_host" in mapping(read_value(line)))


def sessions_of(file: CapturedFile) -> list[SessionInfo]:
    """Return the sessions that begin in a file: several taps may have written one log.

    Raises:
        TuiHostError: A session's line is invalid, or of a form that this version does not know.
    """
    data = file.data
    sessions: list[SessionInfo] = []
    at = 0
    while at >= 0:
        end = data.find(b"\n", at)
        sessions.append(_session_of(file, at, data[at : end if end >= 0 else len(data)]))
        at = data.find(b"\n" + _FIRST, at) + 1 or -1
    return sessions


def records(file: CapturedFile, messages: list[str]) -> Iterator[tuple[Record, bool]]:
    """Yield the records, each with whether it belongs to the preamble. What was broken off by a kill is told and left out.

    Raises:
        TuiHostError: A line is not a record. Names the line.
    """
    last: dict[tuple[str, bool], int] = {}
    data, at, number = file.data, 0, 0
    while at < len(data):
        start, number = at, number + 1
        end = data.find(b"\n", at) + 1 or len(data)
        line, at = data[start:end], end
        if not line.strip() or line.startswith(_FIRST) or not start:
            continue
        is_last = not line.endswith(b"\n") or data[at : at + len(_FIRST)] == _FIRST
        if is_last and _is_half(line):
            messages.append(f"{file.name}, line {number} breaks off: left out.")
            continue
        try:
            record, is_preamble = parse(line.rstrip(b"\n"))
            _check(record)
        except TuiHostError as error:
            raise file.unreadable(error.what, f"line {number}", _ANEW) from error
        if record.seq <= last.get((record.capture, is_preamble), 0):
            raise file.unreadable("this is not a record: seq does not grow", f"line {number}", _ANEW)
        last[record.capture, is_preamble] = record.seq
        yield record, is_preamble


def _is_half(line: bytes) -> bool:
    """Whether a line breaks off, as a killed tap leaves it: at the file's end, or before another tap's first line."""
    try:
        json.loads(line)
    except RecursionError:
        return False  # told when the line is read
    except ValueError:
        return True
    return False


def _check(record: Record) -> None:
    """Check that the database can store a record under a unique key."""
    place = record.place
    numbers = (record.time_ns, record.mono_ns or 0, place.turn or 0, place.step or 0)
    if not _NAME.fullmatch(record.capture):
        raise TuiHostError("this is not a record: the capture's id is none")
    if not 0 < record.seq < _SEQ_LIMIT:
        raise TuiHostError("this is not a record: seq is no number from 1 on")
    if not all(0 <= number < _NUMBER_LIMIT for number in numbers):
        raise TuiHostError("this is not a record: a number is out of range")


def _session_of(file: CapturedFile, at: int, line: bytes) -> SessionInfo:
    try:
        head = mapping(json.loads(line))
        if head.get("tui_host") != FORMAT:
            what = f"this version reads form {FORMAT} of record lines, not {short(head.get('tui_host'))}"
            raise file.unreadable(what, file.line_at(at), "open it with the version of tui-host that wrote it")
        return _session(mapping(head.get("session")))
    except (ValueError, TypeError, RecursionError, OverflowError) as error:
        what = f"this is not a session's line: {clean(in_words(error))}"
        raise file.unreadable(what, file.line_at(at), _ANEW) from error


def _session(value: Mapping[str, JSON]) -> SessionInfo:
    identity, source, turns = _text(value, "id"), value.get("source"), value.get("turns")
    created_ns, updated_ns = read_time(value, "created"), read_time(value, "updated")
    if not _NAME.fullmatch(identity):
        raise ValueError("the session's id is none")
    if source not in _SOURCES:
        raise ValueError("source is none that is known")
    if not isinstance(turns, int) or not all(0 <= number < _NUMBER_LIMIT for number in (turns, created_ns, updated_ns)):
        raise ValueError("a number is out of range")
    return SessionInfo(
        id=identity,
        title=_text(value, "title"),
        created_ns=created_ns,
        updated_ns=updated_ns,
        turns=turns,
        source=source,
        model=_text(value, "model"),
        protocol=_text(value, "protocol"),
    )


def _text(value: Mapping[str, JSON], name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str):
        raise ValueError(f"{name} is no text")  # noqa: TRY004 - one kind of mistake, told by the caller
    return text


def in_session(record: Record, session: str, *, is_preamble: bool) -> Record:
    """Return a record in the place of its session. Its line need not name it: all belong to it but the preamble."""
    place = record.place
    if is_preamble and place.turn is None and place.call is None:
        return record
    return replace(record, place=replace(place, session=session))
