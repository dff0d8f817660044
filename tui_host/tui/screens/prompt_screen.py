"""Shows the messages of a server's prompt before they are sent. Opened for `/server:prompt`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.chat.filled_prompt import FilledPrompt
from tui_host.errors import TuiHostError
from tui_host.llm.outline import size_words
from tui_host.tui.host_mask import mask_of
from tui_host.tui.screens.page_screen import PageScreen
from tui_host.tui.widgets.details.detail_view import PageLines
from tui_host.tui.widgets.pages.text_page import TextPage
from tui_host.tui.widgets.prompt.server_offers import Form

if TYPE_CHECKING:
    from tui_host.servers.catalog import OfferedPrompt
    from tui_host.tui.screens.main_screen import MainScreen


def open_prompt(main: MainScreen, prompt: OfferedPrompt) -> None:
    """Ask for a prompt's arguments, then show its messages."""

    def show(values: Mapping[str, str]) -> None:
        main.app.push_screen(PromptScreen(main, prompt, values))  # pyright: ignore[reportUnknownMemberType]

    if not prompt.arguments:
        show({})
        return
    form = Form(
        server=prompt.server,
        arguments=prompt.arguments,
        title=f"Prompt {line(prompt.title or prompt.name, 80)} of {prompt.server}",
        about=prompt.description,
        prompt=prompt.name,
    )
    main.offers.ask(form, show)


class PromptScreen(PageScreen):
    """The messages of a filled-in prompt; `enter` sends them.

    Args:
        main: The main screen, whose session gets the messages.
        prompt: The prompt.
        values: The arguments by name.
    """

    HEADING = "Prompt"
    PLACE = "Filled prompt"
    AUTO_FOCUS = "PageLines"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "send", show=False, priority=True)]
    DEFAULT_CSS = "PromptScreen > #prompt-note { height: auto; max-height: 4; padding: 0 1; color: $text-muted; }"

    def __init__(self, main: MainScreen, prompt: OfferedPrompt, values: Mapping[str, str]) -> None:
        super().__init__()
        self._main = main
        self._prompt = prompt
        self._values = values
        self._filled: FilledPrompt | None = None

    @override
    def body(self) -> Sequence[Widget]:
        lines = PageLines()
        lines.add_class("page-body")
        return [Static(id="prompt-note", markup=False), lines]

    def on_mount(self) -> None:
        self.say(f"Prompt {line(self._prompt.title or self._prompt.name, 80)} of {self._prompt.server}")
        self._note("asking the server…")
        self.start(self._fill())

    async def _fill(self) -> None:
        pool, session = self._main.host.pool, self._main.submissions.session
        if pool is None:
            return
        try:
            output = await pool.get_prompt(self._prompt.server, self._prompt.name, self._values, place=session.place())
        except TuiHostError as error:
            self._note(f"The server gave no messages: {error}")
            return
        filled = FilledPrompt(server=self._prompt.server, name=self._prompt.name, messages=output.messages)
        if not filled.messages:
            self._note(f"The server gave no messages. {output.warning}")
            return
        size = sum(message.content.size or 0 for message in filled.messages)
        count = len(filled.messages)
        warning = f" ! {output.warning}." if output.warning else ""
        self._note(
            f"{count} message{'s' * (count != 1)}, {size_words(size)}, from {filled.server} to {session.model}."
            f" enter sends them, escape sends nothing.{warning}"
        )
        self._filled = filled
        mask = mask_of(self._main.host)
        self.query_one(PageLines).show(TextPage("prompt", mask(preview_of(filled)), form="plain"))

    def _note(self, words: str) -> None:
        self.query_one("#prompt-note", Static).update(Content(line(words, 600)))

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


def preview_of(filled: FilledPrompt) -> str:
    """Return the messages as text, each below its role and where it comes from."""
    blocks: list[str] = []
    for item, message, role in zip(filled.items(0), filled.messages, filled.roles, strict=True):
        sent = "" if message.role == role else f", sent as {role}: no API takes these words from the model here"
        blocks.append(f"[{message.role}, from {filled.origin}{sent}]\n{item.text}")
    return "\n\n".join(blocks)
