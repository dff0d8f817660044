"""The inspector: title, filter and ladder, and below it the selected row beside a related row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, get_args

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Input, Static
from typing_extensions import override

from tui_host.answers.wires import Section
from tui_host.capture.ladder.row import Lane, Row
from tui_host.capture.ladder.row_filter import terms
from tui_host.capture.visible import line
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.suggestions import EMPTY_LIVE
from tui_host.tui.widgets.details.detail_panel import Detail
from tui_host.tui.widgets.details.tabs import ANSWERS
from tui_host.tui.widgets.inspector.filter_input import FilterInput
from tui_host.tui.widgets.inspector.ladder import LadderView
from tui_host.tui.widgets.inspector.title import legend
from tui_host.tui.widgets.lines.line_view import LineView
from tui_host.tui.widgets.pages.page_lines import PageLines

if TYPE_CHECKING:
    from tui_host.answers.look_page import Looks


Arrangement: TypeAlias = Literal["side", "stacked", "one"]

NARROW = 40
"""Width in columns that a detail needs beside another one."""
_LOW = 8
"""Height in lines below which two details are not one above the other."""
_OTHER_LANES: dict[Lane, tuple[Lane, ...]] = {"llm": ("mcp", "host"), "mcp": ("llm", "host"), "host": ("mcp", "llm")}
_LOOKING_SECONDS = 0.004
"""Longest time in one tick for finding the rows that deserve a look."""
_NO_MATCH = "No row matches the filter. Press escape to clear it."


def relative_of(source: SessionSource, row: Row) -> Row | None:
    """Return the nearest related row of the other lane, else the decision, else the other half of the exchange."""
    related = [source.ladder.rows[number] for number in source.ladder.relatives(row.number)]
    for lane in _OTHER_LANES[row.lane]:
        if nearest := next((other for other in related if other.lane == lane), None):
            return nearest
    return source.ladder.partner_of(row)


class Inspector(Container):
    """Header, list and details. `show` sets the source; `sync`, called at the screen's rate, shows changes.

    Args:
        reading: The text shown before there is a source; empty for the usual one.
    """

    DEFAULT_CSS = """
    Inspector {
        layout: vertical;
        & > #inspector-title { height: 1; background: $panel; color: $text-muted; text-wrap: nowrap; }
        & > LadderView { height: 1fr; }
        & > .inspector-words { height: auto; max-height: 2; padding: 0 1; color: $text-muted; display: none; }
        & > .inspector-words.-told { display: block; }
        & > .inspector-words.-warning { color: $text-warning; }
        & > #inspector-empty { max-height: 100%; padding: 1 2; }
        &.-few > LadderView { height: auto; min-height: 2; }
        & > #inspector-details { height: 1fr; layout: horizontal; }
        & > #inspector-details.-stacked { layout: vertical; }
        & > #inspector-details.-side #inspector-relative { border-left: solid $panel; }
        & > #inspector-details.-one > .-hidden { display: none; }
        &.-empty > LadderView, &.-empty > #inspector-details { display: none; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "slash", "filter", "filter", id="filter", tooltip="filter by words and fields (below); up: the last filter"
        ),
        Binding("n", "look(1)", "next", id="next", tooltip="go to the next row to look at, or match of the filter"),
        Binding("N", "look(-1)"),
        Binding("c", "chain", "chain", id="chain", tooltip="show the chain of the row's call; again: the tab before"),
        Binding(
            "d", "changes", "changes", id="changes", tooltip="show what changed in a request; again: the tab before"
        ),
        Binding(
            "x", "screen.export", "export", id="export", tooltip="export the row, its call, turn or session to a file"
        ),
        Binding("question_mark", "legend", "signs", id="signs", tooltip="show what the signs mean; again: the row"),
        Binding("m", "mark", "mark", id="mark", tooltip="mark the row, to compare requests with it, or no longer"),
        Binding("M", "screen.note(False)", "note", id="note", tooltip="write a note on the row, and mark it"),
        Binding(
            "J",
            "screen.note(True)",
            "join by hand",
            id="join",
            tooltip="join the row's call with a frame, or part them",
        ),
        Binding("z", "screen.zoom", "full screen", id="zoom", tooltip="give the inspector the whole screen, and back"),
        Binding("vertical_line", "split", "split", id="split", tooltip="turn the details, or show the other one"),
        Binding(
            "left_square_bracket,ctrl+pageup", "heading(-1)", tooltip="go to the heading above or below, with its pages"
        ),
        Binding("right_square_bracket,ctrl+pagedown", "heading(1)"),
        Binding("1", "tab_at(0)", key_display="1 to 9", tooltip="show that tab of the details"),
        *(Binding(str(number), f"tab_at({number - 1})") for number in range(2, 10)),
    ]

    def __init__(self, *, reading: str = "", id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._title = Static(id="inspector-title", markup=False)
        self._filter = FilterInput()
        self.ladder = LadderView(id="inspector-ladder")  # the list
        self.details = (
            Detail(empty=legend(), id="inspector-selected"),
            Detail(empty="No related row in the other lane yet.", id="inspector-relative"),
        )
        self._source: SessionSource | None = None
        self._looks: Looks | None = None
        self._reading = reading
        self._has_legend = self._is_stacked = self._is_flipped = False
        self._arranged: tuple[Arrangement, bool] | None = None

    @override
    def compose(self) -> ComposeResult:
        yield self._title
        yield self._filter
        yield Static(id="filter-hint", classes="inspector-words", markup=False)
        yield self.ladder
        yield Static(id="inspector-empty", classes="inspector-words", markup=False)
        yield Static(id="inspector-no-match", classes="inspector-words", markup=False)
        yield Static(id="inspector-reason", classes="inspector-words -warning", markup=False)
        yield Container(*self.details, id="inspector-details")

    def on_mount(self) -> None:
        self.show(self._source)

    # What the app asks.

    @property
    def arrangement(self) -> Arrangement:
        """How the details are arranged: an answer about several rows has the whole width."""
        selected = self.details[0]
        if selected.tab in ANSWERS or isinstance(selected.row, Section):
            return "one"
        if self._is_stacked:
            return "stacked" if self.size.height // 4 >= _LOW // 2 + 1 else "one"
        return "side" if (self.size.width - 1) // 2 >= NARROW else "one"  # the rule between them takes one

    @property
    def is_settled(self) -> bool:
        """Whether `sync` has nothing to do."""
        source, looks = self._source, self._looks
        if not self.is_mounted or not self.ladder.is_running:
            return False
        if source is None or not len(source.ladder.rows):
            return True
        has_looked = looks is not None and not looks.is_behind
        return has_looked and self.ladder.is_settled and all(detail.is_settled for detail in self._visible_details)

    @property
    def _visible_details(self) -> Sequence[Detail]:
        return [detail for detail in self.details if not detail.has_class("-hidden")]

    @property
    def _detail(self) -> Detail:
        """The detail that keys are about: the one with the focus, else the selected row's."""
        return self.details[self.details[1].has_focus_within]

    def show(self, source: SessionSource | None) -> None:
        """Show another session's rows, or none."""
        before, self._source = self._source, source
        if before is not None and source is not None:
            source.elsewhere = before.marked_last()
        self._looks = None
        if self.is_mounted:
            self._filter.close()
            self.ladder.show(source)
            self.sync()

    def sync(self) -> None:
        """Show what has changed."""
        if not self.is_mounted or not self.ladder.is_running:
            return
        source, why = self._source, ""
        if source is None:
            why = self._reading or EMPTY_LIVE
        elif not len(source.ladder.rows):
            why = source.why_empty
        if why and any(detail.has_focus_within for detail in self.details):
            self.screen.set_focus(self.ladder)
        self.set_class(bool(why), "-empty")
        self._put("#inspector-empty", f"{why}\n\n{legend()}" if why else "")
        if source is not None and not why:
            self.ladder.sync()
            self._show_row(source)
        self._arrange()
        self._show_title()
        for detail in self._visible_details if not why else ():
            detail.sync()

    def _show_row(self, source: SessionSource) -> None:
        """Give the details the selected row or heading, and say why the row deserves a look."""
        if self._looks is None:
            from tui_host.answers.look_page import Looks

            self._looks = Looks(source)
        if not source.is_behind and self._looks.is_behind:
            self._looks.advance(_LOOKING_SECONDS)
        row = self.ladder.selected
        name, reason = self._looks.look(row) if row is not None else ("", "")
        self._put("#inspector-reason", f"{name}: {reason}" if reason else "")
        selected, relative = self.details
        # Before the first turn the signs are more of use than what the list selected on its own.
        is_start = row is None and self.ladder.following and not source.ladder.sections.has_turns
        has_signs = self._has_legend or is_start
        selected.show(source, None if has_signs else row or self.ladder.selected_section)
        relative.show(source, None if row is None else relative_of(source, row))

    def _put(self, name: str, words: str) -> None:
        """Show words in one of the inspector's own lines, which is not there without any."""
        static = self.query_one(name, Static)
        if static.content != words:
            static.update(words)
            static.set_class(bool(words), "-told")

    def _show_title(self) -> None:
        ladder, source = self.ladder, self._source
        live = not self._reading if source is None else source.live
        looks = 0 if self._looks is None else len(self._looks.numbers)
        title = ladder.title(self.size.width, live=live, clears=self.has_focus_within, looks=looks)
        if self._title.content != title:
            self._title.update(title)
        is_filtered = bool(ladder.row_filter.text) and not ladder.row_filter.is_looking
        self._put("#inspector-no-match", _NO_MATCH if is_filtered and not ladder.line_count() else "")
        if not ladder.row_filter.is_looking:  # else the list would grow and shrink with each row that is found
            self.set_class(is_filtered and ladder.line_count() < self.size.height // 4, "-few")

    def current_source(self) -> tuple[str, str]:
        """Return the text for `ctrl+c`: the focused detail, else the selected row's bytes."""
        for detail in self.details:
            if detail.has_focus_within:
                return detail.view.current_source
        row = self.ladder.selected
        if row is None or self._source is None:
            return "", ""
        from tui_host.answers.bodies import body_of
        from tui_host.tui.widgets.details.tabs import what_of

        return what_of(row), body_of(self._source, row).text

    def next_match(self, step: int) -> bool:
        """Go to the next (1) or the former (-1) place of the filter's words in the bodies; False without words."""
        texts, detail = self.ladder.row_filter.reading.texts, self.details[0]
        if not texts or self._source is None:
            return False
        if not detail.find(texts, step) and self.ladder.to_next(step, is_heading=False):
            detail.show(self._source, self.ladder.selected)
            detail.seek(texts, step)
        return True

    # How it is laid out.

    def action_split(self) -> None:
        """Turn the details: side by side, above each other, or one at a time."""
        if self.arrangement == "one":
            self._is_flipped = not self._is_flipped
        else:
            self._is_stacked = not self._is_stacked
        self.sync()

    def _arrange(self) -> None:
        arrangement, details = self.arrangement, self.query_one("#inspector-details")
        self._is_flipped &= arrangement == "one"
        is_flipped = self._is_flipped and not isinstance(self.details[0].row, Section)
        if self._arranged == (arrangement, is_flipped):
            return
        self._arranged = arrangement, is_flipped
        had_focus, is_one = any(detail.has_focus_within for detail in self.details), arrangement == "one"
        details.update_classes({f"-{name}": name == arrangement for name in get_args(Arrangement)})  # one restyling
        for detail, is_second in zip(self.details, (False, True), strict=True):
            detail.set_class(is_one and is_second != is_flipped, "-hidden")
        if had_focus and is_one:
            self._visible_details[0].view.focus()

    def on_resize(self) -> None:
        self.sync()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if isinstance(event.widget, PageLines):
            self.ladder.following = False
        self._show_title()

    def on_descendant_blur(self) -> None:
        self.sync()

    def on_line_view_cursor_moved(self, message: LineView.CursorMoved) -> None:
        message.stop()
        self.sync()

    def on_line_view_opened(self, message: LineView.Opened) -> None:
        message.stop()
        self._visible_details[0].view.focus()

    def key_escape(self, event: events.Key) -> None:
        """Close the legend, or clear the filter."""
        if self._has_legend:
            self.action_legend()
        elif self.ladder.row_filter.text:
            self.ladder.filter("")
        else:
            return
        event.stop()

    # What keys do.

    def action_legend(self) -> None:
        self._has_legend = not self._has_legend
        self.sync()

    def action_tab_at(self, place: int) -> None:
        self._visible_details[0].action_tab_at(place)

    def action_heading(self, step: int) -> None:
        self.ladder.to_next(step, is_heading=True)
        self.sync()

    def action_changes(self) -> None:
        """Show the changes of the request; again: the tab before, in which the changes are marked."""
        source, detail = self._source, self._detail
        row = detail.row
        if source is not None and isinstance(row, Row) and row.kind == "response" and detail is self.details[0]:
            request = source.ladder.partner(row.number)
            if request is not None:
                self.ladder.select(request)
                self.sync()
        if not detail.toggle("Changes"):
            self._tell("Changes are those of a request to the model: go to one, or to its answer.")

    def chosen(self) -> Row | None:
        """Return the row that a mark or a note is for; say so if it is a heading."""
        row = self._detail.row if self._detail is self.details[1] else self.ladder.selected
        if not isinstance(row, Row):
            self._tell("Marks and notes belong to rows: go to a row below the heading.")
            return None
        return row

    def action_mark(self) -> None:
        row = self.chosen()
        if row is not None and self._source is not None:
            self._source.row_marks.toggle((row.capture, row.seq))
            self.ladder.redraw()
            self.sync()

    def action_look(self, step: int) -> None:
        """Go to the next or the previous row that deserves a look; with a word in the filter, to the next match."""
        if self.next_match(step):
            return
        number = None if self._looks is None else self.ladder.next_of(self._looks.numbers, step)
        if number is None:
            from tui_host.answers.look_page import EMPTY

            self._tell(EMPTY)
            return
        self.ladder.select(number)
        self.sync()

    def action_chain(self) -> None:
        """Show the chain of the row's call: of several, that of the tool in the filter; again: the tab before."""
        call = self._filtered_call()
        if call and self._detail is self.details[0] and self._detail.tab != "Chain":
            self.show_chain(call)
            return
        is_relative = self._detail is self.details[1]
        details = self._visible_details[-1:] if is_relative else self._visible_details
        if not any(detail.toggle("Chain") for detail in details):
            self._tell("No call belongs to this row, so it has no chain.")
        self.sync()

    def _filtered_call(self) -> str:
        """Return the one of the selected row's several calls that the filter asks for by its tool; empty without one."""
        row, source = self.ladder.selected, self._source
        tools = [term.value for term in terms(self.ladder.row_filter.reading.query) if term.field == "tool"]
        if row is None or source is None or len(row.calls) < 2 or not tools:
            return ""
        names = {call: source.ladder.tools.get(call, "").casefold() for call in sorted(row.calls)}
        return next((call for call, name in names.items() if any(tool in name for tool in tools)), "")

    def show_chain(self, call: str) -> bool:
        """Go to the first row of a call that has no other call, and to its chain; returns whether the call has a row."""
        source = self._source
        numbers = () if source is None else source.ladder.rows_of_call(call)
        if source is None or not numbers:
            return False
        self._go_to(next((number for number in numbers if len(source.ladder.rows[number].calls) == 1), numbers[0]))
        self.details[0].choose("Chain")
        self._is_flipped = False
        self.sync()
        return True

    def show_page(self, subject: Row | Section, tab: str) -> None:
        """Go to a row, a turn's heading or the session's, and to one of its pages."""
        if isinstance(subject, Row):
            self._go_to(subject.number)
        elif subject.is_session or self._source is None:
            self.ladder.action_first()
        else:
            self._go_to(next(row.number for row in self._source.ladder.rows if row.turn == subject.turn))
            self.ladder.to_next(-1, is_heading=True)
        self.sync()
        self.details[0].choose(tab)
        self._is_flipped = False
        self.sync()

    def _go_to(self, number: int) -> None:
        self.ladder.sync()  # rows may have come while another screen lay over this one
        if self.ladder.next_of((number,), 1) is None:  # the filter hides it
            self.ladder.filter("")
            self._filter.close()
        self.ladder.following = False
        self.ladder.select(number)
        self.sync()

    def on_detail_row_asked(self, message: Detail.RowAsked) -> None:
        message.stop()
        number = None if self._source is None else self._source.ladder.row_of(message.target)
        if number is not None:
            self._go_to(number)

    def _tell(self, words: str) -> None:
        self.notify(words, markup=False, timeout=4)

    # The filter.

    def action_filter(self) -> None:
        """Open the filter, empty: all rows are shown until something is typed."""
        self._filter.open()
        self._hint()

    def on_input_changed(self, message: Input.Changed) -> None:
        message.stop()
        self.ladder.filter(message.value.strip())
        self._hint()
        self.sync()

    def _hint(self) -> None:
        """Say below the field what is wrong with the filter, else what `tab` completes."""
        offered = self._filter.complete(None if self._source is None else self._source.ladder)
        mistakes = "; ".join(self.ladder.row_filter.reading.hints)
        self._put("#filter-hint", line(mistakes or offered, 400))
        self.query_one("#filter-hint").set_class(bool(mistakes), "-warning")

    def on_filter_input_filter_left(self, message: FilterInput.FilterLeft) -> None:
        message.stop()
        self._filter.close()
        self._hint()
        self.ladder.focus()
