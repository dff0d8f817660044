"""Find what hosts wrap around texts, in time linear in the text's length."""

from __future__ import annotations

import re
from collections.abc import Iterator


class Form:
    """A wrapping that hosts put into texts, on one line or several.

    A beginning without an end is no match. The search stops at the last end, because behind the last end each beginning would
    be followed to the end of the text.

    Args:
        pattern: The pattern up to the end.
        end: The pattern of the first end that counts; empty if the text's end will do.
    """

    def __init__(self, pattern: str, end: str = "") -> None:
        flags = re.DOTALL | re.MULTILINE
        self._whole = re.compile(pattern + end, flags)
        self._end = re.compile(end, flags) if end else None

    def found_in(self, text: str) -> Iterator[re.Match[str]]:
        """Yield each match in a text, in order."""
        if self._end is None:
            return self._whole.finditer(text)
        return self._whole.finditer(text, 0, max((match.end() for match in self._end.finditer(text)), default=0))

    def without(self, text: str) -> str:
        """Return a text without the matches."""
        kept, start = list[str](), 0
        for match in self.found_in(text):
            kept.append(text[start : match.start()])
            start = match.end()
        return "".join((*kept, text[start:]))
