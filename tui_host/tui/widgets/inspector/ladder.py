"""The list: model traffic at the left and server traffic at the right of the host's line, by time."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, wait
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.strip import Strip
from typing_extensions import override

from tui_host.answers.row_facts import NOTHING
from tui_host.answers.wires import Section
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row import Lane, Row
from tui_host.capture.visible import visible
from tui_host.tui.in_thread import in_thread
from tui_host.tui.keys import key_of
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.text_width import clip
from tui_host.tui.widgets.inspector.filter import RowFilter
from tui_host.tui.widgets.inspector.index import SESSION, LadderIndex
from tui_host.tui.widgets.inspector.row_line import row_line, turn_title
from tui_host.tui.widgets.inspector.words import FactsReader
from tui_host.tui.widgets.lines.line_view import LineView
from tui_host.tui.widgets.lines.selection import Letters, Spot, whole_line

_TAKING_SECONDS = 0.0015  # longest time in one tick for new rows, so that a long session opens without a stall
_READING_SECONDS = 0.25  # longest time to filter at once, in seconds, before visible rows are read again
_SOON_SECONDS = 0.004  # how long the screen waits for the thread, so that what is quickly read is not drawn twice
_NEAR_ROWS = 1000  # number of rows on either side in which to look for a row of another lane
COPIED_CELLS = 120  # width of a copied row, if the screen is narrower
_FOLDED_CELLS = 20  # cells that a heading keeps for its sign, and for the number of hidden rows
_NARROW_CELLS = 60  # width of the list below which a server's name has less room
_FIRST_ROW = 2  # the line of the first row that a filter keeps: above it stand the headings of session and section
_HOST_COLUMN = 11  # the cell of the title in which the host's line stands


class LadderView(LineView):
    """One line per row, below section headings. `sync`, called at screen rate, shows news."""

    has_cursor = True
    COMPONENT_CLASSES: ClassVar[set[str]] = {"ladder--related"}
    DEFAULT_CSS = """
    /* Of no hue: a faint one becomes a strong one in 256 colours, and this one's was the red of a failure. */
    LadderView > .ladder--related { background: $foreground 12%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "", "details", tooltip="go to the details; on a heading: fold or open its rows"),
        Binding("left,h", "lane('llm')", tooltip="go to the related row in the LLM lane, else to the nearest there"),
        Binding("right,l", "lane('mcp')", tooltip="go to the related row in the MCP lane, else to the nearest there"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.selectable = self
        self._work: Future[Sequence[Row]] | None = None  # reads some rows, and filters
        self._sought: tuple[str, int] | None = None  # the row that is to be selected once it is there
        self._begin(None)

    def _begin(self, source: SessionSource | None) -> None:
        self.source = source
        self.traffic = Ladder() if source is None else source.ladder  # its rows
        self._index = LadderIndex(self.traffic.rows, self.traffic.sections)
        self._facts = FactsReader()
        self.row_filter = RowFilter(self._facts)
        self.selected_number: int | None = None  # the number of the selected row; below 0 for a heading
        self.following = True  # whether the newest row of the turns stays selected
        self.is_at_first = False  # whether the first row that the filter keeps stays selected, until the person moves
        self.is_settled = source is None  # whether all rows are shown and described, so that `sync` has nothing to do
        self._known = 0  # rows that were there while the newest was followed
        self._related: frozenset[int] = frozenset()
        self._revision = -1
        self._drawn_with: object = None  # what all lines depend on

    @property
    def selected(self) -> Row | None:
        item = self.selected_number
        return self.traffic.rows[item] if item is not None and 0 <= item < len(self.traffic.rows) else None

    @property
    def selected_section(self) -> Section | None:
        item = self.selected_number
        if item == SESSION:
            return Section(is_session=True)
        if item is None or item >= 0:
            return None
        home, turn = self._index.home_of(item), self._index.turn_of(item)
        first, turns = self.traffic.rows[home], self.traffic.sections.turns
        # The first heading of a turn has its question and its figures: it stands for the whole turn.
        is_step = turn and next((at for at in turns if turns[at] == turn), home) != home
        return Section(clock=first.clock, turn=turn, step=first.step if is_step else 0)

    def title(self, width: int, *, clears: bool, looks: int) -> str:
        """Return the title: the captured rows per lane, and words, the first of which give way.

        It `clears` if `escape` clears the filter from where the focus is.
        """
        item, index, row_filter = self.selected_number, self._index, self.row_filter
        words = [] if row_filter.text else [f"{key_of('signs')} signs"]
        if item is not None and item != SESSION:
            turn = index.turn_of(item)
            words.append(f"turn {turn}" if turn else "connections")
        if self.following and not self.is_at_first and (self.source is None or self.source.live):
            words.append("follows new rows")
        if looks and not row_filter.is_on:  # with a filter the key goes to its next match
            words.append(f"{looks:,} to look at ({key_of('next')})")
        if not row_filter.is_on and (below := len(index.homes) - self._known) > 0:
            words.append(f"G goes to {below:,} new row{'s' * (below > 1)} below")
        words.append(f"{key_of('filter')} {clip(row_filter.text or 'filter', 24)}")
        if row_filter.text:
            words.append(f"{index.kept:,} of {len(self.traffic.rows):,}{' …' * row_filter.is_looking}")
            words.append("esc clears" if clears else f"{key_of('filter')} again")
        left = f"{'>' if self.has_focus else ' '}{index.tally(item, 'llm')} LLM "
        left = f"{left}{'─' * max(1, _HOST_COLUMN - len(left))}┬── {index.tally(item, 'mcp')} MCP "
        for first in range(len(words)):
            right = f" {' · '.join(words[first:])} "
            room = width - cell_len(left) - cell_len(right)
            if room >= 1:
                return f"{left}{'─' * room}{right}"
        return clip(left, width)

    def show(self, source: SessionSource) -> None:
        """Show the rows of another source; one of the same session keeps the selected row."""
        row, before = self.selected, self.source
        is_same = before is not None and before.session is source.session
        # A row that the list itself moved to, because it follows, is none that somebody looks at.
        self._sought = (row.capture, row.seq) if row is not None and is_same and not self.following else None
        self.row_filter.is_stopped = True
        self._begin(source)
        self.selection = self.cursor = None
        self.redraw(len(self._index))
        self.sync()

    def filter(self, text: str) -> None:
        """Show only matching rows; an empty filter shows all. A matching row that a person selected stays selected."""
        before, index = self.row_filter, self._index
        seen = index.rows(self.scroll_offset.y, self.scroll_offset.y + self.scrollable_size.height)
        first = seen if self.selected is None else [self.selected.number, *seen]
        new = RowFilter(self._facts, text, len(index.homes), first)
        if new.reading.query == before.reading.query:  # such as a blank or an unfinished term more
            before.text, before.reading = text, new.reading
            return
        before.is_stopped, self.row_filter = True, new
        self.is_at_first = new.is_on and (self.is_at_first or self.following or self.selected is None)
        # Connections before the first turn are folded but in what is all connections, where they are what is read.
        may_fold = self.source is not None and (self.source.user == "you" or self.traffic.sections.has_turns)
        numbers = () if new.is_on else range(len(index.homes))
        index.lay_out(numbers, folds_starts=may_fold and not new.is_on)
        self.cursor = None
        self._draw_anew()
        if self._work is not None:
            wait((self._work,), _SOON_SECONDS)  # it gives up for this filter
        self.sync()

    def select(self, item: int) -> bool:
        """Select a row, in an open section, or a heading; False where the filter hides it."""
        if 0 <= item < len(self._index.homes) and self._index.hidden(self._index.homes[item]):
            self._fold(self._index.homes[item])
        line = self._index.line_of(item)
        if line is not None:
            self.move_cursor(line)
        return line is not None

    def to_next_of(self, numbers: Iterable[int], step: int) -> bool:
        """Select the next (1) or previous (-1) of some rows, round the ends of the list; False if the filter keeps none."""
        spot_of, item = self._index.spot, self.selected_number
        here = (-1,) if item is None else spot_of(item)
        kept = sorted((number for number in numbers if self._index.place(number) is not None), key=spot_of)[::step]
        beyond = [number for number in kept if (spot_of(number) > here if step > 0 else spot_of(number) < here)]
        number = next(iter(beyond or kept), None)
        return number is not None and self.select(number)

    def to_next(self, step: int, *, is_heading: bool) -> bool:
        """Select the next (1) or the former (-1) shown row or heading; False at the end."""
        line = -1 if self.cursor is None else self.cursor
        items = map(self._index.item_at, range(line + step, len(self._index) if step > 0 else -1, step))
        item = next((item for item in items if (item < 0) == is_heading), None)
        return item is not None and self.select(item)

    def sync(self) -> None:
        """Show what has changed, and have visible rows read. Takes time only for changes and visible rows."""
        source = self.source
        if source is None:
            return
        self.following &= self.selection is None  # nothing is followed while rows are selected
        session, ladder, index = source.session, self.traffic, self._index
        looks = len(session.conversation), session.busy, ladder.hosts, ladder.numbers.widest
        if ladder.revision != self._revision or len(index.homes) < len(ladder.rows):
            is_on, before = self.row_filter.is_on, len(index.homes)
            changed = [n for n in ladder.changed_since(self._revision) if n < before] if before else []
            self._revision = self.traffic.revision
            new = range(before, index.count(_TAKING_SECONDS))
            may_fold = source.user == "you" or ladder.sections.has_turns  # as in `filter`
            if self.following and not is_on and may_fold and not index.folds_starts:
                index.lay_out(range(before), folds_starts=True)  # the first turn has begun
                self.cursor = None
                self._draw_anew()
            self._changed(changed)
            self.row_filter.came(changed, new)
            if sum(map(index.move, changed)):
                self._draw_anew()
            if new:
                self.changed(0)  # the session's heading counts rows
            if new and not is_on:
                self._extend(new)
        if self.following:
            self._known = len(index.homes)
        if looks != self._drawn_with:
            self._drawn_with = looks
            self.redraw()
        self._read(source)
        sought = None if self._sought is None or source.is_behind else ladder.row_of(self._sought)
        if sought is not None and self.select(sought):
            self._sought = None
        self.is_settled &= len(index.homes) == len(ladder.rows) and not self.row_filter.is_looking
        number, before = self.selected_number, self._related
        self._related = frozenset(() if number is None or number < 0 else ladder.relatives(number))
        self._changed(before ^ self._related)

    on_resize = sync  # other rows are seen now

    def _read(self, source: SessionSource) -> None:
        """Give the thread what is to be read and filtered next, and show what it has done."""
        facts, row_filter, rows = self._facts, self.row_filter, self.traffic.rows
        seen = self._index.rows(self.scroll_offset.y, self.scroll_offset.y + self.scrollable_size.height)
        read = [rows[number] for number in seen if rows.text("lane", number) == "llm"]  # of others nothing is read
        due = [row for row in read if facts.is_due(row)]

        def work() -> Sequence[Row]:
            until = time.perf_counter() + _READING_SECONDS
            for row in due:
                facts.read(source, row)
            row_filter.run(source, until)
            return due

        if self._work is None and (due or row_filter.is_looking):
            row_filter.prepare(source)
            self._work = in_thread(work)
            wait((self._work,), _SOON_SECONDS)
        if self._work is not None and self._work.done():
            self._changed(row.number for row in self._work.result())
            self._work = None
        self.is_settled = self._work is None and not due
        gained, lost = row_filter.take()
        if sum(map(self._index.drop, lost)):
            self._draw_anew()
        if gained:
            self._extend(gained)

    def _changed(self, numbers: Iterable[int]) -> None:
        for line in filter(None, map(self._index.line_of, numbers)):  # no row is on the first line
            self.changed(line)

    def _extend(self, numbers: Sequence[int]) -> None:
        """Add lines for rows. Lines inserted above keep the visible lines in place."""
        top = self._index.item_at(self.scroll_offset.y) if self.scroll_offset.y < len(self._index) else None
        if not self._index.extend(numbers) or self.cursor is None or self.is_at_first:
            self._draw_anew(top)
            return
        self.redraw(len(self._index), self.line_count())
        if self.following:
            self._follow()

    def _draw_anew(self, top: int | None = None) -> None:
        """Draw all lines after some came or went, with the item on top that was there, or the selected row or one near it."""
        was_shown, item = self.cursor is not None, self.selected_number
        self.cursor = None if item is None else self._index.line_of(item)
        self.redraw(len(self._index))
        if self.is_at_first and len(self._index) and self._index.item_at(_FIRST_ROW) != item:
            self.cursor, self.selected_number = _FIRST_ROW, self._index.item_at(_FIRST_ROW)
            self.show_line(0)
        elif (self.following and not self.is_at_first) or item is None:
            self._follow()
        elif not was_shown and (line := self._index.line_near(item)) is not None:
            self.cursor, self.selected_number = line, self._index.item_at(line)
            self.show_line(line)
        elif was_shown and top is not None and (line := self._index.line_near(top)) is not None:
            self.show_line(line, top=True)

    def _follow(self) -> None:
        """Select the newest row of the turns, else the last row; a person at the end stays there till the turn's next row."""
        if len(self._index):
            newest = self._index.newest_line(self.selected_number)
            self.show_line(len(self._index) - 1)
            self.cursor, self.selected_number = newest, self._index.item_at(newest)
            self.show_line(newest)

    @override
    def draw(self, number: int, width: int = 0) -> Strip:
        source, index, item = self.source, self._index, self._index.item_at(number)
        width = width or self.scrollable_size.width - 1
        if source is not None and item >= 0:
            row, most = self.traffic.rows[item], 8 if self.scrollable_size.width < _NARROW_CELLS else 14
            peer = max(6, min(source.ladder.numbers.widest, most))
            return self.strip_of(row_line(source, row, self._facts.known.get(item, NOTHING), width, peer))
        turn, hidden, title = index.turn_of(item), index.hidden(index.home_of(item)), "connections"
        if item == SESSION:
            turns, rows = len({key[:2] for key in index.counts if key[1]}), len(self.traffic.rows)
            title = f"session · {turns:,} turn{'s' * (turns != 1)} · {rows:,} row{'s' * (rows != 1)}"
            if source is not None and source.session.parent is not None:
                title = f"{title} · {source.hide.marks(visible(source.session.parent.words(), newlines=False))}"
        elif turn and source is not None:
            title = turn_title(source, turn, self.traffic.rows[index.home_of(item)].step, width - _FOLDED_CELLS)
        more = "" if hidden is None else f" · {hidden:,} row{'s' * (hidden != 1)}"
        text = clip(f"{'▾' if hidden is None else '▸'} {title}{more} ", width)
        return self.strip_of([(text + "─" * (width - cell_len(text)), "heading")])

    @override
    def decorate(self, number: int, strip: Strip, mark: str = "") -> Strip:
        is_related = number != self.cursor and self._index.item_at(number) in self._related
        strip = super().decorate(number, strip, mark or "*" * is_related)
        if not is_related:
            return strip
        return strip.extend_cell_length(self.scrollable_size.width).apply_style(self.look_of("ladder--related"))

    def letters(self, line: int) -> Sequence[Letters]:
        home, time_ns, number = self._index.spot(self._index.item_at(line))
        return whole_line((home, time_ns), number)

    def copied(self, first: Spot, last: Spot) -> tuple[str, str]:
        """Return the selected rows as lines, wide enough for their words."""
        lines = range(*map(self._index.line_at, (first, last)))
        drawn = (self.draw(line, max(self.scrollable_size.width, COPIED_CELLS)).text.rstrip() for line in lines)
        return f"{len(lines)} line{'s' * (len(lines) != 1)} of the list", "\n".join(drawn)

    @override
    def move_cursor(self, number: int) -> None:
        super().move_cursor(number)
        self.is_at_first = False
        if self.cursor is not None:
            self.selected_number = self._index.item_at(self.cursor)
            self.following = self.cursor in {len(self._index) - 1, self._index.newest_line(self.selected_number)}

    def on_line_view_opened(self, message: LineView.Opened) -> None:
        """Fold or open the section of a heading; leave a row to the inspector."""
        item = self._index.item_at(message.line)
        if item < SESSION:
            message.stop()
            self._fold(self._index.home_of(item))

    def _fold(self, home: int) -> None:
        self.unselect()
        self._index.fold(home)
        self.following = False
        self._draw_anew()

    def action_lane(self, lane: Lane) -> None:
        """Go to the nearest related row of a lane, else to the nearest row there."""
        row, rows = self.selected, self.traffic.rows
        if row is not None and row.lane != lane:
            near = range(max(0, row.number - _NEAR_ROWS), min(row.number + _NEAR_ROWS, len(rows)))
            nearest = sorted(near, key=lambda number: abs(number - row.number))
            numbers = (*self.traffic.relatives(row.number), *nearest)
            there = (number for number in numbers if rows.text("lane", number) == lane)
            self.select(next((number for number in there if self._index.line_of(number) is not None), row.number))
