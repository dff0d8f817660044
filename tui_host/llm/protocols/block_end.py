"""Where a block of a tag grammar ends, found while it comes: each character is looked at once, however the text is cut."""

from __future__ import annotations

import re

_IN_STRING = re.compile(r'"|\\.', re.DOTALL)


class Ending:
    """Looks for a block's closing tag, not taking one that stands inside a JSON string for it.

    Args:
        closing: The closing tag.
        json_from: What the JSON value in it begins behind; empty where the block begins with it, None where it has none.
        json_to: What the JSON value ends before.
    """

    def __init__(self, closing: str, *, json_from: str | None = None, json_to: str = "") -> None:
        self._closing = closing
        self._before = _either(closing, json_from) if json_from else _either(closing)
        self._outside = _either('"', json_to or closing)
        self._plain = _either(closing)
        self._longest = max(len(closing), len(json_from or ""), len(json_to))
        self._state = "before" if json_from else "behind" if json_from is None else "outside"
        self._tail = ""
        self._done = 0  # characters before the tail

    def feed(self, text: str) -> int:
        """Where the block ends in all that came, behind its closing tag; -1 while it does not."""
        text = self._tail + text
        position = 0
        while True:
            match self._state:
                case "before":
                    found = self._before.search(text, position)
                case "outside":
                    found = self._outside.search(text, position)
                case "string":
                    found = _IN_STRING.search(text, position)
                case _:
                    found = self._plain.search(text, position)
            if found is None:
                break
            position = found.end()
            if self._state != "string" and found[0] == self._closing:
                return self._done + position
            self._state = self._behind(found[0])
        kept = self._longest - 1 if self._state != "string" else int(text.endswith("\\"))
        cut = max(position, len(text) - kept)
        self._done += cut
        self._tail = text[cut:]
        return -1

    def _behind(self, found: str) -> str:
        if self._state == "string":
            return "outside" if found == '"' else "string"
        if found == '"':
            return "string"
        return "outside" if self._state == "before" else "behind"


def _either(*texts: str) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(text) for text in texts))


_OUTSIDE = re.compile(r'["{}\[\]]')


class Balance:
    """Finds where a JSON object or array ends while it comes, by its brackets outside strings."""

    def __init__(self) -> None:
        self._depth = 0
        self._is_string = False
        self._tail = ""
        self._done = 0  # characters before the tail

    def feed(self, text: str) -> int:
        """Where it ends in all that came; -1 while it does not."""
        text = self._tail + text
        position = 0
        while found := (_IN_STRING if self._is_string else _OUTSIDE).search(text, position):
            position = found.end()
            match found[0]:
                case '"':
                    self._is_string = not self._is_string and self._depth > 0
                case "{" | "[":
                    self._depth += 1
                case "}" | "]" if self._depth:
                    self._depth -= 1
                    if not self._depth:
                        return self._done + position
                case _:
                    pass
        kept = int(self._is_string and text.endswith("\\") and position < len(text))
        self._done += len(text) - kept
        self._tail = text[len(text) - kept :]
        return -1
