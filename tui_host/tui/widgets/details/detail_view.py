"""The lines of a tab, and the line of tabs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from typing_extensions import override

from tui_host.tui.text_width import clip
from tui_host.tui.widgets.pages.page_lines import PageLines


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
        if self._searched is None:
            raise SkipAction
        self.post_message(self.SearchAsked(step=step))

    @override
    def key_escape(self, event: events.Key) -> None:
        if self._searched is None:
            super().key_escape(event)
        else:
            event.stop()
            self.post_message(self.SearchAsked(ends=True))

    @dataclass
    class PathAsked(Message):
        """Posted to copy a path."""

        path: str

    def action_path(self) -> None:
        if (item := self.item) is not None and item.path:
            self.post_message(self.PathAsked(item.path))

    def action_tab(self, step: int) -> None:
        self.post_message(self.TabAsked(step=step))

    def action_tab_at(self, place: int) -> None:
        self.post_message(self.TabAsked(place=place))

    def action_to_row(self) -> None:
        item = self.item
        if item is None or item.target is None:
            raise SkipAction
        self.post_message(self.RowAsked(item.target))


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
