"""Code lines highlighted by pygments. Lexers are imported late."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment

from tui_host.tui.markdown.page import MarkdownPage
from tui_host.tui.text_width import padded

if TYPE_CHECKING:
    from pygments.lexer import Lexer

USUAL = (
    "python", "javascript", "typescript", "json", "bash", "html", "css", "sql", "yaml", "toml", "rust", "go", "c", "java",
    "diff", "xml",
)  # fmt: skip
LONGEST_LINE = 1000
"""Characters of a line above which its piece is not highlighted: lexers are regular expressions."""
TOKENS = {
    "comment": ("Token.Comment",),
    "keyword": ("Token.Keyword", "Token.Operator.Word", "Token.Name.Tag"),
    "string": ("Token.Literal.String", "Token.Generic.Inserted"),
    "number": ("Token.Literal.Number",),
    "name": tuple(f"Token.Name.{kind}" for kind in ("Function", "Class", "Decorator", "Builtin", "Attribute")),
    "operator": ("Token.Operator",),
    "wrong": ("Token.Generic.Deleted",),
    "heading": ("Token.Generic.Heading", "Token.Generic.Subheading"),
}
"""What begins the names of pygments' tokens, by ink; the first that fits counts."""


@cache
def lexer_of(language: str) -> Lexer | None:
    """Return the lexer for a fence's language; None for an unknown language."""
    from pygments.lexers import find_lexer_class_by_name
    from pygments.util import ClassNotFound

    try:
        return find_lexer_class_by_name(language)(stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@cache
def ink_of(token: object) -> str:
    """Return the ink for a pygments token type."""
    name = str(token)
    return next((ink for ink, prefixes in TOKENS.items() if name.startswith(prefixes)), "fence")


def warm() -> None:
    """Import the usual lexers and compile their expressions. Call from a thread."""
    for lexer in filter(None, map(lexer_of, USUAL)):
        list(lexer.get_tokens("x = 1\n"))


def language_of(info: str) -> str:
    """Return the language of a fence's first line: the first word, without attributes."""
    return info.strip().split(maxsplit=1)[0].strip("{}.").lower()[:40] if info.strip() else ""


def draw_code(page: MarkdownPage, code: str, info: str, *, label: bool) -> None:
    """Draw lines of code, below the language's name for a fence that begins; plain where a line is very long."""
    base, language = page.inks["fence"], language_of(info)
    code = code.expandtabs(4)
    lexer = lexer_of(language) if language else None
    segments = [Segment(code, base)]
    if lexer is not None and max(map(len, code.split("\n"))) <= LONGEST_LINE:
        segments = [Segment(text, base + page.inks[ink_of(token)]) for token, text in lexer.get_tokens(code)]
    edge = Segment("  ", base)
    with page.inside(edge, edge):
        if label and language:
            page.raw([Segment(padded(language, page.room), page.inks["label"])])
        for shown, run in page.wrapped(segments, page.room, folds=True):
            page.raw([*shown, Segment(" " * max(0, page.room - cell_len(run.text)), base)], (run,))
