"""Through the source of a line's text beside its tokens: which part of it each drawn text stands for."""

from __future__ import annotations

from collections.abc import Sequence

from tui_host.tui.markdown.origins import Range, Trace, Wrap


class Walk:
    """Goes through the content of an inline token beside its children, and notes which part each drawn text stands for."""

    def __init__(self, content: str, offsets: Sequence[int], trace: Trace) -> None:
        self.origin: list[Range] = []
        self._content = content
        self._offsets = offsets
        self._trace = trace
        self._at = 0
        self._open: list[Range] = []

    def _put(self, said: str, start: int, end: int) -> None:
        """A drawn text stands for a part of the content: character by character if it is as long, else as a whole."""
        offsets = self._offsets
        if end - start == len(said):
            self.origin.extend((offsets[at], offsets[at] + 1) for at in range(start, end))
        else:
            self.origin.extend([(offsets[start], max(offsets[start], offsets[end - 1] + 1 if end else 0))] * len(said))
        self._at = end

    def _find(self, text: str) -> int:
        found = self._content.find(text, self._at)
        return self._at if found < 0 else found

    def text(self, said: str, written: str = "") -> None:
        """A text; `written` is how it stands in the source, where that is different."""
        written = written or said
        start = self._find(written)
        self._put(said, start, min(len(self._content), start + len(written)))

    def line_break(self, said: str) -> None:
        """The end of a line."""
        start = self._find("\n")
        end = min(len(self._content), start + 1)
        self._put(said, start, end)

    def code(self, said: str, markup: str) -> None:
        """Code between backticks."""
        outer = self._find(markup)
        inside = self._content.replace("\n", " ").find(said, outer + len(markup))
        inside = outer if inside < 0 else inside
        self._put(said, inside, min(len(self._content), inside + len(said)))
        end = self._find(markup) + len(markup)
        self._wrap(outer, inside, self._at, end, is_code=True)
        self._at = min(end, len(self._content))

    def opened(self, markup: str) -> None:
        """An opening mark."""
        outer = self._find(markup)
        self._at = outer + len(markup)
        self._open.append((outer, self._at))

    def closed(self, markup: str) -> None:
        """A closing mark."""
        inner = self._find(markup)
        self._at = inner + len(markup)
        self._close(inner)

    def link_closed(self, said: str, *, is_auto: bool) -> None:
        """A link's end; `said` is its address where that is drawn."""
        inner = self._find(">" if is_auto else "]")
        self._at = inner + 1 if is_auto else _after_label(self._content, inner)
        if said:
            self._put(said, inner, self._at)
        self._close(inner)

    def image(self, said: str) -> None:
        """An image stands as a whole."""
        start = self._find("![")
        label = self._content.find("](", start)
        end = _after_label(self._content, label if label >= 0 else start)
        self.origin.extend([(self._offsets[start], self._offsets[min(end, len(self._content))])] * len(said))
        self._at = end

    def _close(self, inner: int) -> None:
        outer, begin = self._open.pop() if self._open else (inner, inner)
        self._wrap(outer, begin, inner, self._at)

    def _wrap(self, outer: int, begin: int, inner: int, end: int, *, is_code: bool = False) -> None:
        content, offsets = self._content, self._offsets
        end = min(end, len(content))
        self._trace.wraps.append(
            Wrap(
                outer=offsets[outer],
                inner=(offsets[begin], offsets[inner]),
                end=offsets[end],
                opening=content[outer:begin],
                closing=content[inner:end],
                is_code=is_code,
            )
        )


def _after_label(content: str, at: int) -> int:
    """Behind the address that follows a link's label; `at` is the label's closing bracket."""
    at += 1
    mark = content[at : at + 1]
    if mark == "[":
        return (content.find("]", at) + 1) or at
    if mark != "(":
        return min(at, len(content))
    depth, place, quote = 0, at, ""
    while place < len(content):
        character = content[place]
        if character == "\\":
            place += 1
        elif quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and content[place - 1].isspace():
            quote = character
        elif character in "()":
            depth += 1 if character == "(" else -1
            if not depth:
                return place + 1
        place += 1
    return at
