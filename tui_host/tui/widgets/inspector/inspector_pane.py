"""The inspector: the ladder, and below it the selected row beside a related row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Literal, TypeAlias, get_args

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.message import Message
from textual.widgets import Input, Static
from typing_extensions import override

from tui_host.capture.ladder.row import Lane, Row
from tui_host.tui.glyphs import UNICODE, Glyphs
from tui_host.tui.widgets.details.detail_panel import Detail
from tui_host.tui.widgets.details.detail_view import PageView
from tui_host.tui.widgets.first_frame import EMPTY_LIVE
from tui_host.tui.widgets.ladder.ladder_title import FilterInput, Heading, LadderHeader
from tui_host.tui.widgets.ladder.ladder_view import LadderView
from tui_host.tui.widgets.ladder.row_words import Describe, describe
from tui_host.tui.widgets.lines.line_view import LineView
from tui_host.tui.widgets.pages.row_source import InspectorSource

Arrangement: TypeAlias = Literal["side", "stacked", "one"]

NARROW = 40
"""Columns that a detail needs to stand beside another one."""
_LOW = 8
"""Lines below which two details do not stand one above the other."""
_OTHER_LANES: dict[Lane, tuple[Lane, ...]] = {"llm": ("mcp", "host"), "mcp": ("llm", "host"), "host": ("mcp", "llm")}
_ROOM = 9
"""Lines below which the list and a detail take turns."""
_NO_MATCH = "No row matches the filter. Press escape to clear it."


def relative_of(source: InspectorSource, row: Row) -> Row | None:
    """Return the nearest related row of the other lane, else the decision, else the other half of the exchange."""
    rows = source.ladder.rows
    related = [rows[number] for number in source.ladder.relatives(row.number)]
    for lane in _OTHER_LANES[row.lane]:
        if nearest := _nearest(row, (candidate for candidate in related if candidate.lane == lane)):
            return nearest
    number = source.ladder.partner(row.number)
    return rows[number] if number is not None else None


def _nearest(row: Row, others: Iterable[Row]) -> Row | None:
    return min(others, key=lambda other: (abs(other.number - row.number), other.number), default=None)


class Inspector(Container):
    """Header, ladder and details. `show` sets the source; `sync`, called at screen rate, shows news.

    Args:
        glyphs: The marks to draw with.
        describe: How a model's body is put into a row's words.
        reading: What is said before there is a source, if that is not that nothing has moved yet.

    Attributes:
        ladder: The list.
        details: That of the selected row, and that of its relative.
    """

    DEFAULT_CSS = """
    Inspector {
        layout: vertical;
        & > LadderView { height: 1fr; }
        & > #inspector-empty { height: 1fr; padding: 1 2; color: $text-muted; display: none; }
        & > #inspector-no-match { height: auto; padding: 0 2; color: $text-muted; display: none; }
        &.-no-match > #inspector-no-match { display: block; }
        & > #inspector-details { height: 1fr; layout: horizontal; }
        & > #inspector-details.-stacked { layout: vertical; }
        & > #inspector-details.-side #inspector-relative { border-left: solid $panel; }
        & > #inspector-details.-one > .-hidden { display: none; }
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
    ]

    class ZoomAsked(Message):
        """The whole screen is wanted for the inspector, or no longer."""

    def __init__(
        self,
        *,
        glyphs: Glyphs = UNICODE,
        describe: Describe = describe,
        reading: str = "",
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(id=id)
        self._header = LadderHeader(glyphs=glyphs)
        self._filter = FilterInput()
        self.ladder = LadderView(describe, glyphs=glyphs, id="inspector-ladder")
        self.details = (
            Detail(glyphs=glyphs, empty="No row is selected.", id="inspector-selected"),
            Detail(glyphs=glyphs, empty="No related row in the other lane yet.", id="inspector-relative"),
        )
        self._source: InspectorSource | None = None
        self._told: tuple[InspectorSource, int, int | None] | None = None
        self._reading = reading
        self._why_empty = reading or EMPTY_LIVE
        self._stacked = False
        self._flipped = False

    @override
    def compose(self) -> ComposeResult:
        yield self._header
        yield self._filter
        yield self.ladder
        yield Static(self._why_empty, id="inspector-empty", markup=False)
        yield Static(_NO_MATCH, id="inspector-no-match", markup=False)
        yield Container(*self.details, id="inspector-details")

    def on_mount(self) -> None:
        """Show the placeholder, or the source."""
        self.show(self._source)

    # What the app asks.

    @property
    def arrangement(self) -> Arrangement:
        """How the details stand."""
        if self._stacked:
            return "stacked" if self.size.height // 4 >= _LOW // 2 + 1 else "one"
        return "side" if (self.size.width - 1) // 2 >= NARROW else "one"  # the rule between them takes one

    def show(self, source: InspectorSource | None) -> None:
        """Show another session's rows, or none."""
        self._source = source
        if not self.is_mounted:
            return
        self._filter.close()
        self.ladder.show(source)
        self.sync()

    @property
    def _is_arranged(self) -> bool:
        return self.query_one("#inspector-details").has_class(f"-{self.arrangement}")

    def sync(self) -> None:
        """Show the news."""
        if not self.is_mounted or not self.ladder.is_running:
            return
        if not self._is_arranged:
            self.on_resize()  # laid out while it was being mounted: nobody has told it
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
        self._tell()
        selected, relative = self.details
        now = source, source.ladder.revision, ladder.selected_number
        if now != self._told:
            self._told = now
            row = ladder.selected
            selected.show(source, row)
            relative.show(source, relative_of(source, row) if row is not None else None)
        for detail in (selected, relative):
            if not detail.has_class("-hidden"):
                detail.sync()

    def _leave_details(self) -> None:
        """Focus the list instead of hidden details."""
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
        is_told = self._told == (source, source.ladder.revision, ladder.selected_number)
        return (
            is_told
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
        from tui_host.tui.widgets.details.wire_tabs import what_of
        from tui_host.tui.widgets.pages.page_body import body_of

        return what_of(row), body_of(self._source, row).text

    def flip(self) -> None:
        """Turn the details: side by side, above each other, or one at a time."""
        if self.has_class("-low") and not self.has_class("-reading"):
            self._read()
        elif self.arrangement == "one":
            self._flipped = not self._flipped
        else:
            self._stacked = not self._stacked
        self._arrange()

    # What happens.

    def _tell(self) -> None:
        heading = self.ladder.heading(live=self._source is not None and self._source.live)
        self.set_class(bool(heading.filter) and not heading.kept and not heading.looking, "-no-match")
        self._header.show(heading)

    def _arrange(self) -> None:
        arrangement = self.arrangement
        details = self.query_one("#inspector-details")
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
        """Arrange the details for the new size."""
        is_reading = any(detail.has_focus_within for detail in self.details)
        self.update_classes({"-low": self.size.height < _ROOM, "-reading": is_reading})
        self._arrange()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Stop following while details are read."""
        if isinstance(event.widget, PageView):
            self.ladder.stay()
        self.set_class(isinstance(event.widget, PageView), "-reading")

    def on_ladder_view_moved(self, message: LadderView.Moved) -> None:
        """Update the header."""
        message.stop()
        self.sync()

    def on_line_view_opened(self, message: LineView.Opened) -> None:
        """Focus the detail of the row."""
        message.stop()
        self._read()

    def _read(self) -> None:
        """Put the focus into the detail, in place of the list where both have no room."""
        self.add_class("-reading")
        selected, relative = self.details
        (relative if selected.has_class("-hidden") else selected).view.focus()

    def key_escape(self, event: events.Key) -> None:
        """Go back from a detail to the list, where both have no room."""
        if self.has_class("-low") and self.has_class("-reading"):
            event.stop()
            self.remove_class("-reading")
            self.ladder.focus()

    def action_split(self) -> None:
        """Turn the details."""
        self.flip()

    def action_zoom(self) -> None:
        """Ask the screen for the whole space."""
        self.post_message(self.ZoomAsked())

    # The filter.

    def action_filter(self) -> None:
        """Open the filter."""
        self._filter.open(self.ladder.filter_text)

    def on_input_changed(self, message: Input.Changed) -> None:
        """Filter while typing."""
        message.stop()
        self.ladder.filter(message.value.strip())

    def on_filter_input_left(self, message: FilterInput.Left) -> None:
        """Go back to the rows."""
        message.stop()
        if message.cleared:
            self.ladder.filter("")
        self._filter.close()
        self.ladder.focus()
