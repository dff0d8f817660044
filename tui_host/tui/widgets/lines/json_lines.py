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
_MARK = re.compile(rf"""[^"{{}}\[\],]*+(?:(?:{_ATOM})[^"{{}}\[\],]*+)*+([{{}}\[\],])[ \t\r\n]*+""", re.DOTALL)
_WHITE = " \t\r\n"
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
    return text.lstrip(_WHITE).startswith(("{", "["))


def plain_lines(text: str, start: int = 0, *, with_ends: bool) -> Iterator[JsonLine]:
    """Yield lines, with line ends or without; only LF ends a line, since strings may contain others."""
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield JsonLine(start, end - (not with_ends and text[end - 1] == "\n"), 0)
        start = end


def json_lines(text: str) -> Iterator[JsonLine]:
    """Yield the lines of JSON values, in linear time.

    What cannot be read as JSON (an open string, the rest behind a cut) comes as the raw lines it is made of; closing
    marks without an opening one cost nothing but the indentation.
    """
    start = place = len(text) - len(text.lstrip(_WHITE))
    depth = 0
    while match := _MARK.match(text, place):
        mark, end, place = match[1], match.end(1), match.end()
        if mark not in "}]":
            yield JsonLine(start, end, depth)
            depth += mark != ","
            start = place
        else:
            before = len(text[start : end - 1].rstrip(_WHITE))
            if before:
                yield JsonLine(start, start + before, depth)
            depth = max(0, depth - 1)
            start = end - 1
            if depth == 0:
                yield JsonLine(start, end, 0)
                start = place
    for line in plain_lines(text, start, with_ends=True):
        end = line.start + len(text[line.start : line.end].rstrip(_WHITE))
        if end > line.start:
            yield JsonLine(line.start, end, depth)


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
