"""Reads the lines of a log, each with the JSON value in it. Files of any size are read once, line by line."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from tui_host.capture.json.file_values import VALUE_LIMIT, BrokenError, Data, read_value, value_at
from tui_host.capture.json.narrowing import items
from tui_host.capture.json.reading import LEVELS, integer, is_deeper
from tui_host.errors import JSON

PREFIX_LIMIT = 300
"""Most bytes before the JSON of a line; a later bracket belongs to prose."""
_TEXT_LIMIT = 1 << 16
"""Most bytes to keep of a line without JSON."""
SEVERAL_LINES_LIMIT = 8 << 20
"""Most bytes of a value that spans several lines."""
_TRIES = 5
"""Number of failed searches for the end of such a value, after which none is tried."""
_BRACES = 5
"""Number of pairs of braces to skip before the JSON of a line: loggers write a line's subject in braces."""
_EVENT = re.compile(rb"\n(?:event: [\w.]{1,80}\n)?data: (\{[^\n]*\})\n")
_EVENTS_AT_ONCE = 1 << 16
"""Most bytes of stream events to read at once."""
_DECODER = json.JSONDecoder(strict=False)
_LONG_NUMBERS = json.JSONDecoder(parse_int=integer, strict=False)


class Line(NamedTuple):
    """A line, or one of several values in a line.

    Attributes:
        at: Position of the line in the file.
        before: The text before the value; the whole line if it has none.
        is_further: Whether another value comes before this one in the line.
    """

    at: int
    before: str
    data: bytes = b""
    value: JSON = None
    is_further: bool = False


class LogLines:
    """The lines of a log, in order."""

    def __init__(self, data: Data) -> None:
        self.at = 0
        self._data = data
        self._tries = _TRIES
        self._ahead: deque[tuple[JSON, int]] = deque()
        self._ahead_from = self._ahead_to = 0

    def __iter__(self) -> Iterator[Line]:
        data, size = self._data, len(self._data)
        while self.at < size:
            begin = self.at
            end = data.find(b"\n", begin)
            end = size if end < 0 else end
            self.at = end + 1
            line = data[begin : min(end, begin + VALUE_LIMIT)]
            if line.isspace() or not line:
                continue
            brace = line.find(b"{", 0, PREFIX_LIMIT)
            if brace < 0:
                yield Line(begin, line[:_TEXT_LIMIT].rstrip(b"\r").decode("utf-8", "replace"))
            elif (only := _only_value(begin, line, brace)) is not None:
                yield only
            else:
                yield from self._values(begin, line.decode("utf-8", "surrogateescape"))

    def events(self) -> Iterable[tuple[JSON, int]]:
        """Return the next events, each followed by an empty line: the value and the end of each.

        To use some of them, set `at` to the end of the last.
        """
        while self._ahead and self._ahead[0][1] <= self.at:
            self._ahead_from = self._ahead.popleft()[1]
        if self.at >= self._ahead_to:
            self._look_ahead()
        return self._ahead if self.at == self._ahead_from else ()

    def _look_ahead(self) -> None:
        """Parse the next events in one call; none if one of the values is invalid."""
        ends: list[int] = []
        texts: list[bytes] = []
        end = self._ahead_from = self.at
        while end - self.at < _EVENTS_AT_ONCE and (match := _EVENT.match(self._data, end)) is not None:
            end = match.end()
            texts.append(match[1])
            ends.append(end)
        values = read_value(b"[%s]" % b",".join(texts), is_shallow=True)
        is_right = isinstance(values, list) and len(values) == len(ends)
        self._ahead = deque(zip(items(values), ends, strict=True) if is_right else ())
        self._ahead_to = end  # do not look again before this: in mixed streams each event would be read many times

    def _values(self, begin: int, line: str) -> Iterator[Line]:
        """Yield the values of a line; the line as text if it has none."""
        at = 0
        while (brace := line.find("{", at, at + PREFIX_LIMIT)) >= 0:
            place = _first_value(line, at, brace)
            if place is None:
                break
            value, start, end = place
            data = _bytes(line[start:end])
            if not line.isascii() and _has_wrong_bytes(data):
                value = read_value(data, is_shallow=True)
            yield Line(begin, line[at:start], data, value, at > 0)
            at = end
        if brace >= 0 and line[brace:].rstrip() == "{" and (several := self._over_lines(begin, line, brace)):
            yield several._replace(before=line[at : brace - line[at:brace].endswith("[")], is_further=at > 0)
        elif not at or line.startswith(("data:", "event:"), at):
            yield Line(begin, _bytes(line[at : at + _TEXT_LIMIT].rstrip("\r")).decode("utf-8", "replace"))

    def _over_lines(self, begin: int, line: str, brace: int) -> Line | None:
        """Read a value that spans several lines and begins at a line's end; text after the value is skipped."""
        if not self._tries:
            return None
        start = begin + len(_bytes(line[: brace - line[:brace].endswith("[")]))
        piece = self._data[start : start + SEVERAL_LINES_LIMIT]
        with suppress(BrokenError):
            value, size = value_at(piece, 0)
            end = self._data.find(b"\n", start + size)
            self.at = len(self._data) if end < 0 else end + 1
            return Line(begin, "", piece[:size], value)
        self._tries -= 1
        return None


def _only_value(begin: int, line: bytes, brace: int) -> Line | None:
    """Read a line of a few words and an object, the usual form; None for any other line."""
    if line.endswith(b"}") and line.isascii() and line[brace - 1 : brace] != b"[":
        text = line.decode("ascii")
        value_and_end = _value_in(text, brace)
        if value_and_end is not None and value_and_end[1] == len(text):
            return Line(begin, text[:brace], line[brace:], value_and_end[0])
    return None


def _first_value(line: str, at: int, brace: int) -> tuple[JSON, int, int] | None:
    """Find the first object or list of objects, starting at a brace: value, start and end."""
    for _ in range(_BRACES):
        is_listed = brace > at and line[brace - 1] == "["
        for start in (brace - 1, brace) if is_listed else (brace,):
            if value_and_end := _value_in(line, start):
                return value_and_end[0], start, value_and_end[1]
        if (brace := line.find("{", brace + 1, at + PREFIX_LIMIT)) < 0:
            break
    return None


def _value_in(line: str, at: int) -> tuple[JSON, int] | None:
    """Read the object or list of objects at a position, and find its end."""
    try:
        value, end = _decoded(line, at)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict | list) or (end - at > LEVELS and is_deeper(line[at:end], LEVELS)):
        return None
    return value, end


def _decoded(text: str, at: int) -> tuple[JSON, int]:
    try:
        value_and_end: tuple[JSON, int] = _DECODER.raw_decode(text, at)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an integer with more digits than Python converts
        value_and_end = _LONG_NUMBERS.raw_decode(text, at)
    return value_and_end


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _has_wrong_bytes(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False
