"""The title line of the ladder, and the filter's input field."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.tui.glyphs import UNICODE, Glyphs
from tui_host.tui.widgets.key_order import KeysInOrder
from tui_host.tui.widgets.pages.detail_page import cut

HOST_COLUMN = 11
"""The cell in which the host's line stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """The values in the title line.

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
    """Return the title in `width` cells; words at the right give way first."""
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


class LadderHeader(Widget):
    """The line, drawn."""

    DEFAULT_CSS = """
    LadderHeader { height: 1; background: $panel; color: $text-muted; }
    """

    def __init__(self, *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._heading = Heading()

    def show(self, heading: Heading) -> None:
        """Show other values; paint only changes."""
        if heading != self._heading:
            self._heading = heading
            self.refresh()

    @property
    def text(self) -> str:
        """The text of the title."""
        return heading_text(self._heading, self.size.width, self._glyphs)

    @override
    def render(self) -> Text:
        return Text(self.text, no_wrap=True, end="")


class FilterInput(KeysInOrder, Input):
    """Where the filter is typed. `enter` goes back to the rows, `escape` takes the filter away."""

    DEFAULT_CSS = """
    FilterInput { display: none; }
    FilterInput.-open { display: block; }
    """

    class Left(Message):
        """The person is done; `cleared` if the filter is to go."""

        def __init__(self, *, cleared: bool) -> None:
            super().__init__()
            self.cleared = cleared

    def __init__(self) -> None:
        super().__init__(
            placeholder="words, or tool: method: id: dir: kind: status:", compact=True, select_on_focus=False
        )

    def open(self, text: str) -> None:
        """Let the person type."""
        self.disabled = False
        self.add_class("-open")
        self.value = text
        self.focus()

    def close(self) -> None:
        """Be out of the way, and out of the focus chain."""
        self.remove_class("-open")
        self.disabled = True

    def key_escape(self, event: events.Key) -> None:
        """Leave without a filter."""
        event.stop()
        self.value = ""
        self.post_message(self.Left(cleared=True))

    def key_enter(self, event: events.Key) -> None:
        """Go to the rows, and keep the filter."""
        event.stop()
        event.prevent_default()
        self.post_message(self.Left(cleared=False))

    def key_down(self, event: events.Key) -> None:
        """Go to the rows, and keep the filter."""
        event.stop()
        self.post_message(self.Left(cleared=False))
