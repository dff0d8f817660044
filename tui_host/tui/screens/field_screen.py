"""Screens with one input field: a provider's key, an option of the model, or a note on a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static
from typing_extensions import override

from tui_host.capture.store.notes_of_people import RowMarks, choose_frame
from tui_host.capture.visible import line
from tui_host.errors import JSON, TuiHostError
from tui_host.settings.model_options import Options, option_of, text_of, value_of, with_value
from tui_host.settings.system_keyring import SERVICE, keyring_name
from tui_host.tui.screens.page_screen import PageScreen

if TYPE_CHECKING:
    from tui_host.capture.store.store import Store
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.infer.matching.matcher import Pairing
    from tui_host.settings.schema import Provider, Settings


class HiddenInput(Input):
    """A field that neither shows its text nor copies it."""

    @override
    def action_copy(self) -> None:
        """Do nothing: hidden text is not copied."""

    @override
    def action_cut(self) -> None:
        """Do nothing: hidden text is not copied."""


class FieldScreen(PageScreen):
    """A screen with one input field. `taken` is called with its text on `enter`."""

    AUTO_FOCUS = "Input"
    HIDDEN: ClassVar[bool] = False  # whether the typed text is hidden
    DEFAULT_CSS = """
    FieldScreen {
        & > #field-words { height: auto; padding: 1 1 0 1; }
        & > Input { margin: 1 1; }
        & > #field-trouble { height: auto; padding: 0 1; color: $text-error; }
    }
    """

    @override
    def body(self) -> Sequence[Widget]:
        kind = HiddenInput if self.HIDDEN else Input
        return [
            Static(id="field-words", markup=False),
            kind(password=self.HIDDEN, compact=True, select_on_focus=False),
            Static(id="field-trouble", markup=False),
            Static(classes="page-body"),
        ]

    @property
    def field(self) -> Input:
        return self.query_one(Input)

    def explain(self, words: str) -> None:
        """Show a text above the field."""
        self.query_one("#field-words", Static).update(Content(words))

    def complain(self, words: str) -> None:
        """Show below the field why its text is not valid."""
        self.query_one("#field-trouble", Static).update(Content(line(words, 400)))

    def taken(self, text: str) -> None:
        """Use the field's text. Abstract, although the metaclass of Textual's widgets does not allow `ABC`."""
        raise NotImplementedError

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.taken(event.value.strip())


class KeyScreen(FieldScreen):
    """Asks for a provider's key, and hides the typed text. Without a keyring, names the environment variable instead."""

    HEADING = "Key"
    PLACE = "Key"
    HIDDEN = True

    def __init__(self, host: Host, provider: Provider, stored: Callable[[], None]) -> None:
        super().__init__()
        self._host = host
        self._provider = provider
        self._stored = stored

    def on_mount(self) -> None:
        self.say(f"Key of {self._provider.label or self._provider.name}")
        self.field.display = False
        self.explain("Looking for the system's keyring…")
        self.start(self._find_keyring())

    async def _find_keyring(self) -> None:
        from tui_host.host.keyring_status import in_thread

        try:
            name = await in_thread(keyring_name)
        except TuiHostError as error:
            self.explain(self._variable(f"{error.what}."))
            return
        if not name:
            self.explain(self._variable("This system has no keyring, and keys are never written to a file."))
            return
        self.explain(
            f"The key goes to the system's keyring ({line(name, 60)}), under {SERVICE} and {self._provider.name}; into no file, and"
            f" nowhere but to {self._provider.label or self._provider.name}."
        )
        self.field.display = True
        self.field.focus()

    def _variable(self, why: str) -> str:
        variable = self._provider.key_variable
        how = (
            f"Set the environment variable {variable}, then start tui-host again."
            if variable
            else "Write api_key into config.toml."
        )
        return f"{line(why, 300)}\n{how}"

    @override
    def taken(self, text: str) -> None:
        if text:
            self.start(self._store(text), exclusive=True)
        else:
            self.complain("the field is empty")

    async def _store(self, key: str) -> None:
        try:
            await self._host.ready()  # what redacts must know it before it is anywhere
            await self._host.keys.store(self._provider, key)
        except TuiHostError as error:
            self.complain(f"not saved: {error}")
            return
        self.field.value = ""
        self.action_leave()
        self._stored()


class NoteScreen(FieldScreen):
    """Asks for the note on a row of the list, and marks the row."""

    HEADING = "Note"
    PLACE = "Note"

    def __init__(self, marks: RowMarks, row: tuple[str, int], changed: Callable[[], object]) -> None:
        super().__init__()
        self._marks = marks
        self._row = row
        self._changed = changed

    def on_mount(self) -> None:
        self.explain("The note stands behind the row in the list, and the filter finds its words. It is in no export.")
        self.field.value = self._marks.note(self._row) or ""
        self.field.cursor_position = len(self.field.value)

    @override
    def taken(self, text: str) -> None:
        """Keep the note; an empty one leaves a mark alone."""
        self._marks.write(self._row, text)
        self.action_leave()
        self._changed()


class JoinScreen(FieldScreen):
    """Lists what a row's call or frame may be joined with. A digit joins the two, or parts them if they are joined."""

    HEADING = "Join by hand"
    PLACE = "Join"

    def __init__(self, store: Store | None, pairings: Sequence[Pairing]) -> None:
        super().__init__()
        self._store = store
        self._pairings = pairings if store is not None else ()

    def on_mount(self) -> None:
        pairs = [f"{number}  {line(pairing.words, 200)}" for number, pairing in enumerate(self._pairings, 1)]
        what = (
            "A digit joins, or parts what is joined."
            if pairs
            else "Only what a tap or a file brought is joined by hand."
        )
        self.explain("\n".join((*pairs, what)))

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.value:
            self.taken(event.value)

    @override
    def taken(self, text: str) -> None:
        number = int(text) if text.isdecimal() else 0
        if self._store is None or not 0 < number <= len(self._pairings):
            self.complain("no pair has this digit")
            return
        pairing = self._pairings[number - 1]
        choose_frame(self._store, pairing.call, pairing.frame, is_joined=not pairing.is_joined)
        self.action_leave()


NOT_SENT = "not sent: the provider's own default"
WORDS = {
    "temperature": "How freely the model chooses among likely words: a number; 0 is the least.",
    "top_p": "From which share of the likely words the model chooses: a number up to 1.",
    "max_tokens": "The most tokens an answer may have, thinking included.",
    "reasoning_effort": "How long the model thinks, in the vendor's words: low, medium, high.",
    "seed": "A whole number: the same seed gives the same answer, as far as the provider can.",
    "stop": 'Texts at which the answer ends, separated by commas; quote a text that has a comma or a line end: "a, b\\n".',
    "extra_body": "More members of the request's body, as a JSON object; they replace members of the same name.",
}


class OptionScreen(FieldScreen):
    """Asks for the value of an option. An empty field unsets the session's own value."""

    HEADING = "Option"
    PLACE = "Option"

    def __init__(self, host: Host, session: Session, name: str, changed: Callable[[], None]) -> None:
        super().__init__()
        self._session = session
        self._option = name
        self._configured = configured(host.settings, session, name)
        self._changed = changed

    def on_mount(self) -> None:
        value, where = self._configured
        else_ = f"{line(text_of(value), 200)}, {where}" if value is not None else NOT_SENT
        self.say(f"{self._option} for {self._session.model}, this session")
        self.explain(f"{WORDS[self._option]} If the field is empty: {else_}.")
        self.field.value = text_of(value_of(self._session.options, self._option))
        self.field.cursor_position = len(self.field.value)

    def on_input_changed(self, event: Input.Changed) -> None:
        self._read(event.value.strip())

    def _read(self, text: str) -> JSON:
        """Return the typed value; None for an empty field, or for a mistake reported below the field."""
        try:
            value = option_of(self._option, text) if text else None
        except ValueError as error:
            self.complain(f"not {error}")
            return None
        self.complain("")
        return value

    @override
    def taken(self, text: str) -> None:
        value = self._read(text)
        if text and value is None:
            return
        self._session.options = with_value(self._session.options, self._option, value)
        if self._session.turn:
            self._session.save()
        self.action_leave()
        self._changed()


def configured(settings: Settings, session: Session, name: str) -> tuple[JSON, str]:
    """Return an option's value from profile or provider, None if unset, and where the value comes from."""
    profile = settings.profiles.get(session.profile)
    provider = settings.providers.get(session.model.provider)
    sources: list[tuple[Options, str]] = []
    if profile is not None:
        sources.append((profile.options, f"from the profile {profile.name}"))
    if provider is not None:
        sources.append((provider.options, "as configured"))
    values = ((value_of(options, name), where) for options, where in sources)
    return next((pair for pair in values if pair[0] is not None), (None, ""))
