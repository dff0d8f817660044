"""Finds the byte ranges of members and elements in a JSON text.

The bytes are read as Latin-1, which maps each to one character: what JSON is built of is ASCII, and no byte of a character
beyond that looks like it, so the offsets that the standard library's scanner (in C) gives are offsets in the bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tui_host.capture.json.reading import read_json
from tui_host.errors import JSON

Kind: TypeAlias = Literal["object", "array", "string", "other"]

_KINDS: dict[str, Kind] = {"{": "object", "[": "array"}
_SPACE = re.compile(r"[ \t\n\r]*")
_COLON = re.compile(r"[ \t\n\r]*:[ \t\n\r]*")
_NEXT = re.compile(r"[ \t\n\r]*([,\]}])[ \t\n\r]*")
# Numbers stay texts: nothing is computed with them, and one of 5,000 digits is not an error.
_DECODER = json.JSONDecoder(strict=False, parse_int=str, parse_float=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A value with its range of bytes.

    Attributes:
        members: For an object that was read inside: keys and values in order, also repeated keys.
    """

    kind: Kind
    start: int
    end: int
    members: tuple[tuple[str, Node], ...] = ()
    elements: tuple[Node, ...] = ()

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.end - self.start

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
    """Find the values in a JSON text and their positions.

    Args:
        body: The text in UTF-8.
        walk: The members to look into, wherever they stand; the outermost value and an array's elements always are. All
            else is stepped over in one go.
        depth: How many levels to look into at most.

    Returns:
        The outermost value; None if the body is not JSON.
    """
    text = body.decode("latin-1")
    try:
        body.decode("utf-8")
        node = _Walk(text, frozenset(walk)).value(_after_space(text, 0), depth)
    except (ValueError, RecursionError):
        return None
    return node if _after_space(text, node.end) == len(text) else None


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _string(text: str, position: int) -> tuple[str, int]:
    read: tuple[object, int] = _DECODER.raw_decode(text, position)
    key, end = str(read[0]), read[1]
    return key if key.isascii() else str(read_json(text[position:end].encode("latin-1"))), end


class _Walk:
    """Walks through a text once."""

    def __init__(self, text: str, walk: frozenset[str]) -> None:
        self._text = text
        self._walk = walk

    def value(self, start: int, depth: int) -> Node:
        first = self._text[start : start + 1]
        if first == '"':
            return Node(kind="string", start=start, end=_DECODER.raw_decode(self._text, start)[1])
        if first == "{" and depth > 0:
            members, end = self._members(start + 1, depth - 1)
            return Node(kind="object", start=start, end=end, members=tuple(members))
        if first == "[" and depth > 0:
            elements, end = self._elements(start + 1, depth - 1)
            return Node(kind="array", start=start, end=end, elements=tuple(elements))
        end = _DECODER.raw_decode(self._text, start)[1]
        return Node(kind=_KINDS.get(first, "other"), start=start, end=end)

    def _members(self, position: int, depth: int) -> tuple[list[tuple[str, Node]], int]:
        text = self._text
        members: list[tuple[str, Node]] = []
        position = _after_space(text, position)
        if text.startswith("}", position):
            return members, position + 1
        while True:
            if not text.startswith('"', position):
                raise ValueError("a key is missing")
            key, position = _string(text, position)
            colon = _COLON.match(text, position)
            if colon is None:
                raise ValueError("a colon is missing")
            node = self.value(colon.end(), depth if key in self._walk else 0)
            members.append((key, node))
            position, more = self._next(node.end, "}")
            if not more:
                return members, position

    def _elements(self, position: int, depth: int) -> tuple[list[Node], int]:
        elements: list[Node] = []
        position = _after_space(self._text, position)
        if self._text.startswith("]", position):
            return elements, position + 1
        while True:
            node = self.value(position, depth)
            elements.append(node)
            position, more = self._next(node.end, "]")
            if not more:
                return elements, position

    def _next(self, position: int, bracket: str) -> tuple[int, bool]:
        match = _NEXT.match(self._text, position)
        if match is None or match[1] not in (",", bracket):
            raise ValueError(f"{bracket} is missing")
        return (match.end(), True) if match[1] == "," else (match.end(1), False)
