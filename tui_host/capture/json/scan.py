"""Look into JSON too large or too broken to parse: the structure, elements one by one, the first scalars.

Bytes may be a mapped file: only one member of it is held at a time. No function here calls itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from mmap import mmap
from typing import TypeAlias

from tui_host.capture.json.reading import LEVELS

Data: TypeAlias = "bytes | mmap"

PARTS_LIMIT = 20_000
"""Brackets and commas outside of strings up to which JSON is parsed on the event loop: each takes a parser some 5 µs."""
_QUOTES_PER_PART = 6
Path: TypeAlias = tuple[bytes, ...]
"""Keys from the outside in; an array's place in it is one empty key, and so is the outermost value."""

_SKIMMED = 64 << 10
_DEPTH = 200
_KEPT_DEPTH = 6

_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:]|[^\s{}\[\],:"]++', re.DOTALL)
_TAIL = re.compile(rb'((?:,\s*"(?:id|jsonrpc|method)"\s*:\s*(?:"[^"\\]{0,200}"|-?\d{1,40}|null)\s*)*)\}\s*$')
_TAIL_MEMBER = re.compile(rb'"(id|method)"\s*:\s*("[^"]*"|-?\d+|null)')
_TAIL_ERROR = re.compile(rb'"isError"\s*:\s*true\s*\}\s*$')

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
    """The text is no JSON."""

    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.at = at


def after_space(data: Data, at: int) -> int:
    """Return the place of the first byte after white space."""
    match = _SPACE.match(data, at)
    return at if match is None else match.end()


def value_end(data: Data, at: int) -> int:
    """Return the end of the value at `at`."""
    first = data[at : at + 1]
    if first == b'"':
        return _string_end(data, at)
    if first in {b"{", b"["}:
        return _closed_at(data, at)
    match = _PLAIN.match(data, at)
    if match is None or match.end() == at:
        raise BrokenError("a value is missing", at)
    return match.end()


def members(data: Data, at: int) -> Iterator[tuple[bytes, int]]:
    """Yield the members of the object at `at`: each key as written, and the start of the value."""
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
    """Yield start and end of each element of the array at `at`."""
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
    """Return the place of the first unescaped quotation mark from `at` on in a string; -1 without one.

    What is escaped is blanked out first, in pieces: texts of models are full of it, and a pattern takes ten times as long.
    """
    look = _FIRST_LOOK
    while piece := data[at : at + look]:
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            piece += data[at + look : at + look + 1]  # what its last backslash escapes
        place = piece.replace(b"\\\\", b"  ").replace(b'\\"', b"  ").find(b'"')
        if place >= 0:
            return at + place
        at += len(piece)
        look = min(4 * look, _LOOK)
    return -1


def _closed_at(data: Data, at: int) -> int:
    start, depth = at, 0
    while True:
        match = _PASSED.match(data, at)
        at = at if match is None else match.end()
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


def skim(data: bytes) -> dict[Path, bytes]:
    """Return the scalars near the beginning, and the scalars behind everything else, by path; a container is a bracket.

    Takes the same time for any length. The first member of a name counts.
    """
    scalars: dict[Path, bytes] = {}
    path: list[bytes] = []
    key = value = b""
    end = 0
    for match in _TOKEN.finditer(data, 0, _SKIMMED):
        token = match.group()
        if data[end : match.start()].strip():
            break  # a text that has no end within what is read
        end = match.end()
        if token in b"{[":
            if len(path) < _KEPT_DEPTH:
                scalars.setdefault((*path, key), token)
            path.append(key)
            key = value = b""
            if len(path) > _DEPTH:
                break
        elif token == b":":
            key, value = value[1:-1], b""
        elif token in b",}]":
            if value and len(path) < _KEPT_DEPTH:
                scalars.setdefault((*path, key), value)
            key = value = b""
            if token != b"," and path:
                path.pop()
        else:
            value = token
    _skim_tail(data, scalars)
    return scalars


def _skim_tail(data: bytes, found: dict[Path, bytes]) -> None:
    tail = data[-1024:].rstrip()
    match = _TAIL.search(tail)
    if match is None:
        return
    for member in _TAIL_MEMBER.finditer(match.group(1)):
        found.setdefault((b"", member.group(1)), member.group(2))
    if _TAIL_ERROR.search(tail[: match.start()]):
        found.setdefault((b"", b"result", b"isError"), b"true")


def parts_of(data: bytes) -> int:
    """Count brackets and commas outside of strings: exactly up to `PARTS_LIMIT`, and at least the limit beyond. 30 MB take 0.1 s."""
    if len(data) <= PARTS_LIMIT or sum(_occurrences(data, mark) for mark in (b"{", b"[", b",")) <= PARTS_LIMIT:
        return 0
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    quotes = plain.count(b'"')
    if quotes > PARTS_LIMIT * _QUOTES_PER_PART:
        return quotes // _QUOTES_PER_PART
    outside = b"".join(plain.split(b'"')[::2])
    return outside.count(b"{") + outside.count(b"[") + outside.count(b",")


def _occurrences(data: bytes, mark: bytes) -> int:
    """Count a byte up to the limit; searching is ten times as fast as `count` where the byte is rare."""
    count = 0
    at = data.find(mark)
    while at >= 0 and count <= PARTS_LIMIT:
        count += 1
        at = data.find(mark, at + 1)
    return count
