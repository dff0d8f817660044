"""Screens with fields: a provider's key, an option of the model, a note, a pair to join, a file's name, the values of a form."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

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
from tui_host.settings.system_keyring import SERVICE
from tui_host.tui.host_mask import mask_of
from tui_host.tui.questions.form import FormView, TextField
from tui_host.tui.questions.panel import AskButton
from tui_host.tui.screens.page_screen import PageScreen

if TYPE_CHECKING:
    from tui_host.capture.store.store import Store
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.infer.matching.matcher import Pairing
    from tui_host.settings.schema import Provider, Settings
    from tui_host.tui.widgets.prompt.server_offers import Form

Take: TypeAlias = "Callable[[str], Awaitable[Callable[[], object]]]"
"""Takes a text, or raises what is wrong with it; returns what to do once the screen is closed."""
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
    def action_copy(self) -> None: ...

    action_cut = action_copy


class FieldScreen(PageScreen):
    """A screen with a field. `enter` passes its text to `take`, and closes the screen unless something is wrong with it."""

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
        self, heading: str, words: str, take: Take, text: str = "", *, kind: Literal["", "secret", "digit", "name"] = ""
    ) -> None:
        super().__init__(heading)
        self._words, self._take, self._kind = words, take, kind
        of_kind = HiddenInput if kind == "secret" else Input
        self.field = of_kind(text, password=kind == "secret", compact=True, select_on_focus=False)

    @override
    def body(self) -> Sequence[Widget]:
        words, trouble = Static(Content(self._words), id="field-words"), Static(id="field-trouble")
        return [words, self.field, trouble, Static(classes="page-body")]

    def explain(self, words: str, place: str = "#field-words") -> None:
        """Show a text above the field, or what is wrong below it."""
        self.query_one(place, Static).update(Content(words))

    def on_input_changed(self) -> None:
        self.explain("", "#field-trouble")
        if self._kind == "digit" and self.field.value:  # needs no `enter`
            self.on_input_submitted()

    def on_input_submitted(self) -> None:
        async def finish() -> None:
            text, done, trouble = self.field.value.strip(), None, "the field is empty"
            if text or not self._kind:
                try:
                    done = await self._take(text)
                except TuiHostError as error:
                    trouble = line(str(error), 400)
            if done is None:
                self.explain(trouble, "#field-trouble")
            else:
                self.action_leave()
                done()  # only now: it may open the next screen

        self.start(finish, exclusive=True)


def key_screen(host: Host, provider: Provider, keyring: str, stored: Callable[[], object]) -> FieldScreen:
    """Return the screen that asks for a provider's key, hides the typed text and stores the key in the keyring."""
    label = provider.label or provider.name

    async def take(text: str) -> Callable[[], object]:
        await host.ready()  # what redacts must know it before it is anywhere
        await host.keys.store(provider, text)
        return stored

    place = f"the system's keyring ({line(keyring, 60)}), under {SERVICE} and {provider.name}"
    words = f"The key goes to {place}; into no file, and nowhere but to {label}."
    return FieldScreen(f"Key of {label}", words, take, kind="secret")


def note_screen(marks: RowMarks, row: tuple[str, int], changed: Callable[[], object]) -> FieldScreen:
    """Return the screen that asks for the note on a row of the list, and marks the row; an empty one leaves a mark alone."""

    async def take(text: str) -> Callable[[], object]:
        marks.write(row, text)
        return changed

    words = "The note stands behind the row in the list, and the filter finds its words. It is in no export."
    return FieldScreen("Note", words, take, marks.note(row) or "")


def join_screen(store: Store | None, pairings: Sequence[Pairing]) -> FieldScreen:
    """Return the screen where a digit joins a row's call or frame with another one, or parts what is joined."""
    pairs = {str(number): pair for number, pair in enumerate(pairings, 1)}
    lines = [f"{digit}  {line(pair.words, 200)}" for digit, pair in pairs.items()]

    async def take(digit: str) -> Callable[[], object]:
        pair = pairs.get(digit)
        if store is None or pair is None:
            raise TuiHostError("no pair has this digit")
        return partial(choose_frame, store, pair.call, pair.frame, is_joined=not pair.is_joined)

    lines.append("A digit joins, or parts what is joined." if lines else "Only what a tap or a file brought is joined.")
    return FieldScreen("Join by hand", "\n".join(lines), take, kind="digit")


def option_screen(host: Host, session: Session, name: str, changed: Callable[[], object]) -> FieldScreen:
    """Return the screen that asks for the value of an option. An empty field unsets the session's own value."""

    async def take(text: str) -> Callable[[], object]:
        try:
            session.options = with_value(session.options, name, option_of(name, text) if text else None)
        except ValueError as error:
            raise TuiHostError(f"not {error}") from error
        if session.turn:
            session.save()
        return changed

    value, where = configured(host.settings, session, name)
    unset = NOT_SENT if value is None else f"{line(text_of(value), 200)}, {where}"
    words, text = f"{WORDS[name]} If the field is empty: {unset}.", text_of(value_of(session.options, name))
    return FieldScreen(f"{name} for {session.model}, this session", words, take, text)


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

    HEADING = "Save"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "", "save", tooltip="write the file; a second enter replaces an existing one"),
    ]

    def __init__(self, name: str, words: str, data: bytes, saved: Callable[[Path], None]) -> None:
        size = size_words(len(data))
        about = f"{line(words, 200)}\n{size} go to this file. A name without a folder is in {Path.cwd()}."
        super().__init__("", about, self._save, name, kind="name")
        self._data, self._saved = data, saved
        self._replaced = ""  # the file that a second enter replaces

    def content(self) -> bytes:
        """Return the bytes to write. Called in a thread."""
        return self._data

    async def _save(self, text: str) -> Callable[[], object]:
        data = await asyncio.to_thread(self.content)
        try:
            path = await asyncio.to_thread(save_content, text, data, replaces=self._replaced == text)
        except FileExistsError as error:
            self._replaced = text
            words = "There is a file of this name. Press enter again to replace it, or write another name."
            raise TuiHostError(words) from error
        return partial(self._saved, path)


class FillScreen(PageScreen):
    """A form, or its values as JSON (also where it has no fields for them); servers complete values of prompts and templates."""

    HEADING = "Fill in"
    AUTO_FOCUS = "TextField, PickField, AskButton"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "", "next", tooltip="go on to the next field, at last to the end"),
        Binding("up", "suggest(-1)", "suggestions", tooltip="take a value that the server suggests", priority=True),
        Binding("down", "suggest(1)", priority=True),
        Binding("tab", "app.focus_next", "field", tooltip="go to the next or the former field, or to the buttons"),
        Binding("shift+tab", "app.focus_previous"),
    ]
    DEFAULT_CSS = """
    FillScreen {
        & > Static { height: auto; max-height: 6; padding: 0 1; color: $text-muted; }
        & > .page-body { padding: 0 1; }
        & Horizontal { height: 1; }
    }
    """

    def __init__(
        self, host: Host, form: Form, filled: Callable[[Mapping[str, JSON]], None], *, as_json: bool = False
    ) -> None:
        super().__init__(form.title)
        self._host, self._form, self._filled = host, form, filled
        self._editor = FormView(form.fields, form.given, as_json=as_json)
        self._typed: tuple[str, str] | None = None  # what suggestions were asked for
        self._suggested: Sequence[str] = ()
        self._taken = -1  # the number of the suggestion that was taken

    @override
    def body(self) -> Sequence[Widget]:
        words = visible(mask_of(self._host)(self._form.item.description)[:_ABOUT])
        about = [Static(Content(words), markup=False)] if words else []
        buttons = [AskButton(self._form.action, self.on_finished)]
        if isinstance(self._form.item, Tool):
            buttons.append(AskButton("As a form" if self._editor.is_whole else "As JSON", self._flip))
        editor = VerticalScroll(self._editor, Horizontal(*buttons), can_focus=False, classes="page-body")
        return [*about, editor]

    def _here(self) -> tuple[str, str] | None:
        """Return the field that has the focus, and its text."""
        return next(((row.field.name, row.input.value) for row in self._editor.rows if row.input.has_focus), None)

    def look(self) -> None:
        """Ask for suggestions whenever another field has the focus, or another text."""
        typed = self._here()
        if typed != self._typed and self._form.completes is not None:
            self._typed = typed
            self._suggest()
            if typed is not None:
                self.start(self._complete(*typed), group="completion", exclusive=True)

    async def _complete(self, name: str, text: str) -> None:
        """Ask the server for values of a field; the other fields' values go with it."""
        pool = self._host.pool
        if pool is None:
            return
        params: dict[str, JSON] = {"ref": self._form.completes, "argument": {"name": name, "value": text}}
        others = {
            row.field.name: row.input.value for row in self._editor.rows if row.field.name != name and row.input.value
        }
        if others:
            params["context"] = {"arguments": others}
        try:
            values = await pool.request(self._form.server, lambda connection: connection.complete(params))
        except TuiHostError as error:
            self.note(f"no completion: {line(str(error), 300)}")
            return
        if self._here() == (name, text):
            self._suggest(*(value for value in values if value != text))

    def _suggest(self, *values: str, taken: int = -1) -> None:
        self._suggested, self._taken = values, taken
        self.note("   ".join(f"{'> ' * (at == taken)}{line(value, 100)}" for at, value in enumerate(values)))

    @override
    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Leave the keys to the field where nothing is suggested."""
        return action != "suggest" or bool(self._suggested)

    def action_suggest(self, step: int) -> None:
        field, number = self.focused, self._taken + step
        if isinstance(field, TextField) and 0 <= number < len(self._suggested):
            self._suggest(*self._suggested, taken=number)
            field.load_text(self._suggested[number])
            field.move_cursor(field.document.end)
            self._typed = self._here()  # nothing new is suggested for it

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
