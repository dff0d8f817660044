"""The inspector: title, filter and ladder, and below it the selected row beside a related row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, get_args

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.message import Message
from textual.widgets import Input, Static
from typing_extensions import override

from tui_host.capture.ladder.row import Lane, Row
from tui_host.capture.visible import line
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.sources.source_words import EMPTY_LIVE
from tui_host.tui.widgets.details.detail_panel import ANSWERS, Detail
from tui_host.tui.widgets.details.detail_view import PageView
from tui_host.tui.widgets.inspector.filter_input import FilterInput
from tui_host.tui.widgets.ladder.ladder_legend import legend
from tui_host.tui.widgets.ladder.ladder_title import Heading, LadderHeader
from tui_host.tui.widgets.ladder.ladder_view import LadderView
from tui_host.tui.widgets.lines.line_view import LineView

if TYPE_CHECKING:
    from tui_host.answers.look import Looks


Arrangement: TypeAlias = Literal["side", "stacked", "one"]

NARROW = 40
"""Width in columns that a detail needs beside another one."""
_LOW = 8
"""Height in lines below which two details are not one above the other."""
_OTHER_LANES: dict[Lane, tuple[Lane, ...]] = {"llm": ("mcp", "host"), "mcp": ("llm", "host"), "host": ("mcp", "llm")}
_LOOKING = 0.004
"""Seconds in one tick for finding the rows that deserve a look."""
_ROOM = 9
"""Height in lines below which only the list or a detail is shown."""
_NO_MATCH = "No row matches the filter. Press escape to clear it."


def relative_of(source: SessionSource, row: Row) -> Row | None:
    """Return the nearest related row of the other lane, else the decision, else the other half of the exchange."""
    rows = source.ladder.rows
    related = [rows[number] for number in source.ladder.relatives(row.number)]
    for lane in _OTHER_LANES[row.lane]:
        if nearest := next((other for other in related if other.lane == lane), None):
            return nearest
    number = source.ladder.partner(row.number)
    return rows[number] if number is not None else None


class Inspector(Container):
    """Header, list and details. `show` sets the source; `sync`, called at the screen's rate, shows changes.

    Args:
        reading: The text shown before there is a source; empty for the usual one.

    Attributes:
        details: The detail of the selected row, and the detail of a related row.
    """

    DEFAULT_CSS = """
    Inspector {
        layout: vertical;
        & > LadderView { height: 1fr; }
        & > #inspector-empty { height: 1fr; padding: 1 2; color: $text-muted; display: none; }
        & > #inspector-no-match { height: auto; padding: 0 2; color: $text-muted; display: none; }
        &.-no-match > #inspector-no-match { display: block; }
        & > #filter-hint { height: auto; max-height: 2; padding: 0 1; color: $text-muted; display: none; }
        & > #filter-hint.-mistake { color: $text-warning; }
        &.-hinting > #filter-hint { display: block; }
        &.-few > LadderView { height: auto; min-height: 2; }
        & > #inspector-details { height: 1fr; layout: horizontal; }
        & > #inspector-details.-stacked { layout: vertical; }
        & > #inspector-details.-side #inspector-relative { border-left: solid $panel; }
        & > #inspector-details.-one > .-hidden { display: none; }
        & > #inspector-details.-of-heading > #inspector-relative { display: none; }
        & > #inspector-details.-of-heading > #inspector-selected { display: block; border-left: none; }
        &.-low > #inspector-details, &.-low.-reading > LadderView { display: none; }
        &.-low.-reading > #inspector-details { display: block; }
        &.-empty > LadderView, &.-empty > #inspector-details { display: none; }
        &.-empty > #inspector-empty { display: block; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter"),
        Binding("vertical_line", "split", "Split"),
        Binding("z", "zoom", "Full screen"),
        Binding("d", "changes", "Changes"),
        Binding("m", "mark", "Mark"),
        Binding("M", "note", "Note", show=False),
        Binding("J", "join", "Join by hand", show=False),
        Binding("x", "export", "Export"),
        Binding("c", "chain", "Chain"),
        Binding("question_mark", "legend", "Signs"),
        Binding("n", "look(1)", "Next to look at"),
        Binding("N", "look(-1)", "To look at before"),
        Binding("left_square_bracket,ctrl+pageup", "heading(-1)", "Heading above", show=False),
        Binding("right_square_bracket,ctrl+pagedown", "heading(1)", "Heading below", show=False),
        *(Binding(str(number), f"tab_at({number - 1})", f"Tab {number}", show=False) for number in range(1, 10)),
    ]

    class ExportAsked(Message):
        """Posted to ask for an export of the selected row, or of what the row belongs to."""

    @dataclass
    class NoteAsked(Message):
        """Posted to ask for a note on a row, or for the call or frame that it is joined with."""

        row: Row
        joins: bool = False

    class ZoomAsked(Message):
        """Posted to ask for the whole screen, or to give it up again."""

    def __init__(
        self,
        *,
        reading: str = "",
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(id=id)
        self._header = LadderHeader()
        self._filter = FilterInput()
        self.ladder = LadderView(id="inspector-ladder")  # the list
        self.details = (
            Detail(empty=legend(), id="inspector-selected"),
            Detail(empty="No related row in the other lane yet.", id="inspector-relative"),
        )
        self._source: SessionSource | None = None
        self._shown: tuple[SessionSource, int, int | None, bool] | None = None
        self._looks: Looks | None = None
        self._has_legend = False
        self._reading = reading
        self._why_empty = reading or EMPTY_LIVE
        self._stacked = False
        self._flipped = False

    @override
    def compose(self) -> ComposeResult:
        yield self._header
        yield self._filter
        yield Static(id="filter-hint", markup=False)
        yield self.ladder
        yield Static(self._why_empty, id="inspector-empty", markup=False)
        yield Static(_NO_MATCH, id="inspector-no-match", markup=False)
        yield Container(*self.details, id="inspector-details")

    def on_mount(self) -> None:
        self.show(self._source)

    # What the app asks.

    @property
    def arrangement(self) -> Arrangement:
        """How the details are arranged: an answer about several rows has the whole width."""
        if self.details[0].tab in ANSWERS:
            return "one"
        if self._stacked:
            return "stacked" if self.size.height // 4 >= _LOW // 2 + 1 else "one"
        return "side" if (self.size.width - 1) // 2 >= NARROW else "one"  # the rule between them takes one

    def show(self, source: SessionSource | None) -> None:
        """Show another session's rows, or none."""
        before, self._source = self._source, source
        if before is not None and source is not None:
            source.elsewhere = before.marked_last()
        self._looks = None
        if not self.is_mounted:
            return
        self._filter.close()
        self.ladder.show(source)
        self.sync()

    @property
    def _is_arranged(self) -> bool:
        return self.query_one("#inspector-details").has_class(f"-{self.arrangement}")

    def sync(self) -> None:
        """Show what has changed."""
        if not self.is_mounted or not self.ladder.is_running:
            return
        if not self._is_arranged:
            self.on_resize()  # laid out while it was being mounted: no resize was announced
            return
        source, ladder = self._source, self.ladder
        is_empty = source is None or not len(source.ladder.rows)
        self.set_class(is_empty, "-empty")
        if source is None or is_empty:
            self._leave_details()
            self._say_why_empty((self._reading or EMPTY_LIVE) if source is None else source.why_empty)
            self._header.show(Heading(live=not self._reading if source is None else source.live))
            return
        ladder.sync()
        self._look(source)
        self._update_title()
        selected, relative = self.details
        now = source, source.ladder.revision, ladder.selected_number, self._has_legend
        if now != self._shown:
            self._shown = now
            row = ladder.selected
            section = None if row is not None else ladder.selected_section
            self.query_one("#inspector-details").set_class(section is not None, "-of-heading")
            selected.show(source, None if self._has_legend else row or section)
            relative.show(source, relative_of(source, row) if row is not None else None)
        for detail in (selected, relative):
            if not detail.has_class("-hidden"):
                detail.sync()

    def _look(self, source: SessionSource) -> None:
        """Look through new rows for those that deserve a look."""
        if self._looks is None:
            from tui_host.answers.look import Looks

            self._looks = Looks(source)
        if not source.is_behind and self._looks.is_behind:
            self._looks.advance(_LOOKING)

    def _leave_details(self) -> None:
        if any(detail.has_focus_within for detail in self.details):
            self.screen.set_focus(self.ladder)

    def _say_why_empty(self, words: str) -> None:
        if words != self._why_empty:
            self._why_empty = words
            self.query_one("#inspector-empty", Static).update(words)

    @property
    def is_settled(self) -> bool:
        """Whether `sync` has nothing to do."""
        source, ladder = self._source, self.ladder
        if not self.is_mounted or not ladder.is_running or not self._is_arranged:
            return False
        if source is None or not len(source.ladder.rows):
            return True
        is_shown = self._shown == (source, source.ladder.revision, ladder.selected_number, self._has_legend)
        has_looked = self._looks is not None and not self._looks.is_behind
        return (
            is_shown
            and has_looked
            and ladder.is_settled
            and all(detail.is_settled for detail in self.details if not detail.has_class("-hidden"))
        )

    def current_source(self) -> tuple[str, str]:
        """Return the text for `ctrl+c`: the focused detail, else the selected row's bytes."""
        for detail in self.details:
            if detail.has_focus_within:
                return detail.current_source
        row = self.ladder.selected
        if row is None or self._source is None:
            return "", ""
        from tui_host.answers.bodies import body_of
        from tui_host.tui.widgets.details.wire_tabs import what_of

        return what_of(row), body_of(self._source, row).text

    def action_split(self) -> None:
        """Turn the details: side by side, above each other, or one at a time."""
        if self.has_class("-low") and not self.has_class("-reading"):
            self._read()
        elif self.arrangement == "one":
            self._flipped = not self._flipped
        else:
            self._stacked = not self._stacked
        self._arrange()

    def next_match(self, step: int) -> bool:
        """Go to the next (1) or the former (-1) place of the filter's words in the bodies; False without words."""
        texts, detail = self.ladder.filter_texts, self.details[0]
        if not texts or self._source is None:
            return False
        if not detail.find(texts, step) and self.ladder.to_next_row(step):
            detail.show(self._source, self.ladder.selected)
            detail.seek(texts, step)
        return True

    # What happens.

    def _update_title(self) -> None:
        heading = self.ladder.heading(live=self._source is not None and self._source.live)
        heading = replace(heading, look=0 if self._looks is None else len(self._looks.numbers))
        self.set_class(bool(heading.filter) and not heading.kept and not heading.looking, "-no-match")
        if not heading.looking:  # else the list would grow and shrink with each row that is found
            self.set_class(bool(heading.filter) and self.ladder.line_count() < self.size.height // 4, "-few")
        self._header.show(replace(heading, clears=self.has_focus_within, has_focus=self.ladder.has_focus))

    def _arrange(self) -> None:
        arrangement = self.arrangement
        details = self.query_one("#inspector-details")
        self._flipped &= details.has_class("-one")
        details.update_classes({f"-{name}": name == arrangement for name in get_args(Arrangement)})  # one restyling
        selected, relative = self.details
        had_focus = selected.has_focus_within or relative.has_focus_within
        is_one = arrangement == "one"
        selected.set_class(is_one and self._flipped, "-hidden")
        relative.set_class(is_one and not self._flipped, "-hidden")
        if had_focus and is_one:
            (relative if self._flipped else selected).view.focus()
        self.sync()

    def on_resize(self) -> None:
        is_reading = any(detail.has_focus_within for detail in self.details)
        self.update_classes({"-low": self.size.height < _ROOM, "-reading": is_reading})
        self._arrange()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if isinstance(event.widget, PageView):
            self.ladder.stay()
        self.set_class(isinstance(event.widget, PageView), "-reading")
        self._update_title()

    def on_descendant_blur(self) -> None:
        self.sync()

    def on_ladder_view_title_changed(self, message: LadderView.TitleChanged) -> None:
        message.stop()
        self.sync()

    def on_line_view_opened(self, message: LineView.Opened) -> None:
        message.stop()
        self._read()

    def _read(self) -> None:
        """Focus the detail, and show it in place of the list if there is no room for both."""
        self.add_class("-reading")
        selected, relative = self.details
        (relative if selected.has_class("-hidden") else selected).view.focus()

    def key_escape(self, event: events.Key) -> None:
        """Close the legend; or go back from a detail to the list if there is no room for both; or clear the filter."""
        if self._has_legend:
            event.stop()
            self.action_legend()
            return
        if self.has_class("-low") and self.has_class("-reading"):
            event.stop()
            self.remove_class("-reading")
            self.ladder.focus()
        elif self.ladder.is_filtered:
            event.stop()
            self.ladder.filter("")

    def action_legend(self) -> None:
        self._has_legend = not self._has_legend
        self.sync()

    def action_zoom(self) -> None:
        self.post_message(self.ZoomAsked())

    def action_changes(self) -> None:
        """Show the changes of the request; again: everything, with the changes marked."""
        selected, relative = self.details
        detail = relative if relative.has_focus_within else selected
        source, row = self._source, detail.row
        if source is not None and isinstance(row, Row) and row.kind == "response" and detail is selected:
            request = source.ladder.partner(row.number)
            if request is not None:
                self.ladder.select(request)
                self.sync()
        detail.choose("Parts" if detail.tab == "Changes" else "Changes")

    def _chosen(self) -> Row | None:
        """Return the row of the detail that has the focus, else the selected row; say so if it is a heading."""
        _, relative = self.details
        row = relative.row if relative.has_focus_within else self.ladder.selected
        if isinstance(row, Row):
            return row
        self.notify("Marks and notes belong to rows: go to a row below the heading.", timeout=4)
        return None

    def action_mark(self) -> None:
        row = self._chosen()
        if row is not None and self._source is not None:
            self._source.row_marks.toggle((row.capture, row.seq))
            self.ladder.redraw()
            self.sync()

    def action_note(self) -> None:
        row = self._chosen()
        if row is not None:
            self.post_message(self.NoteAsked(row))

    def action_join(self) -> None:
        row = self._chosen()
        if row is not None:
            self.post_message(self.NoteAsked(row, joins=True))

    def action_look(self, step: int) -> None:
        """Go to the next or the previous row that deserves a look, and say why; with a word in the filter, to the next match."""
        if self.next_match(step):
            return
        looks = self._looks
        number = None if looks is None else self.ladder.next_of(looks.numbers, step)
        if looks is None or number is None:
            from tui_host.answers.look import EMPTY

            self.notify(EMPTY)
            return
        self.ladder.select(number)
        look = looks.look(number)
        self.notify(f"{look.name}: {look.reason}", markup=False)

    def action_heading(self, step: int) -> None:
        self.ladder.to_heading(step)
        self.sync()

    def action_export(self) -> None:
        self.post_message(self.ExportAsked())

    def action_chain(self) -> None:
        selected, relative = self.details
        is_relative = relative.has_focus_within or selected.has_class("-hidden")
        details = (relative,) if is_relative else (selected, relative)
        if not any(detail.toggle("Chain") for detail in details if not detail.has_class("-hidden")):
            self.notify("No call belongs to this row, so it has no chain.", markup=False, timeout=4)
        self.sync()

    def action_tab_at(self, place: int) -> None:
        next(detail for detail in self.details if not detail.has_class("-hidden")).choose_at(place)

    def show_chain(self, call: str) -> bool:
        """Go to the first row of a call that has no other call, and to its chain; returns whether the call has a row."""
        source = self._source
        numbers = () if source is None else source.ladder.rows_of_call(call)
        if source is None or not numbers:
            return False
        self._go_to(next((number for number in numbers if len(source.ladder.rows[number].calls) == 1), numbers[0]))
        selected = self.details[0]
        selected.choose("Chain")
        if selected.has_class("-hidden"):
            self.action_split()
        return True

    def _go_to(self, number: int) -> None:
        if self.ladder.is_filtered:
            self.ladder.filter("")
            self._filter.close()
        self.ladder.stay()
        self.ladder.select(number)
        self.sync()

    def on_page_view_row_asked(self, message: PageView.RowAsked) -> None:
        message.stop()
        number = None if self._source is None else self._source.ladder.row_of(message.target)
        if number is not None:
            self._go_to(number)

    # The filter.

    def action_filter(self) -> None:
        """Open the filter, empty: all rows are shown until something is typed."""
        self._filter.open()
        self._hint()

    def on_input_changed(self, message: Input.Changed) -> None:
        message.stop()
        self.ladder.filter(message.value.strip())
        self._hint()

    def _hint(self) -> None:
        """Say below the field what is wrong with the filter, else what `tab` completes."""
        self._filter.complete(None if self._source is None else self._source.ladder)
        mistakes = "; ".join(self.ladder.mistakes)
        words = line(mistakes or self._filter.offered, 400)
        self.set_class(bool(words), "-hinting")
        hint = self.query_one("#filter-hint", Static)
        hint.set_class(bool(mistakes), "-mistake")
        hint.update(words)

    def on_filter_input_filter_left(self, message: FilterInput.FilterLeft) -> None:
        message.stop()
        if message.cleared:
            self.ladder.filter("")
        self._filter.close()
        self._hint()
        self.ladder.focus()
