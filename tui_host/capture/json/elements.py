"""A large JSON text taken apart without being read whole: where its members and elements stand.

Bytes may be a mapped file: of a text of any size only one member at a time is held. Nothing here goes deeper by calling itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from mmap import mmap
from typing import TypeAlias

from tui_host.capture.json.depth import LEVELS

Data: TypeAlias = "bytes | mmap"

_BACKSLASH = 0x5C
_PASSED = re.compile(rb'(?:[^"{}\[\]]+|"[^"\\]{0,99}"){0,1000}')
"""What stands between brackets, up to a string that is long, or has what is escaped in it; of very much the beginning.

Not possessive: Python before 3.11.5 goes wrong with groups that are.
"""
_SPACE = re.compile(rb"[ \t\r\n]*")
_PLAIN = re.compile(rb"[^\s,\]}]*")
_FIRST_LOOK, _LOOK = 1 << 12, 1 << 20
"""Bytes of a string that are searched at once for its end: more and more of them."""


class BrokenError(ValueError):
    """The text is no JSON.

    Attributes:
        at: The byte from which on it is none.
    """

    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.at = at


def after_space(data: Data, at: int) -> int:
    """The first byte from there on that is no white space."""
    found = _SPACE.match(data, at)
    return at if found is None else found.end()


def value_end(data: Data, at: int) -> int:
    """One past the last byte of the value that begins there.

    Raises:
        BrokenError: It has no end.
    """
    first = data[at : at + 1]
    if first == b'"':
        return _string_end(data, at)
    if first in {b"{", b"["}:
        return _closed_at(data, at)
    found = _PLAIN.match(data, at)
    if found is None or found.end() == at:
        raise BrokenError("a value is missing", at)
    return found.end()


def members(data: Data, at: int) -> Iterator[tuple[bytes, int]]:
    """The members of the object that begins there: each key as it is written, and where its value begins.

    Raises:
        BrokenError: It is no object, or has no end.
    """
    if data[at : at + 1] != b"{":
        raise BrokenError("an object is missing", at)
    at = after_space(data, at + 1)
    while data[at : at + 1] != b"}":
        if data[at : at + 1] != b'"':
            raise BrokenError("a key is missing", at)
        end = _string_end(data, at)
        key = data[at + 1 : end - 1]
        at = after_space(data, end)
        if data[at : at + 1] != b":":
            raise BrokenError("a colon is missing", at)
        at = after_space(data, at + 1)
        yield key, at
        at = _after_comma(data, value_end(data, at), b"}")


def elements(data: Data, at: int) -> Iterator[tuple[int, int]]:
    """The elements of the array that begins there: first byte, and one past the last.

    Raises:
        BrokenError: It is no array, or has no end.
    """
    if data[at : at + 1] != b"[":
        raise BrokenError("an array is missing", at)
    at = after_space(data, at + 1)
    while data[at : at + 1] != b"]":
        end = value_end(data, at)
        yield at, end
        at = _after_comma(data, end, b"]")


def _after_comma(data: Data, at: int, close: bytes) -> int:
    at = after_space(data, at)
    if data[at : at + 1] == b",":
        return after_space(data, at + 1)
    if data[at : at + 1] != close:
        raise BrokenError("a comma is missing" if at < len(data) else "it is cut off", at)
    return at


def _string_end(data: Data, at: int) -> int:
    end = data.find(b'"', at + 1)
    if end > at + 1 and data[end - 1] == _BACKSLASH:
        end = _unescaped_quote(data, at + 1)
    if end < 0:
        raise BrokenError("a string is cut off", at)
    return end + 1


def _unescaped_quote(data: Data, at: int) -> int:
    """The first quotation mark from there on, in a string, that no backslash escapes; -1 if there is none.

    What is escaped is blanked out first, in pieces: texts of models are full of it, and a pattern takes ten times as long.
    """
    look = _FIRST_LOOK
    while piece := data[at : at + look]:
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            piece += data[at + look : at + look + 1]  # what its last backslash escapes
        found = piece.replace(b"\\\\", b"  ").replace(b'\\"', b"  ").find(b'"')
        if found >= 0:
            return at + found
        at += len(piece)
        look = min(4 * look, _LOOK)
    return -1


def _closed_at(data: Data, at: int) -> int:
    start, depth = at, 0
    while True:
        found = _PASSED.match(data, at)
        at = at if found is None else found.end()
        match data[at : at + 1]:
            case b"":
                raise BrokenError("it is cut off", start)
            case b'"':
                at = _string_end(data, at)
                continue
            case b"{" | b"[":
                depth += 1
                if depth > LEVELS:
                    raise BrokenError("it is nested too deeply", start)
            case b"}" | b"]":
                depth -= 1
            case _:
                continue
        at += 1
        if not depth:
            return at
