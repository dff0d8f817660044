"""What stands in an empty chat. Light: the first frame shows it, and nothing heavy is imported here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.content import Content
from textual.style import Style
from textual.widget import Widget
from typing_extensions import override

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
