"""The lines of a tab, and the line of tabs."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from typing_extensions import override

from tui_host.tui.text_width import clip
from tui_host.tui.widgets.lines.line_pieces import PieceView
from tui_host.tui.widgets.lines.selection import Selectable, SelectingView
from tui_host.tui.widgets.pages.detail_page import Below, Match, Page
from tui_host.tui.widgets.pages.json_page import BytesPage
from tui_host.tui.widgets.pages.text_page import TextPage
from tui_host.tui.widgets.pages.tree_page import TreePage

FIRST_SLICE = 0.01
"""Time for the first lines of a page, in seconds; they include the first screen."""
SLICE = 0.006
"""Seconds in one tick for more lines."""


class PageLines(PieceView, SelectingView):
    """Draws a page: a text that scrolls, or a tree with a cursor."""

    has_cursor = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter",
            "",
            key_display="enter, space, + -",
            tooltip="open or close the current line; in JSON: fold it, or read a long string as a page, which escape leaves",
        ),
        Binding("space,plus,minus", "fold"),
        Binding("b", "by_size", "by size", tooltip="sort the lines by size, the largest first; again: in order"),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._page: Page = TextPage("", "")
        self._below: list[tuple[Page, int, int]] = []  # pages that were left for one of their lines: top and cursor
        self._anchor: int | None = None
        self._awaited: int | None = None  # the place that the cursor is to have, once there is a line for it
        self._fitted = 0
        self._is_whole = False
        self._marked: re.Pattern[str] | None = None

    @property
    def page(self) -> Page:
        return self._page

    @property
    def is_settled(self) -> bool:
        """Whether all lines of the page are made for the current width."""
        return self._is_whole and self.view_width == self._fitted

    @property
    def current_source(self) -> tuple[str, str]:
        """The selection, the current entry or the whole page, and what it is."""
        if selected := self.selected_source():
            return selected
        if isinstance(self._page, TreePage) and self.cursor is not None:
            entry = self._page.entry_of(self.cursor)
            if entry is not None:
                return entry
        return self._page.source

    @property
    @override
    def selectable(self) -> Selectable:
        return self._page.selectable

    def show(self, page: Page, *, hold: bool = False) -> None:
        """Show a page from the top; with `hold`, keep the scroll position of a page that only grew."""
        if hold and self._below:
            below, top, cursor = self._below[0]
            page.keep(below)
            self._below[0] = page, top, cursor
        elif hold:
            page.keep(self._page)
            self._put(page, *self._places(), same=type(page) is type(self._page))
        else:
            self._below.clear()
            self._put(page, -1, -1)

    def _places(self) -> tuple[int, int]:
        """Return the places of the first line and of the cursor; below 0 for the beginning."""
        top = self._page.place_of(self.top) if self.top else -1
        return top, -1 if self.cursor is None else self._page.place_of(self.cursor)

    def _put(self, page: Page, top: int, cursor: int, *, same: bool = False) -> None:
        if not same:
            self.unselect()
        self._page, self.has_cursor = page, page.has_cursor
        self._refit(top if top >= 0 else None)
        if top < 0:
            self.scroll_to(y=0, animate=False, force=True)
        self._awaited = None
        if not self.has_cursor or not len(page):
            self.cursor = None
        elif cursor >= 0:
            self._awaited = cursor
            self._to_awaited()
        else:
            self.cursor = page.line_at(0)

    def _enter(self, below: Below) -> None:
        """Show a page in place of the one that it was opened from."""
        self._below.append((self._page, *self._places()))
        self._put(below.page, below.place if not below.page.has_cursor else -1, below.place)
        if below.place > 0 and self.cursor is not None:
            self.show_line(self.cursor)

    def _back(self) -> None:
        self._put(*self._below.pop())

    @override
    def key_escape(self, event: events.Key) -> None:
        if self._below and self.selection is None:
            event.stop()
            self._back()
        else:
            super().key_escape(event)

    def advance(self) -> None:
        """Make more lines of a long page, or all lines for a new width."""
        if self.view_width != self._fitted:
            self.width_changed()
        self._is_whole = not self._page.advance(SLICE)
        if not self._is_whole:
            if self._page.grows_below:
                self.grew()
            else:
                self.redraw()
            self._to_anchor()
            self._to_awaited()

    def _refit(self, place: int | None) -> None:
        self._anchor = place
        self._is_whole = False
        self._fitted = self.view_width
        self._page.fit(max(1, self._fitted - self.has_cursor))
        self._page.advance(FIRST_SLICE)
        self.redraw()
        self._to_anchor()

    def _to_awaited(self) -> None:
        """Put the cursor back on its former place, as soon as the line exists."""
        if self._awaited is None:
            return
        self.cursor = line = self._page.line_at(self._awaited)
        if self._page.place_of(line) >= self._awaited:
            self._awaited = None

    def _to_anchor(self) -> None:
        """Scroll to the former top line; scrolling by the person ends the wait for the line."""
        if self._anchor is None:
            return
        line = self._page.line_at(self._anchor)
        self.show_line(line, top=True)
        if line < len(self._page) - 1:
            self._anchor = None

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
        if match is None:
            return False
        stretch = (match.start(),), (match.end(),)
        self._page.reveal(Match(*match.span()))
        self.redraw()
        self.select_text(stretch)
        self._anchor = match.start()
        self._to_anchor()
        return True

    def mark(self, pattern: re.Pattern[str] | None) -> None:
        """Mark the places of a pattern on every line, or no longer."""
        if pattern is not self._marked:
            self._marked = pattern
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
            stretch = (match.start,), (match.end,)
            self.select_text(stretch)
        if line >= len(self._page) - 1 and not match.path:  # the last one that is made
            self._anchor = match.start
            self._awaited = match.start if self.has_cursor else None
            self._to_anchor()

    @override
    def line_count(self) -> int:
        return len(self._page) if self._fitted > 0 else 0  # nothing before it is laid out, rather than narrow lines

    @override
    def draw(self, number: int) -> Strip:
        strip = self.strip_of(self._page.draw(number))
        if self._marked is None:
            return strip
        pieces: list[Strip] = []
        text, at = strip.text, 0
        for match in self._marked.finditer(text):
            start, end = cell_len(text[: match.start()]), cell_len(text[: match.end()])
            pieces += [strip.crop(at, start), strip.crop(start, end).apply_style(Style(reverse=True))]
            at = end
        return Strip.join([*pieces, strip.crop(at)])

    @override
    def decorate(self, number: int, strip: Strip) -> Strip:
        if self.has_cursor:
            mark = ">" if number == self.cursor and self.has_focus else " "
            strip = Strip([Segment(mark, self.piece_style("mark")), *strip])
        return super().decorate(number, strip)

    def on_focus(self) -> None:
        self._mark_again()

    def on_blur(self) -> None:
        self._mark_again()

    def _mark_again(self) -> None:
        if self.cursor is not None:
            self.refresh_lines(self.cursor)

    @override
    def width_changed(self) -> None:
        cursor = self._page.place_of(self.cursor) if self.cursor is not None else None
        self._refit(self._page.place_of(self.top) if self.top else None)
        if cursor is not None:
            self.cursor = self._page.line_at(cursor)

    @override
    def person_moves(self) -> None:
        self._anchor = self._awaited = None

    def action_fold(self) -> None:
        opened = self._page.opened(self.cursor) if self.cursor is not None else None
        if isinstance(opened, Below):
            self._enter(opened)
        elif opened is not None:
            self.unselect()
            self.redraw()
            self.move_cursor(opened)

    def action_by_size(self) -> None:
        if isinstance(self._page, TreePage):
            self._page.sort_by_size()
            self.show(self._page)

    def on_line_view_opened(self, message: PieceView.Opened) -> None:
        message.stop()
        self.action_fold()


class PageView(PageLines):
    """A page among several tabs of a detail."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "left,h",
            "tab(-1)",
            "tabs",
            key_display="left right",
            tooltip="go to the next or the previous tab; 1 to 9 too",
        ),
        Binding("right,l", "tab(1)"),
        *(Binding(str(number), f"tab_at({number - 1})") for number in range(1, 10)),
        Binding(
            "slash",
            "search",
            "search",
            tooltip="search the page, opening what hides a place: n and N go on, escape ends; up: the last text",
        ),
        Binding(
            "n", "place(1)", tooltip="go to the next or the former place of the search; without one, as in the list"
        ),
        Binding("N", "place(-1)"),
        Binding(
            "o", "to_row", "its row", tooltip="on a line of a page such as Time or Chain: go to the row it leads to"
        ),
        Binding(
            "r",
            "bytes",
            "bytes",
            tooltip="show the bytes of the current line's value as they were sent; again: in hex; again: back",
        ),
        Binding("p", "path", "path", tooltip="copy the path of the current line's value, such as messages[3].content"),
    ]

    @dataclass(kw_only=True)
    class TabAsked(Message):
        """Posted to ask for the next or previous tab (`step`), or for a tab by its number (`place`)."""

        step: int = 0
        place: int | None = None

    @dataclass
    class RowAsked(Message):
        """Posted to ask for a row, by capture and number of its first record."""

        target: tuple[str, int]

    @dataclass
    class SearchAsked(Message):
        """Posted to ask for a search, for its next or former place (`step`), or for its end."""

        step: int = 0
        ends: bool = False

    def action_search(self) -> None:
        self.post_message(self.SearchAsked())

    def action_place(self, step: int) -> None:
        """Ask for the next or the former place of the search; without one, leave the key to others."""
        if self._marked is None:
            raise SkipAction
        self.post_message(self.SearchAsked(step=step))

    @override
    def key_escape(self, event: events.Key) -> None:
        if self._marked is None:
            super().key_escape(event)
        else:
            event.stop()
            self.post_message(self.SearchAsked(ends=True))

    @dataclass
    class PathAsked(Message):
        """Posted to copy a path."""

        path: str

    def action_bytes(self) -> None:
        is_bytes = isinstance(self._page, BytesPage)
        page = self._page.bytes_at(self.cursor or 0) if is_bytes or self.cursor is not None else None
        if is_bytes:
            self._back()
        if page is not None:
            self._enter(Below(page))

    def action_path(self) -> None:
        if self.cursor is not None and (path := self._page.path(self.cursor)):
            self.post_message(self.PathAsked(path))

    def action_tab(self, step: int) -> None:
        self.post_message(self.TabAsked(step=step))

    def action_tab_at(self, place: int) -> None:
        self.post_message(self.TabAsked(place=place))

    def action_to_row(self) -> None:
        target = self._page.target(self.cursor) if self.cursor is not None else None
        if target is None:
            raise SkipAction
        self.post_message(self.RowAsked(target))


class TabLine(Widget):
    """The names of the tabs, the current name in brackets, and a description of the row."""

    DEFAULT_CSS = """
    TabLine { height: 1; background: $panel; color: $text-muted; }
    """

    @dataclass
    class Clicked(Message):
        """Posted when a tab was clicked."""

        place: int

    def __init__(self) -> None:
        super().__init__()
        self._names: Sequence[str] = ()
        self._current = 0
        self._about = ""
        self._search = ""
        self._here = False

    def mark(self, *, here: bool) -> None:
        """Mark the line while the tab has the focus."""
        self._here = here
        self.refresh()

    def show(self, names: Sequence[str], current: int, about: str) -> None:
        """Set the tabs to show."""
        if (names, current, about) != (self._names, self._current, self._about):
            self._names, self._current, self._about = names, current, about
            self.refresh()

    def tell(self, search: str) -> None:
        """Set the words about a search, which stand in place of the description; empty without one."""
        if search != self._search:
            self._search = search
            self.refresh()

    @override
    def render(self) -> Content:
        strong = "bold $foreground"
        parts = [Content.styled(">" if self._here else " ", strong)]
        names = tuple(enumerate(self._names))
        if self._is_tight:
            names = names[self._current : self._current + 1]
        for place, name in names:
            is_current = place == self._current
            parts.append(Content.styled(f"[{name}]", strong) if is_current else Content(f" {name} "))
        if self._is_tight:
            parts.append(Content(f" {self._current + 1} of {len(self._names)}"))
        left = self.size.width - sum(part.cell_length for part in parts) - 2
        about = self._search or self._about
        if about and left > 4:
            about = clip(about, left)
            parts.append(Content(" " * (left - cell_len(about) + 1) + about))
        return Content.assemble(*parts)

    @property
    def _is_tight(self) -> bool:
        search = cell_len(self._search) + 2 if self._search else 0
        return sum(len(name) + 2 for name in self._names) + search > self.size.width - 1

    def on_click(self, event: events.Click) -> None:
        if self._is_tight:
            event.stop()
            self.post_message(self.Clicked((self._current + 1) % len(self._names)))
            return
        end = 1
        for place, name in enumerate(self._names):
            end += len(name) + 2
            if event.x < end:
                event.stop()
                self.post_message(self.Clicked(place))
                return
