"""What is selected in the ladder: whole rows, which stay selected wherever they come to stand."""

from __future__ import annotations

from collections.abc import Callable

from tui_host.tui.widgets.ladder.line_index import LadderIndex
from tui_host.tui.widgets.lines.selection_protocol import Spot, Stretch

_WIDE = 1 << 20


class LadderSelection:
    """Selecting rows.

    Args:
        index: Their lines.
        text_of: A line as text.
    """

    is_rows = True

    def __init__(self, index: LadderIndex, text_of: Callable[[int], str]) -> None:
        self._index = index
        self._text_of = text_of

    def stretch_at(self, line: int, cell: int) -> Stretch:  # noqa: ARG002 - Selectable's
        """A row."""
        spot = self._index.spot(line)
        return (spot,), (spot + 1,)

    def cells_in(self, line: int, selected: Stretch) -> tuple[int, int] | None:
        """The whole line."""
        return (0, _WIDE) if selected[0] <= (self._index.spot(line),) < selected[1] else None

    def point_of(self, spot: Spot) -> tuple[int, int]:
        """The line of a row."""
        return min(self._index.line_at(spot[0]), max(0, len(self._index) - 1)), 0

    def word_at(self, line: int, cell: int) -> Stretch | None:  # noqa: ARG002 - Selectable's
        """A second click goes into the details."""
        return None

    text_at = word_at

    def copied(self, selected: Stretch) -> tuple[str, str]:
        """The rows as lines."""
        lines = range(self._index.line_at(selected[0][0]), self._index.line_at(selected[1][0]))
        what = f"{len(lines)} line{'s' * (len(lines) != 1)} of the list"
        return what, "\n".join(self._text_of(line) for line in lines)
