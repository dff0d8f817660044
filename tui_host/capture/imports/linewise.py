"""A text taken apart into its lines, each with the JSON that begins in it; a text of any size, one line at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from tui_host.capture.imports.elements import BrokenError, Data, value_end
from tui_host.capture.imports.printed import BEGIN, Printed, printed
from tui_host.capture.imports.pythonic import (
    looks_pythonic,
    pythonic_end,
    read_pythonic,
    several_lines,
    written_as_json,
)
from tui_host.capture.imports.seen import MOST, begins_with, read_value
from tui_host.errors import JSON

PREFIX_MOST = 300
"""Bytes before what is JSON in a line, at most; in a line of prose a bracket means nothing."""
SEVERAL_MOST = 8 << 20
"""Bytes of JSON that goes over several lines."""
TRIES = 5
"""How often the end of such JSON is looked for in vain: a file of nothing but brackets takes no longer than another."""


class Line(NamedTuple):
    """What there is of one line, or of a value that goes over several.

    Attributes:
        before: What stands before the JSON.
        data: The JSON, as it stands; empty if there is none.
        value: What it says.
        text: The whole line, where there is no JSON.
        at: Where it begins in the file.
        printed: A text or bytes that stand before any JSON, or have it in them.
        lead: What stands before these.
    """

    before: str
    data: bytes
    value: JSON
    text: bytes
    at: int
    printed: bytes | None = None
    lead: str = ""


class Lines:
    """The lines of a log, each with the JSON that begins in it, over as many lines as that takes.

    Args:
        data: The log.
        at: Where the first of them begins.

    Attributes:
        at: The first byte after what was given last.
        pythonic: How many values stand there as Python writes them.
    """

    def __init__(self, data: Data, at: int = 0) -> None:
        self.at = at
        self.pythonic = 0
        self._data = data
        self._tries = TRIES
        self._looked_at = 0

    def __iter__(self) -> Iterator[Line]:
        while self.at < len(self._data):
            end = self._data.find(b"\n", self.at)
            end = len(self._data) if end < 0 else end
            said = self._printed(self.at, end)
            if said is not None and said.is_of_a_wire:  # no JSON begins before its own
                found, after = (
                    Line("", b"", None, self._data[self.at : min(end, self.at + MOST)].rstrip(b"\r"), self.at),
                    end,
                )
            else:
                found, after = self._line(self.at, end)
            if said is not None:
                lead = self._data[self.at : self.at + said.at].decode("utf-8", "replace")
                found = found._replace(printed=said.data, lead=lead)
            self.at = after + 1
            yield found

    def _printed(self, at: int, end: int) -> Printed | None:
        """What is printed in a line as Python or JSON write texts."""
        most = min(end, at + PREFIX_MOST)
        brace = self._data.find(b"{", at, most)
        most = most if brace < 0 else brace
        if BEGIN.search(self._data, at, most) is None:
            return None
        return printed(self._data[at : min(end, at + MOST)], most - at)

    def _line(self, at: int, end: int) -> tuple[Line, int]:
        """A line, and where it ends: later, where the value that begins in it does."""
        data = self._data
        brace = data.find(b"{", at, min(end, at + PREFIX_MOST))
        start = brace - 1 if brace > at and data[brace - 1 : brace] == b"[" else brace
        for begin in dict.fromkeys((start, brace)) if brace >= 0 else ():
            found, value = self._value(begin, end)
            if isinstance(value, (dict, list)):
                after = data.find(b"\n", begin + len(found))
                before = data[at:begin].decode("utf-8", "replace")
                if looks_pythonic(found):
                    self.pythonic += 1
                    found = written_as_json(value)
                return Line(before, found, value, b"", at), len(data) if after < 0 else after
        return Line("", b"", None, data[at : min(end, at + MOST)].rstrip(b"\r"), at), end

    def _pythonic(self, begin: int, end: int) -> tuple[bytes, JSON]:
        """A value as Python prints it over several lines; those of one that is none are looked at once."""
        if begin < self._looked_at or self._data[end + 1 : end + 2] != b" ":
            return b"", None
        self._looked_at = several_lines(self._data, begin)
        several = self._data[begin : self._looked_at]
        found = several[: pythonic_end(several)]
        return found, read_pythonic(found)

    def _value(self, begin: int, end: int) -> tuple[bytes, JSON]:
        """The value that begins there; over several lines only where its bracket ends its line, as in what is written for eyes."""
        line = self._data[begin : min(end, begin + MOST)]
        if looks_pythonic(line):  # which no JSON does
            value = read_pythonic(line)
            return (line, value) if value is not None else self._pythonic(begin, end)
        if found := begins_with(line):
            return found
        with suppress(BrokenError):  # what begins in this line does not end in it
            value = line[: value_end(line, 0)]
            return value, read_value(value, is_shallow=True)
        if self._tries and line.rstrip() in {b"{", b"[", b"[{"}:
            several = self._data[begin : begin + SEVERAL_MOST]
            with suppress(BrokenError):  # nor in the next: it is no JSON, or too long
                value = several[: value_end(several, 0)]
                return value, read_value(value, is_shallow=True)
            self._tries -= 1
        return b"", None
