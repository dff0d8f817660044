"""Light placeholders for chat and inspector in the first frame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget
from typing_extensions import override

from tui_host.tui.suggestions import EMPTY_LIVE
from tui_host.tui.widgets.inspector.title import legend, title_line

if TYPE_CHECKING:
    from tui_host.tui.suggestions import Offers


class FirstChat(Widget):
    """An empty chat, drawn like `Transcript`."""

    DEFAULT_CSS = """
    FirstChat {
        background: $surface;
        color: $foreground;
        & > .first-chat--dim { color: $text-muted; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"first-chat--dim"}

    def __init__(self, offers: Offers) -> None:
        super().__init__(classes="placeholder")
        self._offers = offers

    @override
    def render(self) -> Content:
        width = max(1, self.size.width - 2)  # the bar, and the place beside the end of a line
        lines = [Content("")]
        for key, text in self._offers.questions:
            for number, words in enumerate(_wrapped(text, width - 4)):
                mark = Content.styled(f" {key}  ", "$text-primary") if not number else Content("    ")
                lines.append(mark + Content(words))
        lines.append(Content(""))
        dim = self.get_visual_style("first-chat--dim")  # in a content its colour would not know its background
        for text in self._offers.lines:
            lines += [Content.styled(f" {words}", dim) for words in _wrapped(text, width - 1)]
        return Content("\n").join(lines)


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Wrap whole words; no word is longer than a line."""
    line = ""
    for word in text.split(" "):
        if line and cell_len(line) + 1 + cell_len(word) > width:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line


class FirstInspector(Widget):
    """An inspector without a row."""

    DEFAULT_CSS = """
    FirstInspector {
        background: $surface;
        color: $text-muted;
        & > .first-inspector--heading { background: $panel; color: $text-muted; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"first-inspector--heading"}

    def __init__(self, reading: str = "") -> None:
        super().__init__(classes="placeholder")
        self._reading = reading

    @override
    def render(self) -> Content:
        width = self.size.width
        heading = self.get_visual_style("first-inspector--heading")
        title = title_line(0, 0, ["? signs", "following", "/ filter"], width)
        lines = [Content.styled(title, heading), Content("")]
        words = [*_wrapped(self._reading or EMPTY_LIVE, width - 4), "", *legend().splitlines()]
        lines += [Content(f"  {text}") for text in words]
        return Content("\n").join(lines)
