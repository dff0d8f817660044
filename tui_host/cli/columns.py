"""Lays out text in terminal cells: width, wrapping, padding, and columns. Text must be safe for a terminal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest

from tui_host.capture.visible import visible

_PIECE = re.compile(r" +|[^ ]+")


def cells(text: str) -> int:
    """Return the width of a line in cells; combining marks and joiners take none. Source: Unicode 15, UAX #11."""
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def _cells_of(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def padded(text: str, width: int) -> str:
    """Fill a text with spaces up to a width."""
    return text + " " * (width - cells(text))


def clipped(text: str, width: int) -> str:
    """Cut a text to at most `width` cells, with `…` at the cut."""
    if cells(text) <= width:
        return text
    used = 0
    for place, character in enumerate(text):
        used += _cells_of(character)
        if used >= width:
            return f"{text[:place]}…"
    return text


def wrapped(text: str, width: int) -> list[str]:
    """Break a text into lines of at most `width` cells, but at least 4, at spaces or within a long word.

    Continuation lines keep the line's indentation.
    """
    return [line for line in text.replace("\t", "    ").split("\n") for line in _indented(line, width)]


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
        if piece.isspace():  # the line break replaces the space
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


LEAST = 28
"""Narrowest column of text in a table, in cells; wide enough for a session id."""
LEAST_FIGURES = 10
"""Narrowest column that holds only figures, in cells."""
MOST_LINES = 60
"""Largest number of lines in a table's cell; the last line counts the lines left out."""
_GAP = " │ "


def laid_out(
    headings: Sequence[str], columns: Sequence[Mapping[str, str]], width: int, texts: Collection[str] = ()
) -> list[str]:
    """Return the lines of a table. In a narrow terminal only the figures stand side by side, and the texts follow.

    Args:
        headings: The heading of each column.
        columns: For each column its texts by row name, in order of appearance; the texts are made safe here.
        width: The width of a line, in cells.
        texts: Names of the rows that hold text, not figures.
    """
    names = list(dict.fromkeys(name for column in columns for name in column))
    left = max(map(cells, names), default=0)
    room = (width - left) // len(columns) - len(_GAP)
    if room >= LEAST:
        return list(_side_by_side(names, headings, columns, (left, room)))
    figures = [name for name in names if name not in texts]
    if room >= LEAST_FIGURES and len(figures) < len(names):
        below = [{name: text for name, text in column.items() if name in texts} for column in columns]
        return [
            *_side_by_side(figures, headings, columns, (left, room)),
            "",
            *_under_each_other(headings, below, (left, width - left - 2)),
        ]
    return list(_under_each_other(headings, columns, (left, max(width - left - 2, 10))))


def _side_by_side(
    names: Sequence[str], headings: Sequence[str], columns: Sequence[Mapping[str, str]], widths: tuple[int, int]
) -> Iterator[str]:
    left, room = widths
    heads = [wrapped(visible(heading, newlines=False), room) for heading in headings]
    bodies = [[_lines(column.get(name, ""), room) for column in columns] for name in names]
    for name, row in zip(["", *names], [heads, *bodies], strict=True):
        for number, line in enumerate(zip_longest(*row, fillvalue="")):
            first = padded(name if number == 0 else "", left)
            yield _GAP.join([first, *(padded(cell, room) for cell in line)]).rstrip()
        if not name:
            yield "─┼─".join(["─" * left, *("─" * room for _ in columns)])


def _under_each_other(
    headings: Sequence[str], columns: Sequence[Mapping[str, str]], widths: tuple[int, int]
) -> Iterator[str]:
    left, room = widths
    for place, (heading, column) in enumerate(zip(headings, columns, strict=True)):
        if place:
            yield ""
        yield from wrapped(f"── {visible(heading, newlines=False)}", left + room + 2)
        for name, text in column.items():
            for number, line in enumerate(_lines(text, room)):
                yield f"{padded(name if number == 0 else '', left)}  {line}".rstrip()


def _lines(text: str, room: int) -> list[str]:
    lines = wrapped(visible(text), room)
    if len(lines) <= MOST_LINES:
        return lines
    return [*lines[: MOST_LINES - 1], *wrapped(f"… {len(lines) - MOST_LINES + 1} more lines", room)]
