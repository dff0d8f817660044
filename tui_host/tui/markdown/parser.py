"""The Markdown parser, imported late: `load` belongs into a thread, after the first frame; until then all is plain text."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

DEPTH = 40
"""Nesting that is read; what lies deeper stays as it is written."""


@cache
def _whole() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "maxNesting": DEPTH}).enable(["table", "strikethrough"])


@cache
def _blocks_alone() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": DEPTH}).enable(["table"])
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def load() -> None:
    """Import the parser and the usual lexers. Takes some tenths of a second: call it in a thread."""
    from tui_host.tui.markdown.fences import warm

    warm()
    _blocks_alone().parse("a")
    _whole().parse("# a\n\n*b* `c`\n")


def loaded() -> bool:
    """Whether Markdown can be read now."""
    return _whole.cache_info().currsize > 0


def parse(source: str, references: MutableMapping[str, object] | None = None) -> Sequence[Token]:
    """All tokens of a source, inline ones too, with what `parse_blocks` found as definitions of links."""
    return _whole().parse(source, {} if references is None else references)


def parse_blocks(source: str, references: MutableMapping[str, object] | None = None) -> Sequence[Token]:
    """The block tokens alone, to learn where blocks begin and end. Definitions of links are put into `references`."""
    return _blocks_alone().parse(source, {} if references is None else references)
