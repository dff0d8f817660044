"""The panels for what servers ask: a form, a page to visit, a login, and sampling."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from typing_extensions import override

from tui_host.capture.visible import line, visible
from tui_host.chat.schema_form import fields_of
from tui_host.chat.session import note_turning
from tui_host.host.host import Host
from tui_host.servers.server_questions import Elicitation, ElicitationAnswer, Login, SamplingAnswer, SamplingRequest
from tui_host.tui.keys import bound, key_of
from tui_host.tui.questions.addresses import address_of, open_in_browser
from tui_host.tui.questions.asks import OpenAsk
from tui_host.tui.questions.form import FieldRow, Finished, FormView, PickField, TextField
from tui_host.tui.questions.panel import AskButton, QuestionPanel

TEXT_CHARACTERS = 20_000  # of a server's text that are shown
GIVEN_UP = "Its server took this question back: nothing was sent, and nothing can be. What you wrote stays until you press escape."
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n){2,}")


class AskPanel(QuestionPanel):
    """Shows one question of a server, and gives the person's answer to it. Base of the panels for each kind of question."""

    STAYS: ClassVar[bool] = True  # with what was written in it, once its server took the question back
    KEYS: ClassVar[Sequence[tuple[str, str]]] = (("tab", "to Send, enter sends"),)  # those that lead on, by name
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,shift+tab", "", tooltip="go to the next field or button; letters are text in the fields"),
        Binding("enter", "", tooltip="in a field: go to the next one; on a button: press it"),
        Binding("space", "", key_display="up down, space", tooltip="move in a list of values, and choose"),
        bound("decline", "refuse('decline')", "decline", priority=True, tooltip="decline"),
        Binding("escape", "refuse('cancel')", "cancel", priority=True, tooltip="close the question without an answer"),
    ]
    DEFAULT_CSS = """
    AskPanel > Horizontal { height: 1; }
    AskPanel > VerticalScroll { height: auto; scrollbar-size-vertical: 1; & > Static { margin-bottom: 1; } }
    """

    def __init__(
        self,
        ask: OpenAsk,
        host: Host,
        parts: Sequence[Widget],
        buttons: Sequence[AskButton],
        rows: Sequence[FieldRow] = (),
    ) -> None:
        scrolled = VerticalScroll(*parts, can_focus=False)
        all_buttons = Horizontal(*buttons, AskButton("Decline all", self._decline_all))
        super().__init__(scrolled, [scrolled, all_buttons])
        self.ask, self.host = ask, host
        self.is_left = False
        self.unseen = [*rows]  # the rows of its form whose value was not on the screen yet
        self.border_title = Content(f"{line(ask.server, 30)} {ask.words}")

    # From appearing to the answer.

    @override
    def look(self) -> None:
        server = None if self.host.pool is None else self.host.pool.servers.get(self.ask.server)
        questions = 0 if server is None else server.status.questions
        self.turn = f"1 of {questions}   " if questions > 1 else ""  # they come one by one
        super().look()
        shown = self.scrolled.content_region
        self.unseen = [row for row in self.unseen if not (row.is_attached and row.input.region.overlaps(shown))]
        if self.ask.answer.cancelled() and self.words != GIVEN_UP:
            self.border_title = Content(f"{line(self.ask.server, 30)} waits no more")
            self.say(GIVEN_UP)

    def keys(self) -> Sequence[tuple[str, str]]:
        if self.ask.answer.cancelled():
            return [("escape", "closes"), (key_of("copy"), "copies")]
        choosing = [("up down, space", "choose")] if isinstance(self.screen.focused, PickField) else []
        leading = ((key_of(name), brief) for name, brief in (*self.KEYS, ("decline", "declines")))
        return [*choosing, *leading, ("escape", "cancels")]

    def on_descendant_focus(self) -> None:
        self.hint = self.asked = ""

    def on_finished(self, event: Finished) -> None:
        event.stop()
        self.say("tab goes to the buttons; enter there sends")

    def _decline_all(self) -> None:
        server = line(self.ask.server, 40)
        words = f"Press it again to decline this and all further questions of {server}, until it is connected again."
        if self.is_again("all", words):
            note_turning(self.host.sessions.values(), self.host.settings, self.ask.server, "declined", "")
            pool = self.host.pool
            connection = None if pool is None else pool.server(self.ask.server).connection
            if connection is not None:
                connection.requests.decline_all()
            self.action_refuse("decline")

    def action_refuse(self, how: Literal["decline", "cancel"]) -> None:
        """Decline, or close without an answer: a form and a page are answered so, everything else gets none."""
        if self.is_armed:
            self.is_left = True
            self.ask.give(ElicitationAnswer(action=how) if isinstance(self.ask.asked, Elicitation) else None)


def reason(host: Host, message: str, mistake: str = "") -> Sequence[Static]:
    """Return the server's words about its question, masked and cut, one blank line at a time, and below them what the host adds."""
    mask, further = host.mask, len(message) - TEXT_CHARACTERS
    words = visible(_BLANK_LINES.sub("\n\n", mask(message[:TEXT_CHARACTERS]).strip()))
    notes = [] if words else ["(The server does not say why.)"]
    if further > 0:
        notes.append(f"… and {further:,} more characters")
    if mistake:
        notes.append(f"! {line(mask(mistake), TEXT_CHARACTERS)}")
    texts = {"of-server": words, "": "\n".join(notes)}
    return [Static(Content(text), markup=False, classes=name) for name, text in texts.items() if text]


class FormPanel(AskPanel):
    """Asks to fill in a form, or shows what goes to the person's model or to a server that asked it, as JSON to be edited."""

    def __init__(self, ask: OpenAsk, asked: Elicitation | SamplingRequest | SamplingAnswer, host: Host) -> None:
        self._asked = asked
        if isinstance(asked, Elicitation):
            self._form = FormView(fields_of(asked.schema), warns=True)
            parts, receiver = [*reason(host, asked.message, asked.mistake), self._form], ""
        else:
            is_request = isinstance(asked, SamplingRequest)
            self._form = FormView((), asked.params if is_request else asked.result, as_json=True)
            if isinstance(field := self._form.rows[0].input, TextField):
                field.move_cursor((0, 0))  # where reading begins
            parts, receiver = [self._form], f" to {(asked.model or 'the model') if is_request else ask.server}"
        button = AskButton(f"Send{receiver}", partial(self.run_worker, self._send))
        super().__init__(ask, host, parts, [button], self._form.rows)
        if isinstance(asked, Elicitation) and self._form.rows:
            self.first_field = self._form.rows[0].input

    async def _send(self) -> None:
        content = self._form.content()
        if content is None:
            self.say("Correct the field that is marked, then send.")
        elif self.unseen:
            self.say("This field was not shown yet. Read it, then go on to Send.")
            self.unseen[0].turn_to()
        elif isinstance(self._asked, Elicitation):
            # Limits, formats and patterns may take for ever: they are checked in a process of their own.
            misfits = await self.host.misfits(self._asked.schema, content)
            for row in self._form.rows:
                own = [misfit for misfit in misfits or () if misfit.startswith(f"{row.field.name}: ")]
                row.complain("; ".join(misfit.removeprefix(f"{row.field.name}: ") for misfit in own))
            if misfits:
                self.say(f"This does not fit: {'; '.join(misfits)}")
            else:
                self.ask.give(ElicitationAnswer(action="accept", content=content))
        elif isinstance(self._asked, SamplingRequest):
            self.ask.give(replace(self._asked, params=content))
        else:
            self.ask.give(SamplingAnswer(result=content))


class AddressPanel(AskPanel):
    """Shows an address with its host, opens it by a key, and asks to visit it or to log in there."""

    STAYS = False  # it closes because the browser is back, or the server saw the visit
    KEYS = (("open_page", "opens"), ("copy", "copies"), ("tab", "to the buttons, enter goes on"))
    BINDINGS: ClassVar[list[BindingType]] = [
        bound("open_page", "open", "open", tooltip="open a page's address in the browser")
    ]

    def __init__(self, ask: OpenAsk, asked: Elicitation | Login, host: Host) -> None:
        self._address = address = address_of(asked.url)
        self._redirect, self._pasted = getattr(asked, "redirect", ""), TextField()
        rows = [
            Content.assemble("host        ", (line(address.host, 200) or "(none)", "bold")),
            Content(f"address     {visible(address.text, newlines=False)}"),
            *(Content.styled(f"! {line(note, 300)}", "bold $text-warning") for note in address.notes),
        ]
        shown = Static(Content("\n").join(rows), markup=False)
        buttons = [AskButton(f"Open ({key_of('open_page')})", self.action_open)] if address.may_open else []
        if isinstance(asked, Login):
            words = (
                "The browser's answer arrives here by itself. If the browser runs on another machine, paste the address that it shows"
                f" at the end here; the address begins with {line(asked.redirect, 200)}"
            )
            why = reason(host, asked.reason or "The server wants to know who you are.")
            parts: list[Widget] = [*why, shown, Static(Content(words), markup=False), self._pasted]
            buttons.append(AskButton("Use address", self._use))
        else:
            parts = [*reason(host, asked.message), shown]
            label = "Done, call again" if asked.is_retry else "Done, go on"
            buttons.append(AskButton(label, lambda: ask.give(ElicitationAnswer(action="accept"))))
        super().__init__(ask, host, parts, buttons)

    def current_source(self) -> tuple[str, str]:
        return "address", self._address.text

    def action_open(self) -> None:
        if self.is_armed:
            self.run_worker(self._open())

    async def _open(self) -> None:
        words = f"This address is not opened from here; {key_of('copy')} copies it."
        if self._address.may_open:
            words = f"No browser was found here. {key_of('copy')} copies the address; open it elsewhere."
            if await asyncio.to_thread(open_in_browser, self._address.text, self.host.settings.environment):
                words = f"{line(self._address.host, 60)} was opened in the browser. Come back here when you are done."
        self.say(words)

    def _use(self) -> None:
        text = self._pasted.value.strip()
        if text.startswith(self._redirect):
            self.ask.give(text)
        else:
            self.say(f"The pasted address must begin with {line(self._redirect, 200)}")
            self._pasted.focus()
