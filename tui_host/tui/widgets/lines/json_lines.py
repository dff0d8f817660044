"""JSON for reading: where its lines would break, and what each piece of a line is. Nothing is parsed into values.

The text is only cut, never written anew, so numbers, escapes, doubled keys and the order of keys are those of the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

Piece = tuple[str, str]
"""A text and the name of its style."""

# Possessive throughout: a text that does not fit fails once, without trying shorter ways. One match is one structural mark.
_MARK = re.compile(r"""[^"{}\[\],]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"{}\[\],]*+)*+([{}\[\],])""", re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]*+")
_WHITE = " \t\r\n"
_CLOSING = {"{": "}", "[": "]"}
_KEY = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"[ \t\r\n]*+:')
_TOKEN = re.compile(
    r"""(?P<key>"[^"\\]*+(?:\\.[^"\\]*+)*+"(?=[ \t]*+:))|(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?$))"""
    r"""|(?P<number>-?[0-9][0-9.eE+-]*+)|(?P<word>\b(?:true|false|null)\b)|(?P<mark>[{}\[\],:]++)"""
)


class Line(NamedTuple):
    """A line as a range of the text, and how deep it is indented."""

    start: int
    end: int
    depth: int


def looks_like_json(text: str) -> bool:
    """Whether it begins as an object or a list does."""
    start = _after_space(text, 0)
    return text[start : start + 1] in _CLOSING


def raw_lines(text: str, start: int = 0) -> Iterator[Line]:
    """The lines as they stand, each with its line end; cut at LF alone, since others may stand inside a string."""
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield Line(start, end, 0)
        start = end


def plain_lines(text: str) -> Iterator[Line]:
    """The same without line ends; an empty line is one too."""
    for start, end, _ in raw_lines(text):
        yield Line(start, end - 1 if text.endswith("\n", start, end) else end, 0)


def json_lines(text: str) -> Iterator[Line]:
    """The lines of one or several JSON values, linear in the text's length and taken one by one.

    What cannot be read as JSON (an open string, the rest behind a cut) comes as the raw lines it is made of; closing
    marks without an opening one cost nothing but the indentation.
    """
    start = place = _after_space(text, 0)
    depth = 0
    while match := _MARK.match(text, place):
        mark, end = match[1], match.end()
        if mark in _CLOSING:
            inside = _after_space(text, end)
            if text[inside : inside + 1] == _CLOSING[mark]:
                place = inside + 1
                if depth == 0:
                    yield Line(start, place, 0)
                    start = place = _after_space(text, place)
                continue
            yield Line(start, end, depth)
            depth += 1
            start = place = inside
        elif mark == ",":
            yield Line(start, end, depth)
            start = place = _after_space(text, end)
        else:
            before = len(text[start : end - 1].rstrip(_WHITE))
            if before:
                yield Line(start, start + before, depth)
            depth = max(0, depth - 1)
            start, place = end - 1, end
            if depth == 0:
                yield Line(start, end, 0)
                start = place = _after_space(text, end)
    for line in raw_lines(text, start):
        end = line.start + len(text[line.start : line.end].rstrip(_WHITE))
        if end > line.start:
            yield Line(line.start, end, depth)


def _after_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place


def key_end(text: str, start: int, end: int) -> int:
    """Where the key with its colon ends that a line begins with; 0 if it begins with none."""
    match = _KEY.match(text, start, end)
    return match.end() if match else 0


def highlight(text: str) -> list[Piece]:
    """A line's pieces with the names of their styles: key, string, number, word, mark, and none for what lies between."""
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
