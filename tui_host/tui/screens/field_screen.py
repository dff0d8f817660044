"""A screen with one field: some words, a line to write in, and what keeps it from being taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.tui.screens.page_screen import PageScreen


class HiddenInput(Input):
    """A field whose text is neither shown nor given to the clipboard."""

    @override
    def action_copy(self) -> None:
        """Nothing: what is hidden stays here."""

    @override
    def action_cut(self) -> None:
        """Nothing."""


class FieldScreen(PageScreen):
    """One field. `taken` is called with what was written, after `enter`.

    Attributes:
        HIDDEN: What is written is not shown.
    """

    AUTO_FOCUS = "Input"
    HIDDEN: ClassVar[bool] = False
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
        """Where one writes."""
        return self.query_one(Input)

    def explain(self, words: str) -> None:
        """Say above the field what it is for."""
        self.query_one("#field-words", Static).update(Content(words))

    def complain(self, words: str) -> None:
        """Say below the field why what was written cannot be taken."""
        self.query_one("#field-trouble", Static).update(Content(line(words, 400)))

    def taken(self, text: str) -> None:
        """What was written is to be used. Abstract: the metaclass of Textual's widgets leaves no room for `ABC`."""
        raise NotImplementedError

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take it."""
        event.stop()
        self.taken(event.value.strip())
