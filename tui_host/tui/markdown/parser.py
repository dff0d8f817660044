"""The Markdown parser, and the pieces of a source. Imported late: call `load` in a thread before anything is drawn."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

DEPTH = 40
"""Deepest nesting to parse; deeper text stays as written."""
_MATH = re.compile(r"\\\(.+?\\\)|\\\[.+?\\\]|\$\$.+?\$\$|\$(?=[^\s$])[^$\n]*?[^\s$\\]\$(?![\d$])", re.DOTALL)
"""Mathematics, which stays as written; prices do not match. Source: Pandoc, tex_math_dollars."""


@dataclass(frozen=True, slots=True)
class SourcePiece:
    """A block of a source, or a part of a long block, that can be drawn by itself."""

    source: str = ""  # of a fence or a table that goes on with their first lines, which are not drawn again
    start: int = 0  # where its own lines begin in the whole source
    gap: bool = True  # whether an empty line comes before it
    begins: bool = True  # whether it has the first lines of a fence or a table
    ordinal: int | None = None  # number of the first item of a list that goes on
    columns: tuple[tuple[int, int], ...] = ()  # the widths that the first rows of a table asked for


@cache
def parser(*, blocks_only: bool = False) -> MarkdownIt:
    """Return the parser, or one that parses only blocks, to find where blocks begin and end."""
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False, "maxNesting": DEPTH}).enable("table")
    made.disable("reference")  # definitions of links and footnotes stay as written: what they end may come late
    if blocks_only:
        made.core.ruler.enableOnly(["normalize", "block"])
    else:
        made.enable("strikethrough")
        made.inline.ruler.before("escape", "math", _math)
        made.core.ruler.disable("text_join")  # an escape or an entity keeps what it was written as
    return made


def _math(state: StateInline, silent: bool) -> bool:
    match = _MATH.match(state.src, state.pos, state.posMax) if state.src[state.pos] in "\\$" else None
    if match is None:
        return False
    if not silent:
        state.push("math", "", 0).content = match.group()
    state.pos = match.end()
    return True


def load() -> None:
    """Import the parser. Call from a thread."""
    parser().parse("# a\n\n*b* `c`\n")
    parser(blocks_only=True).parse("a")


def top_blocks(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield each top-level block with all tokens inside."""
    start = depth = 0
    for number, token in enumerate(tokens):
        if depth == 0:
            start = number
        depth += token.nesting
        if depth == 0:
            yield tokens[start : number + 1]


def is_tight(block: Sequence[Token]) -> bool:
    """Whether a list's items have no empty lines between them."""
    level = block[0].level + 2
    return all(token.hidden for token in block if token.type == "paragraph_open" and token.level == level)
