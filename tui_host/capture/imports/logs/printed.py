r"""Texts and bytes as Python or JSON write them in a line: `print(chunk)` leaves `b'data: …\n\n'` there, `json.dumps` `"data: …"`.

They are read by the rules of whoever wrote them, and what they say is what was on the wire.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import NamedTuple

from tui_host.capture.imports.seen import read_value

MOST = 16 << 20
"""Bytes of one."""
TRIES = 5
"""How many in a line are looked at."""
BEGIN = re.compile(rb"(?<![\w'\"\\])[bB]?(['\"])")
_OF_A_WIRE = re.compile(rb"(?:\s|\\[nrt])*(?:[{\[]|(?:data|event|id|retry):|: )")
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
    """

    at: int
    end: int
    data: bytes
    is_of_a_wire: bool


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
            data = said if isinstance(said, bytes) else said.encode("utf-8", "surrogatepass")
            return Printed(found.start(), at, data, is_of_a_wire)
    return None


def _end(line: bytes, at: int, quote: bytes) -> int:
    """One past its last quotation mark; -1 if there is none."""
    end = line.find(quote, at)
    if end > at and line[end - 1 : end] == b"\\":  # else nothing before it can be escaped that is one
        rest = line[at : at + MOST].replace(b"\\\\", b"  ").replace(b"\\" + quote, b"  ")
        found = rest.find(quote)
        end = at + found if found >= 0 else -1
    return end + 1 if end >= 0 else -1


def _read(literal: bytes) -> bytes | str | None:
    """What it says; None if it is none."""
    if literal[:1] == b'"':
        value = read_value(literal)
        if isinstance(value, str):
            return value
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the compiler, on foreign escapes
            said: object = ast.literal_eval(literal.decode())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return said if isinstance(said, bytes | str) else None
