"""The lines of a log, each with the JSON value in it. A file of any size is read once, line by line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from tui_host.capture.json.reading import LEVELS, integer, is_deeper
from tui_host.capture.json.scan import BrokenError, Data, value_end
from tui_host.errors import JSON
from tui_host.opening.import_types import VALUE_LIMIT, read_value

PREFIX_LIMIT = 300
"""Bytes before the JSON of a line at most; a bracket further on is one of prose."""
_TEXT_LIMIT = 1 << 16
"""Bytes of a line without JSON that are kept."""
SEVERAL_LINES_LIMIT = 8 << 20
"""Bytes of a value that goes over several lines."""
_TRIES = 5
"""How often the end of a value over several lines is looked for in vain: then the file has none."""
_BRACES = 5
"""How many pairs of braces before the JSON of a line are passed over: loggers write what a line is about in them."""
_DECODER = json.JSONDecoder(strict=False)
_LONG_NUMBERS = json.JSONDecoder(parse_int=integer, strict=False)


class Line(NamedTuple):
    """A line, or one of several values in a line.

    Attributes:
        at: Where the line begins in the file.
        before: The text before the value; the whole line if there is none.
        data: The bytes of the value; empty if there is none.
        value: What the bytes say.
        is_further: Another value stands before this one in the line.
    """

    at: int
    before: str
    data: bytes = b""
    value: JSON = None
    is_further: bool = False


class LogLines:
    """The lines of a log, in order.

    Attributes:
        at: The first byte after the line that was given last.
    """

    def __init__(self, data: Data) -> None:
        self.at = 0
        self._data = data
        self._tries = _TRIES

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
            if line.find(b"{", 0, PREFIX_LIMIT) < 0:
                yield Line(begin, _text(line[:_TEXT_LIMIT].rstrip(b"\r")))
            else:
                yield from self._values(begin, line)

    def _values(self, begin: int, line: bytes) -> Iterator[Line]:
        """Give the values of a line; the line as text if it has none."""
        at, count = 0, 0
        while (brace := line.find(b"{", at, at + PREFIX_LIMIT)) >= 0:
            place = self._first_value(begin, line, at, brace)
            if place is None:
                break
            value, start, end = place
            if end > len(line):  # over several lines
                self.at = max(self.at, begin + end)
                yield Line(begin, _text(line[at:start]), self._data[begin + start : begin + end], value, count > 0)
                rest_end = self._data.find(b"\n", begin + end)
                self.at = len(self._data) if rest_end < 0 else rest_end + 1
                return
            yield Line(begin, _text(line[at:start]), line[start:end], value, count > 0)
            at, count = end, count + 1
        if not count or line.startswith((b"data:", b"event:"), at):
            yield Line(begin, _text(line[at : at + _TEXT_LIMIT].rstrip(b"\r")))

    def _first_value(self, begin: int, line: bytes, at: int, brace: int) -> tuple[JSON, int, int] | None:
        """Find the first object or list of objects from a brace on: value, start and end."""
        for _ in range(_BRACES):
            start = brace - 1 if brace > at and line[brace - 1 : brace] == b"[" else brace
            for first in (start, brace) if start < brace else (brace,):
                if value_and_end := _value_in(line, first):
                    return value_and_end[0], first, value_and_end[1]
            if line[brace:].rstrip() in {b"{", b"[{"} and (several := self._over_lines(begin + start)):
                return several[0], start, several[1] - begin
            if (brace := line.find(b"{", brace + 1, at + PREFIX_LIMIT)) < 0:
                break
        return None

    def _over_lines(self, at: int) -> tuple[JSON, int] | None:
        """Read the pretty-printed value that begins at the end of a line, and find its end."""
        if not self._tries:
            return None
        piece = self._data[at : at + SEVERAL_LINES_LIMIT]
        with suppress(BrokenError):
            end = value_end(piece, 0)
            if (value := read_value(piece[:end], is_shallow=True)) is not None:
                return value, at + end
        self._tries -= 1
        return None


def _value_in(line: bytes, at: int) -> tuple[JSON, int] | None:
    """Read the object or list of objects at a place, and find its end."""
    try:
        text = line[at:].decode()
    except UnicodeDecodeError:
        return _undecodable(line, at)
    try:
        value, end = _decoded(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict | list) or (len(text) > LEVELS and is_deeper(text, LEVELS)):
        return None
    return value, at + (end if text.isascii() else len(text[:end].encode()))


def _decoded(text: str) -> tuple[JSON, int]:
    try:
        value_and_end: tuple[JSON, int] = _DECODER.raw_decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an integer with more digits than Python computes with
        value_and_end = _LONG_NUMBERS.raw_decode(text)
    return value_and_end


def _undecodable(line: bytes, at: int) -> tuple[JSON, int] | None:
    """Do the same for a line with bytes that are no UTF-8."""
    with suppress(BrokenError):
        end = value_end(line, at)
        value = read_value(line[at:end], is_shallow=True)
        if isinstance(value, dict | list):
            return value, end
    return None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
