"""A page that is being drawn: styles by name, lines of one width behind their prefixes, and the characters on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui_host.tui.text_width import break_lines, cut, fill, fold

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
COMPONENTS = {f"ink--{name}" for name in RULES}
CSS = "\n".join(f"& > .ink--{name} {{ {rules} }}" for name, rules in RULES.items())
"""CSS rules for a widget's own style sheet; put them inside the widget's block."""
PLAIN, STRONG = Style.null(), Style(bold=True)
NO_INKS: Inks = defaultdict(Style.null)


def inks_of(look_of: Callable[[str], Style]) -> Inks:
    """Return the inks of a widget with `CSS` in its style sheet, by its component styles."""
    return {name: look_of(f"ink--{name}") for name in RULES}


class Run(NamedTuple):
    """Characters of a block side by side on a line."""

    x: int  # the cell in which the first is drawn
    place: int  # number of the first in the text of the block, whatever the width
    text: str


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """A drawn line."""

    strip: Strip
    runs: tuple[Run, ...] = ()  # the characters of the block on it, from left to right
    is_label: bool = False  # whether it names the language of the code below


class TextRow(NamedTuple):
    """A text up to a hard line break."""

    segments: list[Segment]
    plain: str
    place: int  # of its first character in the text of the block


class MarkdownPage:
    """Draws texts as lines behind an edge."""

    def __init__(self, width: int, inks: Inks, edge: Segment | None = None) -> None:
        self.width = width  # cells of a whole line, prefixes included
        self.inks = inks
        self.lines: list[DrawnLine] = []
        self.rows: list[str] = []  # the texts so far, up to hard line breaks
        self._rest: list[Segment] = [] if edge is None else [edge]  # before each line
        self._first: list[Segment] | None = None  # before the next line, where it differs
        self._place = 0

    @property
    def _indent(self) -> int:
        return sum(cell_len(segment.text) for segment in self._rest)

    @property
    def room(self) -> int:
        """Cells for text beside the prefixes, at least one."""
        return max(1, self.width - self._indent)

    @contextmanager
    def inside(self, first: Segment, rest: Segment | None = None) -> Generator[None]:
        """Put `first` before the next line, and `rest`, as many spaces else, before the following lines."""
        before, begun, count = self._rest, self._first, len(self.lines)
        self._first = [*(before if begun is None else begun), first]
        self._rest = [*before, rest or Segment(" " * cell_len(first.text), PLAIN)]
        yield
        self._rest = before
        self._first = begun if len(self.lines) == count else None  # nothing was drawn: what was to come still is

    def raw(self, segments: Sequence[Segment] = (), runs: Sequence[Run] = (), *, is_label: bool = False) -> None:
        """Add a finished line, an empty one without segments; `runs` are counted from behind the prefixes."""
        indent = self._indent if runs else 0
        moved = tuple(run._replace(x=run.x + indent) for run in runs)
        prefix = self._rest if self._first is None else self._first
        self._first = None
        self.lines.append(DrawnLine(Strip([*prefix, *segments]), moved, is_label))

    def take(self, segments: Sequence[Segment]) -> list[TextRow]:
        """Add a text to the texts of the block, and return its visible rows for drawing."""
        rows: list[TextRow] = []
        for row in break_lines(segments):
            plain = "".join(segment.text for segment in row)
            rows.append(TextRow(row, plain, self._place))
            self.rows.append(plain)
            self._place += len(plain) + 1
        return rows

    def say(self, words: str, style: Style = PLAIN) -> None:
        """Add a text of one style, wrapped at words."""
        self.text([Segment(words, style)])

    def text(self, segments: Sequence[Segment], filling: Style | None = None) -> None:
        """Add a text wrapped at words; with a filling, cut at the width as code is, and filled to the right."""
        room = self.room
        for row in self.take(segments):
            for start, end in fill(row.plain, room) if filling is None else fold(row.plain, room):
                shown, plain = cut(row.segments, start, end), row.plain[start:end]
                if filling is not None and (missing := room - cell_len(plain)) > 0:
                    shown.append(Segment(" " * missing, filling))
                self.raw(shown, (Run(0, row.place + start, plain),))
