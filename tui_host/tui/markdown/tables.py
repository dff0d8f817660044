"""Draws tables: columns as wide as needed, wrapped cells, or one record after the other if words would break."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment

from tui_host.tui.markdown.inline import words_of
from tui_host.tui.markdown.page import PLAIN, STRONG, Inks, MarkdownPage, Run
from tui_host.tui.text_width import cut, fill, longest_word

if TYPE_CHECKING:
    from markdown_it.token import Token

LONGEST_WORD = 16
"""Longest word, in cells, that a column is kept wide enough for; a longer one, such as an address, is wrapped."""
Needs = Sequence[tuple[int, int]]
"""The cells that each column needs so that no cell wraps, and so that no word breaks."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table's cells; the first row is the head."""

    rows: Sequence[Sequence[Sequence[Segment]]]
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
        lines = [line for row in table.rows if column < len(row) for line in _plain(row[column]).split("\n")]
        wanted = max(map(cell_len, lines), default=1) or 1
        needs.append((wanted, min(wanted, LONGEST_WORD, max(map(longest_word, lines), default=1) or 1)))
    return tuple(needs)


def allot(needs: Needs, room: int) -> Sequence[int] | None:
    """Return the width of each column, with three cells for each line between; None if words would break."""
    room -= 3 * (len(needs) - 1)
    if sum(wanted for wanted, _ in needs) <= room:
        return [wanted for wanted, _ in needs]
    given = [least for _, least in needs]
    left = room - sum(given)
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


def _draw_row(page: MarkdownPage, table: Table, row: Sequence[Sequence[Segment]], widths: Sequence[int]) -> None:
    columns: list[list[tuple[list[Segment], Run]]] = []
    x = 0
    for cell, width, side in zip(row, widths, table.sides, strict=False):
        lines: list[tuple[list[Segment], Run]] = []
        for text in page.take(cell):
            for start, end in fill(text.plain, width):
                missing = max(0, width - cell_len(text.plain[start:end]))
                before = {"right": missing, "center": missing // 2}.get(side, 0)
                shown = [Segment(" " * before, PLAIN)] if before else []
                shown += cut(text.segments, start, end)
                shown += [Segment(" " * (missing - before), PLAIN)] if missing > before else []
                lines.append((shown, Run(x + before, text.place + start, text.plain[start:end])))
        columns.append(lines)
        x += width + 3
    between = Segment(" │ ", page.inks["rule"])
    for number in range(max(map(len, columns), default=0)):
        segments: list[Segment] = []
        runs: list[Run] = []
        for column, width in enumerate(widths):
            if column:
                segments.append(between)
            if column < len(columns) and number < len(columns[column]):
                shown, run = columns[column][number]
                segments.extend(shown)
                runs.append(run)
            else:
                segments.append(Segment(" " * width, PLAIN))
        page.raw(segments, runs)


def _draw_records(page: MarkdownPage, table: Table, *, head: bool) -> None:
    """Draw one line per cell, named by the column's head, and an empty line between rows."""
    names = [_plain(cell).replace("\n", " ") for cell in table.rows[0]]
    room = min(max(map(cell_len, names), default=0), page.room // 3)
    label = page.inks["dim"] + STRONG
    for number, row in enumerate(table.rows[1:]):
        if number or not head:
            page.raw()
        for name, cell in zip(names, row, strict=False):
            first = Segment(name + " " * (room - cell_len(name) + 2), label)
            if cell_len(name) > room:
                page.raw([Segment(name[start:end], label) for start, end in fill(name, page.room)[:1]])
                first = Segment("  ", PLAIN)
            with page.inside(first):
                page.text(cell)
    if head and len(table.rows) == 1:
        page.say(" · ".join(names), STRONG)


def _plain(segments: Sequence[Segment]) -> str:
    return "".join(segment.text for segment in segments)
