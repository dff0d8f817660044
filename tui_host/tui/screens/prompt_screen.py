"""Shows the messages of a server's prompt before they are sent. Opened for `/server:prompt`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.chat.filled_prompt import FilledPrompt
from tui_host.errors import TuiHostError
from tui_host.llm.outline import size_words
from tui_host.tui.host_mask import mask_of
from tui_host.tui.screens.page_screen import PageScreen
from tui_host.tui.widgets.pages.page_lines import PageLines
from tui_host.tui.widgets.pages.text_page import TextPage
from tui_host.tui.widgets.prompt.server_offers import Form

if TYPE_CHECKING:
    from tui_host.servers.catalog import OfferedPrompt
    from tui_host.tui.screens.main_screen import MainScreen


def open_prompt(main: MainScreen, prompt: OfferedPrompt) -> None:
    """Ask for a prompt's arguments, then show its messages."""
    title = f"Prompt {line(prompt.title or prompt.name, 80)} of {prompt.server}"

    def show(values: Mapping[str, str]) -> None:
        main.app.push_screen(PromptScreen(main, title, prompt, values))  # pyright: ignore[reportUnknownMemberType]

    if prompt.arguments:
        about, name = prompt.description, prompt.name
        main.offers.ask(
            Form(server=prompt.server, arguments=prompt.arguments, title=title, about=about, prompt=name), show
        )
    else:
        show({})


class PromptScreen(PageScreen):
    """The messages of a prompt filled in with `values`; `enter` sends them into the session of the main screen."""

    HEADING = "A server's prompt"
    AUTO_FOCUS = "PageLines"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", "send", priority=True, tooltip="send the messages"),
    ]

    def __init__(self, main: MainScreen, title: str, prompt: OfferedPrompt, values: Mapping[str, str]) -> None:
        super().__init__(title)
        self._main, self._prompt, self._values = main, prompt, values
        self._filled: FilledPrompt | None = None

    @override
    def body(self) -> Sequence[Widget]:
        lines = PageLines()
        lines.add_class("page-body")
        return [lines]

    def on_mount(self) -> None:
        self.note("asking the server…")
        self.start(self._fill())

    async def _fill(self) -> None:
        self.note(line(await self._ask(), 600))

    async def _ask(self) -> str:
        """Show the messages; returns what is said about them."""
        pool, session = self._main.host.pool, self._main.submissions.session
        if pool is None:
            return ""
        try:
            output = await pool.get_prompt(self._prompt.server, self._prompt.name, self._values, place=session.place())
        except TuiHostError as error:
            return f"The server gave no messages: {error}"
        filled = FilledPrompt(server=self._prompt.server, name=self._prompt.name, messages=output.messages)
        count = len(filled.messages)
        if not count:
            return f"The server gave no messages. {output.warning}"
        size = size_words(sum(message.content.size or 0 for message in filled.messages))
        warning = f" ! {output.warning}." if output.warning else ""
        self._filled = filled
        blocks: list[str] = []
        for item, message, role in zip(filled.items(0), filled.messages, filled.roles, strict=True):
            sent = "" if message.role == role else f", sent as {role}: no API takes these words from the model here"
            blocks.append(f"[{message.role}, from {filled.origin}{sent}]\n{item.text}")
        self.query_one(PageLines).show(TextPage("prompt", mask_of(self._main.host)("\n\n".join(blocks)), form="plain"))
        return (
            f"{count} message{'s' * (count != 1)}, {size}, from {filled.server} to {session.model}."
            f" enter sends them, escape sends nothing.{warning}"
        )

    def look(self) -> None:
        """Draw more of a long prompt."""
        self.query_one(PageLines).advance()

    def action_send(self) -> None:
        submissions = self._main.submissions
        if self._filled is None:
            return
        if not submissions.may_send:
            submissions.explain_refusal()
            return
        self.action_leave()
        submissions.send("", filled=self._filled)
