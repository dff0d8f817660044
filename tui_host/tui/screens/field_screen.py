"""Screens with fields: a provider's key, an option of the model, a note, a file's name, the values of a form."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Input, Static
from typing_extensions import override

from tui_host.capture.store.notes_of_people import choose_frame
from tui_host.capture.visible import line, visible
from tui_host.chat.result_words import save_content
from tui_host.errors import JSON, TuiHostError
from tui_host.llm.outline import size_words
from tui_host.servers.catalog import Tool
from tui_host.settings.model_options import Options, option_of, options_of, options_to_json, text_of, value_of
from tui_host.settings.system_keyring import SERVICE
from tui_host.tui.questions.form import FieldRow, FormView, TextField
from tui_host.tui.questions.panel import AskButton
from tui_host.tui.screens.page_screen import Browse, Note, PageScreen, PickScreen

if TYPE_CHECKING:
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.store.store import Store
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.infer.story_reader import LiveStory
    from tui_host.settings.schema import Provider, Settings
    from tui_host.tui.widgets.prompt.server_offers import Form

Take: TypeAlias = "Callable[[str], object]"  # what it returns is awaited if it can be
Kind: TypeAlias = Literal["", "secret", "name"]
NOT_SENT = "not sent: the provider's own default"
_ABOUT = 4_000  # characters of a server's words that stand above a form
NOTE_WORDS = "The note stands behind the row in the list, and the filter finds its words. It is in no export."
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
    """A screen with a field. `enter` passes its text to `take`, which raises what is wrong with it; else the screen closes.

    Only then comes `done`, which may open the next screen.
    """

    HEADING = "Fields"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "", "take", tooltip="take the text of the field")]
    DEFAULT_CSS = "FieldScreen { & > Input { margin: 1 1; } & > #field-trouble { color: $text-error; } }"

    def __init__(
        self, heading: str, words: str, take: Take, done: Callable[[], object] = list, text: str = "", kind: Kind = ""
    ) -> None:
        self._take, self._done, self._kind = take, done, kind
        of_kind = HiddenInput if kind == "secret" else Input
        self.field = of_kind(text, password=kind == "secret", compact=True, select_on_focus=False)
        super().__init__(heading, words, [self.field, Note(id="field-trouble"), Static(classes="page-body")])

    def on_input_changed(self) -> None:
        self.note("", place="#field-trouble")

    def on_input_submitted(self) -> None:
        async def finish() -> None:
            text, trouble = self.field.value.strip(), "the field is empty"
            if text or not self._kind:
                trouble = ""
                try:
                    taken = self._take(text)
                    if isawaitable(taken):
                        await taken
                except TuiHostError as error:
                    trouble = line(str(error), 400)
            self.note(trouble, place="#field-trouble")
            if not trouble:
                self.action_leave()
                self._done()

        self.start(finish, exclusive=True)


def key_screen(host: Host, provider: Provider, keyring: str, stored: Callable[[], object]) -> FieldScreen:
    """Return the screen that asks for a provider's key, hides the typed text and stores the key in the keyring."""
    label = provider.label or provider.name

    async def take(text: str) -> None:
        await host.ready()  # what redacts must know it before it is anywhere
        await host.keys.store(provider, text)

    place = f"the system's keyring ({line(keyring, 60)}), under {SERVICE} and {provider.name}"
    words = f"The key goes to {place}; into no file, and nowhere but to {label}."
    return FieldScreen(f"Key of {label}", words, take, stored, kind="secret")


def join_screen(store: Store | None, story: LiveStory | None, row: Row) -> PickScreen:
    """Return the screen that joins a row's call or frame with another one, or parts what is joined."""
    choices: dict[str, Callable[[], object]] = {}
    if store is not None and story is not None:  # else links were recorded as they happened
        for pair in story.pairings(row.calls, (row.capture, row.seq)):
            joins = partial(choose_frame, store, pair.call, pair.frame, is_joined=not pair.is_joined)
            choices[line(pair.words, 200)] = joins
    words = "What is chosen is joined, or parted if it is joined."
    return PickScreen("Join by hand", words if choices else "Only what a tap or a file brought is joined.", choices)


def ask_for_option(screen: Browse, host: Host, session: Session, name: str) -> None:
    """Open the screen that asks for the value of an option. An empty field unsets the session's own value."""

    def take(text: str) -> None:
        try:
            value = option_of(name, text) if text else None
            session.options = options_of({**options_to_json(session.options), name: value})
        except ValueError as error:
            raise TuiHostError(f"not {error}") from error
        if session.turn:
            session.save()

    below = text_of(value_of(configured(host.settings, session), name))
    words = f"{WORDS[name]} If the field is empty: {f'{line(below, 200)}, as configured' if below else NOT_SENT}."
    text = text_of(value_of(session.options, name))
    asking = FieldScreen(f"{name} for {session.model}, this session", words, take, screen.look, text=text)
    screen.app.push_screen(asking)  # pyright: ignore[reportUnknownMemberType] - of any app


def configured(settings: Settings, session: Session) -> Options:
    """Return the options that are sent where the session has none: the profile's, completed from the provider's."""
    profile, provider = settings.profiles.get(session.profile), settings.providers.get(session.model.provider)
    below = Options() if provider is None else provider.options
    return below if profile is None else profile.options.over(below)


class SaveScreen(FieldScreen):
    """Asks for a file's name, suggesting one, and saves a content to it. An existing file is replaced only by a second enter."""

    HEADING = "Save"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "", "save", tooltip="write the file; a second enter replaces an existing one"),
    ]

    def __init__(self, name: str, words: str, data: bytes, saved: Callable[[Path], None]) -> None:
        size = size_words(len(data))
        about = f"{line(words, 200)}\n{size} go to this file. A name without a folder is in {Path.cwd()}."
        super().__init__("", about, self._save, text=name, kind="name")
        self._data, self._saved = data, saved
        self._replaced = ""  # the file that a second enter replaces

    def content(self) -> bytes:
        """Return the bytes to write. Called in a thread."""
        return self._data

    async def _save(self, text: str) -> None:
        data = await asyncio.to_thread(self.content)
        try:
            path = await asyncio.to_thread(save_content, text, data, replaces=self._replaced == text)
        except FileExistsError as error:
            self._replaced = text
            words = "There is a file of this name. Press enter again to replace it, or write another name."
            raise TuiHostError(words) from error
        self._saved(path)


class FillScreen(PageScreen):
    """A form, or its values as JSON (also where it has no fields for them); servers complete values of prompts and templates."""

    HEADING = "Fill in"
    AUTO_FOCUS = "TextField, PickField, AskButton"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "", "next", tooltip="go on to the next field, at last to the end"),
        Binding("up", "suggest(-1)", "suggestions", tooltip="take a value that the server suggests", priority=True),
        Binding("down", "suggest(1)", priority=True),
        Binding("tab", "app.focus_next", "field", tooltip="go to the next or the former field, or to the buttons"),
        Binding("space", "", "choose in a list", tooltip="choose a value of a list, or unchoose it"),
    ]
    DEFAULT_CSS = (
        "FillScreen { & > #page-words { max-height: 6; } & > .page-body { padding: 0 1; } & Horizontal { height: 1; } }"
    )

    def __init__(
        self, host: Host, form: Form, filled: Callable[[Mapping[str, JSON]], None], *, as_json: bool = False
    ) -> None:
        self._editor = FormView(form.fields, form.given, as_json=as_json)
        buttons = [AskButton(form.action, self.on_finished)]
        if isinstance(form.item, Tool):
            buttons.append(AskButton("As a form" if self._editor.is_whole else "As JSON", self._flip))
        body = VerticalScroll(self._editor, Horizontal(*buttons), can_focus=False, classes="page-body")
        super().__init__(form.title, visible(host.mask(form.item.description)[:_ABOUT]), [body])
        self._host, self._form, self._filled = host, form, filled
        self._suggested: Sequence[str] = ()
        self._taken = -1  # the number of the suggestion that was taken

    def on_text_area_changed(self) -> None:
        """Ask for values of the field with the focus, unless it has one of those that were suggested."""
        row = next((row for row in self._editor.rows if row.input.has_focus), None)
        if self._form.completes is not None and (row is None or row.input.value not in self._suggested):
            self._suggest()
            if row is not None:
                self.start(partial(self._complete, row), group="completion", exclusive=True)

    on_descendant_focus = on_text_area_changed

    async def _complete(self, row: FieldRow) -> None:
        pool, text = self._host.pool, row.input.value
        if pool is None:
            return
        argument: JSON = {"name": row.field.name, "value": text}
        params: dict[str, JSON] = {"ref": self._form.completes, "argument": argument}
        others = {other.field.name: other.input.value for other in self._editor.rows if other is not row}
        if given := {name: value for name, value in others.items() if value}:
            params["context"] = {"arguments": given}
        try:
            values = await pool.request(self._form.server, lambda connection: connection.complete(params))
        except TuiHostError as error:
            self.note(f"no completion: {line(str(error), 300)}")
            return
        if row.input.has_focus:
            self._suggest(*(value for value in values if value != text))

    def _suggest(self, *values: str, taken: int = -1) -> None:
        self._suggested, self._taken = values, taken
        self.note("   ".join(f"{'> ' * (at == taken)}{line(value, 100)}" for at, value in enumerate(values)))

    @override
    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        return action != "suggest" or bool(self._suggested)

    def action_suggest(self, step: int) -> None:
        field, number = self.focused, self._taken + step
        if isinstance(field, TextField) and 0 <= number < len(self._suggested):
            self._suggest(*self._suggested, taken=number)
            field.load_text(self._suggested[number])
            field.move_cursor(field.document.end)

    def on_finished(self) -> None:
        """After the last field, or by the button: use the values, unless one of them is wrong."""
        if (values := self._editor.content()) is not None:
            self.action_leave()
            self._filled(values)

    def _flip(self) -> None:
        if (values := self._editor.content()) is not None:
            form, as_json = replace(self._form, given=values), not self._editor.is_whole
            self.action_leave()
            self.app.push_screen(FillScreen(self._host, form, self._filled, as_json=as_json))  # pyright: ignore[reportUnknownMemberType]
