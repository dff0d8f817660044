"""A view of Markdown documents: the help, and the documents of the program."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from typing_extensions import override

from tui_host.tui.glyphs import UNICODE, Glyphs
from tui_host.tui.markdown import markdown_selection as text_selection
from tui_host.tui.markdown import markdown_styles as styles
from tui_host.tui.markdown.document import Budget, Document
from tui_host.tui.widgets.lines.line_selection import Selectable, SelectingView, Spot, Stretch

_ALL = 1 << 30
_MARGIN = 1


class DocumentSelection(Selectable):
    """Selects characters of a document's source."""

    is_rows = False

    def __init__(self, document: Document) -> None:
        self._document = document

    @override
    def stretch_at(self, line: int, cell: int) -> Stretch:
        first, last = text_selection.range_at(self._document, line, cell - _MARGIN)
        return (first,), (last,)

    @override
    def cells_in(self, line: int, selected: Stretch) -> tuple[int, int] | None:
        cells = text_selection.cells_in(self._document, line, (selected[0][0], selected[1][0]))
        return None if cells is None else (cells[0] + _MARGIN, cells[1] + _MARGIN)

    @override
    def point_of(self, spot: Spot) -> tuple[int, int]:
        line, cell = text_selection.point_of(self._document, spot[0])
        return line, cell + _MARGIN

    @override
    def word_at(self, line: int, cell: int) -> Stretch | None:
        word = text_selection.word_at(self._document, line, cell - _MARGIN)
        return None if word is None else ((word[0],), (word[1],))

    @override
    def text_at(self, line: int, cell: int) -> Stretch | None:
        text = text_selection.text_at(self._document, line, cell - _MARGIN)
        return None if text is None else ((text[0],), (text[1],))

    @override
    def copied(self, selected: Stretch) -> tuple[str, str]:
        return "selection", text_selection.copied(self._document, (selected[0][0], selected[1][0]))


class DocumentView(SelectingView):
    """Draws a Markdown source. Call `sync` at screen rate to make the lines bit by bit."""

    COMPONENT_CLASSES: ClassVar[set[str]] = styles.COMPONENTS
    DEFAULT_CSS = f"DocumentView {{ {styles.CSS} }}"

    def __init__(self, source: str, *, glyphs: Glyphs = UNICODE, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._glyphs = glyphs
        self._inks: styles.Inks | None = None
        self._document = Document()
        self._document.put(source, final=True)

    @property
    @override
    def selectable(self) -> DocumentSelection:
        return DocumentSelection(self._document)

    def current_source(self) -> tuple[str, str]:
        """The selection, else the whole source, in words and as text."""
        return self.selected_source() or ("document", self._document.source)

    def sync(self) -> None:
        """Make more lines, if any are left to make."""
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
        self.show_line(text_selection.point_of(self._document, offset)[0], top=True)

    @override
    def width_changed(self) -> None:
        if self.view_width > 0:
            self._inks = styles.inks_of(self, self._glyphs, self._inks)
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
