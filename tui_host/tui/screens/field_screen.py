"""Screens with fields: a provider's key, an option of the model, a note, a pair to join, a file's name, the values of a form."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static
from typing_extensions import override

from tui_host.capture.store.notes_of_people import RowMarks, choose_frame
from tui_host.capture.visible import line
from tui_host.chat.result_words import save_content
from tui_host.errors import JSON, TuiHostError
from tui_host.llm.outline import size_words
from tui_host.settings.model_options import option_of, text_of, value_of, with_value
from tui_host.settings.system_keyring import SERVICE, keyring_name
from tui_host.tui.screens.page_screen import PageScreen
from tui_host.tui.widgets.choices import Choice, ChoiceList

if TYPE_CHECKING:
    from tui_host.capture.store.store import Store
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.infer.matching.matcher import Pairing
    from tui_host.settings.schema import Provider, Settings
    from tui_host.tui.widgets.prompt.server_offers import Form

EMPTY = "the field is empty"
MOST = 6
"""Suggestions shown at once; more scroll."""
_WORDS = 300


def _agree(_text: str) -> str:
    return ""


class HiddenInput(Input):
    """A field that neither shows its text nor copies it."""

    @override
    def action_copy(self) -> None:
        """Do nothing: hidden text is not copied."""

    action_cut = action_copy


class FieldScreen(PageScreen):
    """A screen with a field. `enter` takes its text and closes the screen, unless something is wrong with the text.

    What is wrong is returned by `check` while somebody types, by `take` where the text is used; `done` is called at the end.
    """

    AUTO_FOCUS = "Input"
    FIELD: ClassVar[type[Input]] = Input
    HEADING = "Fields"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "", "take", tooltip="take the text; in one of several fields: go to the next one"),
    ]
    DEFAULT_CSS = """
    FieldScreen {
        & > #field-words { height: auto; padding: 1 1 0 1; }
        & > Input { margin: 1 1; }
        & > #field-trouble { height: auto; padding: 0 1; color: $text-error; }
    }
    """

    def __init__(
        self,
        place: str,
        words: str = "",
        *,
        text: str = "",
        heading: str = "",
        check: Callable[[str], str] = _agree,
        take: Callable[[str], str] = _agree,
        done: Callable[[], object] = bool,
    ) -> None:
        super().__init__(heading or place)
        self._words, self._text = words, text
        self._check, self._take, self.done = check, take, done

    @override
    def body(self) -> Sequence[Widget]:
        return [
            Static(Content(self._words), id="field-words"),
            *self.fields(),
            Static(id="field-trouble"),
            Static(classes="page-body"),
        ]

    def fields(self) -> Sequence[Widget]:
        hidden = self.FIELD is HiddenInput
        return [self.FIELD(self._text, password=hidden, compact=True, select_on_focus=False)]

    @property
    def field(self) -> Input:
        return self.query_one(Input)

    def explain(self, words: str) -> None:
        """Show a text above the field."""
        self.query_one("#field-words", Static).update(Content(words))

    def complain(self, words: str) -> None:
        """Show below the field why its text is not valid."""
        self.query_one("#field-trouble", Static).update(Content(line(words, 400)))

    def on_input_changed(self, event: Input.Changed) -> None:
        self.typed(event.input)

    def typed(self, field: Input) -> None:
        self.complain(self._check(field.value.strip()))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.entered(event.input)

    def entered(self, field: Input) -> None:
        self.start(self._finish(field.value.strip()), exclusive=True)

    async def _finish(self, text: str) -> None:
        trouble = self._check(text) or await self.taken(text)
        if trouble:
            self.complain(trouble)
            return
        self.action_leave()
        self.done()

    async def taken(self, text: str) -> str:
        """Use the text, and return what is wrong with it, else an empty text."""
        return self._take(text)


class KeyScreen(FieldScreen):
    """Asks for a provider's key, and hides the typed text. Without a keyring, names the environment variable instead."""

    FIELD = HiddenInput

    def __init__(self, host: Host, provider: Provider, stored: Callable[[], None]) -> None:
        self._host, self._provider = host, provider
        self._label = provider.label or provider.name
        super().__init__("Key", heading=f"Key of {self._label}", done=stored)

    def on_mount(self) -> None:
        self.explain("Looking for the system's keyring…")
        self.field.display = False
        self.start(self._find_keyring())

    async def _find_keyring(self) -> None:
        from tui_host.host.keyring_status import in_thread

        name, why = "", "This system has no keyring, and keys are never written to a file."
        try:
            name = await in_thread(keyring_name)
        except TuiHostError as error:
            why = f"{error.what}."
        if name:
            self.explain(
                f"The key goes to the system's keyring ({line(name, 60)}), under {SERVICE} and {self._provider.name};"
                f" into no file, and nowhere but to {self._label}."
            )
            self.field.display = True
            self.field.focus()
            return
        how = "Write api_key into config.toml."
        if variable := self._provider.key_variable:
            how = f"Set the environment variable {variable}, then start tui-host again."
        self.explain(f"{line(why, 300)}\n{how}")

    @override
    async def taken(self, text: str) -> str:
        if not text:
            return EMPTY
        try:
            await self._host.ready()  # what redacts must know it before it is anywhere
            await self._host.keys.store(self._provider, text)
        except TuiHostError as error:
            return f"not saved: {error}"
        self.field.value = ""
        return ""


def note_screen(marks: RowMarks, row: tuple[str, int], changed: Callable[[], object]) -> FieldScreen:
    """Return the screen that asks for the note on a row of the list, and marks the row; an empty one leaves a mark alone."""

    def keep(text: str) -> str:
        marks.write(row, text)
        return ""

    words = "The note stands behind the row in the list, and the filter finds its words. It is in no export."
    return FieldScreen("Note", words, text=marks.note(row) or "", take=keep, done=changed)


class JoinScreen(FieldScreen):
    """Lists what a row's call or frame may be joined with. A digit joins the two, or parts them if they are joined."""

    def __init__(self, store: Store | None, pairings: Sequence[Pairing]) -> None:
        pairs = {} if store is None else {str(number): pair for number, pair in enumerate(pairings, 1)}
        lines = [f"{digit}  {line(pair.words, 200)}" for digit, pair in pairs.items()]
        lines.append(
            "A digit joins, or parts what is joined."
            if pairs
            else "Only what a tap or a file brought is joined by hand."
        )

        def join(digit: str) -> str:
            if store is None or digit not in pairs:
                return "no pair has this digit"
            pair = pairs[digit]
            choose_frame(store, pair.call, pair.frame, is_joined=not pair.is_joined)
            return ""

        super().__init__("Join", "\n".join(lines), heading="Join by hand", take=join)

    @override
    def typed(self, field: Input) -> None:
        if field.value:
            self.entered(field)


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


def option_screen(host: Host, session: Session, name: str, changed: Callable[[], None]) -> FieldScreen:
    """Return the screen that asks for the value of an option. An empty field unsets the session's own value."""

    def check(text: str) -> str:
        try:
            if text:
                option_of(name, text)
        except ValueError as error:
            return f"not {error}"
        return ""

    def take(text: str) -> str:
        session.options = with_value(session.options, name, option_of(name, text) if text else None)
        if session.turn:
            session.save()
        return ""

    value, where = configured(host.settings, session, name)
    unset = NOT_SENT if value is None else f"{line(text_of(value), 200)}, {where}"
    return FieldScreen(
        "Option",
        f"{WORDS[name]} If the field is empty: {unset}.",
        text=text_of(value_of(session.options, name)),
        heading=f"{name} for {session.model}, this session",
        check=check,
        take=take,
        done=changed,
    )


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

    def __init__(self, name: str, words: str, data: bytes, saved: Callable[[Path], None], place: str = "Save") -> None:
        about = (
            f"{line(words, 200)}\n{size_words(len(data))} go to this file. A name without a folder is in {Path.cwd()}."
        )
        super().__init__(place, about, text=name)
        self._data = data
        self._saved = saved
        self._replaced = ""

    @override
    def typed(self, field: Input) -> None:
        if field.value.strip() != self._replaced:
            self._replaced = ""
            self.complain("")

    def content(self) -> bytes:
        """Return the bytes to write. Called in a thread."""
        return self._data

    @override
    async def taken(self, text: str) -> str:
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
        self.done = partial(self._saved, path)
        return ""


class FillScreen(FieldScreen):
    """A field for each value of a server's prompt or resource template, completed by the server while it is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "suggest(-1)", "suggestions", priority=True, tooltip="choose a value that the server suggests"),
        Binding("down", "suggest(1)", priority=True),
        Binding("tab", "app.focus_next", "field", tooltip="go to the next or the former field"),
        Binding("shift+tab", "app.focus_previous"),
    ]
    DEFAULT_CSS = """
    FillScreen {
        & > #field-words { max-height: 4; padding: 0 1; color: $text-muted; }
        & > VerticalScroll { height: 1fr; }
        & .field-label { height: auto; padding: 0 1; }
        & Input { margin: 0 1 1 1; }
        & > ChoiceList { display: none; }
        & > .page-body { display: none; }
    }
    """

    def __init__(self, host: Host, form: Form, filled: Callable[[Mapping[str, str]], None]) -> None:
        super().__init__("Fill in", line(form.about, _WORDS), heading=form.title)
        self._host, self._form, self._filled = host, form, filled
        self._suggested: Sequence[str] = ()

    @override
    def fields(self) -> Sequence[Widget]:
        rows: list[Widget] = []
        for argument in self._form.arguments:
            optional = "" if argument.required else " (may stay empty)"
            about = f"  {argument.description}" if argument.description else ""
            words = Content.assemble((line(argument.name, 80), "bold"), line(f"{optional}{about}", _WORDS))
            rows += (Static(words, classes="field-label"), Input(compact=True, select_on_focus=False))
        return [VerticalScroll(*rows, can_focus=False), ChoiceList()]

    def on_mount(self) -> None:
        self.query_one(ChoiceList).can_focus = False
        self.query_one("#field-words").display = bool(self._words)

    @property
    def _values(self) -> dict[str, str]:
        fields = self.query(Input)
        return {argument.name: field.value for argument, field in zip(self._form.arguments, fields, strict=True)}

    @override
    def typed(self, field: Input) -> None:
        self.complain("")
        if field.has_focus:
            self._complete(field)

    def on_descendant_focus(self) -> None:
        if isinstance(self.focused, Input):
            self._complete(self.focused)

    def _complete(self, field: Input) -> None:
        self._suggest(())
        self.run_worker(partial(self._ask, field, field.value), group="completion", exclusive=True)

    async def _ask(self, field: Input, value: str) -> None:
        pool, form = self._host.pool, self._form
        if pool is None:
            return
        name = form.arguments[list(self.query(Input)).index(field)].name
        about = {"type": "ref/resource", "uri": form.template}
        if form.prompt:
            about = {"type": "ref/prompt", "name": form.prompt}
        params: dict[str, JSON] = {"ref": about, "argument": {"name": name, "value": value}}
        if others := {other: text for other, text in self._values.items() if other != name and text}:
            params["context"] = {"arguments": others}
        try:
            values = await pool.request(form.server, lambda connection: connection.complete(params))
        except TuiHostError as error:
            if self.is_on_top:
                self.complain(f"no completion: {error}")
            return
        if self.is_on_top and field.has_focus and field.value == value:
            self._suggest([suggestion for suggestion in values if suggestion != value])

    def _suggest(self, values: Sequence[str]) -> None:
        self._suggested = values
        choices = self.query_one(ChoiceList)
        choices.display = bool(values)
        choices.styles.height = min(MOST, len(values))
        choices.show([Choice(words=value) for value in values], current=0)
        choices.cursor = None  # nothing is chosen yet

    def action_suggest(self, step: int) -> None:
        """Choose a suggestion; `enter` takes it."""
        choices = self.query_one(ChoiceList)
        if choices.cursor is not None:
            choices.action_line(step)
        elif self._suggested and step > 0:
            choices.cursor = 0

    @override
    def entered(self, field: Input) -> None:
        """Take the chosen suggestion; else go to the next field, or finish."""
        choices, fields = self.query_one(ChoiceList), list(self.query(Input))
        if choices.cursor is not None:
            field.value = self._suggested[choices.cursor]
            field.cursor_position = len(field.value)
            choices.cursor = None
        elif field is not fields[-1]:
            fields[fields.index(field) + 1].focus()
        else:
            super().entered(field)

    @override
    async def taken(self, text: str) -> str:
        values = {name: value for name, value in self._values.items() if value}
        missing = [
            argument.name for argument in self._form.arguments if argument.required and argument.name not in values
        ]
        if missing:
            return f"still to be filled in: {', '.join(missing)}"
        self.done = partial(self._filled, values)
        return ""
