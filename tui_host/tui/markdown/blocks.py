"""Pieces of Markdown onto a page: headings, paragraphs, lists, quotes, tables, fences, rules."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from tui_host.tui.markdown.fences import draw_code
from tui_host.tui.markdown.inks import EMPHASIS, UNDERLINED
from tui_host.tui.markdown.inline import segments_of
from tui_host.tui.markdown.page import Page
from tui_host.tui.markdown.parser import parse
from tui_host.tui.markdown.pieces import Piece
from tui_host.tui.markdown.tables import draw_table, read_table

if TYPE_CHECKING:
    from markdown_it.token import Token


def draw_piece(page: Page, piece: Piece, references: MutableMapping[str, object] | None = None) -> None:
    """Draw one piece. All but `text` needs the parser loaded."""
    if piece.gap:
        page.blank()
    match piece.kind:
        case "text":
            page.text([Segment(piece.source.expandtabs(4), Style.null())])
        case "fence":
            draw_code(page, piece.source, piece.info, label=piece.begins)
        case "table":
            table = read_table(parse(piece.source, references), page.inks)
            draw_table(page, table, piece.columns, head=piece.begins)
        case "markdown":
            _draw_blocks(page, parse(piece.source, references), ordinal=piece.ordinal)


def top_blocks(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Each block of a list of tokens with all that is in it."""
    start = depth = 0
    for number, token in enumerate(tokens):
        if depth == 0:
            start = number
        depth += token.nesting
        if depth == 0:
            yield tokens[start : number + 1]


def _draw_blocks(page: Page, tokens: Sequence[Token], *, tight: bool = False, ordinal: int | None = None) -> None:
    for number, block in enumerate(top_blocks(tokens)):
        if number and not tight:
            page.blank()
        _draw_block(page, block, ordinal if number == 0 else None)


def _draw_block(page: Page, block: Sequence[Token], ordinal: int | None) -> None:
    head = block[0]
    match head.type:
        case "heading_open":
            _draw_heading(page, block)
        case "paragraph_open":
            page.text(segments_of(block[1].children or [], page.inks))
        case "bullet_list_open" | "ordered_list_open":
            _draw_list(page, block, ordinal)
        case "blockquote_open":
            edge = Segment(f"{page.inks.glyphs.thin} ", page.inks["rule"])
            with page.inside(edge, edge):
                _draw_blocks(page, block[1:-1])
        case "table_open":
            table = read_table(block, page.inks)
            draw_table(page, table, (), head=True)
        case "fence" | "code_block":
            draw_code(page, head.content.removesuffix("\n"), head.info, label=True)
        case "hr":
            page.raw([Segment(page.inks.glyphs.box[4] * page.room, page.inks["rule"])])
        case _:
            page.text([Segment(head.content, Style.null())])


def _draw_heading(page: Page, block: Sequence[Token]) -> None:
    level = int(block[0].tag[1:])
    style = page.inks["heading"] + (UNDERLINED if level == 2 else EMPHASIS if level > 3 else Style.null())
    segments = segments_of(block[1].children or [], page.inks, style)
    page.text(segments)
    if level == 1:
        cells = min(page.room, max(3, cell_len("".join(segment.text for segment in segments))))
        page.raw([Segment(page.inks.glyphs.box[4] * cells, page.inks["rule"])])


def _draw_list(page: Page, block: Sequence[Token], ordinal: int | None) -> None:
    ordered = block[0].type == "ordered_list_open"
    number = int(block[0].attrGet("start") or 1) if ordinal is None else ordinal
    bullets = page.inks.glyphs.bullets
    depth = block[0].level // 2
    tight = is_tight(block)
    accent = page.inks["accent"]
    for place, item in enumerate(top_blocks(block[1:-1])):
        if place and not tight:
            page.blank()
        mark = f"{number + place}. " if ordered else f"{bullets[min(depth, len(bullets) - 1)]} "
        if len(mark) * 2 > page.room:
            mark = mark[:1]  # a list too deep for the width: it goes on without its indentation
        with page.inside(Segment(mark, accent), Segment(" " * len(mark), Style.null())):
            if len(item) == 2:
                page.blank()
            _draw_blocks(page, item[1:-1], tight=tight)


def is_tight(block: Sequence[Token]) -> bool:
    """Whether a list's items stand without empty lines between them."""
    level = block[0].level + 2
    return all(token.hidden for token in block if token.type == "paragraph_open" and token.level == level)
