"""Light placeholders for chat and inspector in the first frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from typing_extensions import override

from tui_host.tui.sources.source_words import EMPTY_LIVE
from tui_host.tui.widgets.inspector.title import legend, title_line
from tui_host.tui.widgets.status_lines import DIM

if TYPE_CHECKING:
    from tui_host.tui.suggestions import Offers


def first_chat(offers: Offers) -> Static:
    """Return an empty chat, drawn like `Transcript`."""
    lines = [Content.assemble((key, "$text-primary"), "  ", Content(text)) for key, text in offers.questions]
    lines += [Content(""), *(Content.styled(text, DIM) for text in offers.lines)]
    return Static(Content("\n").join(lines), classes="placeholder")


class FirstInspector(Widget):
    """An inspector without a row."""

    DEFAULT_CSS = "FirstInspector { color: $text-muted; & > .first-inspector--heading { background: $panel; } }"
    COMPONENT_CLASSES: ClassVar[set[str]] = {"first-inspector--heading"}

    def __init__(self, reading: str = "") -> None:
        super().__init__(classes="placeholder")
        self._reading = reading

    @override
    def render(self) -> Content:
        width = self.size.width
        title = title_line(0, 0, ["/ filter"] if self._reading else ["following", "/ filter"], width)
        lines = [Content.styled(title, self.get_visual_style("first-inspector--heading")), Content("")]
        words = [*Content(self._reading or EMPTY_LIVE).wrap(max(1, width - 4)), Content("")]
        lines += [Content("  ") + line for line in (*words, *map(Content, legend().splitlines()))]
        return Content("\n").join(lines)
