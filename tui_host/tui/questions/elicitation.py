"""The panels for what servers ask: a form, a page to visit, a login."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from typing_extensions import override

from tui_host.capture.visible import line, visible
from tui_host.chat.schema_form import fields_of
from tui_host.errors import JSON
from tui_host.servers.server_questions import Elicitation, ElicitationAnswer, Login
from tui_host.tui.host_mask import mask_of
from tui_host.tui.questions.addresses import address_of, open_in_browser
from tui_host.tui.questions.form import Finished, FormView, TextField
from tui_host.tui.questions.panel import AskBody, AskButton, QuestionPanel, paragraphs

if TYPE_CHECKING:
    from tui_host.host.host import Host
    from tui_host.tui.questions.asks import Asks, OpenAsk

TEXT_CHARACTERS = 20_000
"""Largest number of characters of a server's text to show."""
GIVEN_UP = "Its server took this question back: nothing was sent, and nothing can be. What you wrote stays until you press escape."
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n){2,}")


class AskPanel(QuestionPanel):
    """Shows one question of a server, and gives the person's answer to it. Base of the panels for each kind of question."""

    STAYS: ClassVar[bool] = True  # with what was written in it, once its server took the question back
    KEYS: ClassVar[str] = "tab to Send, enter sends   ctrl+d declines   escape cancels"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,shift+tab", "", tooltip="go to the next field or button; letters are text in the fields"),
        Binding("enter", "", tooltip="in a field: go to the next one; on a button: press it"),
        Binding("ctrl+d", "refuse('decline')", "decline", priority=True, tooltip="decline"),
        Binding("escape", "refuse('cancel')", "cancel", priority=True, tooltip="close the question without an answer"),
        Binding("pageup", "scroll(-1, 'page')", tooltip="scroll"),
        Binding("pagedown", "scroll(1, 'page')"),
        Binding("up", "scroll(-1)", key_display="up down, space", tooltip="move in a list of values, and choose"),
        Binding("down", "scroll(1)"),
    ]
    DEFAULT_CSS = """
    AskPanel > Horizontal { height: 1; }
    """

    def __init__(self, ask: OpenAsk, asks: Asks, host: Host) -> None:
        super().__init__()
        self.ask, self.host, self._asks = ask, host, asks
        self._words = ""
        self._is_declining_all = False
        self._is_given_up = False  # and said to be
        self._is_left = False
        self._body = AskBody()

    @override
    def compose(self) -> ComposeResult:
        self.border_title = Content(f"{line(self.ask.server, 30)} {self.ask.words}")
        with self._body:
            yield from self.body()
        yield self.message
        with Horizontal():
            yield from self.buttons()
            yield AskButton("Decline all", self._decline_each)
        yield self.keys

    def body(self) -> Sequence[Widget]:
        raise NotImplementedError

    def buttons(self) -> Sequence[AskButton]:
        raise NotImplementedError

    def reason(self, message: str, mistake: str = "") -> Widget:
        """Return the server's words about its question: secrets masked, one blank line at a time, cut with the length of the rest."""
        mask, further = mask_of(self.host), len(message) - TEXT_CHARACTERS
        words = visible(_BLANK_LINES.sub("\n\n", mask(message[:TEXT_CHARACTERS]).strip()))
        parts = [words or "(The server does not say why.)"]
        if further > 0:
            parts.append(f"… and {further:,} more characters")
        if mistake:
            parts.append(f"! {visible(mask(mistake[:TEXT_CHARACTERS]).strip())}")
        return Static(Content("\n".join(parts)), markup=False)

    # From appearing to the answer.

    @property
    @override
    def scrolled(self) -> Widget:
        return self._body

    @property
    def stays(self) -> bool:
        # Though nobody waits: keys meant for it must not reach the prompt.
        return self.STAYS and self.ask.is_withdrawn and not self._is_left

    @override
    def look(self) -> None:
        super().look()
        if self.ask.is_withdrawn and not self._is_given_up:
            self._is_given_up = True
            self.border_title = Content(f"{line(self.ask.server, 30)} waits no more")
            self.keys.refresh(layout=True)
            self.say(GIVEN_UP)

    @override
    def corner(self, *, is_ready: bool) -> str:
        behind = self._asks.behind(self.ask)
        count = f"1 of {behind + 1}   " if behind > 0 else ""
        return f"{count}{super().corner(is_ready=is_ready)}"

    @override
    def message_rows(self, width: int) -> Sequence[Content]:
        return paragraphs(line(self._words, 600), width)

    @override
    def key_rows(self, width: int) -> Sequence[Content]:
        return paragraphs("escape closes   ctrl+c copies" if self._is_given_up else self.KEYS, width)

    def say(self, words: str) -> None:
        """Show a text above the buttons, with the field that has the focus still in view; nothing for an empty text."""
        self._words = words
        self.message.refresh(layout=True)
        focused = self.screen.focused
        if focused is not None and self._body in focused.ancestors:
            self._keep_in_view(focused)

    def _keep_in_view(self, part: Widget) -> None:
        """Scroll to a part once there is room for the other parts."""
        self.call_after_refresh(self.share_room)
        self.call_after_refresh(self._body.scroll_to_widget, part, animate=False)

    def on_descendant_focus(self) -> None:
        self.hint, self._is_declining_all = "", False

    def on_ask_button_pressed(self, event: AskButton.Pressed) -> None:
        event.stop()
        if self.is_armed and self.ask.is_withdrawn:
            self.say(GIVEN_UP)
        elif self.is_armed:
            self.say("")
            event.action()

    def on_finished(self, event: Finished) -> None:
        """After the last field: say how to send."""
        event.stop()
        self.say("tab goes to the buttons; enter there sends")

    def _decline_each(self) -> None:
        """Decline all questions of the server at the second press; the first press says so, and begins a new quiet period."""
        if self._is_declining_all:
            self._asks.decline_all(self.ask)
            return
        self._is_declining_all = True
        server = line(self.ask.server, 40)
        self.say(f"Press it again to decline this and all further questions of {server}, until it is connected again.")
        self.look_again()

    def action_refuse(self, how: Literal["decline", "cancel"]) -> None:
        if self.is_armed:
            self._is_left = True
            self.ask.refuse(how)  # which nobody hears if the question was taken back

    def action_scroll(self, step: int, unit: str = "line") -> None:
        lines = step * max(1, self._body.size.height - 1) if unit == "page" else step
        self._body.scroll_relative(y=lines, animate=False)


class FormPanel(AskPanel):
    """Asks to fill in a form."""

    def __init__(self, ask: OpenAsk, asked: Elicitation, asks: Asks, host: Host) -> None:
        super().__init__(ask, asks, host)
        self._asked = asked
        self._form = FormView(fields_of(asked.schema), warns=True)
        self._seen: set[Widget] = set()

    @override
    def body(self) -> Sequence[Widget]:
        return [self.reason(self._asked.message, self._asked.mistake), self._form]

    @override
    def buttons(self) -> Sequence[AskButton]:
        return [AskButton("Send", self._send)]

    @property
    @override
    def first_field(self) -> Widget:
        return self._form.rows[0].input if self._form.rows else self

    @override
    def look(self) -> None:
        super().look()
        shown = self.scrolled.content_region
        self._seen |= {row for row in self._form.rows if row.is_attached and row.input.region.overlaps(shown)}

    def _send(self) -> None:
        content = self._form.content()
        if content is None:
            self.say("Correct the field that is marked, then send.")
            return
        for row in self._form.rows:
            if row not in self._seen:
                self.say("This field was not shown yet. Read it, then press enter on Send again.")
                self._keep_in_view(row)
                return
        self.run_worker(self._check(content))

    async def _check(self, content: Mapping[str, JSON]) -> None:
        """Check limits, formats and patterns, which may take for ever, in a process of their own; then send."""
        misfits = await self.host.misfits(self._asked.schema, content)
        rows = {row.field.name: row for row in self._form.rows}
        for misfit in misfits or ():
            name, _, words = misfit.partition(": ")
            if name in rows:
                rows[name].complain(words)
        if misfits:
            self.say(f"This does not fit: {'; '.join(misfits)}")
        else:
            self.ask.give(ElicitationAnswer(action="accept", content=content))


class AddressPanel(AskPanel):
    """Shows an address with its host, opens it by a key, and asks to visit it or to log in there."""

    STAYS = False  # it closes because the browser is back, or the server saw the visit
    KEYS = "o opens   ctrl+c copies   tab to the buttons, enter goes on   ctrl+d declines   escape cancels"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open", "open", tooltip="open the address of a page in the browser")
    ]

    def __init__(self, ask: OpenAsk, asked: Elicitation | Login, asks: Asks, host: Host) -> None:
        super().__init__(ask, asks, host)
        self._asked = asked
        self._address = address_of(asked.url)
        self._pasted = TextField()

    @override
    def body(self) -> Sequence[Widget]:
        asked, address = self._asked, self._address
        rows = [
            Content.assemble("host        ", (line(address.host, 200) or "(none)", "bold")),
            Content(f"address     {visible(address.text, newlines=False)}"),
            *(Content.styled(f"! {line(note, 300)}", "bold $text-warning") for note in address.notes),
        ]
        shown = Static(Content("\n").join(rows), markup=False)
        if isinstance(asked, Elicitation):
            return [self.reason(asked.message), shown]
        words = (
            "The browser's answer arrives here by itself. If the browser runs on another machine, paste the address that it shows"
            f" at the end here; the address begins with {line(asked.redirect, 200)}"
        )
        reason = self.reason(asked.reason or "The server wants to know who you are.")
        return [reason, shown, Static(Content(words), markup=False), self._pasted]

    @override
    def buttons(self) -> Sequence[AskButton]:
        openers = [AskButton("Open (o)", self.action_open)] if self._address.may_open else []
        if isinstance(self._asked, Login):
            return [*openers, AskButton("Use address", self._use)]
        label = "Done, call again" if self._asked.is_retry else "Done, go on"
        return [*openers, AskButton(label, lambda: self.ask.give(ElicitationAnswer(action="accept")))]

    @property
    def current_source(self) -> tuple[str, str]:
        return "address", self._address.text

    def action_open(self) -> None:
        if self.is_armed and self._address.may_open:
            self.run_worker(self._open())
        elif self.is_armed:
            self.say("This address is not opened from here; ctrl+c copies it.")

    async def _open(self) -> None:
        words = "No browser was found here. ctrl+c copies the address; open it elsewhere."
        if await open_in_browser(self._address.text, self.host.settings.environment):
            words = f"{line(self._address.host, 60)} was opened in the browser. Come back here when you are done."
        self.say(words)

    def _use(self) -> None:
        text, redirect = self._pasted.value.strip(), getattr(self._asked, "redirect", "")
        if redirect and text.startswith(redirect):
            self.ask.give(text)
        else:
            self.say(f"The pasted address must begin with {line(redirect, 200)}")
            self._pasted.focus()
