"""The details of a row, with tabs: its page is made in a thread, and shown once it is whole."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial

from textual.app import ComposeResult
from textual.containers import Vertical
from typing_extensions import override

from tui_host.answers.section import Section
from tui_host.capture.ladder.row import Row
from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.tui.in_thread import in_thread
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.widgets.details.detail_view import PageView, TabLine
from tui_host.tui.widgets.details.search_input import SearchInput
from tui_host.tui.widgets.details.tabs import (
    OF_ALL_ROWS,
    OF_BOTH_HALVES,
    OF_MARKS,
    TEXTS,
    about,
    page_of,
    tabs_of,
)
from tui_host.tui.widgets.pages.detail_page import Page
from tui_host.tui.widgets.pages.page_search import PageSearch
from tui_host.tui.widgets.pages.text_page import TextPage

_STEADY = 0.1
"""Shortest time between two pages, in seconds, so that quickly passing rows do not get a page each."""
_PATIENCE = 8.0
"""How many times the duration of the last page passes before the next one is made."""
FIRST = 0.02
"""Seconds for which a key waits for its page: most are made sooner, and need no second painting."""
SILENT = 0.1
"""Seconds after which it is said that a page is being made."""
_LOOKING = 0.008
"""Seconds of a tick for a search."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a page is made of; `revision` counts the changes of rows and marks that it depends on."""

    row: Row | Section | None
    tab: str
    other_half: Row | None
    revision: int = 0

    def is_about(self, row: Row | Section | None, tab: str) -> bool:
        """Whether the page shows this row and tab, even before the row grew."""
        if isinstance(row, Row) and isinstance(self.row, Row):
            return self.tab == tab and row.number == self.row.number
        return self.tab == tab and row is not None and row == self.row


class _Making:
    """A page that is being made in a thread."""

    def __init__(self, wanted: _Wanted, source: SessionSource, row: Row | Section, flipped: set[str]) -> None:
        self.wanted = wanted
        self.began = time.perf_counter()
        self.beginning: Page | None = None  # of a long text
        self.is_told = False  # whether the view says that it is being made
        self._news = threading.Event()
        work = partial(page_of, wanted.tab, source, row, flipped, self._begin)
        self._future: Future[Page] = in_thread(work)
        self._future.add_done_callback(lambda _: self._news.set())

    def _begin(self, page: Page) -> None:
        self.beginning = page
        self._news.set()
        time.sleep(FIRST)  # so that it is painted before the thread goes on

    def wait(self, seconds: float) -> None:
        self._news.wait(seconds)

    def drop(self) -> None:
        self._future.cancel()

    @property
    def page(self) -> Page | None:
        """The whole page; None until it is made. One that cannot be made says why, and Raw is still there."""
        if not self._future.done():
            return None
        try:
            return self._future.result()
        except (TuiHostError, ValueError, LookupError, RecursionError) as error:
            return TextPage("fault", f"This cannot be shown as {self.wanted.tab}: {error}", form="plain")


class Detail(Vertical):
    """The details of a row. `show` sets the row; `sync` has its page made, and shows it."""

    DEFAULT_CSS = """
    Detail { width: 1fr; height: 1fr; }
    Detail > PageView { height: 1fr; }
    """

    def __init__(self, *, empty: str = "", id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.view = PageView()  # the view of the current tab
        self._tab_line = TabLine()
        self._empty = empty
        self._source: SessionSource | None = None
        self._row: Row | Section | None = None
        self._shown: _Wanted | None = None
        self._chosen: dict[Sequence[str], str] = {}
        self._before: dict[Sequence[str], str] = {}
        self._flipped: dict[str, set[str]] = {}
        self._due = 0.0
        self._making: _Making | None = None
        self._sought: tuple[Sequence[str], int] | None = None
        self._search: PageSearch | None = None
        self._last_search = ""

    @override
    def compose(self) -> ComposeResult:
        yield self._tab_line
        yield self.view

    @property
    def row(self) -> Row | Section | None:
        """The row or heading shown after the next `sync`."""
        return self._row

    @property
    def tab(self) -> str:
        """The current tab; empty without a row."""
        tabs = tabs_of(self._row)
        return self._chosen.get(tabs, tabs[0]) if tabs else ""

    @property
    def current_source(self) -> tuple[str, str]:
        """The text to copy with `ctrl+c`, and what it is."""
        return self.view.current_source

    @property
    def is_settled(self) -> bool:
        """Whether `sync` has nothing to do."""
        has_looked = self._search is None or self._search.is_done
        return self._making is None and self._shown == self._wanted() and self.view.is_settled and has_looked

    def show(self, source: SessionSource | None, row: Row | Section | None) -> None:
        """Show a row or heading, or update a row that grew."""
        if source is not self._source:
            self._source, self._shown = source, None
            self._drop()
            self._flipped.clear()
        self._row = row

    # Tabs.

    def choose(self, tab: str) -> None:
        """Show a tab for this and similar rows."""
        tabs = tabs_of(self._row)
        if tab in tabs:
            self._chosen[tabs] = tab
            self.sync(now=True)

    def choose_at(self, place: int) -> None:
        """Show the tab at a place, counted from 0, if the row has that many."""
        for tab in tabs_of(self._row)[place : place + 1]:
            self.choose(tab)

    def toggle(self, tab: str) -> bool:
        """Show a tab, or if it is shown the one before; returns whether the row has the tab."""
        tabs = tabs_of(self._row)
        if tab not in tabs:
            return False
        now = self.tab
        self.choose(self._before.get(tabs, tabs[0]) if now == tab else tab)
        self._before[tabs] = tabs[0] if now == tab else now
        return True

    def on_page_view_tab_asked(self, message: PageView.TabAsked) -> None:
        message.stop()
        if tabs := tabs_of(self._row):
            step = (tabs.index(self.tab) + message.step) % len(tabs)
            self.choose_at(step if message.place is None else message.place)

    def on_tab_line_clicked(self, message: TabLine.Clicked) -> None:
        message.stop()
        self.choose_at(message.place)
        self.view.focus()

    def on_descendant_focus(self) -> None:
        self._tab_line.mark(here=True)

    def on_descendant_blur(self) -> None:
        self._tab_line.mark(here=self.has_focus_within)

    # The page.

    def sync(self, *, now: bool = False) -> None:
        """Have a new or grown page made if time allows, show one that is made, or lay out more of it."""
        making, wanted = self._making, self._wanted()
        if making is not None and making.wanted.is_about(self._row, self.tab):
            self._take(making)  # though the row has grown since: it would never be done
        elif self._shown == wanted:
            self._drop()
            self.view.advance()
            self._look(_LOOKING)
        elif now or time.perf_counter() >= self._due:
            self._make(wanted)

    def _wanted(self) -> _Wanted:
        row, tab, source = self._row, self.tab, self._source
        if source is None:
            return _Wanted(row, tab, None)
        revision = source.ladder.revision if tab in OF_ALL_ROWS else 0
        revision += source.row_marks.revision if tab in OF_MARKS else 0
        number = source.ladder.partner(row.number) if isinstance(row, Row) and tab in OF_BOTH_HALVES else None
        return _Wanted(row, tab, None if number is None else source.ladder.rows[number], revision)

    def _make(self, wanted: _Wanted) -> None:
        row, tab, source = wanted.row, wanted.tab, self._source
        tabs = tabs_of(row)
        self._tab_line.show(tabs, tabs.index(tab) if tab else 0, about(row, source))
        self._drop()
        if row is None or source is None:
            self._present(wanted, TextPage("", self._empty, form="plain"), 0.0)
            return
        self._making = making = _Making(wanted, source, row, self._flipped.setdefault(tab, set()))
        making.wait(FIRST)
        self._take(making)

    def _drop(self) -> None:
        """Wait no longer for a page."""
        if self._making is not None:
            self._making.drop()
            self._making = None

    def _take(self, making: _Making) -> None:
        """Show the page if it is made, else its beginning, else after a while that it is being made."""
        wanted, seconds = making.wanted, time.perf_counter() - making.began
        if (page := making.page) is not None:
            self._making = None
            self._present(wanted, page, seconds)
        elif self._shown is None or not self._shown.is_about(wanted.row, wanted.tab):
            if making.beginning is not None:
                self.view.show(making.beginning)
                self._shown = replace(wanted, revision=-1)
            elif seconds >= SILENT and not making.is_told:
                making.is_told, self._shown = True, None
                self.view.show(TextPage("", "reading …", form="plain"))

    def _present(self, wanted: _Wanted, page: Page, seconds: float) -> None:
        began = time.perf_counter()
        hold = self._shown is not None and self._shown.is_about(wanted.row, wanted.tab)
        self.view.show(page, hold=hold)
        self._shown = wanted
        if self._search is not None:
            self._search.begin(self.view.page, hold=hold)
        if self._sought is not None:
            self.view.find(*self._sought)
            self._sought = None
        ended = time.perf_counter()
        self._due = ended + max(_STEADY, _PATIENCE * (seconds + ended - began))

    # Searching.

    def find(self, texts: Sequence[str], step: int) -> bool:
        """Select the next (1) or the former (-1) place of any text in the page; False without one."""
        return self._making is None and self.view.find(texts, step)

    def seek(self, texts: Sequence[str], step: int) -> None:
        """Select the first (1) or the last (-1) place of any text, once the row's page is made: of a tree, the raw text."""
        self._sought = texts, step
        if self.tab not in TEXTS:
            self.choose("Raw")
        self.sync(now=True)

    def _look(self, seconds: float) -> None:
        """Look for more places, go to the one that is due, and say how many there are."""
        search = self._search
        if search is None or search.is_done:
            return
        if (match := search.look(seconds)) is not None:
            self.view.go_to(match)
        self._tab_line.tell(f"{search.words}: {line(search.text, 16)}")

    def on_page_view_search_asked(self, message: PageView.SearchAsked) -> None:
        message.stop()
        if message.ends:
            self._end_search()
        elif self._search is not None and message.step:
            self._search.step(message.step)
            self._look(FIRST)
        elif not self.query(SearchInput):
            field = SearchInput(self._last_search)
            self.mount(field, after=self._tab_line)
            self.screen.set_focus(field)

    def on_search_input_asked(self, message: SearchInput.Asked) -> None:
        message.stop()
        self.view.focus()
        self.query(SearchInput).remove()
        self._end_search()
        if message.text:
            self._last_search = message.text
            self._search = PageSearch(message.text, self.view.page)
            self.view.mark(self._search.pattern)
            self._look(FIRST)

    def _end_search(self) -> None:
        self._search = None
        self.view.mark(None)
        self._tab_line.tell("")
