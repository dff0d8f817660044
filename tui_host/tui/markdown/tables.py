"""Tables: columns as wide as they need, folded cells where there is no room, one line for each cell where there is none at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from tui_host.tui.markdown.inks import STRONG, Inks
from tui_host.tui.markdown.inline import segments_of
from tui_host.tui.markdown.page import Page
from tui_host.tui.markdown.wrap import break_lines, cut, fill

if TYPE_CHECKING:
    from markdown_it.token import Token

NARROWEST = 5
"""Cells of a column below which the table is told cell by cell instead."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table's cells as segments; the first row is the head."""

    rows: tuple[tuple[list[Segment], ...], ...]
    sides: tuple[Literal["left", "right", "center"], ...]


def read_table(tokens: Sequence[Token], inks: Inks) -> Table:
    """The cells out of a table's tokens."""
    rows: list[tuple[list[Segment], ...]] = []
    sides: list[Literal["left", "right", "center"]] = []
    cells: list[list[Segment]] = []
    for token in tokens:
        if token.type == "tr_open":
            cells = []
        elif token.type == "tr_close":
            rows.append(tuple(cells))
        elif token.type == "inline":
            cells.append(segments_of(token.children or [], inks, None if rows else STRONG))
        elif token.type == "th_open":
            side = str(token.attrGet("style") or "")
            sides.append("right" if "right" in side else "center" if "center" in side else "left")
    return Table(tuple(rows), tuple(sides))


def widths_of(table: Table) -> tuple[int, ...]:
    """How many cells each column would like to have."""
    return tuple(
        max((cell_len(_plain(row[column])) for row in table.rows if column < len(row)), default=1) or 1
        for column in range(len(table.sides))
    )


def allot(wanted: Sequence[int], room: int) -> tuple[int, ...] | None:
    """How many cells each column gets, three for each line between; None if there is no sensible way."""
    room -= 3 * (len(wanted) - 1)
    if sum(wanted) <= room:
        return tuple(wanted)
    if room < NARROWEST * len(wanted):
        return None
    given = [0] * len(wanted)
    left = room
    # The narrow ones get what they want, the others share what is left.
    order = sorted(range(len(wanted)), key=lambda column: wanted[column])
    for done, column in enumerate(order):
        given[column] = min(wanted[column], left // (len(order) - done))
        left -= given[column]
    return tuple(given)


def draw_table(page: Page, table: Table, wanted: Sequence[int], *, head: bool) -> None:
    """Draw a table or, without its head, more of its rows; `wanted` are the widths that its first rows asked for, if known."""
    widths = allot([max(pair) for pair in zip_longest(widths_of(table), wanted, fillvalue=0)], page.room)
    if widths is None:
        _draw_cell_by_cell(page, table)
        return
    glyphs = page.inks.glyphs
    rule = page.inks["rule"]
    between = Segment(f" {glyphs.thin} ", rule)
    if head:
        _draw_row(page, table, table.rows[0], widths, between)
        cross = f"{glyphs.box[4]}{glyphs.cross[0]}{glyphs.box[4]}"
        page.raw([Segment(cross.join(glyphs.box[4] * width for width in widths), rule)])
    for row in table.rows[1:]:
        _draw_row(page, table, row, widths, between)


def _draw_row(page: Page, table: Table, row: Sequence[list[Segment]], widths: Sequence[int], between: Segment) -> None:
    columns = [
        _lines(row[column] if column < len(row) else [], width, table.sides[column])
        for column, width in enumerate(widths)
    ]
    for number in range(max(map(len, columns))):
        segments: list[Segment] = []
        for column, width in enumerate(widths):
            if column:
                segments.append(between)
            lines = columns[column]
            segments.extend(lines[number] if number < len(lines) else [Segment(" " * width, Style.null())])
        page.raw(segments)


def _lines(cell: Sequence[Segment], width: int, side: str) -> list[list[Segment]]:
    """A cell's lines, each as wide as its column."""
    lines: list[list[Segment]] = []
    for row in break_lines(cell):
        plain = "".join(segment.text for segment in row)
        for start, end in fill(plain, width):
            missing = max(0, width - cell_len(plain[start:end]))
            before = missing if side == "right" else missing // 2 if side == "center" else 0
            padded = [Segment(" " * before, Style.null())] if before else []
            padded.extend(cut(row, start, end))
            if missing > before:
                padded.append(Segment(" " * (missing - before), Style.null()))
            lines.append(padded)
    return lines


def _draw_cell_by_cell(page: Page, table: Table) -> None:
    """One line for each cell, named by its column's head."""
    for number, row in enumerate(table.rows[1:]):
        if number:
            page.blank()
        for head, cell in zip(table.rows[0], row, strict=False):
            page.text([*head, Segment(": "), *cell])


def _plain(segments: Sequence[Segment]) -> str:
    return "".join(segment.text for segment in segments)
