"""The demo model's longer texts, kept in files beside this module."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def page(name: str, language: str) -> str:
    """Return a text in a language, `en` or `zh`."""
    return (Path(__file__).parent / f"{name}_{language}.md").read_text(encoding="utf-8")
