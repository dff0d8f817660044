"""The Markdown parser, imported late: call `load` in a thread before anything is drawn."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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


@cache
def _parsers() -> tuple[MarkdownIt, MarkdownIt]:
    """Make the parser of everything, and the one that finds where blocks begin and end."""
    from markdown_it import MarkdownIt

    whole, blocks = (MarkdownIt("commonmark", {"html": False, "maxNesting": DEPTH}).enable("table") for _ in range(2))
    for parser in (whole, blocks):
        parser.disable("reference")  # definitions of links and footnotes stay as written: what they end may come late
    whole.enable("strikethrough")
    whole.inline.ruler.before("escape", "math", _math)
    whole.core.ruler.disable("text_join")  # an escape or an entity keeps what it was written as
    blocks.core.ruler.enableOnly(["normalize", "block"])
    return whole, blocks


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
    parse("# a\n\n*b* `c`\n")
    parse_blocks("a")


def parse(source: str) -> Sequence[Token]:
    """Return all tokens of a source."""
    return _parsers()[0].parse(source)


def parse_blocks(source: str) -> Sequence[Token]:
    """Return only the block tokens, to find where blocks begin and end."""
    return _parsers()[1].parse(source)


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
