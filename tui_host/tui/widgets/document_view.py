"""A view of Markdown documents: the help, and the documents that come with the program."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from typing_extensions import override

from tui_host.tui.markdown import line_page as styles
from tui_host.tui.markdown.document import Budget, Document
from tui_host.tui.widgets.lines.selection import DocumentSelection, SelectingView

_ALL = 1 << 30
_MARGIN = 1


class DocumentView(SelectingView):
    """Draws a Markdown source. Call `sync` at the screen's rate to draw a long source in slices."""

    COMPONENT_CLASSES: ClassVar[set[str]] = styles.COMPONENTS
    DEFAULT_CSS = f"DocumentView {{ {styles.CSS} }}"

    def __init__(self, source: str, *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._inks: styles.Inks | None = None
        self._document = Document()
        self._document.put(source, final=True)

    @property
    @override
    def selectable(self) -> DocumentSelection:
        return DocumentSelection(self._document, _MARGIN)

    def current_source(self) -> tuple[str, str]:
        """The selection, or else the whole source, and what it is."""
        return self.selected_source() or ("document", self._document.source)

    def sync(self) -> None:
        """Draw more lines, if any are missing."""
        document = self._document
        if self.view_width <= 0 or self._inks is None:
            return
        budget = Budget()
        document.advance(budget)
        top = document.settle(self.top, self.view_height, _ALL, budget)
        if document.take_dirty() < document.height or self.virtual_size.height != document.height:
            self.redraw()
            self.scroll_to(y=top, animate=False, force=True)

    def show_offset(self, offset: int) -> None:
        """Scroll a character of the source to the top."""
        self._document.advance(Budget(2))
        self.show_line(self._document.line_of(offset), top=True)

    @override
    def width_changed(self) -> None:
        if self.view_width > 0:
            self._inks = styles.inks_of(self, self._inks)
            self._document.fit(max(1, self.view_width - 2 * _MARGIN), self._inks)
            self.sync()

    @override
    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self._inks is not None and self.is_attached:
            self.call_later(self.width_changed)

    @override
    def line_count(self) -> int:
        return self._document.height

    @override
    def draw(self, number: int) -> Strip:
        return Strip([Segment(" " * _MARGIN, Style.null()), *self._document.line(number).strip])
