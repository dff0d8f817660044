"""The Markdown parser. Call `load` in a thread after the first frame; until then all text is drawn plain."""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

DEPTH = 40
"""Deepest nesting to parse; deeper text stays as written."""
_MATH = re.compile(r"\\\(.+?\\\)|\\\[.+?\\\]|\$\$.+?\$\$|\$(?=[^\s$])[^$\n]*?[^\s$\\]\$(?![\d$])", re.DOTALL)
"""Mathematics, which stays as written; prices do not match. Source: Pandoc, tex_math_dollars."""


@cache
def _whole() -> MarkdownIt:
    parser = _with_tables()
    parser.enable("strikethrough")
    parser.inline.ruler.before("escape", "math", _math)
    parser.core.ruler.disable("text_join")  # an escape or an entity keeps what it was written as
    return parser


@cache
def _blocks_alone() -> MarkdownIt:
    parser = _with_tables()
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _with_tables() -> MarkdownIt:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import reference

    def definition(state: StateBlock, first: int, last: int, silent: bool) -> bool:
        """Read a link definition, but no footnote: its text would vanish."""
        start = state.bMarks[first] + state.tShift[first]
        return not state.src.startswith("[^", start) and reference(state, first, last, silent)

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": DEPTH}).enable("table")
    parser.block.ruler.at("reference", definition)
    return parser


def _math(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "\\$":
        return False
    match = _MATH.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        state.push("math", "", 0).content = match.group()
    state.pos = match.end()
    return True


def load() -> None:
    """Import the parser. Call from a thread."""
    _blocks_alone().parse("a")
    _whole().parse("# a\n\n*b* `c`\n")


def loaded() -> bool:
    """Whether the parser is imported."""
    return _whole.cache_info().currsize > 0


def parse(source: str, references: MutableMapping[str, object] | None = None) -> Sequence[Token]:
    """Return all tokens of a source, given the link definitions found by `parse_blocks`."""
    return _whole().parse(source, {} if references is None else references)


def parse_blocks(source: str, references: MutableMapping[str, object] | None = None) -> Sequence[Token]:
    """Return only the block tokens, to find where blocks begin and end. Link definitions are added to `references`."""
    return _blocks_alone().parse(source, {} if references is None else references)


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
