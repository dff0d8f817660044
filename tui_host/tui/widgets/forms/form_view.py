"""A form on the screen, made from the fields of a schema. It is used for elicitation and for calling tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static, TextArea
from typing_extensions import override

from tui_host.capture.json.narrowing import mapping
from tui_host.capture.visible import line
from tui_host.chat.schema_form import FormField, FormOption, value_of, whole_field
from tui_host.errors import JSON, TuiHostError
from tui_host.tui.widgets.forms.form_fields import Finished, PickField, TextField
from tui_host.tui.widgets.status_lines import DIM

_TRUTHS = (FormOption(value="true", label="yes"), FormOption(value="false", label="no"))
_LABEL, _DESCRIPTION = 120, 600
SECRET = "This field asks for a secret. A form is no place for passwords, tokens or keys: the server must not ask so."  # noqa: S105 - words


class FieldRow(Vertical):
    """A field with its label, its description, and what is wrong with its value.

    Args:
        field: The field.
        text: The text at the beginning.
        warns: Whether a field that asks for a secret is pointed out.
    """

    DEFAULT_CSS = """
    FieldRow {
        height: auto;
        margin-bottom: 1;
        & > Static { height: auto; }
        & > .row-secret { color: $text-warning; text-style: bold; }
        & > .row-trouble { color: $text-error; display: none; }
        & > .row-trouble.-shown { display: block; }
    }
    """

    def __init__(self, field: FormField, text: str, *, warns: bool) -> None:
        super().__init__()
        self.field = field
        self._warns = warns and field.asks_secret
        self._is_touched = False
        options = _TRUTHS if field.kind == "boolean" else field.options
        self.input: TextField | PickField = (
            PickField(options, _chosen(field, text), is_several=field.kind == "choices") if options else TextField(text)
        )
        self._trouble = Static(classes="row-trouble", markup=False)

    @override
    def compose(self) -> ComposeResult:
        field = self.field
        needed = "needed" if field.required else "may be empty"
        hints = ", ".join(filter(None, (needed, field.hint, "default" if field.default else "")))
        yield Static(
            Content.assemble((line(field.label, _LABEL), "bold"), (f"  {line(hints, _LABEL)}", DIM)), markup=False
        )
        name = f"{field.name}: " if field.label != field.name and field.description else ""
        if field.description:
            yield Static(Content.styled(line(f"{name}{field.description}", _DESCRIPTION), DIM), markup=False)
        if self._warns:
            yield Static(Content(SECRET), classes="row-secret", markup=False)
        yield self.input
        yield self._trouble

    @property
    def text(self) -> str:
        """The field's text, as `chat.schema_form` reads it."""
        if isinstance(self.input, TextField):
            return self.input.value
        chosen = self.input.chosen
        if self.field.kind == "choices":
            return json.dumps(chosen) if chosen else ""
        return chosen[0] if chosen else ""

    def check(self) -> tuple[bool, JSON]:
        """Read the value, and show at the field what is wrong with it; returns whether the value is usable, and the value."""
        text = self.text
        try:
            value = value_of(self.field, text) if text or self.field.required else None
        except TuiHostError as error:
            self.complain(str(error))
            return False, None
        self.complain("")
        return True, value

    def complain(self, words: str) -> None:
        """Show what is wrong with the value; nothing for an empty text."""
        self.input.set_class(bool(words), "-wrong")
        self._trouble.set_class(bool(words), "-shown")
        self._trouble.update(Content(line(f"! {words}", 400)))

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._is_touched = True
        if self.input.has_class("-wrong"):
            self.check()

    def on_pick_field_changed(self) -> None:
        self.check()

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        if event.widget is self.input and self._is_touched:
            self.check()


class FormView(Vertical):
    """A form: a row for each field, or one row for all values where the fields are too many.

    Args:
        fields: The fields.
        texts: Texts in place of the defaults, by name.
        warns: Whether fields that ask for secrets are pointed out.
    """

    # At once, before the app passes on the next key: what was typed ahead behind the tab belongs to the next field.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "app.focus_next", show=False, priority=True),
        Binding("shift+tab", "app.focus_previous", show=False, priority=True),
    ]
    DEFAULT_CSS = "FormView { height: auto; }"

    def __init__(
        self, fields: Sequence[FormField], texts: Mapping[str, str] | None = None, *, warns: bool = False
    ) -> None:
        super().__init__()
        given = texts or {}
        whole = whole_field(fields)
        self.is_whole = whole is not None  # whether one row takes all values
        shown = fields if whole is None else [whole]
        self.rows = [FieldRow(field, given.get(field.name, field.default), warns=warns) for field in shown]

    @override
    def compose(self) -> ComposeResult:
        yield from self.rows

    @property
    def texts(self) -> Mapping[str, str]:
        return {row.field.name: row.text for row in self.rows}

    def content(self) -> Mapping[str, JSON] | None:
        """Return the values; None if a value is wrong, after the first such field got the focus. Empty fields are left out."""
        checked = [(row, *row.check()) for row in self.rows]
        wrong = next((row for row, is_usable, _ in checked if not is_usable), None)
        if wrong is not None:
            wrong.input.focus()
            return None
        if self.is_whole:
            return mapping(checked[0][2])
        return {row.field.name: value for row, _, value in checked if row.text or row.field.required}

    def on_finished(self, event: Finished) -> None:
        inputs: list[Widget] = [row.input for row in self.rows]
        focused = self.screen.focused
        if focused in inputs[:-1]:
            event.stop()
            inputs[inputs.index(focused) + 1].focus()


def _chosen(field: FormField, text: str) -> Sequence[str]:
    """Return the values that are chosen by a text; none if the text, a default of the server's, is none of the values."""
    try:
        value = value_of(field, text) if text else None
    except TuiHostError:
        return ()
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, str):
        return [value]
    return [str(part) for part in value] if isinstance(value, list) else ()
