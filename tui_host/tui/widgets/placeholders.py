"""What stands in an empty chat, and in the inspector's place in the first frame. Light: nothing heavy is imported here."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual import events
from textual.content import Content
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget
from typing_extensions import override

from tui_host.tui.suggestions import EMPTY_LIVE
from tui_host.tui.widgets.inspector.title import legend, title_line
from tui_host.tui.widgets.prompt.prompt_field import Prompt

if TYPE_CHECKING:
    from rich.style import Style as RichStyle

    from tui_host.tui.suggestions import Offers

REPAIR = "f3 shows messages and standard error, and reconnects."


class EmptyChat(Widget):
    """Covers a chat without messages: questions with their keys, what failed, and advice. A click on a question asks it."""

    DEFAULT_CSS = """
    EmptyChat { layer: above; width: 100%; height: 100%; padding: 1 2 0 1; background: $surface; color: $text-muted; }
    """

    def __init__(self, offers: Offers) -> None:
        super().__init__()
        self._offers = offers

    def show(self, offers: Offers) -> None:
        if offers != self._offers:
            self._offers = offers
            self.refresh()

    @override
    def render(self) -> Content:
        offers = self._offers
        lines: list[Content] = []
        for key, text in offers.questions:
            question = Content.styled(text, "$foreground").stylize(Style.from_meta({"ask": text}))
            lines.append(Content.assemble((f"{key}  ", "$text-primary"), question))
        if offers.questions:
            lines.append(Content(""))
        lines += [Content.assemble(("✗ ", "bold $text-error"), (words, "$foreground")) for words in offers.failures]
        if offers.failures:
            lines += [Content(REPAIR), Content("")]
        return Content("\n").join([*lines, *map(Content, offers.lines)])

    def on_click(self, event: events.Click) -> None:
        question = event.style.meta.get("ask")
        if isinstance(question, str):
            self.post_message(Prompt.QuickPicked(question))


class FirstInspector(Widget):
    """Draws an inspector without a row, until the inspector, its child, covers it. By lines: a content takes 10 ms longer."""

    DEFAULT_CSS = """
    FirstInspector {
        border-left: solid $panel;
        background: $surface;
        color: $foreground;
        & > .first-inspector--heading { background: $panel; color: $text-muted; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"first-inspector--heading"}

    def __init__(self, reading: str, *, id: str) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._reading = reading

    @cached_property
    def _ink(self) -> RichStyle:
        return self.rich_style  # computed at each access, which for each line takes longer than all else here

    @override
    def render_line(self, y: int) -> Strip:
        width, style = self.size.width, self._ink
        words = ["", "", *legend(self._reading or EMPTY_LIVE, width).splitlines()]
        text = words[y] if y < len(words) else ""
        if not y:
            text = title_line(0, 0, ["? signs", "following", "/ filter"], width)
            style = self.get_component_rich_style("first-inspector--heading")
        return Strip([Segment(text, style)]).adjust_cell_length(width, style)
