"""A form made from the fields of a schema: what servers ask, arguments of tools, and values of prompts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static, TextArea
from typing_extensions import override

from tui_host.capture.json.narrowing import mapping
from tui_host.capture.visible import line, visible
from tui_host.chat.call_arguments import pretty
from tui_host.chat.schema_form import FormField, FormOption, text_of, value_of, whole_field
from tui_host.errors import JSON, TuiHostError
from tui_host.tui.widgets.key_order import KeysInOrder
from tui_host.tui.widgets.status_lines import DIM

WHOLE = FormField(
    name="JSON", kind="json", label="Values as JSON", schema={"type": "object"}, hint="a JSON object", required=True
)
LABEL_CHARACTERS, DESCRIPTION_CHARACTERS = 200, 600
SECRET = "This field asks for a secret. A form is no place for passwords, tokens or keys: the server must not ask so."  # noqa: S105 - words
_TRUTHS = (FormOption(value="true", label="yes"), FormOption(value="false", label="no"))


class Finished(Message):
    """Posted by a field that the person leaves with `enter`."""


class TextField(KeysInOrder, TextArea):
    """A field for text: `enter` finishes, `ctrl+j` begins a new line where the field `takes_lines`.

    A prefilled text is untrusted: its invisible characters are shown as codes, and the original is kept until the person edits it.
    """

    DEFAULT_CSS = """
    TextField {
        height: auto;
        min-height: 1;
        max-height: 10;
        padding: 0 1 0 0;
        border: none;
        border-left: solid $border;
        background: $boost;
        scrollbar-size: 1 1;
        &:focus { border: none; border-left: solid $primary; background: $primary 25%; }
        &.-wrong { background: $error 20%; }
    }
    """

    def __init__(self, text: str = "") -> None:
        super().__init__(highlight_cursor_line=False)
        self.cursor_blink = False
        self.takes_lines = True
        self._original, self._shown = text, visible(text)
        self.load_text(self._shown)
        self.move_cursor(self.document.end)

    @property
    def value(self) -> str:
        return self._original if self.text == self._shown else self.text

    @override
    async def on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            self.post_message(Finished())
        elif event.key in {"ctrl+j", "shift+enter", "shift+\r"}:
            if self.takes_lines:
                self.insert("\n")
        else:
            return
        event.stop()
        event.prevent_default()

    async def on_paste(self, event: events.Paste) -> None:
        """Insert a paste as visible text; nothing is submitted."""
        event.stop()
        event.prevent_default()
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        pasted = self.replace(visible(text if self.takes_lines else text.replace("\n", " ")), *self.selection)
        self.move_cursor(pasted.end_location)

    @override
    def action_copy(self) -> None:
        if self.selected_text:
            super().action_copy()


class PickField(Widget, can_focus=True):
    """A list of values: `up` and `down` move (and choose, where only one may be chosen), `space` chooses or unchooses.

    Args:
        options: The values.
        chosen: The values chosen at the beginning.
        changed: Called when a value was chosen or unchosen.
        is_several: Whether several values may be chosen.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", tooltip="move in a list of values, and choose; space too"),
        Binding("down", "move(1)"),
        Binding("space", "pick"),
        Binding("enter", "finish"),
    ]
    DEFAULT_CSS = """
    PickField { height: auto; padding: 0 1; background: $boost; }
    PickField:focus { background: $primary 25%; }
    PickField.-wrong { background: $error 20%; }
    """

    def __init__(
        self, options: Sequence[FormOption], chosen: list[str], changed: Callable[[], object], *, is_several: bool
    ) -> None:
        super().__init__()
        self._options, self._changed, self._several, self.chosen = options, changed, is_several, chosen
        self._cursor = next((number for number, option in enumerate(options) if option.value in chosen), 0)

    @override
    def render(self) -> Content:
        rows: list[Content] = []
        for number, option in enumerate(self._options):
            is_chosen = option.value in self.chosen
            mark = "☐☑"[is_chosen] if self._several else ("( )", "(*)")[is_chosen]
            is_named = option.label == option.value or option.value in {"true", "false"}
            value = "" if is_named else f"  ({line(option.value, LABEL_CHARACTERS)})"
            is_current = self.has_focus and number == self._cursor
            row = f"{'>' if is_current else ' '} {mark} {line(option.label, LABEL_CHARACTERS)}{value}"
            rows.append(Content.styled(row, "bold" if is_current else ""))
        return Content("\n").join(rows)

    def action_move(self, step: int) -> None:
        self._cursor = min(max(self._cursor + step, 0), len(self._options) - 1)
        if not self._several and self._options[self._cursor].value not in self.chosen:
            self.action_pick()
        row = Region(self.region.x, self.region.y + self._cursor, 1, 1)
        form = next((ancestor for ancestor in self.ancestors if isinstance(ancestor, VerticalScroll)), None)
        if form is not None:
            form.scroll_to_region(row.translate(form.scroll_offset - form.content_region.offset), animate=False)
        self.refresh()

    def action_pick(self) -> None:
        value = self._options[self._cursor].value
        if value in self.chosen:
            self.chosen.remove(value)
        else:
            self.chosen = [*self.chosen, value] if self._several else [value]
        self.refresh()
        self._changed()

    def action_finish(self) -> None:
        self.post_message(Finished())

    def on_click(self, event: events.Click) -> None:
        if 0 <= event.y < len(self._options):
            self._cursor = event.y
            self.action_pick()


class FieldRow(Vertical):
    """A field with its label, its description, and what is wrong with its value."""

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
        self.input: TextField | PickField = TextField(text)
        if options:
            is_several = field.kind == "choices"
            quoted = {option.value: json.dumps(option.value, ensure_ascii=False) for option in options}
            chosen = [value for value in quoted if (quoted[value] in text if is_several else value == text)]
            self.input = PickField(options, chosen, self.check, is_several=is_several)
        self._trouble = Static(classes="row-trouble", markup=False)

    @override
    def compose(self) -> ComposeResult:
        field = self.field
        need = "required" if field.required else "optional"
        hints = line(", ".join(filter(None, (need, field.hint, "default" if field.default else ""))), LABEL_CHARACTERS)
        label = Content.assemble((line(field.label, LABEL_CHARACTERS), "bold"), (f"  {hints}", DIM))
        yield Static(label, markup=False)
        if field.description:
            name = f"{field.name}: " if field.label != field.name else ""
            about = line(f"{name}{field.description}", DESCRIPTION_CHARACTERS)
            yield Static(Content.styled(about, DIM), markup=False)
        if self._warns:
            yield Static(Content(SECRET), classes="row-secret", markup=False)
        yield self.input
        yield self._trouble

    @property
    def text(self) -> str:
        if isinstance(self.input, TextField):
            return self.input.value
        if self.field.kind == "choices":
            return json.dumps(self.input.chosen) if self.input.chosen else ""
        return "".join(self.input.chosen)

    def check(self) -> tuple[bool, JSON]:
        """Show at the field what is wrong with its value; returns whether the value is usable, and the value."""
        text = self.text
        try:
            value = value_of(self.field, text) if text or self.field.required else None
        except TuiHostError as error:
            self.complain(str(error))
            return False, None
        self.complain("")
        return True, value

    def complain(self, words: str) -> None:
        self.input.set_class(bool(words), "-wrong")
        self._trouble.set_class(bool(words), "-shown")
        self._trouble.update(Content(line(f"! {words}", 400)))

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._is_touched = True
        if self.input.has_class("-wrong"):
            self.check()

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        if event.widget is self.input and self._is_touched:
            self.check()


class FormView(Vertical):
    """A form: a row for each field, or one row for all values as JSON, such as where the fields are too many.

    Args:
        fields: The fields.
        given: Values in place of the defaults; a field that is not among them is empty.
        as_json: Whether the values are written as JSON; so are values that the form has no fields for.
        warns: Whether fields that ask for secrets are pointed out.
    """

    # At once, before the app passes on the next key: what was typed ahead behind the tab belongs to the next field.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "app.focus_next", "next field", priority=True, tooltip="go to the next field or button"),
        Binding("shift+tab", "app.focus_previous", priority=True),
    ]
    DEFAULT_CSS = "FormView { height: auto; }"

    def __init__(
        self,
        fields: Sequence[FormField],
        given: Mapping[str, JSON] | None = None,
        *,
        as_json: bool = False,
        warns: bool = False,
    ) -> None:
        super().__init__()
        whole, values = whole_field(fields), given or {}
        texts = {
            field.name: text_of(field.kind, values.get(field.name)) if given else field.default for field in fields
        }
        if whole is None and (as_json or not values.keys() <= texts.keys()):
            whole = WHOLE
        self.is_whole = whole is not None  # whether one row takes all values
        if whole is not None:
            fields, texts = [whole], {whole.name: pretty(values) if values or as_json else ""}
        self.rows = [FieldRow(field, texts[field.name], warns=warns) for field in fields]

    @override
    def compose(self) -> ComposeResult:
        yield from self.rows

    def content(self) -> Mapping[str, JSON] | None:
        """Return the values; None if a value is wrong, after the first such field got the focus. Empty fields are left out."""
        checked = [(row, *row.check()) for row in self.rows]
        for row, is_usable, _ in checked:
            if not is_usable:
                row.input.focus()
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
