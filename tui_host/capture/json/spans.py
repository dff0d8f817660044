"""Finds values in a JSON text, or in a file of any size, with their ranges of bytes.

The bytes are read as Latin-1, which maps each to one character: what JSON is built of is ASCII, and no byte of a character
beyond that looks like it, so the offsets that the standard library's scanner (in C) gives are offsets in the bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from mmap import mmap
from typing import Literal, TypeAlias

from tui_host.capture.json.reading import LEVELS, VALUE_LIMIT, integer, is_deeper, read_json
from tui_host.errors import JSON

Data: TypeAlias = "bytes | mmap"
"""The content of a file. If it is mapped, only the values read take memory."""
_FIRST_PIECE, _LARGEST_PIECE = 1 << 15, 2 * VALUE_LIMIT
"""Number of bytes to parse at once: grows until a value ends."""
_KINDS: Mapping[str, Literal["object", "array", "string"]] = {"{": "object", "[": "array", '"': "string"}
_BLANKS = " \t\r\n"
_KEY = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"[ \t\r\n]*:[ \t\r\n]*', re.DOTALL)
_MARK = re.compile(r"[ \t\r\n]*([\[{,\]}])[ \t\r\n]*")
_FIRST_ELEMENT = re.compile(rb"\[[ \t\r\n]*(\]?)")
_NEXT_ELEMENT = re.compile(rb"[ \t\r\n]*(?:,[ \t\r\n]*|(?=\]))(\]?)")
# Numbers stay texts: nothing is computed with them, and one of 5,000 digits is not an error.
_FINDER = json.JSONDecoder(strict=False, parse_int=str, parse_float=str)
_READER = json.JSONDecoder(strict=False, parse_int=integer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A value with its range of bytes."""

    kind: Literal["object", "array", "string", "other"]
    start: int
    end: int
    members: tuple[tuple[str, Node], ...] = ()  # of an object that was read inside, in order, also repeated keys
    elements: tuple[Node, ...] = ()

    def get(self, *path: str) -> Node | None:
        """Return the member with a name, the last one if repeated. Further names descend into it."""
        node: Node | None = self
        for name in path:
            node = next((value for key, value in reversed(node.members) if key == name), None)
            if node is None:
                return None
        return node

    def value(self, body: bytes) -> JSON:
        """Parse the value."""
        return read_json(body[self.start : self.end])

    def text(self, body: bytes) -> str:
        """Return the value of a string, an empty text for any other value."""
        value = self.value(body) if self.kind == "string" else ""
        return value if isinstance(value, str) else ""


def spans(body: bytes, *, walk: Collection[str] = (), depth: int = 8) -> Node | None:
    """Find the values in a JSON text in UTF-8 and their positions; None if it is not JSON.

    The outermost value, the elements of arrays and the members with a name in `walk`, wherever they stand, are looked into,
    down to `depth` levels; all else is stepped over in one go.
    """
    text = body.decode("latin-1")
    try:
        body.decode("utf-8")
        node = _node(text, len(text) - len(text.lstrip(_BLANKS)), frozenset(walk), depth)
    except (ValueError, RecursionError):
        return None
    return None if text[node.end :].strip(_BLANKS) else node


def _node(text: str, start: int, walk: Collection[str], depth: int) -> Node:
    kind = _KINDS.get(text[start : start + 1])
    if depth <= 0 or kind not in {"object", "array"}:
        return Node(kind=kind or "other", start=start, end=_FINDER.raw_decode(text, start)[1])
    members: list[tuple[str, Node]] = []
    elements: list[Node] = []
    closing = "}" if kind == "object" else "]"
    mark = _MARK.match(text, start)
    if mark is not None and text.startswith(closing, mark.end()):  # it is empty
        mark = _MARK.match(text, mark.end())
    while mark is not None and mark[1] != closing:
        if kind == "array":
            inner = _node(text, mark.end(), walk, depth - 1)
            elements.append(inner)
        elif (match := _KEY.match(text, mark.end())) is not None:
            key, is_plain = match[1], match[1].isascii() and "\\" not in match[1]
            key = key if is_plain else str(read_json(f'"{key}"'.encode("latin-1")))
            inner = _node(text, match.end(), walk, depth - 1 if key in walk else 0)
            members.append((key, inner))
        else:
            raise ValueError("a key is missing")
        mark = _MARK.match(text, inner.end)
        if mark is None or mark[1] not in {",", closing}:
            raise ValueError(f"{closing} is missing")
    end = len(text) if mark is None else mark.end(1)
    return Node(kind=kind, start=start, end=end, members=tuple(members), elements=tuple(elements))


class BrokenError(ValueError):
    """Raised if the text at a position is not JSON, or is nested too deeply."""

    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.at = at  # position of the fault, in bytes


def value_at(data: Data, at: int) -> tuple[JSON, int]:
    """Parse the value that begins at a position, and find its end; raises BrokenError where there is none."""
    text, value, end, size = "", None, 0, _FIRST_PIECE
    is_all = False
    while end == len(text) and not is_all:  # a number at the end of a piece may go on
        text = data[at : at + size].decode("latin-1")
        is_all, end = at + size >= len(data) or size >= _LARGEST_PIECE, len(text)
        try:
            value, end = _READER.raw_decode(text)
        except RecursionError as error:
            raise BrokenError("it is nested too deeply", at) from error
        except json.JSONDecodeError as error:
            if is_all:
                is_cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
                raise BrokenError("it is cut off" if is_cut else "it is no JSON", at + error.pos) from error
        size *= 8
    if end > LEVELS and is_deeper(text[:end], LEVELS):
        raise BrokenError("it is nested too deeply", at)
    if not text.isascii():
        value = read_json(data[at : at + end].decode("utf-8", "replace"), None)
    return value, at + end


def elements(data: Data, at: int) -> Iterator[tuple[JSON, int, int]]:
    """Yield the elements of an array, given the position of its bracket: each value with its start and end."""
    mark = _FIRST_ELEMENT.match(data, at)
    while mark is not None and not mark[1]:
        start = mark.end()
        value, at = value_at(data, start)
        yield value, start, at
        mark = _NEXT_ELEMENT.match(data, at)
    if mark is None:
        raise BrokenError("a comma is missing" if data[at : at + 1000].strip() else "it is cut off", at)
