"""Asks for the values of a server's prompt or resource template, each completed by the server while it is typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.errors import JSON, TuiHostError
from tui_host.tui.screens.page_screen import PageScreen
from tui_host.tui.widgets.choices import Choice, ChoiceList

if TYPE_CHECKING:
    from tui_host.host.host import Host
    from tui_host.tui.widgets.prompt.server_offers import Form

MOST = 6
"""Suggestions shown at once; more scroll."""
_WORDS = 300


class FillScreen(PageScreen):
    """A field for each value.

    Args:
        host: The host, whose servers complete.
        form: What is filled in.
        filled: Called with the values when all are there.
    """

    HEADING = "Fill in"
    PLACE = "Fill in"
    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "suggest(-1)", show=False, priority=True),
        Binding("down", "suggest(1)", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    FillScreen {
        & > #fill-about { height: auto; max-height: 4; padding: 0 1; color: $text-muted; }
        & > VerticalScroll { height: 1fr; }
        & .fill-label { height: auto; padding: 0 1; }
        & Input { margin: 0 1 1 1; }
        & > ChoiceList { height: auto; max-height: 6; display: none; }
        & > #fill-trouble { height: auto; padding: 0 1; color: $text-error; }
    }
    """

    def __init__(self, host: Host, form: Form, filled: Callable[[Mapping[str, str]], None]) -> None:
        super().__init__()
        self._host = host
        self._form = form
        self._arguments = form.arguments
        self._filled = filled
        self._suggested: Sequence[str] = ()
        self._is_chosen = False

    @override
    def body(self) -> Sequence[Widget]:
        fields: list[Widget] = []
        for argument in self._arguments:
            needed = "" if argument.required else " (may stay empty)"
            about = f"  {argument.description}" if argument.description else ""
            words = Content.assemble((line(argument.name, 80), "bold"), line(f"{needed}{about}", _WORDS))
            fields.append(Static(words, classes="fill-label"))
            fields.append(Input(compact=True, select_on_focus=False))
        return [
            Static(Content(line(self._form.about, _WORDS)), id="fill-about"),
            VerticalScroll(*fields, can_focus=False),
            ChoiceList(),
            Static(id="fill-trouble", markup=False),
        ]

    def on_mount(self) -> None:
        self.say(self._form.title)
        choices = self.query_one(ChoiceList)
        choices.can_focus = False
        self.query_one("#fill-about").display = bool(self._form.about)

    @property
    def _fields(self) -> list[Input]:
        return list(self.query(Input))

    @property
    def _values(self) -> dict[str, str]:
        return {argument.name: field.value for argument, field in zip(self._arguments, self._fields, strict=True)}

    # Completion by the server.

    def on_input_changed(self, event: Input.Changed) -> None:
        self._complain("")
        if event.input.has_focus:
            self._complete(event.input)

    def on_descendant_focus(self) -> None:
        if isinstance(self.focused, Input):
            self._complete(self.focused)

    def _complete(self, field: Input) -> None:
        self._suggest(())
        argument = self._arguments[self._fields.index(field)]
        ask = partial(self._ask, field, argument.name, field.value)
        self.run_worker(ask, group="completion", exclusive=True)

    async def _ask(self, field: Input, name: str, value: str) -> None:
        pool = self._host.pool
        if pool is None:
            return
        form = self._form
        about = (
            {"type": "ref/prompt", "name": form.prompt}
            if form.prompt
            else {"type": "ref/resource", "uri": form.template}
        )
        others: Mapping[str, JSON] = {other: text for other, text in self._values.items() if other != name and text}
        params: dict[str, JSON] = {"ref": about, "argument": {"name": name, "value": value}}
        if others:
            params["context"] = {"arguments": others}
        try:
            values = await pool.request(form.server, lambda connection: connection.complete(params))
        except TuiHostError as error:
            if self.is_on_top:
                self._complain(f"no completion: {error}")
            return
        if self.is_on_top and field.has_focus and field.value == value:
            self._suggest([suggestion for suggestion in values if suggestion != value])

    def _suggest(self, values: Sequence[str]) -> None:
        self._suggested, self._is_chosen = values, False
        choices = self.query_one(ChoiceList)
        choices.display = bool(values)
        choices.styles.height = min(MOST, len(values))
        choices.show([Choice(words=value) for value in values], current=0)
        choices.cursor = None  # nothing is chosen yet

    def action_suggest(self, step: int) -> None:
        """Choose a suggestion; `enter` takes it."""
        if not self._suggested:
            return
        choices = self.query_one(ChoiceList)
        if self._is_chosen:
            choices.action_line(step)
        elif step > 0:
            self._is_chosen = True
            choices.cursor = 0

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the chosen suggestion; else go to the next field, or finish."""
        event.stop()
        fields = self._fields
        if self._is_chosen:
            event.input.value = self._suggested[self.query_one(ChoiceList).cursor or 0]
            event.input.cursor_position = len(event.input.value)
            self._is_chosen = False
            return
        number = fields.index(event.input)
        if number + 1 < len(fields):
            fields[number + 1].focus()
            return
        missing = [
            argument.name for argument in self._arguments if argument.required and not self._values[argument.name]
        ]
        if missing:
            self._complain(f"still to be filled in: {', '.join(missing)}")
            return
        values = {name: value for name, value in self._values.items() if value}
        self.action_leave()
        self._filled(values)

    def _complain(self, words: str) -> None:
        self.query_one("#fill-trouble", Static).update(Content(line(words, 400)))
