"""Line breaks and highlighting for JSON, without parsing values.

The text is only cut, never written anew, so numbers, escapes, doubled keys and the order of keys are those of the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

Piece = tuple[str, str]
"""A text and the name of its style."""

# Possessive throughout: a text that does not fit fails once, without trying shorter ways. One match is one structural mark;
# strings and what holds nothing, `{}` and `[ ]`, stand before it.
_ATOM = r""""[^"\\]*+(?:\\.[^"\\]*+)*+"|\{[ \t\r\n]*+\}|\[[ \t\r\n]*+\]"""
_MARK = re.compile(rf"""[^"{{}}\[\],]*+(?:(?:{_ATOM})[^"{{}}\[\],]*+)*+([{{}}\[\],])""", re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]*+")
_WHITE = " \t\r\n"
_KEY = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"[ \t\r\n]*+:')
_TOKEN = re.compile(
    r"""(?P<key>"[^"\\]*+(?:\\.[^"\\]*+)*+"(?=[ \t]*+:))|(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?$))"""
    r"""|(?P<number>-?[0-9][0-9.eE+-]*+)|(?P<word>\b(?:true|false|null)\b)|(?P<mark>[{}\[\],:]++)"""
)


class JsonLine(NamedTuple):
    """A line as a range of the text, with indentation depth."""

    start: int
    end: int
    depth: int


def looks_like_json(text: str) -> bool:
    """Whether a text begins like an object or a list."""
    start = _after_space(text, 0)
    return text[start : start + 1] in {"{", "["}


def raw_lines(text: str, start: int = 0) -> Iterator[JsonLine]:
    """Yield lines with line ends; only LF ends a line, since strings may contain others."""
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield JsonLine(start, end, 0)
        start = end


def plain_lines(text: str) -> Iterator[JsonLine]:
    """Yield lines without line ends, empty lines included."""
    for start, end, _ in raw_lines(text):
        yield JsonLine(start, end - 1 if text.endswith("\n", start, end) else end, 0)


def json_lines(text: str) -> Iterator[JsonLine]:
    """Yield the lines of JSON values, in linear time.

    What cannot be read as JSON (an open string, the rest behind a cut) comes as the raw lines it is made of; closing
    marks without an opening one cost nothing but the indentation.
    """
    start = place = _after_space(text, 0)
    depth = 0
    while match := _MARK.match(text, place):
        mark, end = match[1], match.end()
        if mark not in "}]":
            yield JsonLine(start, end, depth)
            depth += mark != ","
            start = place = _after_space(text, end)
        else:
            before = len(text[start : end - 1].rstrip(_WHITE))
            if before:
                yield JsonLine(start, start + before, depth)
            depth = max(0, depth - 1)
            start, place = end - 1, end
            if depth == 0:
                yield JsonLine(start, end, 0)
                start = place = _after_space(text, end)
    for line in raw_lines(text, start):
        end = line.start + len(text[line.start : line.end].rstrip(_WHITE))
        if end > line.start:
            yield JsonLine(line.start, end, depth)


def _after_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place


def key_end(text: str, start: int, end: int) -> int:
    """Return the end of the key and colon at the beginning of a line; 0 without a key."""
    match = _KEY.match(text, start, end)
    return match.end() if match else 0


def highlight(text: str) -> list[Piece]:
    """Return a line's pieces with style names: key, string, number, word, mark."""
    pieces: list[Piece] = []
    place = 0
    for match in _TOKEN.finditer(text):
        if match.start() > place:
            pieces.append((text[place : match.start()], ""))
        pieces.append((match[0], match.lastgroup or ""))
        place = match.end()
    if place < len(text):
        pieces.append((text[place:], ""))
    return pieces
