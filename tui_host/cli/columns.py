"""Columns of named rows: side by side where a line has room for them, else one under the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from tui_host.capture.visible import visible
from tui_host.cli.cells import cells, padded, wrapped

LEAST = 28
"""Cells that a column takes at least where it stands beside others; a session's id has room in it."""
MOST_LINES = 60
"""Lines of one row in a column; what is longer is told to be."""
_GAP = " │ "


def laid_out(headings: Sequence[str], columns: Sequence[Mapping[str, str]], width: int) -> list[str]:
    """The lines of a table.

    Args:
        headings: One for each column.
        columns: The text of each row by its name, foreign text too. The names come in the order in which they are met.
        width: Cells of a line.
    """
    names = list(dict.fromkeys(name for column in columns for name in column))
    left = max(map(cells, names), default=0)
    room = (width - left) // len(columns) - len(_GAP)
    if room >= LEAST:
        return list(_side_by_side(names, headings, columns, (left, room)))
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
