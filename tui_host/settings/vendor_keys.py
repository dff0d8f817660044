"""Recognises keys of vendors by their form alone, in any text.

A form is strict: a vendor's prefix, then as many letters and digits as the vendor's keys have. A word such as `skeleton`, a model's
name or a file's never has one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

VENDOR_KEY = "vendor-key"
"""The name in the mark of a key known by its form alone."""

# One of these stands in every key: most texts have none, and are not searched.
_HINTS = ("sk-", "k_", "gh", "_pat_", "glpat-", "xox", "xai-", "KIA", "SIA", "AIza", "hf_", "npm_", "pypi-")
# Somewhere ahead twelve letters and digits without a hyphen: names of many words have none.
_MIXED = r"(?=[\w-]{0,99}?(?<![A-Za-z0-9])(?=[A-Za-z]{0,11}[0-9])(?=[0-9]{0,11}[A-Za-z])[A-Za-z0-9]{12})"
_DIGIT = r"(?=[A-Za-z_-]{0,60}[0-9])"
_FORM = re.compile(
    r"(?<![\w-])(?:"
    rf"sk-{_MIXED}[\w-]{{20,}}"
    rf"|(?:gh[oprsu]|[rs]k_(?:live|test))_{_DIGIT}[A-Za-z0-9]{{16,}}"
    rf"|(?:hf|npm|gsk)_{_DIGIT}[A-Za-z0-9]{{30,}}"
    rf"|github_pat_{_DIGIT}\w{{22,}}"
    rf"|(?:glpat|xox[abeoprs])-{_DIGIT}[\w-]{{20,}}"
    rf"|xai-{_DIGIT}[A-Za-z0-9]{{40,}}"
    rf"|pypi-{_DIGIT}[\w-]{{50,}}"
    rf"|A[KS]IA{_DIGIT}[A-Z0-9]{{16}}(?!\w)"
    rf"|AIza{_DIGIT}[\w-]{{35}}(?![\w-])"
    r")",
    re.ASCII,
)


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Cut a text at vendors' keys: yield each piece that is not empty, and whether it is a key."""
    end = 0
    for match in _FORM.finditer(text) if any(hint in text for hint in _HINTS) else ():
        if match.start() > end:
            yield text[end : match.start()], False
        yield match[0], True
        end = match.end()
    if end < len(text):
        yield text[end:], False
