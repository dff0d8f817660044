"""Reads JSON values in a file of any size, one at a time, each with its position."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from mmap import mmap
from typing import TypeAlias

from tui_host.capture.json.reading import LEVELS, integer, is_deeper, load
from tui_host.errors import JSON

Data: TypeAlias = "bytes | mmap"
"""The content of a file. If it is mapped, only the values read take memory."""
VALUE_LIMIT = 64 << 20
"""Largest JSON value, in bytes; no model and no server sends a larger one."""

_FIRST_PIECE, _LARGEST_PIECE = 1 << 15, 2 * VALUE_LIMIT
"""Number of bytes to parse at once: grows until a value ends."""
_SPACE = re.compile(rb"[ \t\r\n]*")
_DECODER = json.JSONDecoder(strict=False, parse_int=integer)


class BrokenError(ValueError):
    """Raised if the text at a position is not JSON, or is nested too deeply.

    Attributes:
        at: Position of the fault, in bytes.
    """

    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.at = at


def read_value(data: bytes, *, is_shallow: bool = False) -> JSON:
    """Parse foreign JSON. Returns None if it is not JSON, too large or nested too deeply.

    Args:
        data: The bytes; invalid UTF-8 is replaced.
        is_shallow: Whether the nesting was checked before.
    """
    if len(data) > VALUE_LIMIT:
        return None
    try:
        text = data.decode("utf-8", "replace")
        value = load(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return None if not is_shallow and len(data) > LEVELS and is_deeper(text, LEVELS) else value


def value_at(data: Data, at: int) -> tuple[JSON, int]:
    """Parse the value that begins at a position, and find its end.

    Raises:
        BrokenError: There is no value, or it cannot be parsed.
    """
    size = _FIRST_PIECE
    while True:
        piece = data[at : at + size]
        text = piece.decode("latin-1")  # of each byte one character: so the places of both are the same
        is_all = at + size >= len(data)
        try:
            value, end = _DECODER.raw_decode(text)
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
        value = read_value(piece[:end], is_shallow=True)
    return value, at + end


def elements(data: Data, at: int) -> Iterator[tuple[JSON, int, int]]:
    """Yield the elements of an array, given the position of its bracket: each value with its start and end."""
    at = after_space(data, at + 1)
    while data[at : at + 1] != b"]":
        value, end = value_at(data, at)
        yield value, at, end
        at = after_space(data, end)
        if data[at : at + 1] == b",":
            at = after_space(data, at + 1)
        elif data[at : at + 1] != b"]":
            raise BrokenError("a comma is missing" if at < len(data) else "it is cut off", at)


def after_space(data: Data, at: int) -> int:
    """Return the position of the first byte after white space."""
    match = _SPACE.match(data, at)
    return at if match is None else match.end()
