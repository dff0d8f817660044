"""A view of a page: a text that scrolls, or lines with a cursor that fold and open further pages; and a search in it."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from concurrent.futures import Future, wait
from itertools import islice
from typing import ClassVar

from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.strip import Strip
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.tui.in_thread import in_thread
from tui_host.tui.keys import bound
from tui_host.tui.widgets.lines.line_view import LineView
from tui_host.tui.widgets.pages.text_page import START, BytesPage, LineItem, LineKey, Match, TextPage
from tui_host.tui.widgets.pages.tree_page import BY_SIZE, Page, TreePage

FIRST_SLICE = 0.01  # time for the first lines of a page, in seconds; they include the first screen
SLICE = 0.006  # seconds in one tick for more lines
_LONGEST = 0.04  # seconds at once for the lines up to a place where the reader was, or is to go
FIRST = 0.02  # seconds for which a key waits for its page or place: most are made sooner, and need no second painting
MOST = 9_999  # places of a search that are collected


class PageLines(LineView):
    """Draws a page. What `ctrl+c` would copy has a mark before each of its lines: `>` on the current one."""

    has_cursor = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "", key_display="enter, space, + -", tooltip="open or fold the line; read a string as a page"),
        Binding("space,plus,minus", "fold"),
        bound("by_size", "by_size", "by size", tooltip="sort the lines by size, the largest first; again: in order"),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.page: Page = TextPage("", "")
        self.page.fit(1)  # a tick may ask for more of it before there is a layout
        self.selectable = self.page
        self._below: list[Page] = []  # pages that were left for one of their lines
        self.item: LineItem | None = None  # what stands on the current line
        self._is_whole, self._fitted = False, 0  # the width for which lines are made
        self.searched: Sequence[str] = ()  # the texts of the search
        self._pattern: re.Pattern[str] | None = None
        self._places: Future[Sequence[Match]] = Future()  # of these texts, from a thread
        self._current = -1  # the number of the place that was gone to
        self._goal: int | None = None  # the one to go to, once they are collected

    @property
    def is_settled(self) -> bool:
        """Whether all lines of the page are made, and all places of a search are found."""
        is_looking = self._pattern is not None and not (self._places.done() and self._goal is None)
        return self._is_whole and not is_looking

    def current_source(self) -> tuple[str, str]:
        """Return the selection, the current item or the whole page, and what it is."""
        return self.selected_source() or (self.page.source if self.item is None else self.item.copy())

    def show(self, page: Page, *, hold: bool = False) -> None:
        """Show a page from the top; with `hold`, keep the scroll position of a page that only grew."""
        before = self._below[0] if self._below else self.page
        if hold and isinstance(page, TextPage) and isinstance(before, TextPage):
            page.folds = before.folds
        if hold:
            page.left = before.left if self._below else self._keys()
        if hold and self._below:
            self._below[0] = page
        else:
            self._below.clear()
            self._put(page, hold=hold)

    def _keys(self) -> tuple[LineKey, LineKey]:
        """Return the keys of the first line and of the cursor."""
        cursor = START if self.cursor is None else self.page.key(self.cursor)
        return self.page.key(self.scroll_offset.y) if self.scroll_offset.y else START, cursor

    def _put(self, page: Page, *, hold: bool = False) -> None:
        if type(page) is not type(self.page) or not hold:
            self.unselect()
            self._current, self._goal = -1, None
        self.page, self.has_cursor = page, page.has_cursor
        self.selectable = page
        self._collect()
        self.width_changed(page.left)

    @override
    def width_changed(self, keys: tuple[LineKey, LineKey] | None = None) -> None:
        """Make the lines for the width, as far as the keys of top and cursor, by default the present ones, and go there."""
        top, cursor = keys or self._keys()
        self._is_whole, self._fitted = False, self.scrollable_size.width
        self.page.fit(max(1, self._fitted - self.has_cursor))
        self.page.grow(FIRST_SLICE)
        self._grow_to(max(top, cursor))
        # Nothing before it is laid out, rather than narrow lines.
        self.redraw(len(self.page) if self._fitted else 0)
        self.show_line(self.page.line_of(top), top=True)
        self.cursor = self.page.line_of(max(LineKey(0), cursor)) if self.has_cursor and len(self.page) else None
        self._find_item()

    def _grow_to(self, key: LineKey) -> None:
        """Make lines until one has a key; in a very long page the nearest one has to do."""
        until = time.perf_counter() + _LONGEST
        while self.page.line_of(key) >= len(self.page) - 1 and time.perf_counter() < until:
            if key.place < 0 or self.page.grow(SLICE) is None:
                break

    def advance(self) -> None:
        """Make more lines of a long page, or all anew for a width that no event told of, as of a view that was hidden."""
        if self.scrollable_size.width != self._fitted:
            self.width_changed()
        first = self.page.grow(SLICE)
        self._is_whole = first is None
        if first is not None:
            self.redraw(len(self.page) if self._fitted else 0, first)
            self._find_item()
        self._look(0)

    def _enter(self, page: Page) -> None:
        """Show a page in place of the one that it was opened from."""
        self.page.left = self._keys()
        self._below.append(self.page)
        self._put(page)
        if self.cursor is not None:
            self.show_line(self.cursor)

    @override
    def key_escape(self, event: events.Key) -> None:
        if self._below and self.selection is None:
            event.stop()
            self._put(self._below.pop())
        else:
            super().key_escape(event)

    def action_bytes(self) -> None:
        """Show the bytes of the current item; of bytes, show them in hex, then go back."""
        page, item = self.page, self.item
        if isinstance(page, BytesPage):
            self._put(self._below.pop() if page.is_hex else BytesPage(page.source[0], page.data, is_hex=True))
        elif item is not None and item.place is not None:
            place = item.place()
            self._enter(BytesPage(place.path or item.copy()[0], place.data))
        else:
            self.post_message(self.Hinted("There is no value on this line whose bytes could be shown."))

    def action_fold(self, message: LineView.Opened | None = None) -> None:
        if message is not None:
            message.stop()
        opened = self.page.opened(self.cursor) if self.cursor is not None else None
        if isinstance(opened, TextPage):
            self._enter(opened)
        elif opened is not None:
            self.unselect()
            self.redraw(len(self.page))
            self.move_cursor(opened)
            self._find_item()

    on_line_view_opened = action_fold

    def action_by_size(self) -> None:
        """Sort the entries of each level by their first figure, or put them in order again."""
        if isinstance(self.page, TreePage) and self.page.sheet.heads:
            self.page.flipped ^= {BY_SIZE}
            self.show(self.page)
        else:
            self.post_message(self.Hinted("No line of this page has a size to sort by."))

    # Searching.

    def search(self, *texts: str, step: int = 1) -> None:
        """Mark the places of some texts, in any case, and go to the first (1) or the last (-1); without texts, end that."""
        # A blank behind a colon may be missing: JSON is drawn with it.
        pattern = "|".join(re.escape(text).replace(r":\ ", r":\s*") for text in texts)
        self.searched, self._pattern = texts, re.compile(pattern, re.IGNORECASE) if texts else None
        self._current, self._goal = -1, min(step, 0)
        self.unselect()
        self.redraw()
        self._collect()
        self._look(FIRST)

    def to_place(self, step: int, *, wraps: bool = True) -> bool:
        """Go to the next (1) or the former (-1) place, round the ends or not; returns whether there is one."""
        goal = self._current + step if self._current >= 0 else min(step, 0)
        count = len(self._places.result()) if self._places.done() else goal + 1
        if not self.searched or (not wraps and (not count or not min(0, self._current) <= goal < count)):
            return False
        self._goal = goal
        self._look(FIRST)
        return True

    @property
    def search_words(self) -> str:
        """The place, the number of places, and what is searched: `3 of 17: lookup`; nothing without a search."""
        count = len(self._places.result()) if self._places.done() else -1
        words = f"{count:,} here" if self._current < 0 else f"{self._current + 1:,} of {count:,}"
        words = {-1: "looking", 0: "not on this page"}.get(count, words)
        return f"{words}: {line(' or '.join(self.searched), 16)}" if self.searched else ""

    def _collect(self) -> None:
        """Collect the places of the search in a thread."""
        pattern, page = self._pattern, self.page
        if pattern is not None:
            self._places = in_thread(lambda: [*islice(page.places(pattern), MOST)])

    def _look(self, seconds: float) -> None:
        """Go to the place that is due, if all are collected within a time."""
        if self._goal is None or self._pattern is None:
            return
        wait((self._places,), seconds)
        if self._places.done():
            places, goal, self._goal = self._places.result(), self._goal, None
            self._current = goal % len(places) if places else -1
            for match in places[self._current :][:1]:
                self.go_to(match)

    def go_to(self, match: Match) -> None:
        """Show a place, and make it the current one."""
        self._grow_to(START if match.keys else LineKey(match.start))
        number = self.page.reveal(match)
        self.redraw(len(self.page) if self.scrollable_size.width else 0)
        if not self.scroll_offset.y <= number < self.scroll_offset.y + self.scrollable_size.height:
            self.show_line(max(0, number - self.scrollable_size.height // 3), top=True)
        if self.has_cursor:
            self.move_cursor(number)
            self._find_item()
        else:
            self.select_text(((match.start,), (match.end,)))

    @override
    def draw(self, number: int) -> Strip:
        strip = self.strip_of(self.page.pieces(number))
        if self._pattern is None:
            return strip
        text = strip.text
        ends = (cell_len(text[:end]) for match in self._pattern.finditer(text) for end in match.span())
        parts = strip.divide([*ends, strip.cell_length])
        return Strip.join(part.apply_style(Style(reverse=True)) if at % 2 else part for at, part in enumerate(parts))

    @override
    def decorate(self, number: int, strip: Strip, mark: str = "") -> Strip:
        is_within = self.has_focus and self.item is not None and number in self.item.lines
        if not (self.has_focus and number == self.cursor):
            mark = "│" * is_within or " "
        return super().decorate(number, strip, mark)

    def _find_item(self) -> None:
        """Mark what is current now, and no longer what was."""
        before, self.item = self.item, None if self.cursor is None else self.page.item(self.cursor)
        for item in (before, self.item):
            if item is not None:
                self.changed(item.lines.start, len(item.lines))

    @override
    def watch_cursor(self, old: int | None, new: int | None) -> None:
        super().watch_cursor(old, new)
        self._find_item()
