"""A view of Markdown documents: the help, and the documents that come with the program."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style

from tui_host.tui.markdown.page import Inks
from tui_host.tui.widgets.transcript.block_view import BlockView
from tui_host.tui.widgets.transcript.blocks import Blocks, Budget, ItemPart, estimate

_EDGE = Segment(" ", Style.null())
_PATIENCE = 2.0
"""Seconds that may be spent on finding a place in a document."""


class DocumentView(BlockView):
    """Draws a Markdown source."""

    AROUND = 1 << 20  # all of it, so that the scroll bar is right

    def __init__(self, source: str, *, classes: str | None = None) -> None:
        super().__init__(
            Blocks(self._parts, lambda _, width: estimate(source, width), lambda _: source), classes=classes
        )
        self._source = source

    def _parts(self, _number: int, _width: int, _inks: Inks) -> list[ItemPart]:
        return [ItemPart(0, source=self._source, edge=_EDGE)]

    def current_source(self) -> tuple[str, str]:
        """The selection, or else the whole source, and what it is."""
        return self.selected_source() or ("document", self._source)

    def show_offset(self, offset: int) -> None:
        """Scroll a character of the source to the top."""
        self.blocks.settle(0, 1, Budget(_PATIENCE))
        self.show_line(self.blocks.source_line(0, 0, offset), top=True)
