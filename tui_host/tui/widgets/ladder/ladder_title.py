"""The ladder's title line, and its words."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text
from textual.widget import Widget
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.tui.text_width import clip

_SIGNS = "? signs"
HOST_COLUMN = 11
"""The cell in which the host's line stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """The values in the title line."""

    llm: int = 0  # captured rows in the LLM lane of the turn
    mcp: int = 0  # captured rows in the MCP lane of the turn
    turn: int | None = None  # the turn of the selected row; None without a selection
    following: bool = True  # whether the newest row of the turn stays selected
    new_below: int = 0  # rows added since the person moved; while following, rows below the visible part
    live: bool = True  # whether more rows may come
    filter: str = ""  # the filter in force
    kept: int = 0  # the number of matching rows
    looking: bool = False  # whether more of the existing rows may match
    clears: bool = True  # whether `escape` clears the filter from where the focus is
    rows: int = 0  # the number of all rows
    look: int = 0  # how many rows deserve a look
    has_focus: bool = False  # whether keys go to the list


def heading_text(heading: Heading, width: int) -> str:
    """Return the title in `width` cells; words at the right give way first."""
    rule, tee = "─", "┬"
    left = f"{'>' if heading.has_focus else ' '}{heading.llm} LLM "
    left = left + rule * max(1, HOST_COLUMN - len(left)) + f"{tee}{rule * 2} {heading.mcp} MCP "
    kept = f"{heading.kept:,} of {heading.rows:,}{' …' * heading.looking}"
    words: list[str] = []
    if heading.turn is not None:
        words.append(f"turn {heading.turn}" if heading.turn else "connections")
    if heading.following and heading.live:
        words.append("following")
    if heading.look:
        words.append(f"{heading.look:,} to look at (n)")
    if heading.new_below:
        words.append(f"{heading.new_below:,} {'' if heading.following else 'new '}below (G)")
    if heading.filter:
        words += [
            f"/ {clip(line(heading.filter, 60), 24)}",
            kept,
            "esc clears" if heading.clears else "/ again",
        ]
    else:
        words.append("/ filter")
    if not heading.filter and cell_len(left) + cell_len(f" {' · '.join([*words, _SIGNS])} ") < width:
        words.append(_SIGNS)
    while words:
        right = f" {' · '.join(words)} "
        room = width - cell_len(left) - cell_len(right)
        if room >= 1:
            return left + rule * room + right
        words.pop(0)
    if heading.filter:
        left = f" {kept} · {'esc clears' if heading.clears else '/ again'}"
    return clip(left, width)


class LadderHeader(Widget):
    """The title line of the list."""

    DEFAULT_CSS = """
    LadderHeader { height: 1; background: $panel; color: $text-muted; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._heading = Heading()

    def show(self, heading: Heading) -> None:
        """Set the values; paints only changes."""
        if heading != self._heading:
            self._heading = heading
            self.refresh()

    @property
    def text(self) -> str:
        return heading_text(self._heading, self.size.width)

    @override
    def render(self) -> Text:
        return Text(self.text, no_wrap=True, end="")
