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
        is_further: Another value stands before this one in the line.
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
                yield Line(begin, line[:_TEXT_LIMIT].rstrip(b"\r").decode("utf-8", "replace"))
            else:
                yield from self._values(begin, line.decode("utf-8", "surrogateescape"))

    def _values(self, begin: int, line: str) -> Iterator[Line]:
        """Give the values of a line; the line as text if it has none."""
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
        """Read the pretty-printed value that begins at the end of a line; what stands behind the value is passed over."""
        if not self._tries:
            return None
        start = begin + len(_bytes(line[: brace - line[:brace].endswith("[")]))
        piece = self._data[start : start + SEVERAL_LINES_LIMIT]
        with suppress(BrokenError):
            data = piece[: value_end(piece, 0)]
            if (value := read_value(data, is_shallow=True)) is not None:
                end = self._data.find(b"\n", start + len(data))
                self.at = len(self._data) if end < 0 else end + 1
                return Line(begin, "", data, value)
        self._tries -= 1
        return None


def _first_value(line: str, at: int, brace: int) -> tuple[JSON, int, int] | None:
    """Find the first object or list of objects from a brace on: value, start and end."""
    for _ in range(_BRACES):
        is_listed = brace > at and line[brace - 1] == "["
        for start in (brace - 1, brace) if is_listed else (brace,):
            if value_and_end := _value_in(line, start):
                return value_and_end[0], start, value_and_end[1]
        if (brace := line.find("{", brace + 1, at + PREFIX_LIMIT)) < 0:
            break
    return None


def _value_in(line: str, at: int) -> tuple[JSON, int] | None:
    """Read the object or list of objects at a place, and find its end."""
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
    except ValueError:  # an integer with more digits than Python computes with
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
