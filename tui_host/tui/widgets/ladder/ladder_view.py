"""The list: model traffic at the left and server traffic at the right of the host's line, by time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from typing_extensions import override

from tui_host.answers.section import Section
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row import Lane, Row
from tui_host.capture.ladder.row_filter import read_filter
from tui_host.capture.ladder.sections import Sections
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.widgets.ladder.ladder_filter import BUDGET as FILTERING
from tui_host.tui.widgets.ladder.ladder_filter import Filtering
from tui_host.tui.widgets.ladder.ladder_lines import LadderDrawing
from tui_host.tui.widgets.ladder.ladder_title import Heading
from tui_host.tui.widgets.ladder.line_index import SESSION, LadderIndex
from tui_host.tui.widgets.ladder.row_texts import LadderTexts
from tui_host.tui.widgets.ladder.row_words import BUDGET as SEEN
from tui_host.tui.widgets.ladder.row_words import LadderWords
from tui_host.tui.widgets.lines.line_pieces import PieceView
from tui_host.tui.widgets.lines.selection import Letters, Selectable, SelectingView, Spot, whole_line

_TAKING = 0.01
"""Seconds in one tick for new rows, so that a long session opens without a stall."""
_PAUSE = 0.004
"""Seconds for keys between two slices of filtering."""
_LOOK_AROUND = 1000
"""Number of rows on either side in which to look for a row of another lane."""
COPIED = 120
"""Width of a copied row in cells, if the screen is narrower."""


class LadderView(PieceView, SelectingView):
    """One line per row, below section headings. `sync`, called at screen rate, shows news."""

    has_cursor = True
    COMPONENT_CLASSES: ClassVar[set[str]] = {"ladder--related"}
    DEFAULT_CSS = """
    /* Of no hue: a faint one becomes a strong one in 256 colours, and this one's was the red of a failure. */
    LadderView > .ladder--related { background: $foreground 12%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "lane('llm')", "LLM lane", show=False),
        Binding("right,l", "lane('mcp')", "MCP lane", show=False),
    ]

    class TitleChanged(Message):
        """Posted when the title's values have changed."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._source: SessionSource | None = None
        self._sought: tuple[str, int] | None = None
        self._words = LadderWords()
        self._is_coming_back = False
        self._reset()

    def _reset(self) -> None:
        self._index = LadderIndex(Sections() if self._source is None else self._source.ladder.sections)
        self._words.clear()
        self._drawing = LadderDrawing(self._source, self._index, self._words)
        self._filtering = Filtering(LadderTexts(self._source, self._drawing.shown))
        self._index.folds_starts = self._source is not None and self._may_fold(self._source)
        self._revision = -1
        self._hosts: Mapping[int, str] = {}
        self._taken = 0
        self._selected: int | None = None
        self._related: frozenset[int] = frozenset()
        self.following = True
        self._new = 0

    def on_hide(self, event: events.Hide) -> None:
        """Keep the focus: an empty list is hidden, but its keys still work."""
        event.prevent_default()

    # What the inspector asks.

    @property
    def selected(self) -> Row | None:
        """The selected row; None while a heading is selected."""
        item, rows = self._selected, self._rows
        return rows[item] if item is not None and 0 <= item < len(rows) else None

    @property
    def selected_section(self) -> Section | None:
        """What the selected heading stands for; None while a row is selected."""
        item, source = self._selected, self._source
        return None if item is None or item >= 0 or source is None else self._index.section(item, source.ladder.rows)

    @property
    def selected_number(self) -> int | None:
        """The number of the selected row; below 0 for a heading."""
        return self._selected

    @property
    def is_settled(self) -> bool:
        """Whether all rows are shown and described, so that `sync` has nothing to do."""
        source = self._source
        if source is None:
            return True
        is_all = source.ladder.revision == self._revision and self._taken >= len(source.ladder.rows)
        is_all &= source.ladder.hosts is self._hosts
        return is_all and not self._filtering.is_looking and self._words.is_settled

    @property
    def filter_text(self) -> str:
        """The current filter, empty for none."""
        return self._filtering.text

    @property
    def mistakes(self) -> Sequence[str]:
        """What is wrong with terms of the filter, or may be, a sentence each."""
        return self._filtering.reading.hints

    @property
    def filter_texts(self) -> Sequence[str]:
        return self._filtering.reading.texts

    def to_next_row(self, step: int) -> bool:
        """Select the next (1) or the former (-1) shown row; False at the end."""
        line = -1 if self.cursor is None else self.cursor
        while 0 <= (line := line + step) < len(self._index):
            if self._index.item_at(line) >= 0:
                self.move_cursor(line)
                return True
        return False

    def heading(self, *, live: bool) -> Heading:
        """Return the title's values; `live` if more rows may come."""
        item, turn, llm, mcp = self._selected, None, 0, 0
        if item == SESSION:
            llm, mcp = self._index.all_counts
        elif item is not None:
            turn = self._index.turn_of(item)
            llm, mcp = self._index.counts(self._rows[self._index.home_of(item)].clock, turn)
        below = max(0, len(self._index) - self.top - self.view_height) if self.view_height else 0
        return Heading(
            llm=llm,
            mcp=mcp,
            turn=turn,
            following=self.following,
            new_below=below if self.following else self._new,
            live=live,
            filter=self._filtering.text,
            kept=self._index.kept,
            looking=self._filtering.is_looking,
            rows=len(self._rows),
        )

    def show(self, source: SessionSource | None) -> None:
        """Show the rows of another source; one of the same session keeps the selected row."""
        row, before = self.selected, self._source
        is_same = source is not None and before is not None and before.session is source.session
        # A row that the list itself moved to, because it follows, is none that somebody looks at.
        self._sought = (row.capture, row.seq) if row is not None and is_same and not self.following else None
        self._source = source
        self.selection = None
        self._reset()
        self.cursor = None
        self.redraw()
        self.sync()

    def filter(self, text: str) -> None:
        """Show only matching rows; an empty filter shows all. A matching selected row stays selected."""
        source = self._source
        if source is None or text == self._filtering.text:
            return
        if self._filtering.rename(text):
            self.post_message(self.TitleChanged())
            return
        seen = self._index.rows(self.top, self.top + self.view_height)
        first = seen if self._selected is None or self._selected < 0 else [self._selected, *seen]
        self._index.fold_anew(folds_starts=self._may_fold(source) and read_filter(text).query is None)
        self._keep(self._filtering.begin(source.ladder, text, self._taken, first), is_more=False)
        self.post_message(self.TitleChanged())

    def select(self, number: int) -> None:
        """Select a row, in an open section."""
        if self._index.hidden(number):
            self._fold(self._index.home_of(number))
        line = self._index.line_of(number)
        if line is not None:
            self.move_cursor(line)

    def next_of(self, numbers: Iterable[int], step: int) -> int | None:
        """Return the next (1) or previous (-1) of some rows that the filter keeps, round the ends of the list."""
        return self._index.next_of(numbers, self._selected, step)

    def stay(self) -> None:
        """Stop following new rows, because the user reads the selected row."""
        if self.following:
            self.following = False
            self.post_message(self.TitleChanged())

    def sync(self) -> None:
        """Show what has changed, and describe visible rows. Takes time only for changes and visible rows."""
        source = self._source
        if source is None:
            return
        if source.ladder.revision != self._revision or self._taken < len(source.ladder.rows):
            self._take(source)
        if source.ladder.hosts is not self._hosts:
            self._hosts = source.ladder.hosts
            self.redraw()
        seen = self._index.rows(self.top, self.top + self.view_height)
        wanted = self._filtering.wanted
        self._rows_changed(self._words.fill(source, [*seen, *wanted], FILTERING if wanted else SEEN))
        self._look_on()
        if self._sought is not None and not source.is_behind:
            number, self._sought = source.ladder.row_of(self._sought), None
            if number is not None:
                self.select(number)

    def _look_on(self) -> None:
        source = self._source
        if source is None or not self._filtering.is_looking:
            return
        changes = self._filtering.look(source.ladder)
        if sum(map(self._index.drop, changes.lost)):
            self._grown(0, first=0)
        if changes.gained:
            self._extend(changes.gained, new=0)
        self.post_message(self.TitleChanged())  # the count
        if self._filtering.can_go_on and not self._is_coming_back:
            self._is_coming_back = True
            self.set_timer(_PAUSE, self._come_back)

    def _come_back(self) -> None:
        self._is_coming_back = False
        self._look_on()

    @property
    def _rows(self) -> Sequence[Row]:
        return self._source.ladder.rows if self._source is not None else ()

    def _take(self, source: SessionSource) -> None:
        ladder = source.ladder
        if ladder.sections is not self._index.sections:
            self._lay_out_anew(ladder)
        rows, before = ladder.rows, self._taken
        changed = ladder.changed_since(self._revision) if before else ()
        self._revision = ladder.revision
        self._taken = self._index.count(rows, _TAKING)
        changed = [number for number in changed if number < before]
        new = range(before, self._taken)
        if self.following and not self._filtering.is_on and self._may_fold(source) != self._index.folds_starts:
            self._index.folds_starts = True
            self._keep(range(before), is_more=False)
        self._rows_changed(changed)
        self._filtering.came(changed, new)
        if sum(self._index.move(rows[number]) for number in changed):  # each of them
            self._grown(0, first=0)
        if not new:
            self._relate()
            return
        if self._drawing.widen(self.view_width):
            self.redraw()
        self.changed(0)  # the session's heading counts rows
        if not self._filtering.is_on:
            self._extend(new, new=len(new))
        self.post_message(self.TitleChanged())

    def _lay_out_anew(self, ladder: Ladder) -> None:
        """Begin the lines again, since rows have other sections; the selected row and the filter stay."""
        selected, following, text = self._selected, self.following, self._filtering.text
        folds_starts = self._index.folds_starts
        self._reset()
        self._selected = -selected - 1 if selected is not None and SESSION < selected < 0 else selected
        self.following = following
        if text or not following:
            self._index.folds_starts = folds_starts
        self._taken, self._revision = self._index.count(ladder.rows), ladder.revision
        self._drawing.widen(self.view_width)
        self._keep(self._filtering.begin(ladder, text, self._taken, ()), is_more=False)

    def _extend(self, numbers: Sequence[int], *, new: int) -> None:
        """Add lines for rows, `new` of them new. Lines inserted above keep the visible lines in place."""
        before, top = len(self._index), self.top
        at_top = self._index.spot(top) if top < before else None
        first = self._index.extend(numbers)
        if self.cursor is None and not self.following:
            self._refiltered()
        else:
            self._grown(new, first=min(first, before) if first < before else None, at_top=at_top)

    def _grown(self, new: int, *, first: int | None = None, at_top: int | None = None) -> None:
        """Update after lines were added at the end, or from line `first` on; `at_top` is the former top line's spot."""
        if first is None:
            self.grew()
        else:
            if self._selected is not None:
                self.cursor = self._index.line_of(self._selected)
            self.redraw()
        if self.following:
            self._follow()
        else:
            self._new += new
            if first is not None and at_top is not None:
                self.show_line(self._index.line_at(at_top), top=True)
        self._relate()

    def _follow(self) -> None:
        """Select the newest row of the turns; before the first turn, the newest row.

        A person who went to the end behind it stays at the end, until the next row of a turn.
        """
        count = len(self._index)
        if not count:
            return
        self._new = 0
        newest = self._index.newest_line(self._selected)
        self.show_line(count - 1)
        self._choose(newest)
        self.show_line(newest)

    def _choose(self, line: int) -> None:
        """Select a line, whether a person or the view asked for it."""
        number = self._index.item_at(line)
        self.cursor = line
        if number != self._selected:
            self._selected = number
            self._relate()

    def _relate(self) -> None:
        source, number = self._source, self._selected
        related = (
            frozenset(source.ladder.relatives(number))
            if source is not None and number is not None and number >= 0
            else frozenset[int]()
        )
        for number in related ^ self._related:
            line = self._index.line_of(number)
            if line is not None and self.top <= line < self.top + self.view_height:
                self.refresh_lines(line)
        self._related = related

    def _keep(self, kept: Sequence[int], *, is_more: bool) -> None:
        """Show the matching rows: a superset of the former rows, or a new set."""
        before, top = self._index.kept, self.top
        at_top = self._index.spot(top) if top < len(self._index) else None
        self._index.clear()
        self._index.extend(kept)
        if is_more:
            self._grown(len(kept) - before, first=0, at_top=at_top)
        else:
            self._refiltered()

    def _refiltered(self) -> None:
        """Show the lines of another filter, on or near the selected row."""
        self.cursor = None
        self.redraw()
        if self.following or self._selected is None:
            self._follow()
        elif (line := self._index.line_near(self._selected)) is not None:
            self._choose(line)
            self.show_line(line)
        self._relate()

    def _rows_changed(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            line = self._index.line_of(number)
            if line is not None:
                self.changed(line)

    # How it is drawn.

    @override
    def line_count(self) -> int:
        return len(self._index)

    @override
    def draw(self, number: int) -> Strip:
        return self._drawn(number, self.view_width - 1)

    def _drawn(self, number: int, width: int) -> Strip:
        return self.strip_of(self._drawing.line(number, width))

    @override
    def decorate(self, number: int, strip: Strip) -> Strip:
        mark = ">" if number == self.cursor else ""
        if not mark and self._index.item_at(number) in self._related:
            mark = "*"
        marked = Strip([Segment(mark or " ", self.piece_style("mark")), *strip])
        decorated = super().decorate(number, marked)
        return self.tinted(decorated, "ladder--related") if mark == "*" else decorated

    # What the person does.

    @property
    @override
    def selectable(self) -> Selectable | None:
        return self if len(self._index) else None

    def letters(self, line: int) -> Sequence[Letters]:
        """Return a row, which is selected whole."""
        return whole_line((), self._index.spot(line))

    def copied(self, first: Spot, last: Spot) -> tuple[str, str]:
        """Return the selected rows as lines, wide enough for their words."""
        lines = range(self._index.line_at(first[0]), self._index.line_at(last[0]))
        drawn = (self._drawn(line, max(self.view_width, COPIED)).text.rstrip() for line in lines)
        return f"{len(lines)} line{'s' * (len(lines) != 1)} of the list", "\n".join(drawn)

    def settled(self, spot: Spot) -> Spot:
        """Return a spot as it is: rows keep theirs."""
        return spot

    def current_source(self) -> tuple[str, str]:
        """Return the selection; without one, the inspector decides."""
        return self.selected_source() or ("", "")

    @override
    def hold_still(self) -> None:
        super().hold_still()
        self.stay()

    @override
    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self.post_message(self.TitleChanged())

    @override
    def on_resize(self) -> None:
        super().on_resize()
        self.post_message(self.TitleChanged())

    @override
    def move_cursor(self, number: int) -> None:
        count = len(self._index)
        if not count:
            return
        number = max(0, min(count - 1, number))
        before = self.cursor
        self._choose(number)
        if number != before:
            self.post_message(self.CursorMoved(self, number))
        self.show_line(number)
        self.following = number in {count - 1, self._index.newest_line(self._selected)}
        self._new = 0 if self.following else self._new
        self.post_message(self.TitleChanged())

    @property
    def is_filtered(self) -> bool:
        return bool(self._filtering.text)

    @override
    def action_last(self) -> None:
        self.move_cursor(self.line_count() - 1)

    @override
    def key_escape(self, event: events.Key) -> None:
        """Clear the selection, else the filter; else leave the key to others."""
        if self.unselect():
            event.stop()
        elif self._filtering.text:
            event.stop()
            self.filter("")

    def on_line_view_opened(self, message: PieceView.Opened) -> None:
        """Fold or open the section of a heading; leave a row to the inspector."""
        item = self._index.item_at(message.line)
        if item < 0 and item != SESSION:
            message.stop()
            self._fold(-item - 1)

    @staticmethod
    def _may_fold(source: SessionSource) -> bool:
        """Whether connections before the first turn are folded: in what is all connections, they are what is read."""
        return source.user == "you" or source.ladder.sections.has_turns

    def _fold(self, home: int) -> None:
        self.unselect()
        self._index.fold(home)
        self.following = False
        self._grown(0, first=0)
        self.post_message(self.TitleChanged())

    def to_heading(self, step: int) -> None:
        """Go to the heading above or below."""
        if (line := self._index.heading_beside(self.cursor or 0, step)) is not None:
            self.move_cursor(line)

    def action_lane(self, lane: Lane) -> None:
        """Go to the nearest related row of a lane, else to the nearest row there."""
        row, source = self.selected, self._source
        if row is None or source is None or row.lane == lane:
            return
        rows = source.ladder.rows
        near = (row.number + sign * step for step in range(1, _LOOK_AROUND) for sign in (-1, 1))
        for number in (*source.ladder.relatives(row.number), *near):
            if 0 <= number < self._taken and rows[number].lane == lane and self._index.line_of(number) is not None:
                self.select(number)
                return
