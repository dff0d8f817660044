"""How the code reads: names that say nothing, and references that lead nowhere."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
VAGUE = frozenset(["each", "found", "known", "said", "told", "it", "its", "one", "other", "others", "another"])
MOST_VAGUE = 1.0
"""In 100 names that are assigned to. httpx and Textual: under 0.5."""
DOCUMENT = re.compile(r"\b[\w-]+\.md\b")
OF_USERS = {"NAME.md", "obsidian.md", "README.md", "SECURITY.md", "CHANGELOG.md"}
"""`protocols/NAME.md` is a person's own file, `obsidian.md` an origin; the others stand beside the package."""
CODE = re.compile(r"\b(?:APR|NET|PRO|PXY|SEC|STD|STO|TRM|UIX)-\d\d\b|\bDESIGN\b")


def modules() -> Iterator[tuple[Path, str]]:
    for file in sorted((ROOT / "tui_host").rglob("*.py")):
        yield file.relative_to(ROOT), file.read_text("utf-8")


def test_local_names_say_what_they_hold() -> None:
    names = [
        node.id.strip("_")
        for _, text in modules()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    assert 100 * sum(name in VAGUE for name in names) / len(names) <= MOST_VAGUE


def test_what_the_code_refers_to_stands_in_the_repository() -> None:
    """A clone has `tui_host/docs`, the prompts of the tool protocols and the files at its top."""
    shipped = {file.name for folder in ("tui_host/docs", "config/protocols") for file in (ROOT / folder).glob("*.md")}
    missing = {
        (str(file), name)
        for file, text in modules()
        for name in (*DOCUMENT.findall(text), *CODE.findall(text))
        if name not in shipped | OF_USERS
    }
    assert missing == set()
