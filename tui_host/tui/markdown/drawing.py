"""Draws a piece of a source on a page: headings, paragraphs, lists, quotes, tables, fences, rules, and the words in them.

A table has columns as wide as needed and wrapped cells, or stands record by record if words would break.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import unquote

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from tui_host.tui.markdown.code_blocks import draw_code
from tui_host.tui.markdown.page import PLAIN, STRONG, Inks, MarkdownPage, Run, plain
from tui_host.tui.markdown.parser import SourcePiece, is_tight, top_blocks
from tui_host.tui.text_width import clip, joint, longest_word

if TYPE_CHECKING:
    from markdown_it.token import Token

UNDERLINED = Style(underline=True)
HEADINGS = (PLAIN, UNDERLINED, PLAIN, Style(italic=True), Style(bold=False, italic=True), Style(bold=False))
"""The styles of the levels of headings, in addition to colour and weight; the first has a rule below it."""
LONGEST_ADDRESS = 400
LONGEST_WORD = 16
"""Longest word, in cells, that a column is kept wide enough for; a longer one, such as an address, is wrapped."""
_OPEN = {"strong_open": STRONG, "em_open": Style(italic=True), "s_open": Style(strike=True), "link_open": UNDERLINED}
_BREAK = re.compile(r"(<br\s*/?>)", re.IGNORECASE)
Needs: TypeAlias = tuple[tuple[int, int], ...]
Row: TypeAlias = Sequence[Sequence[Segment]]
_WHOLE = SourcePiece()


def draw_blocks(
    page: MarkdownPage, tokens: Sequence[Token], piece: SourcePiece = _WHOLE, *, tight: bool = False
) -> None:
    """Draw blocks; the first may be a part of a long one."""
    inks = page.inks
    for block in top_blocks(tokens):
        head = block[0]
        if head is not tokens[0]:
            piece = _WHOLE
            if not tight:
                page.raw()
        match head.type:
            case "heading_open":
                level = int(head.tag[1:])
                words = words_of(block[1], inks, inks["heading"] + HEADINGS[level - 1])
                page.text(words)
                if level == 1:
                    cells = min(page.room, max(3, cell_len(plain(words))))
                    page.raw([Segment("─" * cells, inks["rule"])])
            case "paragraph_open":
                page.text(words_of(block[1], inks))
            case "bullet_list_open" | "ordered_list_open":
                _draw_list(page, block, piece.ordinal)
            case "blockquote_open":
                edge = Segment("│ ", inks["rule"])
                with page.inside(edge, edge):
                    draw_blocks(page, block[1:-1])
            case "table_open":
                _draw_table(page, read_table(block, inks), piece)
            case "fence" | "code_block":
                if head.content or piece.begins:
                    draw_code(page, head.content.removesuffix("\n"), head.info, label=piece.begins)
            case "hr":
                page.raw([Segment("─" * page.room, inks["rule"])])
            case _:
                page.say(head.content)


def _draw_list(page: MarkdownPage, block: Sequence[Token], ordinal: int | None) -> None:
    ordered = block[0].type == "ordered_list_open"
    number = int(block[0].attrGet("start") or 1) if ordinal is None else ordinal
    bullet = "•◦‣"[min(block[0].level // 2, 2)]
    tight = is_tight(block)
    for place, item in enumerate(top_blocks(block[1:-1])):
        if place and not tight:
            page.raw()
        mark = f"{number + place}. " if ordered else f"{bullet} "
        with page.inside(Segment(mark, page.inks["accent"])):
            if len(item) == 2:
                page.raw()
            draw_blocks(page, item[1:-1], tight=tight)


# Words.


def words_of(inline: Token, inks: Inks, style: Style = PLAIN) -> list[Segment]:
    """Return an inline token's children as segments; newlines are hard breaks, addresses of links and images are written out."""
    segments: list[Segment] = []
    stack = [(style, inline, 0)]  # styles, each with the token that began it and the number of its first segment
    children = inline.children or []
    for number, token in enumerate(children):
        ink = stack[-1][0]
        match token.type:
            case "softbreak":
                before = segments[-1].text if segments else ""
                following = children[number + 1].content if number + 1 < len(children) else ""
                segments.append(Segment(joint(before, following), ink))
            case "hardbreak":
                segments.append(Segment("\n", ink))
            case "code_inline":
                segments.append(Segment(token.content, ink + inks["code"]))
            case "image":
                address = clip(str(token.attrGet("src") or ""), LONGEST_ADDRESS)
                segments += [Segment(f"[image: {token.content}]", ink), Segment(f" ({address})", inks["address"])]
            case "strong_open" | "em_open" | "s_open" | "link_open":
                stack.append((ink + _OPEN[token.type], token, len(segments)))
            case "strong_close" | "em_close" | "s_close" | "link_close":
                _, opening, start = stack.pop()
                address = clip(str(opening.attrGet("href") or "#"), LONGEST_ADDRESS)
                same = {address, address.removeprefix("mailto:"), address.removesuffix("/"), unquote(address)}
                if not address.startswith("#") and plain(segments[start:]) not in same:
                    segments.append(Segment(f" ({address})", inks["address"]))
            case _:
                # `<br>` ends a line; all other HTML stays text.
                parts = filter(None, _BREAK.split(token.content))
                segments.extend(Segment("\n" if _BREAK.fullmatch(part) else part, ink) for part in parts)
    return segments


# Tables.


class Table(NamedTuple):
    """A table's cells; the first row is the head."""

    rows: Sequence[Row]
    sides: Sequence[str]  # where the text of each column stands: `left`, `right`, `center`
    needs: Needs  # the cells that each column needs so that no cell wraps, and so that no word breaks


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
    needs: list[tuple[int, int]] = []
    for column in range(len(sides)):
        lines = [line for row in rows for line in plain(row[column]).split("\n")]
        wanted = max(map(cell_len, lines)) or 1
        needs.append((wanted, min(wanted, LONGEST_WORD, max(map(longest_word, lines)) or 1)))
    return Table(rows, sides, tuple(needs))


def _draw_table(page: MarkdownPage, table: Table, piece: SourcePiece) -> None:
    """Draw a table, or more rows of one that goes on."""
    needs = table.needs
    if piece.columns:  # columns stay as wide as they began, unless a word would break
        both = zip(needs, piece.columns, strict=True)
        needs = tuple((max(wanted, need), max(least, need)) for (_, need), (wanted, least) in both)
    widths = [least for _, least in needs]
    left = page.room - 3 * (len(needs) - 1) - sum(widths)  # with three cells for each line between
    if left < 0:  # words would break: one text per cell, behind the name of its column, and an empty line between rows
        names = [plain(cell).replace("\n", " ") for cell in table.rows[0]]
        for number, row in enumerate(table.rows[1:]):
            if number or not piece.begins:
                page.raw()
            for name, cell in zip(names, row, strict=True):
                page.text([Segment(f"{name}: ", page.inks["dim"] + STRONG), *cell])
        if piece.begins and len(table.rows) == 1:
            page.say(" · ".join(names), STRONG)
        return
    # Columns that want little more get it, the others share what is left.
    order = sorted(range(len(needs)), key=lambda column: needs[column][0] - widths[column])
    for done, column in enumerate(order):
        more = min(needs[column][0] - widths[column], left // (len(order) - done))
        widths[column] += more
        left -= more
    if piece.begins:
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
