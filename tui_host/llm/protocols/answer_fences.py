"""Code fences in an answer: what stands in one is an example, unless it is one call and nothing else."""

from __future__ import annotations

import re

FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[^\n`]*\n\s*")
"""A fence's first line, and the white space behind it."""
FENCE_BEGUN = re.compile(r"[ \t]*(`{3,}|~{3,})(?:[^\n`<]*\n\s*|[^\n`<]*(?=<))")
"""The same where a tag may stand in that line already, behind the marks or the code's kind: up to the tag."""
FENCE_END = re.compile(r"\s*(`{3,}|~{3,})[ \t]*(?=\n|$)")
"""Its last line, behind whatever white space stands before it."""
MARKS = "`~"
"""What a fence's lines are made of."""
FENCE_END_MADE_OF = f"{MARKS} \t\n"
"""What may stand behind a call that a fence holds alone."""
LONGEST_BLANK = 400
"""Characters of a fence's first line, and of white space that is waited through for what comes behind it."""


def may_become_fence(text: str) -> bool:
    """Whether the text that a line begins with may be the beginning of a fence's first line."""
    begun = text.lstrip(" \t")
    is_begun = begun.startswith(("```", "~~~")) or any(not begun.strip(mark) for mark in MARKS)
    return is_begun and len(text) <= LONGEST_BLANK and "\n" not in text


class Fence:
    """A code fence that is open: of its lines only one of the same marks, at least as many, closes it.

    Args:
        opening: Its first line.
    """

    def __init__(self, opening: str) -> None:
        begun = opening.lstrip(" \t")
        self._mark = begun[0]
        self._least = len(begun) - len(begun.lstrip(self._mark))
        self._line = ""

    def closes(self, text: str) -> bool:
        """Take in more of what stands in it, at most to the end of a line; whether that line closes it."""
        self._line = (self._line + text)[:LONGEST_BLANK]
        if not text.endswith("\n"):
            return False
        line, self._line = self._line.strip(), ""
        return len(line) >= self._least and not line.strip(self._mark)
