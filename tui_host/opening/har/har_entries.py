"""The entries of an HTTP archive, with their times and places in the file, in order of time. Source: HAR 1.2.

An archive may be of any size: none of it is held but where its entries stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from tui_host.capture.json.narrowing import mapping
from tui_host.capture.json.scan import BrokenError, Data, after_space, elements, members, value_end
from tui_host.opening.har.har_messages import text_of
from tui_host.opening.import_types import LATEST_NS, TOO_LATE, File, Moment, Notes, line_of, read_value, unreadable

_STARTED = re.compile(rb'"startedDateTime"\s*:\s*"([^"\\]{1,40})"')
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def in_order(file: File, notes: Notes) -> Iterator[tuple[Moment, int, int]]:
    """Give the start, the first byte and the last byte of each entry, in order of time.

    Browsers write them so, and each is read as it is found. Who writes an exchange when it is over, as mitmproxy does, mixes them: then
    none is read before all are found, for the last may be the first.
    """
    entries = _entries(file, notes)
    if _are_in_order(file):
        yield from entries
        return
    notes.progress.expected += len(file.data)
    sorted_entries: list[tuple[Moment, int, int]] = []
    for entry in entries:
        notes.progress.advance(entry[2] - entry[1])
        sorted_entries.append(entry)
    yield from sorted(sorted_entries)


def _are_in_order(file: File) -> bool:
    """Whether the times stand in order. Reads the keys without parsing entries: no body has the key unescaped."""
    last_ns = 0
    for match in _STARTED.finditer(file.data):
        now_ns = _time_ns(match[1].decode("ascii", "replace")) or last_ns
        if now_ns > LATEST_NS:
            continue
        if now_ns < last_ns:
            return False
        last_ns = now_ns
    return True


def _entries(file: File, notes: Notes) -> Iterator[tuple[Moment, int, int]]:
    """Give the start, the first byte and the last byte of each entry, in the order of the file."""
    data = file.data
    at = Moment(file.time_ns, is_told=False)
    count = 0
    try:
        entries = _member(data, _member(data, after_space(data, 0), b"log"), b"entries")
        if entries is None:
            raise unreadable(file, "this HTTP archive has no entries")
        for start, end in elements(data, entries):
            count += 1
            started = _STARTED.search(data, start, end)
            told_ns = None if started is None else _time_ns(started[1].decode("ascii", "replace"))
            if told_ns is not None and told_ns > LATEST_NS:
                notes.leave_out(TOO_LATE, file.name, lambda start=start: f"line {line_of(data, start)}, byte {start}")
                told_ns = None
            at = Moment(at.ns, is_told=False) if told_ns is None else Moment(told_ns)
            yield at, start, end
    except BrokenError as error:
        where = f"line {line_of(data, error.at)}, byte {error.at}"
        if not count:
            raise unreadable(file, f"this HTTP archive is broken: {error}", where) from error
        notes.messages.append(
            f"{file.name}, {where}: this HTTP archive is broken ({error}): what stands before is read."
        )


def _member(data: Data, at: int | None, name: bytes) -> int | None:
    """Find where the value of an object's member begins; None without the member. Reads no further."""
    return None if at is None else next((value for key, value in members(data, at) if key == name), None)


def creator(file: File) -> str:
    """The program that wrote the archive, if named before the entries."""
    data = file.data
    try:
        log = _member(data, after_space(data, 0), b"log")
        for key, at in members(data, log) if log is not None else ():
            if key == b"creator":
                return text_of(mapping(read_value(data[at : value_end(data, at)])).get("name"))
            if key == b"entries":
                break
    except BrokenError:
        pass  # who reads the entries tells it
    return ""


def _time_ns(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.astimezone(UTC) if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # in UTC it may be of no year that there is
        return None
    return max((moment - _EPOCH) // timedelta(microseconds=1) * 1000, 0)
