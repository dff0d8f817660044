"""Shows the messages of a server's prompt before they are sent. Opened for `/server:prompt`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from tui_host.chat.opening import Opening, filled_prompt, sent_roles
from tui_host.errors import JSON, TuiHostError
from tui_host.llm.outline import size_words
from tui_host.tui.screens.page_screen import PageScreen
from tui_host.tui.widgets.pages.page_lines import PageLines
from tui_host.tui.widgets.pages.text_page import TextPage
from tui_host.tui.widgets.prompt.server_offers import form_of

if TYPE_CHECKING:
    from tui_host.servers.catalog import OfferedPrompt
    from tui_host.tui.screens.main_screen import MainScreen


def open_prompt(main: MainScreen, prompt: OfferedPrompt, values: Mapping[str, JSON] | None = None) -> None:
    """Ask for a prompt's arguments, if it has any and they are not given, then show its messages."""
    if values is None and prompt.arguments:
        main.offers.ask(form_of(prompt.server, prompt), partial(open_prompt, main, prompt))
    else:
        main.app.push_screen(PromptScreen(main, prompt, values or {}))  # pyright: ignore[reportUnknownMemberType]


class PromptScreen(PageScreen):
    """The messages of a prompt filled in with `values`; `enter` sends them into the session of the main screen."""

    HEADING = "A server's prompt"
    AUTO_FOCUS = "PageLines"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", "send", tooltip="send the messages", priority=True),
    ]

    def __init__(self, main: MainScreen, prompt: OfferedPrompt, values: Mapping[str, JSON]) -> None:
        self._view = PageLines()
        self.look = self._view.advance  # called at the screen's rate
        super().__init__(form_of(prompt.server, prompt).title, body=[self._view])
        self._main, self._prompt, self._values = main, prompt, {name: str(value) for name, value in values.items()}
        self._filled: Opening | None = None

    def on_mount(self) -> None:
        self.note("asking the server…")
        self.start(self._fill())

    async def _fill(self) -> None:
        pool, session, prompt = self._main.host.pool, self._main.submissions.session, self._prompt
        if pool is None:
            return
        try:
            output = await pool.get_prompt(prompt.server, prompt.name, self._values, place=session.place())
        except TuiHostError as error:
            self.note(f"The server gave no messages: {error}")
            return
        messages = output.messages
        count, size = len(messages), sum(message.content.size or 0 for message in messages)
        warning = f" ! {output.warning}." if output.warning else ""
        if not count:
            self.note(f"The server gave no messages.{warning}")
            return
        filled = self._filled = filled_prompt(prompt.server, prompt.name, messages)
        blocks: list[str] = []
        for item, message, role in zip(filled.opened, messages, sent_roles(messages), strict=True):
            sent = "" if message.role == role else f", sent as {role}: no API takes these words from the model here"
            blocks.append(f"[{message.role}, from {item.origin}{sent}]\n{item.text}")
        self._view.show(TextPage("prompt", self._main.host.mask("\n\n".join(blocks)), form="plain"))
        what = f"{count} message{'s' * (count != 1)}, {size_words(size)}, from {prompt.server} to {session.model}"
        self.note(f"{what}. enter sends them, escape sends nothing.{warning}")

    def action_send(self) -> None:
        if self._filled is not None and self._main.submissions.may_send():
            self.action_leave()
            self._main.host.send(self._main.submissions.session, "", filled=self._filled)
