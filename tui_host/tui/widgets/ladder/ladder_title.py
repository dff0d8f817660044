"""What the line above the ladder says: how much there is, where one is in it, and the filter."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len

from tui_host.capture.visible import line
from tui_host.tui.glyphs import UNICODE, Glyphs
from tui_host.tui.widgets.pages.detail_page import cut

HOST_COLUMN = 11
"""The cell in which the host's line stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What the line says.

    Attributes:
        llm: Rows in the LLM lane of the turn, but for those of which nothing was captured.
        mcp: Rows in the MCP lane of it.
        turn: The turn of the selected row; None if there is none.
        following: What matters most of the newest rows is the selected one, and will be.
        new_below: Rows that came since the person moved; while following, those below what is seen.
        live: More may come.
        filter: The filter in force.
        kept: Rows that it keeps.
        looking: It may keep more of those that are there.
        rows: Of how many.
    """

    llm: int = 0
    mcp: int = 0
    turn: int | None = None
    following: bool = True
    new_below: int = 0
    live: bool = True
    filter: str = ""
    kept: int = 0
    looking: bool = False
    rows: int = 0


def heading_text(heading: Heading, width: int, glyphs: Glyphs = UNICODE) -> str:
    """The line in `width` cells; what does not fit is left out from the left of its right part."""
    rule, tee = glyphs.box[4], glyphs.cross[1]
    left = f" LLM {heading.llm} "
    left = left + rule * max(1, HOST_COLUMN - len(left)) + f"{tee}{rule * 2} MCP {heading.mcp} "
    kept = f"{heading.kept:,} of {heading.rows:,}{f' {glyphs.more}' * heading.looking}"
    words: list[str] = []
    if heading.turn is not None:
        words.append(f"turn {heading.turn}" if heading.turn else "connections")
    if heading.following and heading.live:
        words.append("following")
    if heading.new_below:
        words.append(f"{heading.new_below:,} {'' if heading.following else 'new '}below (G)")
    if heading.filter:
        words += [f"/ {cut(line(heading.filter, 60), 24, glyphs.more)}", kept, "esc clears"]
    else:
        words.append("/ filter")
    while words:
        right = f" {f' {glyphs.dot} '.join(words)} "
        room = width - cell_len(left) - cell_len(right)
        if room >= 1:
            return left + rule * room + right
        words.pop(0)
    if heading.filter:
        left = f" {kept} {glyphs.dot} esc clears"
    return cut(left, width, glyphs.more)
