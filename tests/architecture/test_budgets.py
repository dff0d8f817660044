"""The size and the grain of the package: lines of each folder, module and function, class names, and what the README may weigh."""

import ast
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUDGETS: dict[str, dict[str, int]] = tomllib.loads((ROOT / "tests/architecture/budgets.toml").read_text("utf-8"))
LOOSE = 0.1
"""A budget that is wider than its folder by more than this share is lowered."""
LONGEST, LONGEST_FUNCTION = 800, 80


def lines_of(files: list[Path]) -> int:
    return sum(len(file.read_text("utf-8").splitlines()) for file in files)


def files_of(top: str, folder: str) -> list[Path]:
    if folder != "*":
        return list((ROOT / top / folder).rglob("*.py"))
    return [file for file in (ROOT / top).rglob("*.py") if file.relative_to(ROOT / top).parts[0] not in BUDGETS[top]]


@pytest.mark.parametrize(("top", "folder"), [(top, folder) for top in ("tui_host", "tests") for folder in BUDGETS[top]])
def test_a_folder_keeps_to_its_budget_of_lines(top: str, folder: str) -> None:
    lines, budget = lines_of(files_of(top, folder)), BUDGETS[top][folder]
    assert lines <= budget, f"{top}/{folder} has {lines:,} lines, its budget is {budget:,}"
    assert lines >= budget * (1 - LOOSE), f"{top}/{folder} has {lines:,} lines: lower its budget of {budget:,}"


def test_every_folder_of_the_package_has_a_budget() -> None:
    folders = {file.relative_to(ROOT / "tui_host").parts[0] for file in (ROOT / "tui_host").rglob("*/*.py")}
    assert folders == BUDGETS["tui_host"].keys() - {"*"}


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for file in sorted((ROOT / "tui_host").rglob("*.py")):
        yield file.relative_to(ROOT / "tui_host"), ast.parse(file.read_text("utf-8"))


def test_a_public_class_has_a_name_of_its_own() -> None:
    names = Counter(
        node.name
        for _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    doubled = sorted(name for name, count in names.items() if count > 1)
    assert len(doubled) <= BUDGETS["names"]["classes_used_twice"], doubled


def test_a_choice_inside_a_choice_is_a_statement() -> None:
    nested = [
        f"{file}:{node.lineno}"
        for file, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.IfExp)
        and any(isinstance(child, ast.IfExp) for child in ast.walk(node) if child is not node)
    ]
    assert nested == []


def test_a_function_is_read_on_two_screens() -> None:
    long = {
        f"{file}:{node.lineno} {node.name}": lines
        for file, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or 0) - node.lineno + 1) > LONGEST_FUNCTION
    }
    assert long == {}


def test_no_module_is_longer_than_one_subject() -> None:
    long = {str(file): lines for file in (ROOT / "tui_host").rglob("*.py") if (lines := lines_of([file])) > LONGEST}
    assert long == {}


@pytest.mark.parametrize(("name", "kilobytes"), {"README.md": 12, "CHANGELOG.md": 3}.items())
def test_what_everybody_reads_is_short(name: str, kilobytes: int) -> None:
    assert len((ROOT / name).read_bytes()) <= kilobytes * 1000
