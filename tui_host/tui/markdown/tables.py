"""Draws tables: columns as wide as needed, wrapped cells, or one record after the other if words would break."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from tui_host.tui.markdown.inline import words_of
from tui_host.tui.markdown.line_page import STRONG, Inks, MarkdownPage, Run
from tui_host.tui.text_width import cut, fill, longest_word

if TYPE_CHECKING:
    from markdown_it.token import Token

_SIDES = ("right", "center")
LONGEST_WORD = 16
"""Longest word, in cells, that a column is kept wide enough for; a longer one, such as an address, is wrapped."""


class Need(NamedTuple):
    """The widths that a column needs, in cells."""

    wanted: int  # width at which no cell wraps
    least: int  # width at which no word breaks


@dataclass(frozen=True, slots=True)
class Table:
    """A table's cells; the first row is the head."""

    rows: tuple[tuple[Sequence[Segment], ...], ...]
    sides: tuple[str, ...]


def read_table(tokens: Sequence[Token], inks: Inks) -> Table:
    """Read the cells of a table from its tokens."""
    rows: list[tuple[Sequence[Segment], ...]] = []
    sides: list[str] = []
    cells: list[Sequence[Segment]] = []
    for token in tokens:
        if token.type == "tr_open":
            cells = []
        elif token.type == "tr_close":
            rows.append(tuple(cells))
        elif token.type == "inline":
            cells.append(words_of(token, inks, None if rows else STRONG))
        elif token.type == "th_open":
            side = str(token.attrGet("style") or "")
            sides += [name for name in _SIDES if name in side] or ["left"]
    return Table(tuple(rows), tuple(sides))


def needs_of(table: Table) -> tuple[Need, ...]:
    """Return the needs of each column."""
    needs: list[Need] = []
    for column in range(len(table.sides)):
        texts = [_plain(row[column]) for row in table.rows if column < len(row)]
        lines = [line for text in texts for line in text.split("\n")]
        wanted = max(map(cell_len, lines), default=1) or 1
        needs.append(Need(wanted, min(wanted, LONGEST_WORD, max(map(longest_word, lines), default=1) or 1)))
    return tuple(needs)


def allot(needs: Sequence[Need], room: int) -> tuple[int, ...] | None:
    """Return the width of each column, with three cells for each line between; None if words would break."""
    room -= 3 * (len(needs) - 1)
    if sum(need.wanted for need in needs) <= room:
        return tuple(need.wanted for need in needs)
    given = [need.least for need in needs]
    left = room - sum(given)
    if left < 0:
        return None
    # Those that want little more get it, the others share what is left.
    order = sorted(range(len(needs)), key=lambda column: needs[column].wanted - given[column])
    for done, column in enumerate(order):
        more = min(needs[column].wanted - given[column], left // (len(order) - done))
        given[column] += more
        left -= more
    return tuple(given)


def draw_table(page: MarkdownPage, table: Table, needs: Sequence[Need], *, head: bool) -> None:
    """Draw a table, or more rows of a table; `needs` are the widths its first rows asked for."""
    own = needs_of(table)
    if needs:  # columns stay as wide as they began, unless a word would break
        own = [
            Need(max(wanted, need.least), max(least, need.least))
            for need, (wanted, least) in zip(own, needs, strict=True)
        ]
    widths = allot(own, page.room)
    if widths is None:
        _draw_records(page, table, head=head)
        return
    rule = page.inks["rule"]
    between = Segment(" │ ", rule)
    if head:
        _draw_row(page, table, table.rows[0], widths, between)
        cross = "─┼─"
        page.raw([Segment(cross.join("─" * width for width in widths), rule)])
    for row in table.rows[1:]:
        _draw_row(page, table, row, widths, between)


def _draw_row(
    page: MarkdownPage, table: Table, row: Sequence[Sequence[Segment]], widths: Sequence[int], between: Segment
) -> None:
    columns: list[list[tuple[list[Segment], Run]]] = []
    x = 0
    for cell, width, side in zip(row, widths, table.sides, strict=False):
        lines: list[tuple[list[Segment], Run]] = []
        for text in page.take(cell):
            for start, end in fill(text.plain, width):
                missing = max(0, width - cell_len(text.plain[start:end]))
                before = {"right": missing, "center": missing // 2}.get(side, 0)
                padded = [Segment(" " * before, Style.null())] if before else []
                padded.extend(cut(text.segments, start, end))
                if missing > before:
                    padded.append(Segment(" " * (missing - before), Style.null()))
                lines.append((padded, Run(x + before, text.place + start, text.plain[start:end])))
        columns.append(lines)
        x += width + 3
    for number in range(max(map(len, columns), default=0)):
        segments: list[Segment] = []
        runs: list[Run] = []
        for column, width in enumerate(widths):
            if column:
                segments.append(between)
            if column < len(columns) and number < len(columns[column]):
                padded, run = columns[column][number]
                segments.extend(padded)
                runs.append(run)
            else:
                segments.append(Segment(" " * width, Style.null()))
        page.raw(segments, runs)


def _draw_records(page: MarkdownPage, table: Table, *, head: bool) -> None:
    """Draw one line per cell, named by the column's head, and an empty line between rows."""
    names = [_plain(cell).replace("\n", " ") for cell in table.rows[0]]
    room = min(max(map(cell_len, names), default=0), page.room // 3)
    label, plain = page.inks["dim"] + STRONG, Style.null()
    for number, row in enumerate(table.rows[1:]):
        if number or not head:
            page.blank()
        for name, cell in zip(names, row, strict=False):
            first, rest = Segment(name + " " * (room - cell_len(name) + 2), label), Segment(" " * (room + 2), plain)
            if cell_len(name) > room:
                page.raw([Segment(name[start:end], label) for start, end in fill(name, page.room)[:1]])
                first = rest = Segment("  ", plain)
            with page.inside(first, rest):
                page.text(cell)
    if len(table.rows) == 1:
        page.text([Segment(" · ".join(names), STRONG)])


def _plain(segments: Sequence[Segment]) -> str:
    return "".join(segment.text for segment in segments)
