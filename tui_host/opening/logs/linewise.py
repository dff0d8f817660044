"""A text taken apart into its lines, each with the JSON that begins in it; a text of any size, one line at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from tui_host.capture.json.scan import BrokenError, Data, value_end
from tui_host.errors import JSON
from tui_host.opening.cut_values import said_before_the_cut
from tui_host.opening.drafts import MOST, begins_with, read_value
from tui_host.opening.logs.printed import BEGIN, Printed, printed
from tui_host.opening.pythonic import MOST as PYTHONIC_MOST
from tui_host.opening.pythonic import (
    looks_pythonic,
    pythonic_end,
    read_pythonic,
    several_lines,
    written_as_json,
)
from tui_host.opening.wire_detection import known

PREFIX_MOST = 300
"""Bytes before what is JSON in a line, at most; in a line of prose a bracket means nothing."""
SEVERAL_MOST = 8 << 20
"""Bytes of JSON that goes over several lines."""
TRIES = 5
"""How often the end of such JSON is looked for in vain: a file of nothing but brackets takes no longer than another."""
BRACES = 5
"""How many things in braces are passed over that are no JSON: loggers write so of what a line is about."""
_GOES_ON = re.compile(rb"[ \t]+[bB]?['\"][^\n]*")
"""So looks what comes next of a list that is printed over several lines."""
FIELD = re.compile(rb"[ \t]*(?:data|event):")
_OF_A_WIRE = re.compile(rb"jsonrpc|messages|content|input|choices|candidates|model|response|error|done")
"""Words of which each thing that was on a wire has one: what stands behind a value in its line is mostly nothing of that."""
_OPEN, _SHORT = (b"{", b"[", b"[{"), 8
"""So ends the first line of a value that is written for eyes, and has no more bytes than that."""
_LOOK, _MORE = 1 << 14, 8
"""Bytes in which the end of such a one is looked for at first, and how many times as much then: a line may have thousands."""


class Line(NamedTuple):
    """What there is of one line, or of a value that goes over several.

    Attributes:
        before: What stands before the JSON.
        data: The JSON, as it stands; empty if there is none. Of one that is cut off what there is.
        value: What it says.
        text: The whole line, where there is no JSON.
        at: Where it begins in the file.
        printed: A text or bytes that stand before any JSON, or have it in them.
        lead: What stands before these.
        is_more: It stands behind another in the same line, and `before` between them.
        has_more: Another stands behind it there, or may.
        cut: What it says up to where it is cut off; None where it is not.
    """

    before: str
    data: bytes
    value: JSON
    text: bytes
    at: int
    printed: bytes | None = None
    lead: str = ""
    is_more: bool = False
    has_more: bool = False
    cut: JSON = None


class Lines:
    """The lines of a log, each with the JSON that begins in it, over as many lines as that takes; what is behind that in its line comes next.

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
        self._word_at = -1
        self._open_to = 0

    def __iter__(self) -> Iterator[Line]:
        end, is_more = -1, False
        while self.at < len(self._data):
            end = end if is_more else self._end_of_line(self.at)
            found, after = (self._next(self.at, end) if is_more else None) or self._first(self.at, end)
            end = end if after <= end else self._end_of_line(after)
            has_more = self._has_more(after, end)
            self.at = after if has_more else end + 1
            yield found._replace(is_more=is_more, has_more=has_more) if is_more or has_more else found
            is_more = has_more

    def _end_of_line(self, at: int) -> int:
        end = self._data.find(b"\n", at)
        return len(self._data) if end < 0 else end

    def _has_more(self, at: int, end: int) -> bool:
        """Whether something of a wire may stand behind a value in its line: its answer, or what came next where nobody wrote a line break."""
        if at >= end or FIELD.match(self._data, at, end):
            return at < end
        if self._data.find(b"{", at, min(end, at + PREFIX_MOST)) < 0:
            return False
        if self._data[max(at, end - 2) : end].rstrip().endswith(b"{"):
            return True  # for eyes: the others of its lines say what it is
        if self._word_at < at:  # of a line with many values no part is looked through twice
            found = _OF_A_WIRE.search(self._data, at, end)
            self._word_at = end if found is None else found.start()
        return self._word_at < end

    def _next(self, at: int, end: int) -> tuple[Line, int] | None:
        """The value behind another in its line, and where it ends, without a look at all of the line; None where it does not show so."""
        begin, look = self._data.find(b"{", at, min(end, at + PREFIX_MOST)), _LOOK
        if BEGIN.search(self._data, at, begin):
            return None  # it may stand within a text
        begin -= begin > at and self._data[begin - 1 : begin] == b"["
        while begin >= 0 and look <= MOST:
            piece = self._data[begin : min(end, begin + look)]
            with suppress(BrokenError):
                found = piece[: value_end(piece, 0)]
                value = read_value(found, is_shallow=True)
                before = self._data[at:begin].decode("utf-8", "replace")
                return (
                    (Line(before, found, value, b"", at), begin + len(found))
                    if isinstance(value, dict | list)
                    else None
                )
            look = look * _MORE if begin + look < end else MOST + 1
        return None

    def _first(self, at: int, end: int) -> tuple[Line, int]:
        """What a line begins with, and where that ends."""
        said = self._printed(at, end)
        if said is not None and not said.has_end:
            said = self._over_lines(at, end, said)
        if said is not None and said.is_of_a_wire:  # no JSON begins before its own
            found, after = self._words(at, min(end, at + said.end + PREFIX_MOST)), at + said.end
        else:
            found, after = self._line(at, end)
        if said is not None:
            lead = self._data[at : at + said.at].decode("utf-8", "replace")
            found = found._replace(printed=said.data, lead=lead)
        return found, after

    def _words(self, at: int, end: int) -> Line:
        return Line("", b"", None, self._data[at : min(end, at + MOST)].rstrip(b"\r"), at)

    def _printed(self, at: int, end: int) -> Printed | None:
        """What is printed in a line as Python or JSON write texts."""
        most = min(end, at + PREFIX_MOST)
        brace = self._data.find(b"{", at, most)
        most = most if brace < 0 else brace
        first = BEGIN.search(self._data, at, most)
        if first is None:
            return None
        look = _LOOK
        while look < min(end - at, MOST):  # as with a value: there may be thousands
            said = printed(self._data[at : at + look], min(most - at, look))
            if said is not None and said.is_of_a_wire and said.has_end and said.at == first.start() - at:
                return said
            look *= _MORE
        return printed(self._data[at : min(end, at + MOST)], most - at)

    def _over_lines(self, at: int, end: int, said: Printed) -> Printed:
        """The same list with what of it stands in the lines behind its first, if it ends there."""
        if at < self._open_to or self._data[at + said.end : end].strip() not in {b"", b","}:
            return said
        last = end
        while last - at < MOST and (found := _GOES_ON.match(self._data, last + 1)):
            last = found.end()
        whole = printed(self._data[at:last], said.at + len("b'")) if last > end else None
        if whole is not None and whole.has_end:
            return whole
        self._open_to = last  # no line is looked through twice in vain
        return said

    def _line(self, at: int, end: int) -> tuple[Line, int]:
        """A line, and where it ends, or the value that begins in it does."""
        data, most = self._data, min(end, at + PREFIX_MOST)
        brace, broken = data.find(b"{", at, most), -1
        for _ in range(BRACES):
            if brace < 0:
                break
            start = brace - 1 if brace > at and data[brace - 1 : brace] == b"[" else brace
            found = b""
            for begin in dict.fromkeys((start, brace)):
                found, value = self._value(begin, end)
                if isinstance(value, (dict, list)):
                    after = begin + len(found)
                    if looks_pythonic(found):
                        self.pythonic += 1
                        found = written_as_json(value)
                    return Line(data[at:begin].decode("utf-8", "replace"), found, value, b"", at), after
            if not found:
                return self._cut(at, start, end)
            broken = start if broken < 0 else broken
            brace = data.find(b"{", brace + len(found), most)
        if broken >= 0 and known((cut := self._cut(at, broken, end))[0].cut):
            return cut  # its middle is not there
        return self._words(at, end), end

    def _cut(self, at: int, begin: int, end: int) -> tuple[Line, int]:
        """A line in which a value begins that has no end, and where it ends; over several where it is written for eyes."""
        after = end
        if self._tries and end - begin < _SHORT and self._data[begin:end].rstrip() in _OPEN:
            after = several_lines(self._data, begin)
        piece = self._data[begin : min(after, begin + SEVERAL_MOST)].rstrip()
        said = said_before_the_cut(piece)
        if said is None:
            return self._words(at, end), end
        found = self._words(at, after)
        return found._replace(before=self._data[at:begin].decode("utf-8", "replace"), data=piece, cut=said), after

    def _pythonic(self, begin: int, end: int, line: bytes) -> tuple[bytes, JSON]:
        """A value as Python prints it over several lines, or with something behind it; those of one that is none are looked at once."""
        is_one = self._data[end + 1 : end + 2] != b" "
        if (is_one and len(line) > PYTHONIC_MOST) or (not is_one and begin < self._looked_at):
            return b"", None
        self._looked_at = self._looked_at if is_one else several_lines(self._data, begin)
        whole = line if is_one else self._data[begin : self._looked_at]
        found = whole[: pythonic_end(whole)]
        return found, read_pythonic(found)

    def _value(self, begin: int, end: int) -> tuple[bytes, JSON]:
        """The value that begins there; over several lines only where its bracket ends its line, as in what is written for eyes."""
        line = self._data[begin : min(end, begin + MOST)]
        if looks_pythonic(line):  # which no JSON does
            value = read_pythonic(line)
            return (line, value) if value is not None else self._pythonic(begin, end, line)
        if found := begins_with(line):
            return found
        with suppress(BrokenError):  # what begins in this line does not end in it
            value = line[: value_end(line, 0)]
            return value, read_value(value, is_shallow=True)
        if self._tries and line.rstrip() in _OPEN:
            several = self._data[begin : begin + SEVERAL_MOST]
            with suppress(BrokenError):  # nor in the next: it is no JSON, or too long
                found = several[: value_end(several, 0)]
                if (value := read_value(found, is_shallow=True)) is not None:
                    return found, value
            self._tries -= 1
        return b"", None
