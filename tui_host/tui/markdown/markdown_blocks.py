"""Pieces of a Markdown source, and how they are drawn on a page: headings, paragraphs, lists, quotes, tables, fences, rules."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from tui_host.tui.markdown.code_blocks import draw_code
from tui_host.tui.markdown.inline import words_of
from tui_host.tui.markdown.line_page import UNDERLINED, MarkdownPage
from tui_host.tui.markdown.parser import parse
from tui_host.tui.markdown.tables import Need, draw_table, read_table

if TYPE_CHECKING:
    from markdown_it.token import Token

HEADINGS = (
    Style.null(),  # with a rule below it
    UNDERLINED,
    Style.null(),
    Style(italic=True),
    Style(bold=False, italic=True),
    Style(bold=False),
)
"""The styles of the levels of headings, in addition to colour and weight."""
TASKS = ("[ ] ", "[x] ", "[X] ")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePiece:
    """A block of Markdown, or a part of a long block.

    Attributes:
        kind: `markdown` is drawn as it reads; `fence` are lines of code, `table` the head and some rows, `text` no Markdown.
        begins: Whether this is the first piece of its block: a fence then shows its language, a table its head.
        ordinal: The number of the first item, for a list continued from the piece before; otherwise None.
        columns: The column widths that a table's first rows need; empty if the piece is the whole table.
        start: Where its source begins in the whole one; of a table that goes on, as if its head stood right before it.
    """

    kind: Literal["markdown", "fence", "table", "text"]
    source: str = ""  # the piece's source; for a fence only the code, for a table always with its head
    gap: bool = False  # whether an empty line comes before the piece
    begins: bool = True
    info: str = ""  # the text after a fence's opening mark
    ordinal: int | None = None
    columns: tuple[tuple[int, int], ...] = ()
    start: int = 0
    opening: str = ""  # the first line of the fence

    def written(self, *, is_last: bool) -> str:
        """Return the piece as Markdown: a fence with its marks, `is_last` with the closing one, a table with its head."""
        if self.kind == "table" and not self.begins:
            return self.source.split("\n", 2)[2].rstrip("\n")
        if self.kind != "fence":
            return self.source if self.kind == "text" else self.source.rstrip("\n")
        mark = self.opening[: len(self.opening) - len(self.opening.lstrip(self.opening[:1]))]
        return "\n".join([*[self.opening] * self.begins, self.source, *[mark] * is_last])

    def estimate(self, width: int) -> int:
        """Estimate the number of lines."""
        return int(self.gap) + estimate(self.source, width)


def estimate(text: str, width: int) -> int:
    """Estimate the lines of a text at a width, at least one, without wrapping."""
    if not text:
        return 1
    cells = len(text) if text.isascii() else int(len(text) * 1.5)
    return 1 + text.count("\n") + cells // max(1, width)


def draw_piece(page: MarkdownPage, piece: SourcePiece, references: MutableMapping[str, object] | None = None) -> None:
    """Draw a piece. Kinds except `text` need the parser."""
    if piece.gap:
        page.blank()
    match piece.kind:
        case "text":
            page.text([Segment(piece.source.expandtabs(4), Style.null())])
        case "fence":
            draw_code(page, piece.source, piece.info, label=piece.begins)
        case "table":
            needs = [Need(*columns) for columns in piece.columns]
            draw_table(page, read_table(parse(piece.source, references), page.inks), needs, head=piece.begins)
        case "markdown":
            _draw_blocks(page, parse(piece.source, references), ordinal=piece.ordinal)


def top_blocks(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield each top-level block with all tokens inside."""
    start = depth = 0
    for number, token in enumerate(tokens):
        if depth == 0:
            start = number
        depth += token.nesting
        if depth == 0:
            yield tokens[start : number + 1]


def _draw_blocks(
    page: MarkdownPage, tokens: Sequence[Token], *, tight: bool = False, ordinal: int | None = None
) -> None:
    for number, block in enumerate(top_blocks(tokens)):
        if number and not tight:
            page.blank()
        _draw_block(page, block, ordinal if number == 0 else None)


def _draw_block(page: MarkdownPage, block: Sequence[Token], ordinal: int | None) -> None:
    head = block[0]
    match head.type:
        case "heading_open":
            _draw_heading(page, block)
        case "paragraph_open":
            page.text(words_of(block[1], page.inks))
        case "bullet_list_open" | "ordered_list_open":
            _draw_list(page, block, ordinal)
        case "blockquote_open":
            edge = Segment("│ ", page.inks["rule"])
            with page.inside(edge, edge):
                _draw_blocks(page, block[1:-1])
        case "table_open":
            draw_table(page, read_table(block, page.inks), (), head=True)
        case "fence" | "code_block":
            draw_code(page, head.content.removesuffix("\n"), head.info, label=True)
        case "hr":
            page.raw([Segment("─" * page.room, page.inks["rule"])])
        case _:
            page.text([Segment(head.content, Style.null())])


def _draw_heading(page: MarkdownPage, block: Sequence[Token]) -> None:
    level = int(block[0].tag[1:])
    words = words_of(block[1], page.inks, page.inks["heading"] + HEADINGS[level - 1])
    page.text(words)
    if level == 1:
        cells = min(page.room, max(3, cell_len("".join(segment.text for segment in words))))
        page.raw([Segment("─" * cells, page.inks["rule"])])


def _draw_list(page: MarkdownPage, block: Sequence[Token], ordinal: int | None) -> None:
    ordered = block[0].type == "ordered_list_open"
    number = int(block[0].attrGet("start") or 1) if ordinal is None else ordinal
    depth = block[0].level // 2
    tight = is_tight(block)
    accent = page.inks["accent"]
    for place, item in enumerate(top_blocks(block[1:-1])):
        if place and not tight:
            page.blank()
        task = _take_task(item)
        mark = f"{number + place}. " if ordered else f"{'•◦‣'[min(depth, 2)]} "
        if task is not None:
            mark = (mark if ordered else "") + f"{'☐☑'[task]} "
        if len(mark) * 2 > page.room:
            mark = mark[:1]  # a list too deep for the width: it goes on without its indentation
        with page.inside(Segment(mark, accent), Segment(" " * len(mark), Style.null())):
            if len(item) == 2:
                page.blank()
            _draw_blocks(page, item[1:-1], tight=tight)


def _take_task(item: Sequence[Token]) -> bool | None:
    """Return whether a list item is a done task, and remove the box from its text; None for other items."""
    if len(item) < 4 or item[1].type != "paragraph_open" or not item[2].content.startswith(TASKS):
        return None
    first = (item[2].children or [])[0]
    if first.type != "text" or not first.content.startswith(TASKS):
        return None
    done = first.content[1] != " "
    first.content = first.content[4:]
    return done


def is_tight(block: Sequence[Token]) -> bool:
    """Whether a list's items have no empty lines between them."""
    level = block[0].level + 2
    return all(token.hidden for token in block if token.type == "paragraph_open" and token.level == level)
