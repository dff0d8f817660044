r"""Texts and bytes as Python or JSON write them in a line: `print(chunk)` leaves `b'data: …\n\n'` there, `json.dumps` `"data: …"`.

They are read by the rules of whoever wrote them, and what they say is what was on the wire.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence
from typing import NamedTuple

from tui_host.capture.json.narrowing import items
from tui_host.opening.drafts import read_value

MOST = 16 << 20
"""Bytes of one."""
_LOOKS = (1 << 12, 1 << 16, MOST)
"""In so many the end of one is looked for: a list may have thousands."""
_AT_ONCE = 1 << 14
"""Bytes of a list that are read at once: Python's parser takes up to a kilobyte for each piece, be it of one character."""
TRIES = 5
"""How many in a line are looked at."""
BEGIN = re.compile(rb"(?<![\w'\"\\])[bB]?(['\"])")
_OF_A_WIRE = re.compile(rb"(?:\s|\\[nrt])*(?:[{\[]|(?:data|event|id|retry):|: )")
_NEXT = re.compile(rb"(?:\s*(,)\s*|[ \t\r]*\n\s*)(?=[bB]?(['\"]))([bB]?['\"])")
"""Behind one of a list the next, or more of the same, which Python writes into another line."""
_OPENED = re.compile(rb"(\[|(?<!\w)\()\s*((?:[bB]?(?:\'\'|\"\")\s*,\s*)*)\Z")
"""Before the first of a list that says something: its beginning, and those that say nothing. What is in brackets behind a word is no list."""
_OPENED_MOST = 64
_CLOSES = {b"[": re.compile(rb"\s*,?\s*\]"), b"(": re.compile(rb"\s*,?\s*\)")}
_IN_A_WORD = re.compile(rb"[\w'\"]")
"""Behind it this stands where whoever wrote it did so by no rule."""
_AFTER_ALL = b" \t\r)]},;."
"""What may stand behind one that is all that its line is about."""


class Printed(NamedTuple):
    """One of them.

    Attributes:
        at: Where it begins in its line.
        end: Where it ends there.
        data: What it says.
        is_of_a_wire: It begins as what is on a wire.
        has_end: It is one, or a list of them that ends there.
    """

    at: int
    end: int
    data: bytes
    is_of_a_wire: bool
    has_end: bool = True


def printed(line: bytes, most: int) -> Printed | None:
    """What a line prints: a text that looks as if of a wire, or with which the line ends; None if there is none.

    Args:
        line: The line.
        most: Where it begins at last.
    """
    at = 0
    for _ in range(TRIES):
        found = BEGIN.search(line, at, most)
        if found is None:
            return None
        start = found.end()
        at = _end(line, start, found[1])
        if at < 0:
            at = start
            continue
        is_of_a_wire = _OF_A_WIRE.match(line, start, at) is not None
        is_last = is_of_a_wire or not line[at:].strip(_AFTER_ALL)
        if not is_last or at - start > MOST or _IN_A_WORD.match(line, at):
            continue
        said = _read(line[found.start() : at])
        if said is not None:
            begin = found.start()
            opened = _OPENED.search(line, max(begin - _OPENED_MOST, 0), begin) if is_of_a_wire else None
            if opened is not None:
                return _list(line, opened, at, said)
            return Printed(begin, at, _bytes(said), is_of_a_wire)
    return None


def _list(line: bytes, opened: re.Match[bytes], at: int, first: bytes | str) -> Printed:
    """What a list of texts or bytes says together, of which the first ends at a place: the chunks of a stream, or its lines."""
    begin = opened.start(2)
    last, first_end = at, at
    parts: list[tuple[int, int]] = []
    start = begin
    while found := _NEXT.match(line, last):
        last = _end(line, found.end(), found[2])
        if last < 0:
            break
        if at - start >= _AT_ONCE and found[1]:
            parts.append((start, at))
            start = found.start(3)
        at = last
    parts.append((start, at))
    close = _CLOSES[opened[1]].match(line, at)
    is_one = first_end < at <= begin + MOST and (close is not None or opened[1] == b"[")
    data = _joined(line, parts) if is_one else None
    if data is None:
        data, at = _bytes(first), first_end
        close = _CLOSES[opened[1]].match(line, at)
    return Printed(begin, close.end() if close else at, data, is_of_a_wire=True, has_end=close is not None)


def _joined(line: bytes, parts: Sequence[tuple[int, int]]) -> bytes | None:
    """What the parts of a list say together, of which each is some of its texts; None where one of them is no list."""
    for between in (b"\n", b""):
        data = bytearray()
        for start, end in parts:
            pieces = _several(b"[%s]" % line[start:end])
            if not pieces:
                return None
            if between and not all(map(_is_line, pieces)):
                break
            data += (between if data else b"") + between.join(pieces)
        else:
            return bytes(data)
    return None


def _is_line(piece: bytes) -> bool:
    """Whether it may be a line of a stream: an empty one ends an event."""
    return not piece or (_OF_A_WIRE.match(piece) is not None and not piece.endswith(b"\n"))


def _several(literal: bytes) -> list[bytes]:
    if literal[1:2] == b'"' and (read := items(read_value(literal))):
        return [_bytes(each) for each in read if isinstance(each, str)]
    said = _value(literal)
    return [_bytes(each) for each in said] if isinstance(said, list) else []


def _bytes(said: bytes | str) -> bytes:
    return said if isinstance(said, bytes) else said.encode("utf-8", "surrogatepass")


def _end(line: bytes, at: int, quote: bytes) -> int:
    """One past its last quotation mark; -1 if there is none."""
    end = line.find(quote, at)
    if end > at and line[end - 1 : end] == b"\\":  # else nothing before it can be escaped that is one
        end = -1
        for look in _LOOKS:
            rest = line[at : at + look].replace(b"\\\\", b"  ").replace(b"\\" + quote, b"  ")
            if (found := rest.find(quote)) >= 0:
                end = at + found
                break
    return end + 1 if end >= 0 else -1


def _read(literal: bytes) -> bytes | str | None:
    """What it says; None if it is none."""
    if literal[:1] == b'"':
        value = read_value(literal)
        if isinstance(value, str):
            return value
    said = _value(literal)
    return said if isinstance(said, bytes | str) else None


def _value(literal: bytes) -> bytes | str | list[bytes | str] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the compiler, on foreign escapes
            said: bytes | str | list[bytes | str] = ast.literal_eval(literal.decode())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return said
