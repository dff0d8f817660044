"""A form made from the fields of a schema: what servers ask, arguments of tools, and values of prompts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import events
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
from tui_host.chat.schema_form import FormField, FormOption, content_of, text_of, whole_field
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
    """A field for text: `enter` finishes, `ctrl+j` begins a new line.

    A prefilled text is untrusted: its invisible characters are shown as codes, and the original is kept until the person edits it.
    """

    DEFAULT_CSS = """
    TextField {
        height: auto; min-height: 1; max-height: 10; padding: 0 1 0 0; background: $foreground 8%; scrollbar-size: 1 1;
        border: none; border-left: solid $border;
        &:focus { border: none; border-left: solid $primary; background: $primary 25%; }
        &.-wrong { background: $error 20%; }
    }
    """

    def __init__(self, text: str = "") -> None:
        super().__init__(highlight_cursor_line=False)
        self.cursor_blink = False
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
        pasted = self.replace(visible(text), *self.selection)
        self.move_cursor(pasted.end_location)


class PickField(Widget, can_focus=True):
    """A list of values: `up` and `down` move (and choose, where only one may be chosen), `space` chooses or unchooses."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", tooltip="move in a list of values, and choose; space too"),
        Binding("down", "move(1)"),
        Binding("space", "pick"),
        Binding("enter", "finish"),
    ]
    DEFAULT_CSS = """
    PickField { height: auto; padding: 0 1; background: $foreground 8%; }
    PickField:focus { background: $primary 25%; }
    PickField.-wrong { background: $error 20%; }
    """

    def __init__(self, options: Sequence[FormOption], text: str, *, is_several: bool) -> None:
        super().__init__()
        quoted = {option.value: json.dumps(option.value, ensure_ascii=False) for option in options}  # as in a list
        self._options, self._several = options, is_several
        self.chosen = [value for value, item in quoted.items() if value == text or item in text]
        self._cursor = [*quoted].index(self.chosen[0]) if self.chosen else 0

    @property
    def value(self) -> str:
        return json.dumps(self.chosen) if self._several and self.chosen else "".join(self.chosen)

    @override
    def render(self) -> Content:
        rows: list[Content] = []
        for number, option in enumerate(self._options):
            mark = ("☐☑" if self._several else ("( )", "(*)"))[option.value in self.chosen]
            value = "" if option.label == option.value else f"  ({line(option.value, LABEL_CHARACTERS)})"
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

    def action_finish(self) -> None:
        self.post_message(Finished())

    def on_click(self, event: events.Click) -> None:
        if 0 <= event.y < len(self._options):
            self._cursor = event.y
            self.action_pick()


class FieldRow(Vertical):
    """A field with its label, its description, and what is wrong with its value."""

    DEFAULT_CSS = "FieldRow { height: auto; margin-bottom: 1; }"

    def __init__(self, field: FormField, text: str, *, warns: bool) -> None:
        self.field = field
        need = "required" if field.required else "optional"
        hints = line(", ".join(filter(None, (need, field.hint, "default" if field.default else ""))), LABEL_CHARACTERS)
        head = [Content.assemble((line(field.label, LABEL_CHARACTERS), "bold"), (f"  {hints}", DIM))]
        if field.description:
            name = f"{field.name}: " if field.label != field.name else ""
            head.append(Content.styled(line(f"{name}{field.description}", DESCRIPTION_CHARACTERS), DIM))
        self._warnings = [Content.styled(SECRET, "bold $text-warning")] if warns and field.asks_secret else []
        self._words = Static(markup=False)
        self.input: TextField | PickField = TextField(text)
        if options := _TRUTHS if field.kind == "boolean" else field.options:
            self.input = PickField(options, text, is_several=field.kind == "choices")
        super().__init__(Static(Content("\n").join(head), classes="of-server"), self._words, self.input)
        self.complain("")

    def complain(self, words: str) -> None:
        self.input.set_class(bool(words), "-wrong")
        trouble = [Content.styled(line(f"! {words}", 400), "$text-error")] if words else []
        self._words.update(Content("\n").join([*self._warnings, *trouble]))
        self._words.display = bool(self._warnings or trouble)

    def turn_to(self) -> None:
        """Give the focus to the field, its label and what is wrong with it in sight."""
        self.input.focus(scroll_visible=False)
        self.call_after_refresh(lambda: self.is_attached and self.scroll_visible(animate=False))


class FormView(Vertical):
    """A form: a row for each field, or one row for all values as JSON, also where fields are too many or values have none.

    Values that are `given` stand in place of the defaults. A form that `warns` points out fields that ask for secrets.
    """

    # At once, before the app passes on the next key: what was typed ahead behind the tab belongs to the next field.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "app.focus_next", "next field", priority=True, tooltip="go to the next field or button"),
        Binding("shift+tab", "app.focus_previous", priority=True),
    ]
    # All values as JSON scroll with the form: what is sent must be read, not looked for in a low field.
    DEFAULT_CSS = "FormView { height: auto; } FormView.-whole TextField { max-height: 1000; }"

    def __init__(
        self,
        fields: Sequence[FormField],
        given: Mapping[str, JSON] | None = None,
        *,
        as_json: bool = False,
        warns: bool = False,
    ) -> None:
        whole, values = whole_field(fields), given or {}
        texts = {own.name: text_of(own.kind, values.get(own.name)) if given else own.default for own in fields}
        if whole is None and (as_json or not values.keys() <= texts.keys()):
            whole = WHOLE
        self.is_whole = whole is not None  # whether one row takes all values
        if whole is not None:
            fields, texts = [whole], {whole.name: pretty(values) if values or as_json else ""}
        self.rows = [FieldRow(field, texts[field.name], warns=warns) for field in fields]
        super().__init__(*self.rows, classes="-whole" if self.is_whole else "")

    def content(self) -> Mapping[str, JSON] | None:
        """Return the values, without the empty fields; None if one is wrong, which its field says and gets the focus."""
        for row in self.rows:
            row.complain("")
        try:
            written = {row.field.name: row.input.value for row in self.rows}
            values = content_of([row.field for row in self.rows], written)
        except TuiHostError as error:
            wrong = next(row for row in self.rows if row.field.name == error.where)
            wrong.complain(error.what)
            wrong.turn_to()
            return None
        return mapping(values[self.rows[0].field.name]) if self.is_whole else values

    def on_finished(self, event: Finished) -> None:
        inputs: list[Widget] = [row.input for row in self.rows]
        focused = self.screen.focused
        if focused in inputs[:-1]:
            event.stop()
            inputs[inputs.index(focused) + 1].focus()
