"""What stands in an empty chat. Light: the first frame shows it, and nothing heavy is imported here."""

from __future__ import annotations

from textual import events
from textual.content import Content
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget
from typing_extensions import override

from tui_host.tui.keys import key_of
from tui_host.tui.suggestions import Offers
from tui_host.tui.widgets.prompt.prompt_field import Prompt


class EmptyChat(Widget):
    """Covers a chat without messages: questions with their keys, what failed, and advice. A click on a question asks it."""

    DEFAULT_CSS = """
    EmptyChat { layer: above; width: 100%; height: 100%; padding: 1 2 0 1; background: $surface; color: $text-muted; }
    """

    offers: reactive[Offers] = reactive(Offers())

    @override
    def render(self) -> Content:
        offers = self.offers
        lines: list[Content] = []
        for key, text in offers.questions:
            question = Content.styled(text, "$foreground").stylize(Style.from_meta({"ask": text}))
            lines.append(Content.assemble((f"{key}  ", "$text-primary"), question))
        if offers.questions:
            lines.append(Content(""))
        lines += [Content.assemble(("✗ ", "bold $text-error"), (words, "$foreground")) for words in offers.failures]
        if offers.failures:
            words = f"{key_of('servers')} shows messages and standard error, and reconnects."
            lines += [Content(words), Content("")]
        return Content("\n").join([*lines, *map(Content, offers.lines)])

    def on_click(self, event: events.Click) -> None:
        question = event.style.meta.get("ask")
        if isinstance(question, str):
            self.post_message(Prompt.QuickPicked(question))
