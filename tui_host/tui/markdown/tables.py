"""Draws tables: columns as wide as needed, wrapped cells, or one record after the other if words would break."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from rich.cells import cell_len
from rich.segment import Segment

from tui_host.tui.markdown.inline import words_of
from tui_host.tui.markdown.page import PLAIN, STRONG, Inks, MarkdownPage, Run
from tui_host.tui.text_width import longest_word

if TYPE_CHECKING:
    from markdown_it.token import Token

LONGEST_WORD = 16
"""Longest word, in cells, that a column is kept wide enough for; a longer one, such as an address, is wrapped."""
Needs: TypeAlias = Sequence[tuple[int, int]]
"""The cells that each column needs so that no cell wraps, and so that no word breaks."""
Row: TypeAlias = Sequence[Sequence[Segment]]


class Table(NamedTuple):
    """A table's cells; the first row is the head."""

    rows: Sequence[Row]
    sides: Sequence[str]  # where the text of each column stands: `left`, `right`, `center`


def read_table(tokens: Sequence[Token], inks: Inks) -> Table:
    """Read the cells of a table from its tokens."""
    rows: list[list[Sequence[Segment]]] = []
    sides: list[str] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(words_of(token, inks, STRONG if len(rows) == 1 else PLAIN))
        elif token.type == "th_open":
            sides.append(str(token.attrGet("style") or "left").removeprefix("text-align:"))
    return Table(rows, sides)


def needs_of(table: Table) -> tuple[tuple[int, int], ...]:
    """Return the needs of each column."""
    needs: list[tuple[int, int]] = []
    for column in range(len(table.sides)):
        lines = [line for row in table.rows for line in _plain(row[column]).split("\n")]
        wanted = max(map(cell_len, lines)) or 1
        needs.append((wanted, min(wanted, LONGEST_WORD, max(map(longest_word, lines)) or 1)))
    return tuple(needs)


def allot(needs: Needs, room: int) -> Sequence[int] | None:
    """Return the width of each column, with three cells for each line between; None if words would break."""
    given = [least for _, least in needs]
    left = room - 3 * (len(needs) - 1) - sum(given)
    if left < 0:
        return None
    # Those that want little more get it, the others share what is left.
    order = sorted(range(len(needs)), key=lambda column: needs[column][0] - given[column])
    for done, column in enumerate(order):
        more = min(needs[column][0] - given[column], left // (len(order) - done))
        given[column] += more
        left -= more
    return given


def draw_table(page: MarkdownPage, table: Table, needs: Needs, *, head: bool) -> None:
    """Draw a table, or without its head more rows of it; `needs` are what its first rows asked for."""
    own: Needs = needs_of(table)
    if needs:  # columns stay as wide as they began, unless a word would break
        own = [(max(wanted, need), max(least, need)) for (_, need), (wanted, least) in zip(own, needs, strict=True)]
    widths = allot(own, page.room)
    if widths is None:
        _draw_records(page, table, head=head)
        return
    if head:
        _draw_row(page, table, table.rows[0], widths)
        page.raw([Segment("─┼─".join("─" * width for width in widths), page.inks["rule"])])
    for row in table.rows[1:]:
        _draw_row(page, table, row, widths)


def _draw_row(page: MarkdownPage, table: Table, row: Row, widths: Sequence[int]) -> None:
    columns: list[list[tuple[list[Segment], Run]]] = []
    x = 0
    for cell, width, side in zip(row, widths, table.sides, strict=True):
        lines: list[tuple[list[Segment], Run]] = []
        for shown, run in page.wrapped(cell, width):
            missing = max(0, width - cell_len(run.text))
            before = {"right": missing, "center": missing // 2}.get(side, 0)
            spaces = [Segment(" " * count, PLAIN) for count in (before, missing - before)]
            lines.append(([spaces[0], *shown, spaces[1]], run._replace(x=x + before)))
        columns.append(lines)
        x += width + 3
    between = Segment(" │ ", page.inks["rule"])
    for cells in zip_longest(*columns):
        segments: list[Segment] = []
        for drawn, width in zip(cells, widths, strict=True):
            shown = drawn[0] if drawn else [Segment(" " * width, PLAIN)]
            segments += [between, *shown] if segments else shown
        page.raw(segments, [drawn[1] for drawn in cells if drawn])


def _draw_records(page: MarkdownPage, table: Table, *, head: bool) -> None:
    """Draw one text per cell, behind the name of its column, and an empty line between rows."""
    names = [_plain(cell).replace("\n", " ") for cell in table.rows[0]]
    for number, row in enumerate(table.rows[1:]):
        if number or not head:
            page.raw()
        for name, cell in zip(names, row, strict=True):
            page.text([Segment(f"{name}: ", page.inks["dim"] + STRONG), *cell])
    if head and len(table.rows) == 1:
        page.say(" · ".join(names), STRONG)


def _plain(segments: Sequence[Segment]) -> str:
    return "".join(segment.text for segment in segments)
