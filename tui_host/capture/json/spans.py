"""Finds values in a JSON text, or in a file of any size, with their ranges of bytes.

The bytes are read as Latin-1, which maps each to one character: what JSON is built of is ASCII, and no byte of a character
beyond that looks like it, so the offsets that the standard library's scanner (in C) gives are offsets in the bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from mmap import mmap
from typing import Literal, TypeAlias

from tui_host.capture.json.reading import LEVELS, integer, is_deeper, load, read_json
from tui_host.errors import JSON

Data: TypeAlias = "bytes | mmap"
"""The content of a file. If it is mapped, only the values read take memory."""
VALUE_LIMIT = 64 << 20
"""Largest JSON value, in bytes; no model and no server sends a larger one."""
_FIRST_PIECE, _LARGEST_PIECE = 1 << 15, 2 * VALUE_LIMIT
"""Number of bytes to parse at once: grows until a value ends."""
_KINDS: dict[str, Literal["object", "array", "string"]] = {"{": "object", "[": "array", '"': "string"}
_CLOSING = {"{": "}", "[": "]"}
_SPACE = re.compile(r"[ \t\r\n]*")
_SPACE_OF_FILE = re.compile(rb"[ \t\r\n]*")
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")
_NEXT = re.compile(r"[ \t\r\n]*([,\]}])[ \t\r\n]*")
# Numbers stay texts: nothing is computed with them, and one of 5,000 digits is not an error.
_FINDER = json.JSONDecoder(strict=False, parse_int=str, parse_float=str)
_READER = json.JSONDecoder(strict=False, parse_int=integer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A value with its range of bytes.

    Attributes:
        members: For an object that was read inside: keys and values in order, also repeated keys.
    """

    kind: Literal["object", "array", "string", "other"]
    start: int
    end: int
    members: tuple[tuple[str, Node], ...] = ()
    elements: tuple[Node, ...] = ()

    @property
    def size(self) -> int:
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
        node = _node(text, _after(_SPACE, text, 0), frozenset(walk), depth)
        return node if _after(_SPACE, text, node.end) == len(text) else None
    except (ValueError, RecursionError):
        return None


def _node(text: str, start: int, walk: Collection[str], depth: int) -> Node:
    first = text[start : start + 1]
    closing = _CLOSING.get(first, "") if depth > 0 else ""
    if not closing:
        return Node(kind=_KINDS.get(first, "other"), start=start, end=_FINDER.raw_decode(text, start)[1])
    members: list[tuple[str, Node]] = []
    elements: list[Node] = []
    position = _after(_SPACE, text, start + 1)
    mark, end = ",", position + 1
    if text.startswith(closing, position):
        mark = closing
    while mark == ",":
        if closing == "}":
            key, position = _key(text, position)
            members.append((key, _node(text, position, walk, depth - 1 if key in walk else 0)))
            position = members[-1][1].end
        else:
            elements.append(_node(text, position, walk, depth - 1))
            position = elements[-1].end
        match = _NEXT.match(text, position)
        if match is None or match[1] not in (",", closing):
            raise ValueError(f"{closing} is missing")
        mark, position, end = match[1], match.end(), match.end(1)
    return Node(kind=_KINDS[first], start=start, end=end, members=tuple(members), elements=tuple(elements))


def _key(text: str, position: int) -> tuple[str, int]:
    """Return a member's key and where its value begins."""
    if not text.startswith('"', position):
        raise ValueError("a key is missing")
    key, end = _FINDER.raw_decode(text, position)
    if not str(key).isascii():
        key = read_json(text[position:end].encode("latin-1"))
    return str(key), _after(_COLON, text, end)


def _after(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    if match is None:
        raise ValueError("a colon is missing")
    return match.end()


class BrokenError(ValueError):
    """Raised if the text at a position is not JSON, or is nested too deeply."""

    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.at = at  # position of the fault, in bytes


def read_value(data: bytes) -> JSON:
    """Parse the JSON of a file, where invalid UTF-8 is replaced; None if it is not JSON, too large or nested too deeply."""
    try:
        return read_json(data.decode("utf-8", "replace"), LEVELS) if len(data) <= VALUE_LIMIT else None
    except ValueError:
        return None


def value_at(data: Data, at: int) -> tuple[JSON, int]:
    """Parse the value that begins at a position, and find its end.

    Raises:
        BrokenError: There is no value, or it cannot be parsed.
    """
    size = _FIRST_PIECE
    while True:
        text = data[at : at + size].decode("latin-1")
        is_all = at + size >= len(data)
        try:
            value, end = _READER.raw_decode(text)
        except RecursionError as error:
            raise BrokenError("it is nested too deeply", at) from error
        except json.JSONDecodeError as error:
            if is_all or size >= _LARGEST_PIECE:
                is_cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
                raise BrokenError("it is cut off" if is_cut else "it is no JSON", at + error.pos) from error
        else:
            if is_all or end < len(text):
                break
        size *= 8
    if end > LEVELS and is_deeper(text[:end], LEVELS):
        raise BrokenError("it is nested too deeply", at)
    if not text.isascii():
        value = load(data[at : at + end].decode("utf-8", "replace"))
    return value, at + end


def elements(data: Data, at: int) -> Iterator[tuple[JSON, int, int]]:
    """Yield the elements of an array, given the position of its bracket: each value with its start and end."""
    at = _after_space(data, at + 1)
    while data[at : at + 1] != b"]":
        value, end = value_at(data, at)
        yield value, at, end
        at = _after_space(data, end)
        if data[at : at + 1] == b",":
            at = _after_space(data, at + 1)
        elif data[at : at + 1] != b"]":
            raise BrokenError("a comma is missing" if at < len(data) else "it is cut off", at)


def _after_space(data: Data, at: int) -> int:
    match = _SPACE_OF_FILE.match(data, at)
    return at if match is None else match.end()
