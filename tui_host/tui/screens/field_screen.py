"""Screens with fields: a provider's key, an option of the model, a note, a pair to join, a file's name, the values of a form."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static
from typing_extensions import override

from tui_host.capture.store.notes_of_people import RowMarks, choose_frame
from tui_host.capture.visible import line, visible
from tui_host.chat.result_words import save_content
from tui_host.errors import JSON, TuiHostError
from tui_host.llm.outline import size_words
from tui_host.servers.catalog import Tool
from tui_host.settings.model_options import option_of, text_of, value_of, with_value
from tui_host.settings.system_keyring import SERVICE, keyring_name
from tui_host.tui.host_mask import mask_of
from tui_host.tui.questions.form import FormView, TextField
from tui_host.tui.questions.panel import AskButton
from tui_host.tui.screens.page_screen import PageScreen
from tui_host.tui.widgets.choices import Choice, ChoiceList

if TYPE_CHECKING:
    from tui_host.capture.store.store import Store
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.infer.matching.matcher import Pairing
    from tui_host.settings.schema import Provider, Settings
    from tui_host.tui.widgets.prompt.server_offers import Form

Taken: TypeAlias = "str | Callable[[], object]"
"""What is wrong with a text, or what to do once its screen is closed."""
Take: TypeAlias = "Callable[[str], Awaitable[Taken]]"
EMPTY = "the field is empty"
NOT_SENT = "not sent: the provider's own default"
_ABOUT = 4_000  # characters of a server's words that stand above a form
WORDS = {
    "temperature": "How freely the model chooses among likely words: a number; 0 is the least.",
    "top_p": "From which share of the likely words the model chooses: a number up to 1.",
    "max_tokens": "The most tokens an answer may have, thinking included.",
    "reasoning_effort": "How long the model thinks, in the vendor's words: low, medium, high.",
    "seed": "A whole number: the same seed gives the same answer, as far as the provider can.",
    "stop": 'Texts at which the answer ends, separated by commas; quote a text that has a comma or a line end: "a, b\\n".',
    "extra_body": "More members of the request's body, as a JSON object; they replace members of the same name.",
}


class HiddenInput(Input):
    """A field that neither shows its text nor copies it."""

    @override
    def action_copy(self) -> None:
        """Do nothing: hidden text is not copied."""

    action_cut = action_copy


class FieldScreen(PageScreen):
    """A screen with a field. `enter` passes its text to `take`, and closes the screen unless something is wrong with it.

    A digit is taken without `enter`.
    """

    HEADING = "Fields"
    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "", "take", tooltip="take the text of the field")]
    DEFAULT_CSS = """
    FieldScreen {
        & > #field-words { height: auto; padding: 1 1 0 1; }
        & > Input { margin: 1 1; }
        & > #field-trouble { height: auto; padding: 0 1; color: $text-error; }
    }
    """

    def __init__(
        self, heading: str, words: str, take: Take, *, text: str = "", is_hidden: bool = False, is_digit: bool = False
    ) -> None:
        super().__init__(heading)
        self._words, self._take, self._is_digit = words, take, is_digit
        kind = HiddenInput if is_hidden else Input
        self.field = kind(text, password=is_hidden, compact=True, select_on_focus=False)

    @override
    def body(self) -> Sequence[Widget]:
        words, trouble = Static(Content(self._words), id="field-words"), Static(id="field-trouble")
        return [words, self.field, trouble, Static(classes="page-body")]

    def explain(self, words: str) -> None:
        """Show a text above the field."""
        self.query_one("#field-words", Static).update(Content(words))

    def _complain(self, words: str) -> None:
        self.query_one("#field-trouble", Static).update(Content(line(words, 400)))

    def on_input_changed(self) -> None:
        self._complain("")
        if self._is_digit and self.field.value:
            self.on_input_submitted()

    def on_input_submitted(self) -> None:
        self.start(self._finish(), exclusive=True)

    async def _finish(self) -> None:
        taken = await self._take(self.field.value.strip())
        if isinstance(taken, str):
            self._complain(taken)
            return
        self.action_leave()
        taken()  # only now: it may open the next screen


class KeyScreen(FieldScreen):
    """Asks for a provider's key, and hides the typed text. Without a keyring, names the environment variable instead."""

    def __init__(self, host: Host, provider: Provider, stored: Callable[[], None]) -> None:
        self._host, self._provider, self._stored = host, provider, stored
        self._label = provider.label or provider.name
        super().__init__(f"Key of {self._label}", "", self._store, is_hidden=True)

    def on_mount(self) -> None:
        self.explain("Looking for the system's keyring…")  # here: else Textual gives later texts no further lines
        self.field.display = False
        self.start(self._find_keyring())

    async def _find_keyring(self) -> None:
        from tui_host.host.keyring_status import in_thread

        name, why = "", "This system has no keyring, and keys are never written to a file."
        try:
            name = await in_thread(keyring_name)
        except TuiHostError as error:
            why = f"{error.what}."
        if not name:
            variable = self._provider.key_variable
            how = f"Set the environment variable {variable}, then start tui-host again." if variable else ""
            self.explain(f"{line(why, 300)}\n{how or 'Write api_key into config.toml.'}")
            return
        place = f"the system's keyring ({line(name, 60)}), under {SERVICE} and {self._provider.name}"
        self.explain(f"The key goes to {place}; into no file, and nowhere but to {self._label}.")
        self.field.display = True
        self.field.focus()

    async def _store(self, text: str) -> Taken:
        if not text:
            return EMPTY
        try:
            await self._host.ready()  # what redacts must know it before it is anywhere
            await self._host.keys.store(self._provider, text)
        except TuiHostError as error:
            return f"not saved: {error}"
        self.field.value = ""
        return self._stored


def note_screen(marks: RowMarks, row: tuple[str, int], changed: Callable[[], object]) -> FieldScreen:
    """Return the screen that asks for the note on a row of the list, and marks the row; an empty one leaves a mark alone."""

    async def take(text: str) -> Taken:
        marks.write(row, text)
        return changed

    words = "The note stands behind the row in the list, and the filter finds its words. It is in no export."
    return FieldScreen("Note", words, take, text=marks.note(row) or "")


def join_screen(store: Store | None, pairings: Sequence[Pairing]) -> FieldScreen:
    """Return the screen where a digit joins a row's call or frame with another one, or parts what is joined."""
    pairs = {str(number): pair for number, pair in enumerate(pairings, 1)}
    lines = [f"{digit}  {line(pair.words, 200)}" for digit, pair in pairs.items()]
    words = "\n".join((*lines, "A digit joins, or parts what is joined."))

    async def take(digit: str) -> Taken:
        pair = pairs.get(digit)
        if store is None or pair is None:
            return "no pair has this digit"
        return partial(choose_frame, store, pair.call, pair.frame, is_joined=not pair.is_joined)

    if store is None or not pairs:
        words = "Only what a tap or a file brought is joined by hand."
    return FieldScreen("Join by hand", words, take, is_digit=True)


def option_screen(host: Host, session: Session, name: str, changed: Callable[[], None]) -> FieldScreen:
    """Return the screen that asks for the value of an option. An empty field unsets the session's own value."""

    async def take(text: str) -> Taken:
        try:
            session.options = with_value(session.options, name, option_of(name, text) if text else None)
        except ValueError as error:
            return f"not {error}"
        if session.turn:
            session.save()
        return changed

    value, where = configured(host.settings, session, name)
    unset = NOT_SENT if value is None else f"{line(text_of(value), 200)}, {where}"
    words, text = f"{WORDS[name]} If the field is empty: {unset}.", text_of(value_of(session.options, name))
    return FieldScreen(f"{name} for {session.model}, this session", words, take, text=text)


def configured(settings: Settings, session: Session, name: str) -> tuple[JSON, str]:
    """Return an option's value from profile or provider, None if unset, and where the value comes from."""
    profile = settings.profiles.get(session.profile)
    provider = settings.providers.get(session.model.provider)
    for owner, where in ((profile, f"from the profile {session.profile}"), (provider, "as configured")):
        value = None if owner is None else value_of(owner.options, name)
        if value is not None:
            return value, where
    return None, ""


class SaveScreen(FieldScreen):
    """Asks for a file's name, suggesting one, and saves a content to it. An existing file is replaced only by a second enter."""

    def __init__(
        self, name: str, words: str, data: bytes, saved: Callable[[Path], None], heading: str = "Save"
    ) -> None:
        size = size_words(len(data))
        about = f"{line(words, 200)}\n{size} go to this file. A name without a folder is in {Path.cwd()}."
        super().__init__(heading, about, self._save, text=name)
        self._data, self._saved = data, saved
        self._replaced = ""  # the file that a second enter replaces

    def content(self) -> bytes:
        """Return the bytes to write. Called in a thread."""
        return self._data

    async def _save(self, text: str) -> Taken:
        if not text:
            return EMPTY
        try:
            data = await asyncio.to_thread(self.content)
            path = await asyncio.to_thread(save_content, text, data, replaces=self._replaced == text)
        except FileExistsError:
            self._replaced = text
            return "There is a file of this name. Press enter again to replace it, or write another name."
        except TuiHostError as error:
            return str(error)
        return partial(self._saved, path)


class FillScreen(PageScreen):
    """A form, or its values as JSON (also where it has no fields for them); servers complete values of prompts and templates."""

    HEADING = "Fill in"
    AUTO_FOCUS = "TextField, PickField, AskButton"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "next", tooltip="take the suggestion, else go on or end", priority=True),
        Binding("up", "suggest(-1)", "suggestions", tooltip="choose a value that the server suggests", priority=True),
        Binding("down", "suggest(1)", priority=True),
        Binding("tab", "app.focus_next", "field", tooltip="go to the next or the former field, or to the buttons"),
        Binding("shift+tab", "app.focus_previous"),
    ]
    DEFAULT_CSS = """
    FillScreen {
        & > Static { height: auto; max-height: 6; padding: 0 1; color: $text-muted; }
        & > .page-body { padding: 0 1; }
        & > ChoiceList { height: auto; max-height: 6; }
        & Horizontal { height: 1; }
    }
    """

    def __init__(
        self, host: Host, form: Form, filled: Callable[[Mapping[str, JSON]], None], *, as_json: bool = False
    ) -> None:
        super().__init__(form.title)
        self._host, self._form, self._filled = host, form, filled
        self._editor = FormView(form.fields, form.given, as_json=as_json)
        self._buttons = [AskButton(form.action, self.on_finished)]
        if isinstance(form.item, Tool):
            self._buttons.append(AskButton("As a form" if self._editor.is_whole else "As JSON", self._flip))
        self._choices = ChoiceList()
        self._choices.can_focus = self._choices.display = False
        self._typed: tuple[str, str] | None = None  # what suggestions were asked for
        self._suggested: Sequence[str] = ()

    @override
    def body(self) -> Sequence[Widget]:
        words = visible(mask_of(self._host)(self._form.item.description)[:_ABOUT])
        about = [Static(Content(words), markup=False)] if words else []
        editor = VerticalScroll(self._editor, Horizontal(*self._buttons), can_focus=False, classes="page-body")
        return [*about, editor, self._choices]

    def _here(self) -> tuple[str, str] | None:
        """Return the field that has the focus, and its text."""
        return next(((row.field.name, row.text) for row in self._editor.rows if row.input.has_focus), None)

    def look(self) -> None:
        """Ask for suggestions whenever another field has the focus, or another text."""
        typed = self._here()
        if typed != self._typed and self._form.completes is not None:
            self._typed = typed
            self._suggest(())
            if typed is not None:
                self.start(self._complete(*typed), group="completion", exclusive=True)

    async def _complete(self, name: str, text: str) -> None:
        """Ask the server for values of a field; the other fields' values go with it."""
        pool = self._host.pool
        if pool is None:
            return
        params: dict[str, JSON] = {"ref": self._form.completes, "argument": {"name": name, "value": text}}
        others = {row.field.name: row.text for row in self._editor.rows if row.field.name != name and row.text}
        if others:
            params["context"] = {"arguments": others}
        try:
            values = await pool.request(self._form.server, lambda connection: connection.complete(params))
        except TuiHostError as error:
            self.note(f"no completion: {line(str(error), 300)}")
            return
        if self._here() == (name, text):
            self._suggest([value for value in values if value != text])

    def _suggest(self, values: Sequence[str]) -> None:
        self._suggested, self._choices.display = values, bool(values)
        self._choices.show([Choice(words=value) for value in values], current=0)
        self._choices.cursor = None  # nothing is chosen yet

    @override
    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Leave the keys to the field where there is nothing to choose."""
        is_needed = {"suggest": bool(self._suggested), "take": self._choices.cursor is not None}
        return is_needed.get(action, True)

    def action_suggest(self, step: int) -> None:
        if self._choices.cursor is not None:
            self._choices.action_line(step)
        elif step > 0:
            self._choices.cursor = 0

    def action_take(self) -> None:
        field, number = self.focused, self._choices.cursor
        if isinstance(field, TextField) and number is not None:
            field.load_text(self._suggested[number])
            field.move_cursor(field.document.end)
            self._choices.cursor = None

    def on_ask_button_pressed(self, event: AskButton.Pressed) -> None:
        event.action()

    def on_finished(self) -> None:
        """After the last field, or by the button: use the values, unless one of them is wrong."""
        if (values := self._editor.content()) is not None:
            self.action_leave()
            self._filled(values)

    def _flip(self) -> None:
        """Show the values as JSON instead of the form, or in the form again."""
        if (values := self._editor.content()) is not None:
            form, as_json = replace(self._form, given=values), not self._editor.is_whole
            self.action_leave()
            self.app.push_screen(FillScreen(self._host, form, self._filled, as_json=as_json))  # pyright: ignore[reportUnknownMemberType]
