"""The details of a row, with tabs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from textual.app import ComposeResult
from textual.containers import Vertical
from typing_extensions import override

from tui_host.answers.section import Section
from tui_host.answers.steps import Making, Steps
from tui_host.capture.ladder.row import Row
from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.widgets.details.detail_view import PageView, TabLine
from tui_host.tui.widgets.details.search_input import SearchInput
from tui_host.tui.widgets.pages.detail_page import Beginning, Page
from tui_host.tui.widgets.pages.page_search import PageSearch
from tui_host.tui.widgets.pages.text_page import TextPage

_STEADY = 0.1
"""Shortest time between two pages, in seconds, so that quickly passing rows do not get a page each."""
_PATIENCE = 8.0
"""How many times the duration of the last page passes before the next one is made."""

FIRST = 0.01
"""Longest time for making a page at once, in seconds; longer ones are made in slices, with their progress shown."""
OF_SECTIONS = ("Time", "Bill", "Tools", "Servers")
"""The tabs of a heading: the keys of `answers.pages.SECTION_PAGES`, which is imported with the first page."""
COMING = "coming"
"""Exchange of the coming request: `host.request_preview.PREVIEW`, which is imported late."""
ANSWERS = frozenset({"Chain", "Changes"})
"""The tabs of a row that depend on other rows: the keys of `answers.pages.ROW_PAGES`."""
SLICE = 0.008
"""Seconds in one slice; keys are handled between slices."""
_PAUSE = 0.004


def page_of(tab: str, source: SessionSource, row: Row | Section, flipped: set[str]) -> Steps[Page]:
    """Make the page of a tab. The modules are imported with the first row."""
    from tui_host.answers.bill_page import bill_sheet
    from tui_host.answers.pages import ROW_PAGES, SECTION_PAGES
    from tui_host.tui.widgets.pages.tree_page import TreePage

    if isinstance(row, Section):
        return TreePage.of((yield from SECTION_PAGES[tab](source, row)), flipped)
    if tab == "Bill":
        return TreePage.of((yield from bill_sheet(source, [row])), flipped)
    if tab in ROW_PAGES:
        return TreePage.of((yield from ROW_PAGES[tab](source, row)), flipped)
    return (yield from _wire_page(tab, source, row, flipped))


def _wire_page(tab: str, source: SessionSource, row: Row, flipped: set[str]) -> Steps[Page]:
    """Make the page of a tab that shows a row's own bytes."""
    from tui_host.tui.widgets.details import wire_tabs as wire
    from tui_host.tui.widgets.details.events_tab import events_page
    from tui_host.tui.widgets.pages.parts_page import parts_page

    match tab:
        case "Parts":
            return (yield from parts_page(source, row, flipped))
        case "Raw":
            return (yield from wire.raw_page(source, row))
        case "Frame":
            return (yield from wire.frame_page(source, row))
        case "Decision":
            return (yield from wire.decision_page(source, row))
        case "Headers":
            return wire.headers_page(source, row)
        case "Events":
            return events_page(source, row, flipped)
        case _:
            return wire.timing_page(source, row)


def tabs_of(row: Row | Section | None) -> Sequence[str]:
    """Return the tabs of a row or heading, the default first."""
    if row is None:
        return ()
    if isinstance(row, Section):
        is_turn = row.is_session or row.turn  # no turn has no time of its own
        return OF_SECTIONS if is_turn else ("Servers", *OF_SECTIONS[:-1])
    return (*_wire_tabs(row), *_answer_tabs(row))


def _answer_tabs(row: Row) -> Iterator[str]:
    if row.calls and "Chain" in ANSWERS:
        yield "Chain"
    if row.kind == "request" and row.lane == "llm" and "Changes" in ANSWERS:
        yield "Changes"
        if row.exchange == COMING:  # a recorded request has its bill on its step's heading
            yield "Bill"


def _wire_tabs(row: Row) -> Sequence[str]:
    match row.kind:
        case "request" | "response":
            return ("Parts", "Raw", "Headers", "Events") if row.lane == "llm" else ("Events", "Headers", "Timing")
        case "frame":
            return ("Frame", "Raw", "Timing", "Headers") if row.exchange else ("Frame", "Raw", "Timing")
        case "decision":
            return ("Decision", "Raw")
        case "vendor":
            return ("Raw",)
        case "line" | "end":
            return ("Raw", "Timing")
        case "fault":
            return ("Raw", "Events", "Timing") if row.exchange else ("Raw", "Timing")


def about(row: Row | Section | None, source: SessionSource | None) -> str:
    """Describe a row or heading in a few words: `LLM 3 request`, `lab #4 result`."""
    if row is None or source is None:
        return ""
    if isinstance(row, Section):
        return row.words
    match row.kind:
        case "request" | "response":
            name = row.kind if row.lane == "llm" else f"{line(row.method, 20)} {row.status or ''}".strip()
            return source.called(row) if row.exchange == COMING else f"{source.called(row)} {name}"
        case "frame":
            answered = "error" if row.error else "result"
            return f"{source.called(row)} {answered if row.answer else line(row.method, 40)}"
        case "line":
            return f"{source.called(row)} stderr"
        case _:
            return row.kind


@dataclass(frozen=True, slots=True)
class _Shown:
    """The input of a page; `revision` counts the changes of rows and marks that it depends on."""

    row: Row | Section | None
    tab: str
    other_half: Row | None
    revision: int = 0

    def is_about(self, row: Row | Section | None, tab: str) -> bool:
        """Whether the page shows this row and tab, even before the row grew."""
        if isinstance(row, Row) and isinstance(self.row, Row):
            return self.tab == tab and row.number == self.row.number
        return self.tab == tab and row is not None and row == self.row


class Detail(Vertical):
    """The details of a row. `show` sets the row; `sync` makes the page."""

    DEFAULT_CSS = """
    Detail { width: 1fr; height: 1fr; }
    Detail > PageView { height: 1fr; }
    """

    def __init__(
        self,
        *,
        empty: str = "",
        clock: Callable[[], float] = time.perf_counter,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(id=id)
        self.view = PageView()  # the view of the current tab
        self._tab_line = TabLine()
        self._empty = empty
        self._clock = clock
        self._source: SessionSource | None = None
        self._row: Row | Section | None = None
        self._shown: _Shown | None = None
        self._chosen: dict[Sequence[str], str] = {}
        self._before: dict[Sequence[str], str] = {}
        self._flipped: dict[str, set[str]] = {}
        self._due = 0.0
        self._making: tuple[_Shown, Making[Page]] | None = None
        self._is_coming_back = False
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
        wanted = self._wanted()
        has_looked = self._search is None or self._search.is_done
        return self._making is None and self._shown == wanted and self.view.is_settled and has_looked

    def show(self, source: SessionSource | None, row: Row | Section | None) -> None:
        """Show a row or heading, or update a row that grew."""
        if source is not self._source:
            self._source, self._shown, self._making = source, None, None
            self._flipped.clear()
        self._row = row

    def find(self, texts: Sequence[str], step: int) -> bool:
        """Select the next (1) or the former (-1) place of any text in the page; False without one."""
        return self._making is None and self.view.find(texts, step)

    def seek(self, texts: Sequence[str], step: int) -> None:
        """Select the first (1) or the last (-1) place of any text, once the row's page is made: of a tree, the raw text."""
        self._sought = texts, step
        if self.tab in {"Parts", "Events", "Changes", "Chain"}:
            self.choose("Raw")
        else:
            self.sync(now=True)

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

    def sync(self, *, now: bool = False) -> None:
        """Make a new or grown page if time allows, or continue a long page."""
        wanted = self._wanted()
        if self._making is not None and self._making[0].is_about(self._row, self.tab):
            self._go_on(SLICE)  # though the row has grown since: it would never be done
        elif self._shown == wanted:
            self._making = None
            self.view.advance()
            self._look(SLICE)
        elif now or self._clock() >= self._due:
            self._make(wanted)

    def _wanted(self) -> _Shown:
        source = self._source
        is_whole = isinstance(self._row, Section) or self.tab in ANSWERS - {"Changes"}
        revision = source.ladder.revision if source is not None and is_whole else 0
        if source is not None and self.tab in {"Parts", "Changes"}:
            revision += source.row_marks.revision
        return _Shown(self._row, self.tab, self._other_half(), revision)

    def _other_half(self) -> Row | None:
        """Return the partner of the row, for tabs about both."""
        if not isinstance(self._row, Row) or self._source is None or self.tab not in {"Events", "Timing"}:
            return None
        number = self._source.ladder.partner(self._row.number)
        return self._source.ladder.rows[number] if number is not None else None

    def _make(self, wanted: _Shown) -> None:
        row, tab, source = wanted.row, wanted.tab, self._source
        tabs = tabs_of(row)
        self._tab_line.show(tabs, tabs.index(tab) if tab else 0, about(row, source))
        if row is None or source is None:
            self._making = None
            self._present(wanted, TextPage("", self._empty, form="plain"), 0.0)
            return
        self._making = wanted, Making(page_of(tab, source, row, self._flipped.setdefault(tab, set())), self._clock)
        self._go_on(FIRST)

    def _go_on(self, seconds: float) -> None:
        """Continue a page, schedule the rest, and show the progress."""
        if self._making is None:
            return
        wanted, making = self._making
        try:
            page = making.result if making.advance(seconds) else None
        except (TuiHostError, ValueError, LookupError, RecursionError) as error:
            # A page that cannot be made says why, and Raw is still there.
            page = TextPage("fault", f"This cannot be shown as {wanted.tab}: {error}", form="plain")
        if page is not None:
            self._making = None
            self._present(wanted, page, making.seconds)
            return
        is_anew = self._shown is None or not self._shown.is_about(wanted.row, wanted.tab)
        if is_anew and isinstance(making.progress, Beginning):
            self.view.show(making.progress.page)
            self._shown = replace(wanted, revision=-1)
        elif is_anew:
            self.view.show(TextPage("", f"reading {making.progress}", form="plain"))
            self._shown = None
        if not self._is_coming_back:
            self._is_coming_back = True
            self.set_timer(_PAUSE, self._come_back)

    def _come_back(self) -> None:
        self._is_coming_back = False
        if self._making is not None:
            self.sync()

    def _present(self, wanted: _Shown, page: Page, seconds: float) -> None:
        began = self._clock()
        hold = self._shown is not None and self._shown.is_about(wanted.row, wanted.tab)
        self.view.show(page, hold=hold)
        self._shown = wanted
        if self._search is not None:
            self._search.begin(self.view.page, hold=hold)
        if self._sought is not None:
            self.view.find(*self._sought)
            self._sought = None
        ended = self._clock()
        self._due = ended + max(_STEADY, _PATIENCE * (seconds + ended - began))

    # The search.

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

    def on_descendant_focus(self) -> None:
        self._tab_line.mark(here=True)

    def on_descendant_blur(self) -> None:
        self._tab_line.mark(here=self.has_focus_within)

    def on_page_view_tab_asked(self, message: PageView.TabAsked) -> None:
        message.stop()
        tabs = tabs_of(self._row)
        if not tabs:
            return
        self.choose_at(
            message.place if message.place is not None else (tabs.index(self.tab) + message.step) % len(tabs)
        )

    def on_tab_line_clicked(self, message: TabLine.Clicked) -> None:
        message.stop()
        self.choose(tabs_of(self._row)[message.place])
        self.view.focus()
