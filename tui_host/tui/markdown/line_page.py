"""A page that is being drawn: its styles by name, its width, the prefixes of its lines, and the characters on them."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from tui_host.tui.text_width import break_lines, cut, fill, fold

NAMES = (
    "dim", "accent", "heading", "code", "address", "quote", "rule", "fence", "label",
    "keyword", "name", "string", "number", "comment", "operator", "wrong",
)  # fmt: skip
"""Styles that have a colour of their own. Strong, emphasised and struck text differ only in attributes."""

COMPONENTS = {f"ink--{name}" for name in NAMES}

CSS = """
        & > .ink--dim { color: $text-muted; }
        & > .ink--accent { color: $text-primary; }
        & > .ink--heading { color: $text-primary; text-style: bold; }
        & > .ink--code { color: $foreground; background: $foreground 12%; }
        & > .ink--address { color: $text-muted; text-style: underline; }
        & > .ink--quote { color: $text-muted; }
        & > .ink--rule { color: $foreground 40%; }
        & > .ink--fence { color: $foreground; background: $foreground 5%; }
        & > .ink--label { color: $text-muted; background: $foreground 5%; text-style: italic; }
        & > .ink--keyword { color: $text-accent; text-style: bold; }
        & > .ink--name { color: $text-primary; }
        & > .ink--string { color: $text-success; }
        & > .ink--number { color: $text-warning; }
        & > .ink--comment { color: $text-muted; text-style: italic; }
        & > .ink--operator { color: $text-secondary; }
        & > .ink--wrong { color: $text-error; text-style: bold; }
"""
"""CSS rules for a widget's own style sheet; put them inside the widget's block."""

FILLED = {"code", "fence", "label"}
"""Styles that have a background of their own."""


@dataclass(frozen=True, slots=True)
class Inks:
    """Styles by name. Without styles, everything is drawn plain."""

    styles: Mapping[str, Style] = field(default_factory=dict[str, Style])

    def __getitem__(self, name: str) -> Style:
        return self.styles.get(name, Style.null())


STRONG = Style(bold=True)
EMPHASIS = Style(italic=True)
STRUCK = Style(strike=True)
UNDERLINED = Style(underline=True)


def inks_of(widget: Widget, known: Inks | None = None) -> Inks:
    """Return the inks of a widget with `CSS` in its style sheet; `known` itself if nothing changed."""
    styles = {name: _ink(widget, name) for name in NAMES}
    if known is not None and known.styles == styles:
        return known
    return Inks(styles)


def _ink(widget: Widget, name: str) -> Style:
    """Return a component's whole style, since partial styles lack automatic colours; with a background only if filled."""
    style = widget.get_component_rich_style(f"ink--{name}")
    return Style(
        color=style.color,
        bgcolor=style.bgcolor if name in FILLED else None,
        bold=style.bold,
        dim=style.dim,
        italic=style.italic,
        underline=style.underline,
        strike=style.strike,
        reverse=style.reverse,
    )


class Run(NamedTuple):
    """Consecutive characters of a piece on a line."""

    x: int  # the cell in which the first character is drawn
    place: int  # number of the first character in the text of the piece, whatever the width
    text: str  # the characters


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """One drawn line.

    Attributes:
        runs: The characters of the piece on the line, from left to right; none on a line without text.
    """

    strip: Strip  # the drawn line
    runs: tuple[Run, ...] = ()
    is_label: bool = False  # whether the line names the language of the code below


class RunRow(NamedTuple):
    """A text up to a hard line break."""

    segments: list[Segment]  # the text with styles
    plain: str  # the text without styles
    place: int  # number of the first character in the text of the piece, whatever the width


class MarkdownPage:
    """Draws texts as lines."""

    def __init__(self, width: int, inks: Inks) -> None:
        self.width = width  # cells of a whole line, prefixes included
        self.inks = inks  # styles and marks
        self.lines: list[DrawnLine] = []  # the lines made so far
        self.rows: list[str] = []  # the texts so far, up to hard line breaks
        self._rest: list[Segment] = []
        self._first: list[Segment] | None = None
        self._place = 0

    @property
    def room(self) -> int:
        """Number of cells for text beside the prefixes, at least one."""
        return max(1, self.width - self._indent)

    @property
    def _indent(self) -> int:
        return sum(cell_len(segment.text) for segment in self._rest)

    @contextmanager
    def inside(self, first: Segment, rest: Segment) -> Generator[None]:
        """Put `first` before the next line, and `rest`, of equal width, before the following lines."""
        before, begun = self._rest, self._first
        self._first = [*(before if begun is None else begun), first]
        self._rest = [*before, rest]
        yield
        self._rest = before
        self._first = begun if self._is_fresh() else None

    def _is_fresh(self) -> bool:
        """Whether nothing was drawn since the last prefix was put."""
        return self._first is not None

    def _prefix(self) -> list[Segment]:
        prefix = self._rest if self._first is None else self._first
        self._first = None
        return prefix

    def blank(self) -> None:
        """Add an empty line with prefixes."""
        self.lines.append(DrawnLine(Strip(self._prefix())))

    def raw(self, segments: Sequence[Segment], runs: Sequence[Run] = (), *, is_label: bool = False) -> None:
        """Add a finished line; `runs` locate the block's own text, counted from behind the prefixes."""
        indent = self._indent if runs else 0
        moved = tuple(run._replace(x=run.x + indent) for run in runs)
        self.lines.append(DrawnLine(Strip([*self._prefix(), *segments]), moved, is_label))

    def take(self, segments: Sequence[Segment]) -> list[RunRow]:
        """Add a text to the texts of the piece, and return its visible rows for drawing."""
        rows: list[RunRow] = []
        for row in break_lines(segments):
            plain = "".join(segment.text for segment in row)
            rows.append(RunRow(row, plain, self._place))
            self.rows.append(plain)
            self._place += len(plain) + 1
        return rows

    def text(self, segments: Sequence[Segment]) -> None:
        """Add a text wrapped at words. Newlines begin new lines."""
        for row in self.take(segments):
            for start, end in fill(row.plain, self.room):
                self._add(cut(row.segments, start, end), row.place + start, row.plain[start:end])

    def code(self, segments: Sequence[Segment], filling: Style) -> None:
        """Add a text that keeps spaces, cut at the width and filled to the right."""
        room = self.room
        for row in self.take(segments):
            for start, end in fold(row.plain, room):
                piece = cut(row.segments, start, end)
                missing = room - cell_len(row.plain[start:end])
                if missing > 0:
                    piece.append(Segment(" " * missing, filling))
                self._add(piece, row.place + start, row.plain[start:end])

    def _add(self, segments: list[Segment], place: int, text: str) -> None:
        run = Run(self._indent, place, text)
        self.lines.append(DrawnLine(Strip([*self._prefix(), *segments]), (run,)))
