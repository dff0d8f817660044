"""A view of a page: a text that scrolls, or lines with a cursor that fold and open further pages."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.strip import Strip
from typing_extensions import override

from tui_host.tui.widgets.lines.line_pieces import PieceView
from tui_host.tui.widgets.lines.selection import Selectable, SelectingView
from tui_host.tui.widgets.pages.detail_page import Below, LineItem, Match, Page
from tui_host.tui.widgets.pages.text_page import BytesPage, TextPage
from tui_host.tui.widgets.pages.tree_page import TreePage

FIRST_SLICE = 0.01
"""Time for the first lines of a page, in seconds; they include the first screen."""
SLICE = 0.006
"""Seconds in one tick for more lines."""


class PageLines(PieceView, SelectingView):
    """Draws a page. What `ctrl+c` would copy has a mark before each of its lines: `>` on the current one."""

    has_cursor = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter",
            "",
            key_display="enter, space, + -",
            tooltip="open or close the current line; in JSON: fold it, or read a string as a page, which escape leaves",
        ),
        Binding("space,plus,minus", "fold"),
        Binding("b", "by_size", "by size", tooltip="sort the lines by size, the largest first; again: in order"),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._page: Page = TextPage("", "")
        self._below: list[
            tuple[Page, int, int]
        ] = []  # pages that were left for one of their lines: keys of top and cursor
        self._wanted = (-1, -1)  # the keys that top and cursor are to have, once there are lines for them
        self._item: LineItem | None = None  # what is current
        self._fitted = 0
        self._is_whole = False
        self._searched: re.Pattern[str] | None = None

    @property
    def page(self) -> Page:
        return self._page

    @property
    def item(self) -> LineItem | None:
        """What stands on the current line."""
        return None if self.cursor is None else self._page.item(self.cursor)

    @property
    def is_settled(self) -> bool:
        """Whether all lines of the page are made for the current width."""
        return self._is_whole and self.view_width == self._fitted

    @property
    def current_source(self) -> tuple[str, str]:
        """The selection, the current item or the whole page, and what it is."""
        item = self.item
        return self.selected_source() or (self._page.source if item is None else item.copy())

    @property
    @override
    def selectable(self) -> Selectable:
        return self._page

    # The page.

    def show(self, page: Page, *, hold: bool = False) -> None:
        """Show a page from the top; with `hold`, keep the scroll position of a page that only grew."""
        if not hold:
            self._below.clear()
            self._put(page, -1, -1)
        elif self._below:
            below, top, cursor = self._below[0]
            page.keep(below)
            self._below[0] = page, top, cursor
        else:
            page.keep(self._page)
            self._put(page, *self._keys())

    def _keys(self) -> tuple[int, int]:
        """Return the keys of the first line and of the cursor; below 0 for the beginning."""
        cursor = -1 if self.cursor is None else self._page.key(self.cursor)
        return self._page.key(self.top) if self.top else -1, cursor

    def _put(self, page: Page, top: int, cursor: int) -> None:
        if type(page) is not type(self._page) or top < 0:
            self.unselect()
        self._page, self.has_cursor = page, page.has_cursor
        if top < 0:
            self.scroll_to(y=0, animate=False, force=True)
        self._refit(top, cursor)

    def _refit(self, top: int, cursor: int) -> None:
        self._is_whole, self._fitted = False, self.view_width
        self._page.fit(max(1, self._fitted - self.has_cursor))
        self._page.grow(FIRST_SLICE)
        self.redraw()
        if not self.has_cursor or not len(self._page):
            self.cursor = None
        elif cursor < 0:
            self.cursor = self._page.line_of(0)
        self._wanted = top, cursor
        self._go_to_wanted()

    def _go_to_wanted(self) -> None:
        """Put top and cursor on their former lines, as soon as these are made, or a person moves."""
        top, cursor = self._wanted
        if top >= 0:
            line = self._page.line_of(top)
            self.show_line(line, top=True)
            top = -1 if line < len(self._page) - 1 else top
        if cursor >= 0 and self.has_cursor:
            self.cursor = line = self._page.line_of(cursor)
            cursor = -1 if self._page.key(line) >= cursor else cursor
        self._wanted = top, cursor
        self._find_item()

    def advance(self) -> None:
        """Make more lines of a long page, or all lines for a new width."""
        if self.view_width != self._fitted:
            self.width_changed()
        first = self._page.grow(SLICE)
        self._is_whole = first is None
        if first is not None:
            self.grew() if first == self.virtual_size.height else self.redraw()
            self._go_to_wanted()

    def enter(self, below: Below) -> None:
        """Show a page in place of the one that it was opened from."""
        self._below.append((self._page, *self._keys()))
        self._put(below.page, -1 if below.page.has_cursor else below.key, below.key)
        if below.key > 0 and self.cursor is not None:
            self.show_line(self.cursor)

    @override
    def key_escape(self, event: events.Key) -> None:
        if self._below and self.selection is None:
            event.stop()
            self._put(*self._below.pop())
        else:
            super().key_escape(event)

    def action_bytes(self) -> None:
        """Show the bytes of the current item; of bytes, show them in hex, then go back."""
        page, item = self._page, self.item
        if isinstance(page, BytesPage):
            self._put(*self._below.pop()) if page.is_hex else self._put(page.in_hex(), -1, -1)
        elif item is not None and item.data is not None:
            self.enter(Below(BytesPage(item.path() or item.copy()[0], item.data())))

    def action_fold(self) -> None:
        opened = self._page.opened(self.cursor) if self.cursor is not None else None
        if isinstance(opened, Below):
            self.enter(opened)
        elif opened is not None:
            self.unselect()
            self.redraw()
            self.move_cursor(opened)
            self._find_item()

    def on_line_view_opened(self, message: PieceView.Opened) -> None:
        message.stop()
        self.action_fold()

    def action_by_size(self) -> None:
        if isinstance(self._page, TreePage):
            self._page.sort_by_size()
            self.show(self._page)

    # Searching.

    def find(self, texts: Sequence[str], step: int) -> bool:
        """Select the next (1) or the former (-1) place of any text, from the selection on; False without one."""
        if not isinstance(self._page, TextPage):
            return False
        text, selected = self._page.text, self.selected_stretch
        pattern = re.compile("|".join(map(re.escape, texts)), re.IGNORECASE)
        if step > 0:
            match = pattern.search(text, 0 if selected is None else selected[1][0])
        else:
            end = len(text) if selected is None else selected[0][0]
            match = next(iter(deque(pattern.finditer(text, 0, end), 1)), None)
        if match is not None:
            self.go_to(Match(*match.span()))
            self.select_text(((match.start(),), (match.end(),)))
        return match is not None

    def mark(self, pattern: re.Pattern[str] | None) -> None:
        """Mark the places of a pattern on every line, or no longer."""
        if pattern is not self._searched:
            self._searched = pattern
            self.unselect()
            self.redraw()

    def go_to(self, match: Match) -> None:
        """Show a place, and make it the current one."""
        line = self._page.reveal(match)
        self.person_moves()
        self.redraw()
        if not self.top <= line < self.top + self.view_height:
            self._scroll_to_line(max(0, line - self.view_height // 3))
        if self.has_cursor:
            self.move_cursor(line)
        else:
            self.select_text(((match.start,), (match.end,)))
        if line >= len(self._page) - 1 and not match.path:  # the last one that is made
            self._wanted = match.start, match.start

    # Lines.

    @override
    def line_count(self) -> int:
        return len(self._page) if self._fitted > 0 else 0  # nothing before it is laid out, rather than narrow lines

    @override
    def draw(self, number: int) -> Strip:
        strip = self.strip_of(self._page.pieces(number))
        if self._searched is None:
            return strip
        pieces: list[Strip] = []
        text, at = strip.text, 0
        for match in self._searched.finditer(text):
            start, end = cell_len(text[: match.start()]), cell_len(text[: match.end()])
            pieces += [strip.crop(at, start), strip.crop(start, end).apply_style(Style(reverse=True))]
            at = end
        return Strip.join([*pieces, strip.crop(at)])

    @override
    def decorate(self, number: int, strip: Strip) -> Strip:
        if self.has_cursor:
            mark = " "
            if self.has_focus and self._item is not None and number in self._item.lines:
                mark = "│"
            if self.has_focus and number == self.cursor:
                mark = ">"
            strip = Strip([Segment(mark, self.piece_style("mark")), *strip])
        return super().decorate(number, strip)

    def _find_item(self) -> None:
        """Mark what is current now, and no longer what was."""
        before, self._item = self._item, self.item
        for item in (before, self._item):
            lines = range(0) if item is None else item.lines
            first, last = max(lines.start, self.top), min(lines.stop, self.top + self.view_height)
            if first < last:
                self.refresh_lines(first, last - first)

    @override
    def watch_cursor(self, old: int | None, new: int | None) -> None:
        super().watch_cursor(old, new)
        self._find_item()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    @override
    def width_changed(self) -> None:
        self._refit(*self._keys())

    @override
    def person_moves(self) -> None:
        self._wanted = (-1, -1)
