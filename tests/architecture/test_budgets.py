"""The size of the house: lines of each folder, file names, and what the README may weigh."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUDGETS: dict[str, dict[str, int]] = tomllib.loads((ROOT / "tests/architecture/budgets.toml").read_text("utf-8"))
LOOSE = 0.1
"""A budget that is wider than its folder by more than this share is lowered."""
SETS = ("llm/dialects/*/write.py", "llm/dialects/*/read.py", "llm/dialects/*/outline.py")
"""Files that have one name on purpose: one for each dialect."""
ALWAYS = {"__init__.py", "__main__.py"}
KILOBYTES = {"README.md": 12, "CHANGELOG.md": 3}
LONGEST = 500


def lines_of(files: list[Path]) -> int:
    return sum(len(file.read_text("utf-8").splitlines()) for file in files)


def files_of(top: str, folder: str) -> list[Path]:
    if folder != "*":
        return list((ROOT / top / folder).rglob("*.py"))
    return [file for file in (ROOT / top).rglob("*.py") if file.relative_to(ROOT / top).parts[0] not in BUDGETS[top]]


@pytest.mark.parametrize(("top", "folder"), [(top, folder) for top, folders in BUDGETS.items() for folder in folders])
def test_a_folder_keeps_to_its_budget_of_lines(top: str, folder: str) -> None:
    lines, budget = lines_of(files_of(top, folder)), BUDGETS[top][folder]
    assert lines <= budget, f"{top}/{folder} has {lines:,} lines, its budget is {budget:,}"
    assert lines >= budget * (1 - LOOSE), f"{top}/{folder} has {lines:,} lines: lower its budget of {budget:,}"


def test_every_folder_of_the_package_has_a_budget() -> None:
    folders = {file.relative_to(ROOT / "tui_host").parts[0] for file in (ROOT / "tui_host").rglob("*/*.py")}
    assert folders == BUDGETS["tui_host"].keys() - {"*"}


def test_a_file_name_says_which_file_is_meant() -> None:
    package = ROOT / "tui_host"
    in_sets = {file for pattern in SETS for file in package.glob(pattern)}
    assert in_sets
    names = Counter(file.name for file in package.rglob("*.py") if file not in in_sets and file.name not in ALWAYS)
    assert [name for name, count in names.items() if count > 1] == []


def test_no_module_is_longer_than_one_subject() -> None:
    long = {str(file): lines for file in (ROOT / "tui_host").rglob("*.py") if (lines := lines_of([file])) > LONGEST}
    assert long == {}


@pytest.mark.parametrize(("name", "kilobytes"), KILOBYTES.items())
def test_what_everybody_reads_is_short(name: str, kilobytes: int) -> None:
    assert len((ROOT / name).read_bytes()) <= kilobytes * 1000
