"""The chat before its first message: questions to try, and what was found."""

from __future__ import annotations

from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui_host.tui.markdown.line_page import Page
from tui_host.tui.widgets.transcript.item_lines import Look


@dataclass(frozen=True, slots=True, kw_only=True)
class Empty:
    """What stands in a chat without messages.

    Attributes:
        questions: Key and text of each question to try.
        lines: What else is worth knowing, such as the models that were found.
    """

    questions: tuple[tuple[str, str], ...] = ()
    lines: tuple[str, ...] = ()

    def rows(self, look: Look) -> list[tuple[Strip, str]]:
        """Its lines, each with the question that it belongs to, if it does."""
        rows = [(Strip([]), "")]
        plain = Style.null()
        width = max(1, look.width - 1)
        for key, text in self.questions:
            page = Page(width, look.inks)
            mark = Segment(f" {key}  ", look.inks["accent"])
            with page.inside(mark, Segment(" " * len(mark.text), plain)):
                page.text([Segment(text, plain)])
            rows += [(line.strip, text) for line in page.lines]
        if self.questions:
            rows.append((Strip([]), ""))
        page = Page(width, look.inks)
        with page.inside(Segment(" ", plain), Segment(" ", plain)):
            for words in self.lines:
                page.text([Segment(words, look.inks["dim"])])
        return [*rows, *((line.strip, "") for line in page.lines)]
