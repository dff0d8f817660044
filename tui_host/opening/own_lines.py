"""Reads sessions in tui-host's own record lines, without loss: exports, and the logs of taps. Source: docs/usage.md, Record lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tui_host.capture.exports.jsonl_export import FORMAT, parse, read_time
from tui_host.capture.json.narrowing import clean, mapping, number_or_zero, short, text_or_empty
from tui_host.capture.json.reading import read_value
from tui_host.capture.record import Record
from tui_host.capture.session_summary import SessionInfo
from tui_host.errors import TuiHostError
from tui_host.opening.files import CapturedFile

_FIRST = b'{"tui_host"'
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
_SEQ_LIMIT, _NUMBER_LIMIT = 1 << 40, 1 << 62
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
    sessions: list[SessionInfo] = []
    at = 0
    while at >= 0:
        end = file.data.find(b"\n", at)
        line = file.data[at : end if end >= 0 else len(file.data)]
        try:
            head = mapping(json.loads(line))
            if head.get("tui_host") != FORMAT:
                what = f"this version reads form {FORMAT} of record lines, not {short(head.get('tui_host'))}"
                raise file.unreadable(what, file.line_at(at), "open it with the version of tui-host that wrote it")
            value = mapping(head.get("session"))
            times = read_time(value, "created"), read_time(value, "updated")
            source, turns = value.get("source"), number_or_zero(value.get("turns"))
            identity, title, model, protocol = (
                text_or_empty(value.get(name)) for name in ("id", "title", "model", "protocol")
            )
            is_in_range = all(0 <= number < _NUMBER_LIMIT for number in (turns, *times))
            if not _NAME.fullmatch(identity) or source not in _SOURCES or not is_in_range:
                raise ValueError("its id, its source or a number is none")  # noqa: TRY301 - told below, as what parsing raises
            sessions.append(SessionInfo(identity, title, source, *times, turns, model, protocol))
        except (ValueError, TypeError, RecursionError, OverflowError) as error:
            what = f"this is not a session's line: {clean(str(error))}"
            raise file.unreadable(what, file.line_at(at), _ANEW) from error
        at = file.data.find(b"\n" + _FIRST, at) + 1 or -1
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
        at = data.find(b"\n", at) + 1 or len(data)
        line = data[start:at]
        if not line.strip() or line.startswith(_FIRST) or not start:
            continue
        try:
            record, is_preamble = parse(line.rstrip(b"\n"))
        except TuiHostError as error:
            is_half = isinstance(error.__cause__, json.JSONDecodeError | UnicodeDecodeError)
            # as a killed tap leaves it: at the file's end, or before another tap's first line
            if is_half and (not line.endswith(b"\n") or data[at : at + len(_FIRST)] == _FIRST):
                messages.append(f"{file.name}, line {number} breaks off: left out.")
                continue
            raise file.unreadable(error.what, f"line {number}", _ANEW) from error
        is_unique = last.get((record.capture, is_preamble), 0) < record.seq < _SEQ_LIMIT
        numbers = record.time_ns, record.mono_ns or 0, record.place.turn or 0, record.place.step or 0
        if not (is_unique and _NAME.fullmatch(record.capture) and all(0 <= each < _NUMBER_LIMIT for each in numbers)):
            what = "this is not a record: its capture, its seq or another number cannot be stored"
            raise file.unreadable(what, f"line {number}", _ANEW)
        last[record.capture, is_preamble] = record.seq
        yield record, is_preamble
