"""The fields of a form: a field for text, and a list of values to choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.widget import Widget
from typing_extensions import override

from tui_host.capture.visible import line, visible
from tui_host.chat.schema_form import FormOption
from tui_host.tui.widgets.approval.approval_lines import Field

LABEL = 200
"""Largest number of characters of an option's label to show."""


class TextField(Field):
    """A field for text: `enter` goes to the next field, `ctrl+j` begins a new line.

    A prefilled text is untrusted: its invisible characters are shown as codes, and the original is kept until the person edits it.

    Args:
        text: The text at the beginning.
    """

    DEFAULT_CSS = """
    TextField {
        display: block;
        height: auto;
        min-height: 1;
        max-height: 10;
        padding: 0 1 0 0;
        border: none;
        border-left: solid $border;
        background: $boost;
        &:focus { border: none; border-left: solid $primary; background: $primary 25%; }
        &.-wrong { background: $error 20%; }
    }
    """

    def __init__(self, text: str = "") -> None:
        super().__init__(lines=True)
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


class Finished(Message):
    """Posted by a field that the person leaves with `enter`."""


class PickField(Widget, can_focus=True):
    """A list of values: `up` and `down` move (and choose, where only one may be chosen), `space` chooses or unchooses, `enter` goes to the next field.

    Args:
        options: The values.
        chosen: The values chosen at the beginning.
        is_several: Whether several values may be chosen.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("space", "pick", show=False),
        Binding("enter", "finish", show=False),
    ]
    DEFAULT_CSS = """
    PickField { height: auto; padding: 0 1; background: $boost; }
    PickField:focus { background: $primary 25%; }
    PickField.-wrong { background: $error 20%; }
    """

    class Changed(Message):
        """Posted when a value was chosen or unchosen."""

    def __init__(self, options: Sequence[FormOption], chosen: Sequence[str], *, is_several: bool) -> None:
        super().__init__()
        self._options = options
        self._several = is_several
        self._cursor = next((number for number, option in enumerate(options) if option.value in chosen), 0)
        self.chosen: list[str] = [option.value for option in options if option.value in chosen]

    @override
    def render(self) -> Content:
        rows: list[Content] = []
        for number, option in enumerate(self._options):
            mark = self._mark(is_chosen=option.value in self.chosen)
            is_named = option.label == option.value or option.value in {"true", "false"}
            value = "" if is_named else f"  ({line(option.value, LABEL)})"
            is_current = self.has_focus and number == self._cursor
            row = f"{'>' if is_current else ' '} {mark} {line(option.label, LABEL)}{value}"
            rows.append(Content.styled(row, "bold" if is_current else ""))
        return Content("\n").join(rows)

    def _mark(self, *, is_chosen: bool) -> str:
        if self._several:
            return "☐☑"[is_chosen]
        return f"({'*' if is_chosen else ' '})"

    def action_move(self, step: int) -> None:
        """Move to another value, and choose it where only one may be chosen; past the first or the last one nothing moves."""
        self._cursor = min(max(self._cursor + step, 0), len(self._options) - 1)
        if not self._several and self._options[self._cursor].value not in self.chosen:
            self.action_pick()
        self._scroll_to_cursor()
        self.refresh()

    def _scroll_to_cursor(self) -> None:
        """Scroll the form so that the current value is visible."""
        row = Region(self.region.x, self.region.y + self._cursor, 1, 1)
        for ancestor in self.ancestors:
            if isinstance(ancestor, VerticalScroll):
                ancestor.scroll_to_region(
                    row.translate(ancestor.scroll_offset - ancestor.content_region.offset), animate=False
                )
                return

    def action_pick(self) -> None:
        value = self._options[self._cursor].value
        if value in self.chosen:
            self.chosen.remove(value)
        elif self._several:
            self.chosen.append(value)
        else:
            self.chosen = [value]
        self.refresh()
        self.post_message(self.Changed())

    def action_finish(self) -> None:
        self.post_message(Finished())

    def on_click(self, event: events.Click) -> None:
        if 0 <= event.y < len(self._options):
            self._cursor = event.y
            self.action_pick()
