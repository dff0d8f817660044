"""What stands between two brackets in JSON, or in what is like it: found in the time that a body's length takes, whatever stands in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import TypeAlias

Put: TypeAlias = Callable[[re.Match[bytes], bytes], bytes]
"""Gets what leads to the brackets, the first of them with it, and what is in them; gives what is to stand in them."""

TEXT = rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"'
"""The pattern of a text, with `re.DOTALL`; what is in it is a group."""
_ONE_TEXT = re.compile(TEXT, re.DOTALL)


class Enclosed:
    """A pair of brackets with texts between them, and no other brackets of their kind but in those.

    A pattern for all of it would follow each beginning whose end is missing to the end of the body.

    Args:
        begin: The pattern of what leads to them, and of the first of them.
        brackets: Both.
    """

    def __init__(self, begin: bytes, brackets: bytes) -> None:
        self._begin = re.compile(begin)
        self._between = re.compile(rb'[^"%s]*' % re.escape(brackets))
        self._last = brackets[1:]

    def sub(self, put: Put, data: bytes) -> bytes:
        """The same with something else between them."""
        pieces: list[bytes] = []
        known, kept = _Known(data), 0
        begin = self._begin.search(data)
        while begin is not None:
            end = self._end(begin.end(), known)
            if end is not None:
                pieces += (data[kept : begin.end()], put(begin, data[begin.end() : end]))
                kept = end
            begin = self._begin.search(data, begin.start() + 1 if end is None else end + 1)
        return b"".join((*pieces, data[kept:])) if pieces else data

    def _end(self, at: int, known: _Known) -> int | None:
        """Where the last bracket is, behind the first; None where there is none before another."""
        data, looked_at = known.data, list[int]()
        while at not in known.endless:
            looked_at.append(at)
            found = self._between.match(data, at)
            at = at if found is None else found.end()
            if data[at : at + 1] == self._last:
                return at
            if data[at : at + 1] != b'"':
                break
            at = known.end_of_text(at)
        known.endless.update(looked_at)
        return None


class _Known:
    """What has been found of a body.

    Args:
        data: The body.

    Attributes:
        endless: Places between two texts from where no last bracket follows.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.endless: set[int] = set()
        self._texts: list[tuple[int, int]] = []

    def end_of_text(self, at: int) -> int:
        """Where one that begins here ends; the body's end if it does not.

        A quote in another is behind a backslash there: what begins with it ends with that one, which is not looked at again.
        """
        place = bisect_right(self._texts, (at, len(self.data)))
        if place and at < self._texts[place - 1][1] - 1:
            return self._texts[place - 1][1]
        text = _ONE_TEXT.match(self.data, at)
        end = len(self.data) if text is None else text.end()
        self._texts.insert(place, (at, end))
        return end
