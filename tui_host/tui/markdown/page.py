"""Lines in the making: a width, a stack of what stands before each line, and where each line begins in its block's text."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui_host.tui.markdown.inks import Inks
from tui_host.tui.markdown.wrap import break_lines, cut, fill, fold


@dataclass(frozen=True, slots=True)
class Line:
    """One line.

    Attributes:
        strip: What is drawn.
        place: Number of its first own character in the text of its block, whatever the width; -1 for a line without text.
    """

    strip: Strip
    place: int = -1


class Page:
    """Takes texts, gives lines.

    Attributes:
        width: Cells of a whole line, prefixes included.
        inks: Styles and marks.
        lines: What has been made.
    """

    def __init__(self, width: int, inks: Inks) -> None:
        self.width = width
        self.inks = inks
        self.lines: list[Line] = []
        self._rest: list[Segment] = []
        self._first: list[Segment] | None = None
        self._place = 0

    @property
    def room(self) -> int:
        """Cells that a text has beside the prefixes, at least one."""
        return max(1, self.width - sum(cell_len(segment.text) for segment in self._rest))

    @contextmanager
    def inside(self, first: Segment, rest: Segment) -> Generator[None]:
        """Put `first` before the next line, and `rest`, as wide, before the lines after it."""
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
        """An empty line, with its prefixes."""
        self.lines.append(Line(Strip(self._prefix())))

    def raw(self, segments: Sequence[Segment]) -> None:
        """A line that fits already and has no text of its own, such as a rule."""
        self.lines.append(Line(Strip([*self._prefix(), *segments])))

    def text(self, segments: Sequence[Segment]) -> None:
        """A text that is wrapped at words; newlines in it begin new lines."""
        for row in break_lines(segments):
            plain = "".join(segment.text for segment in row)
            for start, end in fill(plain, self.room):
                self._add(cut(row, start, end), self._place + start)
            self._place += len(plain) + 1

    def code(self, segments: Sequence[Segment], filling: Style) -> None:
        """A text that keeps its spaces and is cut where the line ends, filled to the right in one style."""
        room = self.room
        for row in break_lines(segments):
            plain = "".join(segment.text for segment in row)
            for start, end in fold(plain, room):
                piece = cut(row, start, end)
                missing = room - cell_len(plain[start:end])
                if missing > 0:
                    piece.append(Segment(" " * missing, filling))
                self._add(piece, self._place + start)
            self._place += len(plain) + 1

    def _add(self, segments: list[Segment], place: int) -> None:
        self.lines.append(Line(Strip([*self._prefix(), *segments]), place))
