"""Text of an answer that is still to be looked at, with the bytes of the response that each piece came with."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from tui_host.llm.events import TextDelta

_SLICE = 1024
_LONGEST_TAG = 60
_TAG = re.compile(r"</?[A-Za-z_|][^<>\n]*>[ \t]*$")


class Held:
    """A buffer of text deltas: looked at as one text, given out piece by piece, in linear time."""

    def __init__(self) -> None:
        self._text = ""
        self._new: list[str] = []
        self._pieces: deque[TextDelta] = deque()
        self._last = (0, 0)

    @property
    def text(self) -> str:
        """What is held now, as one text: joined when it is looked at, so look only when there is a reason."""
        if self._new:
            self._text = "".join((self._text, *self._new))
            self._new.clear()
        return self._text

    def add(self, delta: TextDelta) -> None:
        """Hold more."""
        if delta.text:
            self._new.append(delta.text)
            self._pieces.append(delta)

    def take(self, size: int) -> list[TextDelta]:
        """Give out the first characters; a piece that is cut keeps its bytes on both sides."""
        found: list[TextDelta] = []
        left = min(size, len(self.text))
        self._text = self.text[left:]
        while left:
            piece = self._pieces.popleft()
            self._last = (piece.start, piece.end)
            if len(piece.text) > left:
                rest = TextDelta(text=piece.text[left:], start=piece.start, end=piece.end)
                self._pieces.appendleft(rest)
                piece = TextDelta(text=piece.text[:left], start=piece.start, end=piece.end)
            left -= len(piece.text)
            found.append(piece)
        return found

    def cut(self, size: int) -> tuple[str, int, int]:
        """The same as one text, with its first byte and one past its last."""
        found = self.take(size)
        start, end = (found[0].start, found[-1].end) if found else self._last
        return "".join(piece.text for piece in found), start, end


class Line:
    """What was given out of the line that a reader stands in.

    Attributes:
        is_blank: Only spaces and tabs.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """A new one, or as if it were."""
        self.is_blank = True
        self._ticks = 0
        self._last = ""

    def add(self, text: str) -> None:
        """More text, of any number of lines."""
        _, newline, rest = text.rpartition("\n")
        if newline:
            self.begin()
        self.is_blank = self.is_blank and not rest.strip(" \t\r")
        self._last = (self._last + rest)[-_LONGEST_TAG:]
        self._ticks += rest.count("`")

    @property
    def may_begin_tag(self) -> bool:
        """Whether a tag here is meant as one: prose that mentions it goes on behind other words, or between ticks."""
        return self.is_blank or (not self.is_in_code and _TAG.search(self._last) is not None)

    @property
    def is_in_code(self) -> bool:
        """Whether what comes stands between ticks."""
        return self._ticks % 2 == 1


def slices(delta: TextDelta) -> Iterator[TextDelta]:
    """A delta in pieces short enough that looking at what is left of one costs little; each keeps the delta's bytes."""
    if len(delta.text) <= _SLICE:
        yield delta
        return
    for place in range(0, len(delta.text), _SLICE):
        yield TextDelta(text=delta.text[place : place + _SLICE], start=delta.start, end=delta.end)
