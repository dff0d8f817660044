"""Groups of choices: one column each if there is room, otherwise one list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from textual import events
from textual.containers import Container
from textual.message import Message

from tui_host.tui.widgets.choices import Choice, ChoiceList

_WIDE = 130
"""Width, in cells, from which the columns are side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry that the user can choose."""

    name: str  # the text of the line
    take: Callable[[], None]  # called when the entry is chosen
    words: str = ""  # a full description
    brief: str = ""  # a short description, for a narrow column
    value: str = ""  # a figure at the end of the line
    mark: str = " "  # a glyph in front
    is_used: bool = False  # whether the entry is the one in use


Column: TypeAlias = Sequence[Entry | str]
"""Entries, with the headings of their groups."""


class ChoiceColumns(Container):
    """Columns of entries with one cursor. The screen handles the keys, and its field keeps the focus.

    Args:
        names: The id of each column's list.
    """

    DEFAULT_CSS = """
    ChoiceColumns {
        layout: horizontal;
        & ChoiceList { width: 1fr; }
    }
    """

    class Moved(Message):
        """Posted when the cursor moves to another entry."""

    def __init__(self, *names: str, classes: str | None = None) -> None:
        self._lists = [ChoiceList(least=16, id=name) for name in names]
        super().__init__(*self._lists, classes=classes)
        for choices in self._lists:
            choices.can_focus = False
        self._given: Sequence[Column] = [()] * len(names)
        self._columns = self._given
        self._empty = ""
        self._at = 0
        self.is_wide = False  # whether the columns are side by side

    @property
    def choices(self) -> ChoiceList:
        return self._lists[self._at]

    @property
    def current(self) -> Entry | None:
        column, number = self._columns[self._at], self.choices.cursor
        line = column[number] if number is not None and number < len(column) else None
        return line if isinstance(line, Entry) else None

    def on_resize(self, event: events.Resize) -> None:
        former = self.current
        self.is_wide = event.size.width >= _WIDE
        self.set_class(self.is_wide, "-wide")
        for number, choices in enumerate(self._lists):
            choices.display = self.is_wide or number == 0
        self.show(self._given, empty=self._empty, wanted=former.name if former is not None else "")

    def show(self, columns: Sequence[Column], *, empty: str = "", wanted: str = "") -> None:
        """Show entries. The cursor goes to the wanted entry, else stays with its own, else goes to the first.

        Args:
            columns: The entries of each column.
            empty: The text to show without any entry.
            wanted: The name of the entry to move the cursor to.
        """
        former = self.current
        name = wanted or (former.name if former is not None else "")
        self._given, self._empty = columns, empty
        self._columns = columns if self.is_wide else [[line for column in columns for line in column], (), (), ()]
        places = [(at, number) for at, number, entry in self._entries() if entry.name == name]
        here = [(at, number) for at, number, _ in self._entries() if at == self._at]
        first = [(at, number) for at, number, _ in self._entries()]
        stays = bool(places) and not wanted and places[0][0] == self._at
        self._go(*next(iter(places or here or first), (0, 0)), stays=stays)

    def _entries(self) -> Iterator[tuple[int, int, Entry]]:
        for at, column in enumerate(self._columns):
            for number, line in enumerate(column):
                if isinstance(line, Entry):
                    yield at, number, line

    def _go(self, at: int, number: int, *, stays: bool = False) -> None:
        self._at = at
        for place, (choices, column) in enumerate(zip(self._lists, self._columns, strict=True)):
            empty = self._empty if place == at and not any(self._columns) else ""
            choices.show([self._choice(line) for line in column], empty=empty)
            if place != at:
                choices.cursor = None
            elif choices.cursor is not None:
                choices.cursor = number
                if not stays:
                    choices.show_line(0 if number == 1 else number)
        self.post_message(self.Moved())

    def _choice(self, line: Entry | str) -> Choice:
        if isinstance(line, str):
            return Choice(words=line, heading=True)
        note = line.brief or ("" if self.is_wide else line.words)
        return Choice(words=line.name, mark=line.mark, note=note, right=(line.value,) if line.value else ())

    def on_line_view_cursor_moved(self, event: ChoiceList.CursorMoved) -> None:
        at = self._lists.index(event.view) if isinstance(event.view, ChoiceList) else self._at
        if at != self._at:
            self._go(at, event.line)
        else:
            self.post_message(self.Moved())

    def to_group(self, step: int, *, by_column: bool = False) -> None:
        """Go to the next or previous group: to its entry in use, or else to its first entry."""
        begins = [
            (at, number)
            for at, column in enumerate(self._columns)
            for number, line in enumerate(column)
            if isinstance(line, str) and not (by_column and number)
        ]
        if not begins:
            return
        here = self._at, self.choices.cursor or 0
        place = sum(begin <= here for begin in begins) - 1 + step
        at, number = begins[place % len(begins)]
        after = [place for begun, place in begins if begun == at and place > number]
        group = list(enumerate(self._columns[at]))[number + 1 : after[0] if after else None]
        used = next((line for line, entry in group if isinstance(entry, Entry) and entry.is_used), number + 1)
        self._go(at, used)
        if not self.is_wide:
            self.choices.show_line(number, top=True)
            self.choices.show_line(used)
