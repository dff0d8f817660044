"""The panels for a form, for a page to visit, and for a login."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from typing_extensions import override

from tui_host.capture.visible import line, visible
from tui_host.chat.schema_form import fields_of
from tui_host.errors import JSON
from tui_host.servers.server_questions import Elicitation, ElicitationAnswer, Login
from tui_host.tui.web_addresses import address_of
from tui_host.tui.widgets.asks.ask_panel import AskButton, AskPanel, fact
from tui_host.tui.widgets.forms.form_fields import TextField
from tui_host.tui.widgets.forms.form_view import FormView

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

_UNSEEN = "This field was not shown yet. Read it, then press enter on Send again."


class FormPanel(AskPanel):
    """Asks to fill in a form.

    Attributes:
        misfits: Checks the values against the whole schema, in a bounded process; None for no check.
    """

    misfits: Callable[[JSON, JSON], Awaitable[Sequence[str] | None]] | None = None
    _form: FormView

    @property
    def _request(self) -> Elicitation:
        assert isinstance(self.ask.asked, Elicitation)  # noqa: S101 - made for nothing else
        return self.ask.asked

    @override
    def body(self) -> Sequence[Widget]:
        self._form = FormView(fields_of(self._request.schema), warns=True)
        self._seen: set[Widget] = set()
        message = self.read(self._request.message) or "(The server does not say why.)"
        mistake = (
            [Static(Content(f"! {self.read(self._request.mistake)}"), markup=False)] if self._request.mistake else []
        )
        return [Static(Content(message), markup=False), *mistake, self._form]

    @override
    def buttons(self) -> Sequence[AskButton]:
        return [AskButton("Send", self._send)]

    @property
    @override
    def first_field(self) -> Widget | None:
        return self._form.rows[0].input if self._form.rows else None

    @override
    def cancel(self) -> None:
        self.ask.give(ElicitationAnswer(action="cancel"))

    @override
    def note_seen(self) -> None:
        shown = self._body.content_region
        self._seen |= {row for row in self._form.rows if row.is_attached and row.input.region.overlaps(shown)}

    def _send(self) -> None:
        content = self._form.content()
        if content is None:
            self.say("Correct the field that is marked, then send.")
            return
        unseen = next((row for row in self._form.rows if row not in self._seen), None)
        if unseen is not None:
            self._body.scroll_to_widget(unseen, animate=False)
            self.say(_UNSEEN)
        else:
            self.run_worker(self._check(content))

    async def _check(self, content: Mapping[str, JSON]) -> None:
        """Check limits, formats and patterns, which may take for ever, in a process of their own; then send."""
        misfits = None if self.misfits is None else await self.misfits(self._request.schema, content)
        for row in self._form.rows:
            words = next((words for words in misfits or () if words.startswith(f"{row.field.name}: ")), "")
            if words:
                row.complain(words.removeprefix(f"{row.field.name}: "))
        if misfits:
            self.say(f"This does not fit: {'; '.join(misfits)}")
        else:
            self.ask.give(ElicitationAnswer(action="accept", content=content))


class AddressPanel(AskPanel):
    """Shows an address and its host, and opens it by a key."""

    KEEPS: ClassVar[bool] = False  # it closes because the browser is back, or the server saw the visit
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open", tooltip="open the address in the browser, where a page is to be visited"),
    ]
    opener: Callable[[str], Awaitable[bool]] | None = None

    def _address(self, text: str) -> Sequence[Widget]:
        self._visited = address_of(text)
        address = self._visited
        rows = [
            fact("host", line(address.host, 200) or "(none)", "bold"),
            fact("address", visible(address.text, newlines=False)),
            *(Content.styled(f"! {line(note, 300)}", "bold $text-warning") for note in address.notes),
        ]
        return [Static(Content("\n").join(rows), markup=False)]

    @property
    def current_source(self) -> tuple[str, str]:
        return "address", self._visited.text

    def _openers(self) -> Sequence[AskButton]:
        return [AskButton("Open (o)", self.action_open)] if self._visited.may_open else []

    def action_open(self) -> None:
        if not self.is_armed:
            return
        if not self._visited.may_open:
            self.say("This address is not opened from here; ctrl+c copies it.")
        elif self.opener is not None:
            self.run_worker(self._open(self.opener))

    async def _open(self, opener: Callable[[str], Awaitable[bool]]) -> None:
        is_open = await opener(self._visited.text)
        self.say(
            f"{line(self._visited.host, 60)} was opened in the browser. Come back here when you are done."
            if is_open
            else "No browser was found here. ctrl+c copies the address; open it elsewhere."
        )


class VisitPanel(AddressPanel):
    """Asks to visit a page."""

    KEYS: ClassVar[str] = "o opens   ctrl+c copies   tab to Done, enter goes on   ctrl+d declines   escape cancels"

    @override
    def body(self) -> Sequence[Widget]:
        assert isinstance(self.ask.asked, Elicitation)  # noqa: S101 - made for nothing else
        message = self.read(self.ask.asked.message) or "(The server does not say why.)"
        return [Static(Content(message), markup=False), *self._address(self.ask.asked.url)]

    @override
    def buttons(self) -> Sequence[AskButton]:
        assert isinstance(self.ask.asked, Elicitation)  # noqa: S101 - made for nothing else
        label = "Done, call again" if self.ask.asked.is_retry else "Done, go on"
        return [*self._openers(), AskButton(label, self._done)]

    @override
    def cancel(self) -> None:
        self.ask.give(ElicitationAnswer(action="cancel"))

    def _done(self) -> None:
        self.ask.give(ElicitationAnswer(action="accept"))


class LoginPanel(AddressPanel):
    """Asks to log in, and takes the address to which the browser was sent."""

    KEYS: ClassVar[str] = "o opens   ctrl+c copies   tab to the field and the buttons   escape gives up"

    @property
    def _login(self) -> Login:
        assert isinstance(self.ask.asked, Login)  # noqa: S101 - made for nothing else
        return self.ask.asked

    @override
    def body(self) -> Sequence[Widget]:
        self._pasted = TextField()
        reason = self.read(self._login.reason) or "The server wants to know who you are."
        words = (
            "The browser's answer arrives here by itself. If the browser runs on another machine, paste the address that it shows"
            f" at the end here; the address begins with {line(self._login.redirect, 200)}"
        )
        return [
            Static(Content(reason), markup=False),
            *self._address(self._login.url),
            Static(Content(words), markup=False),
            self._pasted,
        ]

    @override
    def buttons(self) -> Sequence[AskButton]:
        return [*self._openers(), AskButton("Use address", self._use)]

    @override
    def cancel(self) -> None:
        self.ask.give(None)

    def _use(self) -> None:
        text = self._pasted.value.strip()
        if text.startswith(self._login.redirect):
            self.ask.give(text)
        else:
            self.say(f"The pasted address must begin with {line(self._login.redirect, 200)}")
            self._pasted.focus()
