"""A page that is being drawn: styles by name, lines of one width behind their prefixes, and the characters on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui_host.capture.visible import visible
from tui_host.tui.text_width import cut, fill, fold

Inks: TypeAlias = Mapping[str, Style]
"""Styles by name."""
RULES = {
    "dim": "color: $text-muted;",
    "accent": "color: $text-primary;",
    "heading": "color: $text-primary; text-style: bold;",
    "code": "color: $foreground; background: $foreground 12%;",
    "address": "color: $text-muted; text-style: underline;",
    "rule": "color: $foreground 40%;",
    "fence": "color: $foreground; background: $foreground 5%;",
    "label": "color: $text-muted; background: $foreground 5%; text-style: italic;",
    "keyword": "color: $text-accent; text-style: bold;",
    "name": "color: $text-primary;",
    "string": "color: $text-success;",
    "number": "color: $text-warning;",
    "comment": "color: $text-muted; text-style: italic;",
    "operator": "color: $text-secondary;",
    "wrong": "color: $text-error; text-style: bold;",
}
"""What has a colour of its own. Strong, emphasised and struck text differ only in attributes."""
PLAIN, STRONG = Style.null(), Style(bold=True)
NO_INKS: Inks = defaultdict(Style.null)


class Run(NamedTuple):
    """Characters of a block side by side on a line."""

    x: int  # the cell in which the first is drawn
    place: int  # number of the first in the text of the block, whatever the width
    text: str


class DrawnLine(NamedTuple):
    """A drawn line, and the characters of the block on it, from left to right."""

    strip: Strip
    runs: tuple[Run, ...] = ()


def plain(segments: Sequence[Segment]) -> str:
    """Return segments as text."""
    return "".join(segment.text for segment in segments)


@dataclass(slots=True)
class MarkdownPage:
    """Draws texts as lines of `width` cells behind an edge."""

    width: int
    inks: Inks
    _rest: Sequence[Segment] = ()  # before each line: the edge first
    lines: list[DrawnLine] = field(default_factory=list[DrawnLine])
    rows: list[str] = field(default_factory=list[str])  # the texts so far, up to hard line breaks
    _first: Sequence[Segment] | None = None  # before the next line, where it differs
    _place: int = 0  # of the next text's first character in the text of the block

    @property
    def room(self) -> int:
        """Cells for text beside the prefixes, at least one."""
        return max(1, self.width - cell_len(plain(self._rest)))

    @contextmanager
    def inside(self, first: Segment, rest: Segment | None = None) -> Generator[None]:
        """Put `first` before the next line, and `rest`, as many spaces else, before the following lines."""
        before, begun, count = self._rest, self._first, len(self.lines)
        self._first = [*(before if begun is None else begun), first]
        self._rest = [*before, rest or Segment(" " * cell_len(first.text), PLAIN)]
        yield
        self._rest = before
        self._first = begun if len(self.lines) == count else None  # nothing was drawn: what was to come still is

    def raw(self, segments: Sequence[Segment] = (), runs: Sequence[Run] = ()) -> None:
        """Add a finished line, an empty one without segments; `runs` are counted from behind the prefixes."""
        indent = cell_len(plain(self._rest)) if runs else 0
        prefix = self._rest if self._first is None else self._first
        self._first = None
        moved = tuple(run._replace(x=run.x + indent) for run in runs)
        self.lines.append(DrawnLine(Strip([*prefix, *segments]), moved))

    def wrapped(
        self, segments: Sequence[Segment], width: int, *, folds: bool = False
    ) -> list[tuple[list[Segment], Run]]:
        """Add a text to that of the block, and return its visible lines: wrapped at words, or cut at the width as code is."""
        rows: list[list[Segment]] = [[]]  # at line breaks; foreign text becomes visible, tabs symbols
        for text, style, _ in segments:
            for number, part in enumerate(text.split("\n")):
                if number:
                    rows.append([])
                if part:
                    rows[-1].append(Segment(visible(part, newlines=False), style or PLAIN))
        lines: list[tuple[list[Segment], Run]] = []
        for row in rows:
            words = plain(row)
            for start, end in fold(words, width) if folds else fill(words, width):
                lines.append((cut(row, start, end), Run(0, self._place + start, words[start:end])))
            self.rows.append(words)
            self._place += len(words) + 1
        return lines

    def text(self, segments: Sequence[Segment]) -> None:
        """Draw a text."""
        for shown, run in self.wrapped(segments, self.room):
            self.raw(shown, (run,))

    def say(self, words: str, style: Style = PLAIN) -> None:
        """Draw a text of one style."""
        self.text([Segment(words, style)])
