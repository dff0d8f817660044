"""Draws a piece of a source on a page: headings, paragraphs, lists, quotes, tables, fences, rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from tui_host.tui.markdown.code_blocks import draw_code
from tui_host.tui.markdown.cutter import SourcePiece
from tui_host.tui.markdown.inline import UNDERLINED, words_of
from tui_host.tui.markdown.page import PLAIN, MarkdownPage
from tui_host.tui.markdown.parser import is_tight, parse, top_blocks
from tui_host.tui.markdown.tables import draw_table, read_table

if TYPE_CHECKING:
    from markdown_it.token import Token

HEADINGS = (PLAIN, UNDERLINED, PLAIN, Style(italic=True), Style(bold=False, italic=True), Style(bold=False))
"""The styles of the levels of headings, in addition to colour and weight; the first has a rule below it."""
_WHOLE = SourcePiece()


def draw_piece(page: MarkdownPage, piece: SourcePiece) -> None:
    """Draw a piece of Markdown."""
    if piece.gap:
        page.raw()
    _draw_blocks(page, parse(piece.source), piece)


def _draw_blocks(
    page: MarkdownPage, tokens: Sequence[Token], piece: SourcePiece = _WHOLE, *, tight: bool = False
) -> None:
    """Draw blocks; the first may be a part of a long one."""
    for block in top_blocks(tokens):
        if block[0] is not tokens[0] and not tight:
            page.raw()
        _draw_block(page, block, piece)
        piece = _WHOLE


def _draw_block(page: MarkdownPage, block: Sequence[Token], piece: SourcePiece) -> None:
    head, inks = block[0], page.inks
    match head.type:
        case "heading_open":
            level = int(head.tag[1:])
            words = words_of(block[1], inks, inks["heading"] + HEADINGS[level - 1])
            page.text(words)
            if level == 1:
                cells = min(page.room, max(3, cell_len("".join(segment.text for segment in words))))
                page.raw([Segment("─" * cells, inks["rule"])])
        case "paragraph_open":
            page.text(words_of(block[1], inks))
        case "bullet_list_open" | "ordered_list_open":
            _draw_list(page, block, piece.ordinal)
        case "blockquote_open":
            edge = Segment("│ ", inks["rule"])
            with page.inside(edge, edge):
                _draw_blocks(page, block[1:-1])
        case "table_open":
            draw_table(page, read_table(block, inks), piece.columns, head=piece.begins)
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
            _draw_blocks(page, item[1:-1], tight=tight)
