"""Lays out text in terminal cells: width, wrapping, padding, and columns. Text must be safe for a terminal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest

from tui_host.capture.visible import visible

_PIECE = re.compile(r" +|[^ ]+")
_TEXT_CELLS, _FIGURE_CELLS = 28, 10  # the narrowest columns of texts (a session's id fits), and of figures alone
_CELL_LINES = 60  # of a table's cell; the last one counts those left out
_GAP = " │ "


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
    return text if cells(text) <= width else f"{text[: _fitting(text, width - 1)]}…"


def _fitting(text: str, width: int) -> int:
    """Return how many characters take at most `width` cells."""
    used = 0
    for number, character in enumerate(text):
        used += _cells_of(character)
        if used > width:
            return number
    return len(text)


def wrapped(text: str, width: int) -> list[str]:
    """Break a text into lines of at most `width` cells, but at least 4, at spaces or within a long word.

    Continuation lines keep the line's indentation.
    """
    lines: list[str] = []
    for line in text.replace("\t", "    ").split("\n"):
        words = line.lstrip(" ")
        indent = " " * min(len(line) - len(words), width // 2) if words else ""
        lines += [indent + part for part in _wrapped(words, width - len(indent))]
    return lines


def _wrapped(text: str, width: int) -> Iterator[str]:
    line = ""
    for piece in _PIECE.findall(text):
        if line and cells(line) + cells(piece) > width:
            yield line.rstrip(" ")
            line = ""
            if piece.isspace():  # the line break replaces the space
                continue
        while cells(piece) > width:  # a word without spaces, such as a URL, or Chinese
            fits = _fitting(piece, width)
            yield piece[:fits]
            piece = piece[fits:]  # noqa: PLW2901 - cut step by step
        line += piece
    yield line.rstrip(" ")


def laid_out(
    headings: Sequence[str], columns: Sequence[Mapping[str, str]], width: int, texts: Collection[str] = ()
) -> list[str]:
    """Return the lines of a table of `width` cells; each column has its texts by row name, which are made safe here.

    In a narrow terminal only the figures stand side by side, and the rows named in `texts` follow.
    """
    names = list(dict.fromkeys(name for column in columns for name in column))
    left = max(map(cells, names), default=0)
    room = (width - left) // len(columns) - len(_GAP)
    if room >= _TEXT_CELLS:
        return list(_side_by_side(names, headings, columns, (left, room)))
    below, lines = list(columns), list[str]()
    if room >= _FIGURE_CELLS and any(name in texts for name in names):
        below = [{name: text for name, text in column.items() if name in texts} for column in columns]
        figures = [name for name in names if name not in texts]
        lines = [*_side_by_side(figures, headings, columns, (left, room)), ""]
    return [*lines, *_under_each_other(headings, below, (left, max(width - left - 2, 10)))]


def _side_by_side(
    names: Sequence[str], headings: Sequence[str], columns: Sequence[Mapping[str, str]], widths: tuple[int, int]
) -> Iterator[str]:
    left, room = widths
    heads = [wrapped(visible(heading, newlines=False), room) for heading in headings]
    bodies = [[_lines(column.get(name, ""), room) for column in columns] for name in names]
    for name, row in zip(["", *names], [heads, *bodies], strict=True):
        for number, line in enumerate(zip_longest(*row, fillvalue="")):
            yield _GAP.join([padded("" if number else name, left), *(padded(cell, room) for cell in line)]).rstrip()
        if not name:
            yield "─┼─".join(["─" * left, *("─" * room for _ in columns)])


def _under_each_other(
    headings: Sequence[str], columns: Sequence[Mapping[str, str]], widths: tuple[int, int]
) -> Iterator[str]:
    left, room = widths
    for place, (heading, column) in enumerate(zip(headings, columns, strict=True)):
        yield from [""] if place else []
        yield from wrapped(f"── {visible(heading, newlines=False)}", left + room + 2)
        for name, text in column.items():
            for number, line in enumerate(_lines(text, room)):
                yield f"{padded('' if number else name, left)}  {line}".rstrip()


def _lines(text: str, room: int) -> list[str]:
    lines = wrapped(visible(text), room)
    if len(lines) <= _CELL_LINES:
        return lines
    return [*lines[: _CELL_LINES - 1], *wrapped(f"… {len(lines) - _CELL_LINES + 1} more lines", room)]
