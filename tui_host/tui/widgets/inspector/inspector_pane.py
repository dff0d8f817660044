"""The inspector: title, filter and ladder, and below it the selected row beside a related row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Input, Static

from tui_host.answers.bodies import body_of
from tui_host.answers.look_page import Looks
from tui_host.answers.pages import WIRE_TABS
from tui_host.answers.wires import RecordedWires, Section
from tui_host.capture.ladder.row import Row
from tui_host.capture.ladder.row_filter import completions
from tui_host.capture.visible import line
from tui_host.tui.keys import bound, key_of
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.widgets.details.detail_panel import Detail
from tui_host.tui.widgets.details.tabs import ANSWERS, TEXTS, about
from tui_host.tui.widgets.inspector.index import SESSION
from tui_host.tui.widgets.inspector.ladder import LadderView
from tui_host.tui.widgets.inspector.row_line import legend
from tui_host.tui.widgets.key_order import KeysInOrder
from tui_host.tui.widgets.lines.line_view import LineView

NARROW = 40  # width in columns that a detail needs beside another one
_LOW = 20  # height in lines of an inspector in which two details are not one above the other
_LOOKING_SECONDS = 0.004  # longest time in one tick for finding the rows that deserve a look
_LANES = ("mcp", "llm", "host")  # the lanes of relatives, the first best
_FILTER_WORDS = 'words, server: tool: size>10k "text in a body", or, not'
_NO_TAB = {
    "Chain": "No call belongs to this row, so it has no chain.",
    "Changes": "Changes belong to requests to the model and their answers.",
}


class FilterInput(KeysInOrder, Input):
    """The field for the filter, with completion. It opens with the filter before, which typing replaces."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "keep", tooltip="keep the filter, and go to the list"),
        Binding("escape", "", "clears", tooltip="clear the filter, and go to the list"),
        Binding("tab", "", "completes", tooltip="complete the last term; again: by the next completion"),
    ]

    offers: Sequence[tuple[str, str]] = ()  # what `tab` completes: a word, and the whole text with it

    def key_tab(self, event: events.Key) -> None:
        """Complete the last term; again: by the next completion. Without completions, leave the key to others."""
        if self.offers:
            event.stop()
            event.prevent_default()
            wholes = [whole for _, whole in self.offers]
            self.value = wholes[(wholes.index(self.value) + 1) % len(wholes) if self.value in wholes else 0]
            self.cursor_position = len(self.value)


class Inspector(Container):
    """Header, list and details. `show` sets the source; `sync`, called at the screen's rate, shows changes."""

    DEFAULT_CSS = """
    Inspector {
        layout: vertical;
        & > #inspector-title { height: 1; background: $panel; color: $text-muted; text-wrap: nowrap; }
        & > LadderView { height: 1fr; }
        & > .inspector-words { height: auto; max-height: 2; padding: 0 1; color: $text-muted; display: none; }
        & > .inspector-words.-told { display: block; }
        & > .inspector-words.-warning { color: $text-warning; }
        &.-few > LadderView { height: auto; min-height: 1; }
        & > #inspector-details { height: 1fr; layout: horizontal; }
        &.-stacked > #inspector-details { layout: vertical; }
        &.-side #inspector-relative { border-left: solid $panel; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        bound("filter", "filter", "filter", tooltip="filter by words and fields; again: the last one"),
        bound("next", "look(1)", "next", tooltip="go to the next row to look at, or match of the filter"),
        bound("previous", "look(-1)"),
        bound("chain", "tab_of('Chain')", "chain", tooltip="show the chain of the row's call; again: the tab before"),
        bound("changes", "tab_of('Changes')", "changes", tooltip="show what changed in a request; again: as before"),
        bound("export", "screen.export", "export", tooltip="export the row, its call, turn or session"),
        bound("signs", "legend", "signs", tooltip="show what the signs mean; again: the row"),
        bound("mark", "mark", "mark", tooltip="mark the row, to compare requests with it, or no longer"),
        bound("note", "screen.note(False)", "note", tooltip="write a note on the row, and mark it"),
        bound("join", "screen.note(True)", "join by hand", tooltip="join its call with a frame, or part"),
        bound("zoom", "screen.zoom", "full screen", tooltip="give the inspector the whole screen, and back"),
        bound("split", "split", "split", tooltip="turn the details, or show the other one"),
        bound("previous_heading", "heading(-1)", tooltip="go to the heading above or below"),
        bound("next_heading", "heading(1)"),
        Binding("1", "tab_at(0)", key_display="1 to 9", tooltip="show that tab of the details"),
        *(Binding(str(number), f"tab_at({number - 1})") for number in range(2, 10)),
    ]

    def __init__(self) -> None:
        self._title = Static(id="inspector-title", markup=False)
        self._filter = FilterInput(placeholder=_FILTER_WORDS, compact=True)
        self._filter.display = False
        self.ladder = LadderView()  # the list
        self.details = Detail(), Detail(empty=" No related row in the other lane yet.", id="inspector-relative")
        super().__init__(
            self._title,
            self._filter,
            Static(id="filter-hint", classes="inspector-words", markup=False),
            self.ladder,
            Static(id="inspector-reason", classes="inspector-words -warning", markup=False),
            Container(*self.details, id="inspector-details"),
        )
        self.display = False  # until there is a source: what it covers says why it is not there
        self._looks = Looks(RecordedWires(()))  # what deserves a look
        self.is_settled = False  # whether the last `sync` left nothing to do
        self._has_legend = self._is_stacked = self._is_flipped = False

    def show(self, source: SessionSource) -> None:
        if (before := self.ladder.source) is not None:
            source.elsewhere = before.marked_last()
        self._looks, self.display = Looks(source), True
        self.ladder.show(source)
        self.close_filter()

    @property
    def _shown(self) -> Sequence[Detail]:
        return [detail for detail in self.details if detail.display]

    def sync(self) -> None:
        source, looks, ladder, row_filter = self.ladder.source, self._looks, self.ladder, self.ladder.row_filter
        if not ladder.is_running:
            return
        ladder.sync()
        if looks.is_behind and not (source is not None and source.is_behind):
            looks.advance(_LOOKING_SECONDS)
        # Give the details the selected row or heading. Before the first turn the signs are more of use.
        row, traffic, (selected, relative) = ladder.selected, ladder.traffic, self.details
        is_start = row is None and ladder.following and not traffic.sections.has_turns
        selected.show(source, None if self._has_legend or is_start else row or ladder.selected_section)
        why = "" if source is None or len(traffic.rows) else source.why_empty
        selected.empty = legend(why, self.size.width, key_of("signs"))
        other, reason = None, ""
        if row is not None:
            # The nearest relative of another lane, else the other half of the exchange.
            related = [traffic.rows[number] for number in traffic.relatives(row.number)]
            others = [near for lane in _LANES for near in related if near.lane == lane != row.lane]
            other = others[0] if others else traffic.partner_of(row)
            name, words = looks.look(row)
            reason = f"{name}: {words}" if words else ""
        relative.show(source, other)
        self._arrange()
        title = ladder.title(self.size.width, clears=self.has_focus_within, looks=len(looks.numbers))
        if self._title.content != title:
            self._title.update(title, layout=False)
        count, few = ladder.line_count(), self.size.height // 4 if row_filter.text else 1
        if row_filter.text and not row_filter.is_looking and not count:
            reason = 'No row matches the filter. Words in "quotes" are looked for in the bodies too; escape clears it.'
        self._put("#inspector-reason", reason)
        if not row_filter.is_looking:  # else the list would grow and shrink with each row that is found
            self.set_class(count < few, "-few")
        for detail in self._shown:
            detail.sync()
        has_looked = ladder.is_settled and not looks.is_behind
        self.is_settled = has_looked and all(detail.is_settled for detail in self._shown)

    on_mount = on_resize = on_descendant_blur = on_line_view_cursor_moved = sync

    def _put(self, name: str, words: str) -> None:
        """Show words in one of the inspector's own lines, which is not there without any."""
        static = self.query_one(name, Static)
        if static.content != words:
            static.update(words)
            static.set_class(bool(words), "-told")

    def _arrange(self) -> None:
        """Show two details, or one: an answer about several rows has the whole width."""
        selected, has_row = self.details[0], isinstance(self.details[0].row, Row)
        # Side by side a rule stands between them.
        fits = self.size.height >= _LOW if self._is_stacked else self.size.width > 2 * NARROW
        is_alone = not has_row or not fits or selected.tab in ANSWERS
        self._is_flipped &= is_alone
        self.set_class(self._is_stacked, "-stacked")
        self.set_class(not (is_alone or self._is_stacked), "-side")
        for detail, other in (self.details, self.details[::-1]):
            detail.display = not is_alone or (detail is selected) != (self._is_flipped and has_row)
            if detail.has_focus_within and not detail.display:
                other.view.focus()

    def current_source(self) -> tuple[str, str]:
        """Return the text for `ctrl+c`, where no detail has the focus: the selected lines, else the selected row's bytes."""
        source, row, lines = self.ladder.source, self.ladder.selected, self.ladder.selected_source()
        if lines is not None or row is None or source is None:
            return lines or ("", "")
        return about(row, source), "".join(body_of(source, row).pieces())

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if any(event.widget is detail.view for detail in self.details):
            self.ladder.following = self.ladder.is_at_first = False
        self.sync()

    def action_split(self) -> None:
        self._arrange()  # the tab may have changed just now
        if len(self._shown) == 1:
            self._is_flipped = not self._is_flipped
        else:
            self._is_stacked = not self._is_stacked
        self.sync()

    def action_legend(self) -> None:
        self._has_legend = not self._has_legend
        self.sync()

    def action_tab_at(self, place: int) -> None:
        self._shown[0].action_tab_at(place)

    def action_heading(self, step: int) -> None:
        self.ladder.to_next(step, is_heading=True)

    def on_line_view_opened(self) -> None:
        self._shown[0].view.focus()

    def action_look(self, step: int) -> None:
        """Go to the next or the former row that deserves a look; with a filter to the next match, of words in the bodies too."""
        texts, detail = self.ladder.row_filter.reading.texts, self.details[0]
        if texts:
            is_here = self.ladder.selected is not None and detail.view.searched != texts
            is_done = not is_here and not (detail.making is None and detail.view.to_place(step, wraps=False))
            if is_here or (is_done and self.ladder.to_next(step, is_heading=False)):
                detail.show(self.ladder.source, self.ladder.selected)
                detail.sought = texts, step
                if detail.tab not in TEXTS:
                    detail.choose("Raw")
                detail.sync(now=True)
        elif self.ladder.row_filter.is_on and not self.ladder.to_next(step, is_heading=False):
            self.post_message(LineView.Hinted(f"This is the {'last' if step > 0 else 'first'} match of the filter."))
        elif not self.ladder.row_filter.is_on and not self.ladder.to_next_of(self._looks.numbers, step):
            self.post_message(LineView.Hinted("Nothing here needs a look."))
        self.sync()

    def chosen(self) -> Row | None:
        """Return the row that a mark or a note is for; say so if it is a heading."""
        row = self.details[1].row if self.details[1].has_focus_within else self.ladder.selected
        if isinstance(row, Row):
            return row
        self.post_message(LineView.Hinted("Marks and notes belong to rows: go to one below."))
        return None

    def action_mark(self) -> None:
        row, source = self.chosen(), self.ladder.source
        if row is not None and source is not None:
            key, marks = (row.capture, row.seq), source.row_marks
            marks.write(key, None if key in marks.notes else "")
            self.ladder.redraw()
            self.sync()

    def action_tab_of(self, tab: Literal["Chain", "Changes"]) -> None:
        """Show a tab of the detail with the focus, else of the selected row; again: the tab before."""
        row, detail = self.ladder.selected, self.details[self.details[1].has_focus_within]
        if tab == "Changes" and row is not None and row.kind == "response" and detail is self.details[0]:
            self._go_to(self.ladder.traffic.partner(row.number))  # of an answer those of its request
        self._is_flipped &= detail is self.details[1]
        if not detail.choose(tab, toggles=True):
            self.post_message(LineView.Hinted(_NO_TAB[tab]))
        self.sync()

    def show_page(self, subject: Row | Section | str, tab: str) -> bool:
        """Go to a row, a turn's heading or the session's, or a call, and to one of its pages; returns whether it is there."""
        traffic, item = self.ladder.traffic, subject.number if isinstance(subject, Row) else SESSION
        if isinstance(subject, str):  # to the first row of a call that has no other call
            numbers = traffic.calls.get(subject, ())
            alone = (number for number in numbers if len(traffic.rows[number].calls) == 1)
            item = next(iter((*alone, *numbers)), None)
        elif isinstance(subject, Section) and not subject.is_session:
            item = next((-home - 2 for home, turn in traffic.sections.turns.items() if turn == subject.turn), None)
        self._go_to(item, tab)
        if tab in WIRE_TABS:
            self.details[1].choose(tab)
        return item is not None

    def on_detail_row_asked(self, message: Detail.RowAsked) -> None:
        self._go_to(self.ladder.traffic.row_of(message.target))

    def _go_to(self, item: int | None, tab: str = "") -> None:
        """Go to a row or heading, also where the filter hides it, and to a tab."""
        if item is None:
            return
        self.ladder.sync()  # rows may have come while another screen lay over this one
        if not self.ladder.select(item):
            self.close_filter()
            self.ladder.select(item)
        self.ladder.following = False
        self.sync()
        if tab:
            self.details[0].choose(tab)
            self._is_flipped = False
            self.sync()

    def action_filter(self) -> None:
        self._filter.display = True
        self.screen.set_focus(self._filter)
        self._filter_by(self._filter.value)

    def on_input_changed(self, message: Input.Changed) -> None:
        if message.input is self._filter:  # not of a search in the details
            self._filter_by(message.value)

    def on_input_submitted(self, message: Input.Submitted) -> None:
        message.stop()
        self.close_filter(message.value)

    def key_escape(self, event: events.Key) -> None:
        if self._has_legend and not self._filter.has_focus:
            self.action_legend()
        elif self._filter.has_focus or self.ladder.row_filter.text:
            self.close_filter()
        else:
            return
        event.stop()

    def close_filter(self, text: str = "") -> None:
        """Take the field away, and filter by a text, which comes back with the field, or no longer."""
        self._filter.value = text or self._filter.value
        if self._filter.has_focus:
            self.screen.set_focus(self.ladder)
        self._filter.display = False
        self._filter_by(text)

    def _filter_by(self, text: str) -> None:
        """Filter the list, and say below the field what is wrong with the filter, else what `tab` completes."""
        before, view, field = self.ladder.row_filter.reading.texts, self.details[0].view, self._filter
        self.ladder.filter(text.strip())
        if before and view.searched == before != self.ladder.row_filter.reading.texts:
            view.search()
        hint = mistakes = "; ".join(self.ladder.row_filter.reading.hints)
        if not mistakes:
            # A completed value stays one of several, to go on to the next.
            is_offered = any(whole == field.value for _, whole in field.offers)
            if not is_offered or not field.display or field.value.endswith(":"):
                field.offers = completions(field.value, self.ladder.traffic) if field.display else ()
            words = "  ".join(f"[{word}]" if whole == field.value else word for word, whole in field.offers)
            hint = f"tab: {words}" if field.offers else '"in quotes" looks into the bodies too' * field.display
        self._put("#filter-hint", line(hint, 400))
        self.query_one("#filter-hint").set_class(bool(mistakes), "-warning")
        self.sync()
