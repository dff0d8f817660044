"""The pictures of the README show today's program: the texts of a picture made anew are those of the picture that is kept."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from html import unescape
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "screenshots"
TEXT = re.compile(r"<text [^>]*>([^<]*)</text>")
MANY = 0.02
"""The share of words that times may change: a line that is cut one letter earlier."""


def pictures() -> list[str]:
    return re.findall(r"\]\(screenshots/([\w-]+)\.svg\)", (ROOT / "README.md").read_text(encoding="utf-8"))


def words_of(picture: Path) -> Counter[str]:
    """The words in a picture, with every number as 0: times and ports differ from run to run."""
    texts = [unescape(text) for text in TEXT.findall(picture.read_text(encoding="utf-8"))]
    words = " ".join(texts).split()
    return Counter(re.sub(r"\d+(\.\d+)?", "0", word) for word in words if not re.search("ms$|…", word))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", pictures())
def test_a_picture_of_the_readme_shows_the_program_as_it_is(name: str, tmp_path: Path) -> None:
    command = [sys.executable, str(FOLDER / "make.py"), "--into", str(tmp_path), name]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    kept, made = words_of(FOLDER / f"{name}.svg"), words_of(tmp_path / f"{name}.svg")
    differing = (kept - made) + (made - kept)
    assert differing.total() <= MANY * made.total(), f"uv run python screenshots/make.py {name}; differing: {differing}"
