"""Text in cells of a terminal: how wide it is, wrapped and padded. Takes what `capture.visible` has made harmless."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_PIECE = re.compile(r" +|[^ ]+")


def cells(text: str) -> int:
    """How many cells a text takes in one line. Source: Unicode 15, UAX #11; marks and joiners take none."""
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def _cells_of(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def padded(text: str, width: int) -> str:
    """A text filled with spaces up to a width."""
    return text + " " * (width - cells(text))


def clipped(text: str, width: int) -> str:
    """The beginning of a text in at most so many cells; what was cut off leaves `…`."""
    if cells(text) <= width:
        return text
    used = 0
    for place, character in enumerate(text):
        used += _cells_of(character)
        if used >= width:
            return f"{text[:place]}…"
    return text


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a text, none wider than `width` (4 at least): broken at spaces, within a word where it must be.

    What goes on in the next line is indented as the line was.
    """
    return [line for each in text.replace("\t", "    ").split("\n") for line in _indented(each, width)]


def _indented(line: str, width: int) -> Iterator[str]:
    words = line.lstrip(" ")
    indent = " " * min(len(line) - len(words), width // 2) if words else ""
    for part in _wrapped(words, width - len(indent)):
        yield indent + part


def _wrapped(text: str, width: int) -> Iterator[str]:
    line, used = "", 0
    for match in _PIECE.finditer(text):
        piece, size = match.group(), cells(match.group())
        if used + size <= width:
            line, used = line + piece, used + size
            continue
        if piece.isspace():  # the break stands for it
            yield line.rstrip(" ")
            line, used = "", 0
            continue
        if line.strip(" ") and size <= width:
            yield line.rstrip(" ")
            line, used = piece, size
            continue
        for character in piece:
            size = _cells_of(character)
            if used + size > width:
                yield line
                line, used = "", 0
            line, used = line + character, used + size
    yield line.rstrip(" ")
