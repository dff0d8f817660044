"""The documents that come with the program: what they point to exists, and each promise has a test that runs every time."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted((ROOT / "tui_host/docs").glob("*.md"))
PROMISES = ROOT / "tui_host/docs/promises.md"
FILE = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|toml|md))`")
LINK = re.compile(r"\]\(([\w./-]+)\)")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def text_of(document: Path) -> str:
    return document.read_text("utf-8")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_a_document_points_to_files_that_exist(document: Path) -> None:
    text = text_of(document)
    files = [name for name in FILE.findall(text) if "NAME" not in name]
    links = [document.parent / name for name in LINK.findall(text)]
    missing = [name for name in files if not any((ROOT / top / name).exists() for top in ("", "tui_host"))]
    assert missing + [str(link) for link in links if not link.exists()] == []


def test_the_readme_names_every_document() -> None:
    readme = text_of(ROOT / "README.md")
    assert [document.name for document in DOCUMENTS if f"tui_host/docs/{document.name}" not in readme] == []
    assert [name for name in LINK.findall(readme) if not (ROOT / name).exists()] == []


def test_every_promise_names_a_test_that_runs_each_time() -> None:
    promises = [line for line in text_of(PROMISES).splitlines() if line.startswith("- **")]
    assert promises
    assert [promise for promise in promises if not any(is_run(*test) for test in TEST.findall(promise))] == []


@pytest.mark.parametrize("document", [PROMISES, ROOT / "tui_host/docs/mcp.md"], ids=lambda document: document.name)
def test_every_test_that_a_document_names_exists(document: Path) -> None:
    named = TEST.findall(text_of(document))
    assert named
    assert [test for test in named if decorators_of(*test) is None] == []


def decorators_of(file: str, name: str) -> list[str] | None:
    """The decorators of a test as they are written, with the marks of its module. None if there is no such test."""
    path = ROOT / file
    module = ast.parse(path.read_text("utf-8")) if path.exists() else ast.Module([], [])
    marks = [ast.unparse(it) for it in module.body if isinstance(it, ast.Assign) and "pytestmark" in ast.unparse(it)]
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return marks + [ast.unparse(decorator) for decorator in node.decorator_list]
    return None


def is_run(file: str, name: str) -> bool:
    """Whether a test exists and, as a whole, is not marked as exhaustive."""
    decorators = decorators_of(file, name)
    return decorators is not None and "pytest.mark.exhaustive" not in [
        decorator.removeprefix("pytestmark = ") for decorator in decorators
    ]
