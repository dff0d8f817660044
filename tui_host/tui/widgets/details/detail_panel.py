"""The details of a row: tabs, a search field, and the page, which is made in a thread and shown once it is whole."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Input
from typing_extensions import override

from tui_host.answers.wires import Section
from tui_host.capture.ladder.row import Row
from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.tui.in_thread import in_thread
from tui_host.tui.keys import bound
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.text_width import clip
from tui_host.tui.widgets.details import tabs as register
from tui_host.tui.widgets.details.tabs import tabs_of
from tui_host.tui.widgets.key_order import KeysInOrder
from tui_host.tui.widgets.lines.line_view import LineView
from tui_host.tui.widgets.pages.page_lines import FIRST, PageLines
from tui_host.tui.widgets.pages.text_page import TextPage
from tui_host.tui.widgets.pages.tree_page import Page

_STEADY = 0.1  # seconds before a grown page is made anew; if it takes long, eight times the seconds that it took
_SILENT = 0.1  # seconds after which it is said that a page is being made
_NARROW = 56  # width in columns below which the tabs and what they are of have two lines


class TabLine(Widget):
    """The names of the tabs, the current one in brackets, and at the right end what the page is of, or how a search stands."""

    DEFAULT_CSS = "TabLine { height: 1; background: $panel; color: $text-muted; }"
    tabs: reactive[Sequence[str]] = reactive(())
    current, about, search = reactive(""), reactive(""), reactive("")
    is_here = reactive(default=False)

    @override
    def render(self) -> Content:
        strong, width = "bold $foreground", self.size.width
        lines, used = [[Content.styled(">" if self.is_here else " ", strong)]], 1
        for tab in (self.current,) if self.search and self.size.height == 1 else self.tabs:
            name = Content.styled(f"[{tab}]", strong) if tab == self.current else Content(f" {tab} ")
            if used + name.cell_length > width and len(lines) < self.size.height:
                lines, used = [*lines, [Content(" ")]], 1
            lines[-1].append(name.stylize(Style.from_meta({"tab": tab})))
            used += name.cell_length
        words = self.search or self.about
        if used + cell_len(words) >= width and len(lines) < self.size.height:
            lines, used = [*lines, [Content(" ")]], 1
        words = clip(words, max(0, width - used - 1))
        lines[-1].append(Content(" " * (width - used - 1 - cell_len(words)) + words))
        return Content("\n").join(Content.assemble(*pieces) for pieces in lines)


class SearchInput(KeysInOrder, Input):
    """The field, which is there while a text is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "search", tooltip="search the page for the text"),
        Binding("escape", "", "back", tooltip="go back to the page"),
    ]


class _Wanted(NamedTuple):
    """A page: what it is about, and the state of all that it depends on."""

    about: tuple[int | Section | None, str]  # a row by its number, or a heading; and the tab
    state: tuple[object, ...] = ()


_READING = _Wanted((None, "reading"))


class _Making(NamedTuple):
    """A page that is being made in a thread."""

    wanted: _Wanted
    began: float
    beginning: Future[Page]  # of a long text
    whole: Future[Page]


class Detail(Vertical):
    """The details of a row. `show` sets the row; `sync` has its page made, and shows it."""

    DEFAULT_CSS = (
        "Detail { width: 1fr; height: 1fr; & > PageLines { height: 1fr; } &.-narrow > TabLine { height: 2; } }"
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "tab(-1)", "tabs", key_display="left right", tooltip="go to the tab beside; 1 to 9 too"),
        Binding("right,l", "tab(1)"),
        *(Binding(str(number), f"tab_at({number - 1})") for number in range(1, 10)),
        # At once, as in the main screen: what was typed ahead behind it belongs to the field.
        bound("filter", "search", "search", tooltip="search the page for a text; escape ends it", priority=True),
        bound("next", "place(1)", tooltip="go to the next or the former place of a search, else as in the list"),
        bound("previous", "place(-1)"),
        bound("row", "to_row", "its row", tooltip="go to the row that a line of a page such as Time or Chain leads to"),
        bound("bytes", "focused.bytes", "bytes", tooltip="show the value's bytes as sent; again: in hex; then: back"),
        bound(
            "copy", "app.copy", "copy", tooltip="copy what is selected, else the current line's value, as it was sent"
        ),
        bound("path", "path", "path", tooltip="copy the path of the current line's value, such as messages[3].content"),
    ]

    @dataclass
    class RowAsked(Message):
        """Posted to ask for a row, by capture and number of its first record."""

        target: tuple[str, int]

    def __init__(self, *, empty: str = "", id: str | None = None) -> None:  # noqa: A002 - Textual's name
        self.view = PageLines()  # the view of the current tab
        self._tab_line = TabLine()
        super().__init__(self._tab_line, self.view, id=id)
        self.row: Row | Section | None = None  # shown after the next `sync`
        self._tab_line.display = False  # until there is a row
        self.empty = empty  # stands there without a row
        self._source: SessionSource | None = None
        self._shown: _Wanted | None = None
        self.making: _Making | None = None  # the page that is waited for
        self._due = 0.0  # when a page that grew may be made anew
        # The tab, and the one before it, for rows with these tabs.
        self._chosen: dict[Sequence[str], tuple[str, str]] = {}
        self._chosen_at: object = None  # the row or heading that a tab was chosen at last
        self._flipped: dict[str, set[str]] = {}  # the lines that were opened or closed, by tab
        # What the page is to be searched for once it is shown: any of some texts, from its first (1) or its last (-1) place.
        self.sought: tuple[Sequence[str], int] | None = None
        self._last_search = ""

    @property
    def is_settled(self) -> bool:
        """Whether `sync` has nothing to do."""
        return self.making is None and self._shown == self._wanted() and self.view.is_settled

    def show(self, source: SessionSource | None, row: Row | Section | None) -> None:
        """Show a row or heading, or update a row that grew."""
        if source is not self._source:
            self._source, self._shown = source, None
            self._drop()
            self._flipped.clear()
        self.row = row

    # Tabs.

    @property
    def tab(self) -> str:
        """The current tab; empty without a row."""
        tabs = tabs_of(self.row)
        return self._chosen.get(tabs, tabs)[0] if tabs else ""

    def choose(self, tab: str, *, toggles: bool = False) -> bool:
        """Show a tab for this and similar rows, or if it was chosen here the one before; returns whether the row has the tab."""
        tabs, (here, _) = tabs_of(self.row), self._wanted().about
        if tab not in tabs:
            return False
        if toggles and tab == self.tab and here == self._chosen_at:
            tab = self._chosen.get(tabs, ("", tabs[0]))[1]
        self._chosen_at = here
        if tab != self.tab:
            self._chosen[tabs] = tab, self.tab
        self.sync(now=True)
        return True

    def action_tab(self, step: int) -> None:
        if tabs := tabs_of(self.row):
            self.choose(tabs[(tabs.index(self.tab) + step) % len(tabs)])

    def action_tab_at(self, place: int) -> None:
        for tab in tabs_of(self.row)[place : place + 1]:
            self.choose(tab)

    def on_click(self, event: events.Click) -> None:
        if tab := event.style.meta.get("tab"):
            event.stop()
            self.choose(tab)
            self.view.focus()

    def on_resize(self) -> None:
        self.set_class(self.size.width < _NARROW, "-narrow")

    # The page.

    def sync(self, *, now: bool = False) -> None:
        """Have a new or grown page made if time allows, show one that is made, or lay out more of it."""
        making, wanted = self.making, self._wanted()
        if making is not None and making.wanted.about == wanted.about:
            self._take(making)  # though the row has grown since: it would never be done
        elif self._shown == wanted:
            self._drop()
            self.view.advance()
        elif now or time.perf_counter() >= self._due:
            self._make(wanted)
        if self.sought is not None and self.making is None and self._shown == wanted:
            (texts, step), self.sought = self.sought, None
            self.view.search(*texts, step=step)
        self._tab_line.search, self._tab_line.is_here = self.view.search_words, self.has_focus_within

    def _wanted(self) -> _Wanted:
        row, source, tab = self.row, self._source, self.tab
        about = row.number if isinstance(row, Row) else row, tab
        if row is None or source is None:
            return _Wanted(about, (self.empty,))
        further: object = source.row_marks.revision if tab in {"Parts", "Changes"} else 0
        if isinstance(row, Section) or tab == "Chain":
            further = source.ladder.revision
        elif tab == "Events":
            further = source.ladder.partner_of(row)
        return _Wanted(about, (row, further))

    def _make(self, wanted: _Wanted) -> None:
        row, source, names = self.row, self._source, self._tab_line
        names.tabs, names.current, names.about = tabs_of(row), self.tab, register.about(row, source)
        names.display = row is not None
        self._drop()
        tab, flipped = self.tab, self._flipped.setdefault(self.tab, set())
        began, beginning = time.perf_counter(), Future[Page]()
        if row is None or source is None:  # at once: it is a part of the first frame
            beginning.set_result(TextPage("", self.empty, form="plain"))
            self._take(_Making(wanted, began, beginning, beginning))
            return

        def make() -> Page:
            try:
                return register.page_of(tab, source, row, flipped, beginning)
            except (TuiHostError, ValueError, LookupError, RecursionError) as error:
                return TextPage("fault", f"This cannot be shown as {tab}: {error}", form="plain")
            except RuntimeError:  # records came while the ones before were gone through
                return register.page_of(tab, source, row, flipped)

        self.making = making = _Making(wanted, began, beginning, in_thread(make))
        wait((beginning, making.whole), FIRST, FIRST_COMPLETED)
        self._take(making)

    def _drop(self) -> None:
        """Wait no longer for a page."""
        if self.making is not None:
            self.making.whole.cancel()
            self.making = None

    def _take(self, making: _Making) -> None:
        """Show the page if it is made, else its beginning, else after a while that it is being made."""
        about, shown, now = making.wanted.about, self._shown, time.perf_counter()
        is_same = shown is not None and shown.about == about
        if making.whole.done():
            self.making, self._shown = None, making.wanted
            self.view.show(making.whole.result(), hold=is_same)
            took = time.perf_counter() - making.began
            self._due = making.began + took + max(_STEADY, 8 * took)
        elif making.beginning.done() and not is_same:
            self._shown = _Wanted(about)
            self.view.show(making.beginning.result())
        elif now - making.began >= _SILENT and not is_same and shown != _READING:
            self._shown = _READING
            self.view.show(TextPage("", "reading …", form="plain"))

    def action_to_row(self) -> None:
        item = self.view.item
        if item is None or item.target is None:
            self.post_message(LineView.Hinted("This line leads to no other row."))
        else:
            self.post_message(self.RowAsked(item.target))

    def action_path(self) -> None:
        item = self.view.item
        if item is not None and item.place is not None and (path := item.place().path):
            self.post_message(LineView.CopyAsked(f"path {line(path, 80)}", path))
        else:
            self.post_message(LineView.Hinted("There is no JSON value on this line, so there is no path."))

    # Searching.

    @override
    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        return action != "search" or not isinstance(self.screen.focused, Input)  # where the slash is text

    def action_search(self) -> None:
        if not self.query(SearchInput):
            field = SearchInput(self._last_search, placeholder="search this page", compact=True)
            self.mount(field, after=self._tab_line)
            self.screen.set_focus(field)

    def action_place(self, step: int) -> None:
        """Go to the next or the former place of the search; without one, leave the key to others."""
        if not self.view.to_place(step):
            raise SkipAction
        self.sync()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        message.stop()
        self._last_search = message.value or self._last_search
        self._search(*filter(None, (message.value,)))

    def key_escape(self, event: events.Key) -> None:
        if self.view.searched or self.query(SearchInput):
            event.stop()
            self._search()

    def _search(self, *texts: str) -> None:
        """Take the field away, and search the page, or end that."""
        if self.query(SearchInput):
            self.view.focus()
            self.query(SearchInput).remove()
        self.view.search(*texts)
        self.sync()
