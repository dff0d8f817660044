"""What stands in an empty chat, and in the inspector's place in the first frame. Light: nothing heavy is imported here."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.content import Content
from textual.style import Style
from textual.widget import Widget
from typing_extensions import override

from tui_host.tui.suggestions import EMPTY_LIVE
from tui_host.tui.widgets.inspector.title import legend, title_line
from tui_host.tui.widgets.prompt.prompt_field import Prompt

if TYPE_CHECKING:
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
    """An inspector without a row."""

    DEFAULT_CSS = """
    FirstInspector {
        layer: above;
        width: 100%;
        height: 100%;
        background: $surface;
        color: $text-muted;
        & > .first-inspector--heading { background: $panel; color: $text-muted; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"first-inspector--heading"}

    def __init__(self, reading: str = "") -> None:
        super().__init__()
        self._reading = reading

    @override
    def render(self) -> Content:
        title = title_line(0, 0, ["? signs", "following", "/ filter"], self.size.width)
        heading = Content.styled(title, self.get_visual_style("first-inspector--heading"))
        room = max(1, self.size.width - 4)
        words = [row for part in (self._reading or EMPTY_LIVE, "", legend()) for row in Content(part).wrap(room)]
        return Content("\n").join([heading, Content(""), *(Content("  ") + row for row in words)])
