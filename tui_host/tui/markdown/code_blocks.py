"""Code lines highlighted by pygments. Lexers are imported late."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from tui_host.tui.markdown.line_page import Inks, MarkdownPage
from tui_host.tui.text_width import clip

if TYPE_CHECKING:
    from pygments.lexer import Lexer

USUAL = (
    "python", "javascript", "typescript", "json", "bash", "html", "css", "sql", "yaml", "toml", "rust", "go", "c", "java",
    "diff", "xml",
)  # fmt: skip
LONGEST_LINE = 1000
"""Characters of a line above which its piece is not highlighted: lexers are regular expressions."""

INKS_OF_TOKENS = (
    ("Token.Comment", "comment"),
    ("Token.Keyword", "keyword"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Name.Tag", "keyword"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "number"),
    ("Token.Name.Function", "name"),
    ("Token.Name.Class", "name"),
    ("Token.Name.Decorator", "name"),
    ("Token.Name.Builtin", "name"),
    ("Token.Name.Attribute", "name"),
    ("Token.Operator", "operator"),
    ("Token.Generic.Deleted", "wrong"),
    ("Token.Generic.Inserted", "string"),
    ("Token.Generic.Heading", "heading"),
    ("Token.Generic.Subheading", "heading"),
)


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
    """Return the ink for a pygments token type; empty for plain text."""
    name = str(token)
    return next((ink for prefix, ink in INKS_OF_TOKENS if name.startswith(prefix)), "")


def warm() -> None:
    """Import the usual lexers and compile their expressions. Call from a thread."""
    for language in USUAL:
        lexer = lexer_of(language)
        if lexer is not None:
            list(lexer.get_tokens("x = 1\n"))


def language_of(info: str) -> str:
    """Return the language of a fence's first line: the first word, without attributes."""
    return info.strip().split(maxsplit=1)[0].strip("{}.").lower()[:40] if info.strip() else ""


def draw_code(page: MarkdownPage, code: str, info: str, *, label: bool) -> None:
    """Draw lines of code, below the language's name for a fence."""
    inks = page.inks
    base = inks["fence"]
    language = language_of(info)
    edge = Segment("  ", base)
    with page.inside(edge, edge):
        if label and language:
            name = clip(language, page.room)
            page.raw([Segment(name, inks["label"]), Segment(" " * (page.room - cell_len(name)), base)], is_label=True)
        page.code(highlighted(code.expandtabs(4), language, inks, base), base)


def highlighted(code: str, language: str, inks: Inks, base: Style) -> list[Segment]:
    """Code as segments, plain where the language is unknown or a line is very long."""
    lexer = lexer_of(language) if language else None
    if lexer is None or any(len(row) > LONGEST_LINE for row in code.split("\n")):
        return [Segment(code, base)]
    styles = {"": base}
    segments: list[Segment] = []
    for token, text in lexer.get_tokens(code):
        ink = ink_of(token)
        style = styles.get(ink)
        if style is None:
            style = styles[ink] = base + inks[ink]
        segments.append(Segment(text, style))
    return segments
