"""Reads the lines of a log: the words before each JSON value, the value with its bytes, and the time in the words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from tui_host.capture.json.file_values import VALUE_LIMIT, BrokenError, Data, value_at
from tui_host.errors import JSON
from tui_host.opening.import_types import LATEST_NS, Moment

_PREFIX_LIMIT = 300  # bytes before the JSON of a line; a later bracket belongs to prose
_TEXT_LIMIT = 1 << 16  # bytes kept of a line without JSON
_SEVERAL_LINES_LIMIT = 8 << 20
_MISSES = 3  # braces that begin no JSON: loggers write a line's subject in braces, as Rust's `tracing` does
_TRIES = 5  # searches in vain for the end of a value over several lines, after which none is tried
_HEAD = 1 << 16  # bytes in which the first time of a log is looked for
_TIME = re.compile(
    r"(?<!\d)(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d)\b)?)"
    r"|(?<![\d.])(1[5-9]\d{8})(?:\.(\d{1,9})|(\d{3}))?(?!\d)"
)
"""ISO 8601 with or without a zone, or seconds or milliseconds since 1970."""


class LogValue(NamedTuple):
    """A JSON value of a log, with the words before it; without `data`, the line has no value."""

    at: int  # the line's position in the file
    before: str
    data: bytes = b""
    value: JSON = None
    is_further: bool = False  # another value stands before it in the line


class LogLines:
    """The values and the lines without values, in the order of the file; `at` is where the next line begins."""

    def __init__(self, data: Data) -> None:
        self.at = 0
        self._data = data
        self._tries = _TRIES

    def __iter__(self) -> Iterator[LogValue]:
        data, size = self._data, len(self._data)
        while self.at < size:
            begin, end = self.at, data.find(b"\n", self.at)
            end = size if end < 0 else end
            self.at = end + 1
            line = data[begin : min(end, begin + VALUE_LIMIT)].rstrip(b"\r")
            if not line.strip():
                continue
            values = list(_values_in(begin, line))
            several = self._over_lines(begin, line) if not values and line.rstrip()[-1:] in b"{[" else None
            yield from values or [several or LogValue(begin, _text(line[:_TEXT_LIMIT]))]

    def _over_lines(self, begin: int, line: bytes) -> LogValue | None:
        """Read a value that begins at a line's end and spans several lines; what follows it in its last line is skipped."""
        written = line.rstrip()
        place = len(written) - (2 if written.endswith(b"[{") else 1)
        if not self._tries or place > _PREFIX_LIMIT:
            return None
        start = begin + place
        piece = self._data[start : start + _SEVERAL_LINES_LIMIT]
        with suppress(BrokenError):
            value, size = value_at(piece, 0)
            end = self._data.find(b"\n", start + size)
            self.at = len(self._data) if end < 0 else end + 1
            return LogValue(begin, _text(line[:place]), piece[:size], value)
        self._tries -= 1
        return None


def _values_in(begin: int, line: bytes) -> Iterator[LogValue]:
    at = brace = misses = 0
    while misses < _MISSES and (brace := line.find(b"{", brace, at + _PREFIX_LIMIT)) >= 0:
        start = brace - line[at:brace].endswith(b"[")
        try:
            value, end = value_at(line, start)
        except BrokenError:
            brace, misses = brace + 1, misses + 1
            continue
        yield LogValue(begin, _text(line[at:start]), line[start:end], value, at > 0)
        at = brace = end
        misses = 0


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


class LogClock:
    """The time of a log's lines, which never goes back. What stands before its first time is of that time."""

    def __init__(self, data: Data, time_ns: int) -> None:
        self._now_ns = time_ns
        self._is_new = False
        self.too_late = 0  # times after the year 2099
        for line in data[:_HEAD].split(b"\n"):
            if (first := _time_in(_text(line.partition(b"{")[0][:_PREFIX_LIMIT]))) and first <= LATEST_NS:
                self._now_ns = first
                break

    def hear(self, words: str) -> None:
        """Read the first time in some words."""
        told_ns = _time_in(words)
        if told_ns > LATEST_NS:
            self.too_late += 1
        elif told_ns:
            self._now_ns, self._is_new = max(self._now_ns, told_ns), True

    def at(self, words: str) -> Moment:
        """Return the time of a value after `words`: the time in them, else that of a line of words just before."""
        self.hear(words)
        is_told, self._is_new = self._is_new, False
        return Moment(self._now_ns, is_told)


def _time_in(words: str) -> int:
    """Return the first time in nanoseconds since 1970, 0 without one. A time without a zone is of this machine's."""
    match = _TIME.search(words)
    if match is None:
        return 0
    written, seconds, fraction, milliseconds = match.groups("")
    if seconds:
        return int(seconds) * 10**9 + int((fraction or milliseconds).ljust(9, "0"))
    digits = re.search(r"[.,](\d+)", written)
    whole = re.sub(r"[.,]\d+", "", written).replace("/", "-").replace("UTC", "Z")
    try:
        moment = datetime.fromisoformat(whole[:19] + whole[19:].strip()).timestamp()
    except (ValueError, OverflowError, OSError):  # no such day exists
        return 0
    return max(int(moment), 0) * 10**9 + (int(digits[1].ljust(9, "0")) if digits else 0)
