"""Bases of the screens over the main screen: `PageScreen`, and `Browse`, a list with a sheet beside it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from typing import ClassVar, TypeAlias

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.css.query import NoMatches
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static
from typing_extensions import override

from tui_host.answers.sheet import Sheet
from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.tui import textual_private
from tui_host.tui.keys import key_rows, keys_of
from tui_host.tui.widgets.choices import Choice, ChoiceList
from tui_host.tui.widgets.lines.line_view import LineView
from tui_host.tui.widgets.pages.page_lines import PageLines
from tui_host.tui.widgets.pages.tree_page import Page, TreePage
from tui_host.tui.widgets.status_lines import HINT_SECONDS, StatusLine

Work: TypeAlias = Coroutine[object, object, None]


class PageScreen(Screen[None]):
    """A screen closed by `escape`: heading, body, a note if there is one, keys."""

    HEADING: str = ""  # the screen's title, also in the help
    IS_OWN: ClassVar[bool] = False  # whether it opens only for a session that is held here
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "back", tooltip="go back"),
        Binding("f1", "", "help", tooltip="every key, and where it works"),
    ]
    VERTICAL_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-low"), (8, "-few"), (12, "-high")]  # noqa: RUF012 - Textual's
    DEFAULT_CSS = """
    PageScreen {
        layout: vertical;
        & > #page-heading { color: $foreground; text-style: bold; background: $panel; }
        & > .page-body { height: 1fr; }
        & > #page-note { height: auto; max-height: 4; padding: 0 1; color: $text-muted; display: none; }
        & > #page-keys { height: auto; max-height: 3; padding: 0 1; background: $panel; color: $text-muted; }
        &.-few > #page-keys { max-height: 1; }
        &.-low > #page-keys { display: none; }
    }
    """

    def __init__(self, heading: str = "") -> None:
        super().__init__()
        textual_private.paint_exactly(self)
        self._heading = heading or self.HEADING
        self._held: list[events.Event] | None = []

    @override
    def _forward_event(self, event: events.Event) -> None:
        """Keep keys typed before a widget can take them: Textual would drop them."""
        if self._held is not None and isinstance(event, events.Key | events.Paste):
            self._held.append(event)
        else:
            super()._forward_event(event)

    @override
    def compose(self) -> ComposeResult:
        def let_go() -> None:
            held, self._held = self._held, None
            for event in held or ():
                (self.focused or self)._forward_event(event)  # noqa: SLF001 - ours too: a screen is a widget

        heading = StatusLine(id="page-heading")
        heading.say(Content(self._heading))
        yield heading
        yield from self.body()
        yield Static(id="page-note", markup=False)
        yield Static(id="page-keys")
        self.call_after_refresh(let_go)

    def body(self) -> Sequence[Widget]:
        """Return the widgets between heading and keys. Abstract: the metaclass of Textual's widgets leaves no room for `ABC`."""
        raise NotImplementedError

    def say(self, heading: str) -> None:
        """Set the heading."""
        self.query_one("#page-heading", StatusLine).say(Content(heading))

    def note(self, words: str, style: str = "") -> None:
        """Show a text above the keys; an empty one takes no room."""
        note = self.query_one("#page-note", Static)
        note.display = bool(words)
        note.update(Content.styled(words, style))

    def hint(self, words: str) -> None:
        """Show words in place of the keys for two seconds."""
        keys = self.query_one("#page-keys", Static)
        keys.update(Content.styled(words, "bold $text-warning") + Content("\n" * (keys.size.height - 1)))
        self.set_timer(HINT_SECONDS, self.on_resize)

    def on_line_view_hinted(self, event: LineView.Hinted) -> None:
        self.hint(event.words)

    def on_resize(self) -> None:
        """Lay out the keys, each beside what it does, in as many lines as they need."""
        keys = [(key.shown, key.brief) for key in keys_of(type(self)) if key.brief]
        self.query_one("#page-keys", Static).update(Content("\n").join(key_rows(keys, self.size.width - 2)))

    def start(self, work: Work | Callable[[], Work], *, group: str = "default", exclusive: bool = False) -> None:
        """Run a worker, which ends without a crash if the widgets it writes to are gone with the screen."""

        async def until_left() -> None:
            try:
                await (work() if callable(work) else work)
            except NoMatches:
                if not textual_private.is_leaving(self):
                    raise

        self.run_worker(until_left, group=group, exclusive=exclusive)

    @contextmanager
    def telling(self, before: str = "", severity: SeverityLevel = "error") -> Generator[None]:
        """Show an error of the block as a message, instead of raising it."""
        try:
            yield
        except TuiHostError as error:
            self.app.notify(line(f"{before}{error}", 300), severity=severity, markup=False)  # pyright: ignore[reportUnknownMemberType] - of any app

    def action_leave(self) -> None:
        """Close the screen, unless another screen lies on top by now."""
        if self.is_active:
            self.dismiss()


class Browse(PageScreen):
    """A list with a field that filters it, and a sheet about the line under the cursor: beside the list, or below it.

    Subclasses define `items`, and if they have sheets `sheet` and `facts`, and handle keys by `BINDINGS` and `opened`.
    """

    FILTER: ClassVar[str] = ""  # the field's placeholder; without one there is no field
    FILTER_FIRST: ClassVar[bool] = False  # the field keeps the focus; else `/` opens it, and `escape` closes it
    HAS_SHEET: ClassVar[bool] = True
    EMPTY: ClassVar[str] = ""  # stands for an empty list
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-below"), (76, "-beside")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move('line', -1)", "choose", tooltip="move in the list"),
        Binding("down", "move('line', 1)"),
        Binding("pageup", "move('page', -1)", tooltip="move a page up or down"),
        Binding("pagedown", "move('page', 1)"),
    ]
    DEFAULT_CSS = """
    Browse {
        & .page-body { layout: horizontal; }
        & Input { margin: 0 1; }
        & Input:disabled { display: none; }
        & #list { width: 40%; max-width: 44; }
        & .-alone #list { width: 1fr; max-width: 100%; }
        & .browse-sheet { width: 1fr; border-left: solid $panel; }
        & PageLines { width: 1fr; height: 1fr; }
        &.-below .page-body { layout: vertical; }
        &.-below #list { width: 1fr; max-width: 100%; height: auto; max-height: 40%; }
        &.-below .-alone #list { max-height: 100%; }
        &.-below .browse-sheet { height: 1fr; border-left: none; border-top: solid $panel; }
    }
    """

    def __init__(self, heading: str = "") -> None:
        super().__init__(heading)
        self.empty = self.EMPTY
        self._keys: list[str] = []
        self._listed: tuple[list[Choice], str] | None = None
        self._revision: object = None
        self._seen: tuple[str, object] | None = None
        self._flipped: dict[str, set[str]] = {}

    def revision(self) -> object:
        """Return what the list depends on, cheap to compare; None to have the items asked for at each look."""
        return None

    def items(self) -> Sequence[tuple[str, Choice]]:
        """Return the lines, each with a key that names it while the list changes; headings have none. Abstract, as `body` is."""
        raise NotImplementedError

    def sheet(self, key: str) -> Sheet | Page | None:  # noqa: ARG002 - for subclasses
        """Return the sheet about a line; None where it is shown later, by `self.view.show`."""
        return None

    def facts(self, key: str) -> object:
        """Return what the sheet depends on, cheap to compare."""
        return key

    def opened(self, key: str) -> None:
        """Handle `enter` or a click on a line."""

    def sheet_views(self) -> Sequence[Widget]:
        """Return the widgets of a sheet."""
        return [PageLines(id="sheet")]

    @override
    def body(self) -> Sequence[Widget]:
        choices = ChoiceList(id="list")
        choices.can_focus = not self.FILTER_FIRST
        field = Input(placeholder=self.FILTER, compact=True, disabled=not self.FILTER_FIRST)
        if not self.HAS_SHEET:
            return [field, Container(choices, classes="page-body -alone")]
        above, inside = ([field], []) if self.FILTER_FIRST else ([], [field])
        sheet = Vertical(*inside, *self.sheet_views(), classes="browse-sheet")
        return [*above, Container(choices, sheet, classes="page-body")]

    def on_mount(self) -> None:
        self.set_focus(self.query_one(Input) if self.FILTER_FIRST else self.choices)
        self.look()

    @property
    def choices(self) -> ChoiceList:
        return self.query_one(ChoiceList)

    @property
    def view(self) -> PageLines:
        return self.query_one("#sheet", PageLines)

    @property
    def typed(self) -> str:
        return self.query_one(Input).value.strip()

    @property
    def current(self) -> str:
        """The key of the line under the cursor; empty if there is none."""
        number = self.choices.cursor if self.is_mounted else None
        return self._keys[number] if number is not None and number < len(self._keys) else ""

    def look(self) -> None:
        """Show what has changed in the list, and in the sheet of the current line, which may take a while to make."""
        if not self.is_mounted or not self.query("#list"):
            return
        self.list_again()
        key = self.current
        if not self.HAS_SHEET or self.choices.view_width <= 0:
            return
        now, is_same = (key, self.facts(key) if key else None), self._seen is not None and self._seen[0] == key
        if now == self._seen:
            self.view.advance()
            return
        self._seen = now
        page = self.sheet(key) if key else None
        if isinstance(page, Sheet):
            page = TreePage(page, self._flipped.setdefault(key, set()))
        if page is not None:
            self.view.show(page, hold=is_same)
        self.query_one(".browse-sheet").display = bool(key)

    def list_again(self, wanted: str = "") -> None:
        """List the items; the cursor stays on its key, or goes to the wanted one."""
        revision, choices = self.revision(), self.choices
        if revision is not None and revision == self._revision and not wanted:
            return
        self._revision, items = revision, self.items()
        listed = [choice for _, choice in items], self.empty
        if listed == self._listed and not wanted:
            return
        key, place = wanted or self.current, choices.cursor
        self._keys, self._listed = [key for key, _ in items], listed
        if key in self._keys:
            place = self._keys.index(key)
        choices.show(listed[0], empty=self.empty, current=place)

    def on_line_view_cursor_moved(self, event: LineView.CursorMoved) -> None:
        event.stop()
        if event.view is self.choices:
            self.look()

    def on_line_view_opened(self, event: LineView.Opened) -> None:
        if event.view is self.choices and self.current:
            event.stop()
            self.opened(self.current)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.look()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if not self.FILTER_FIRST:
            self.view.focus()
        elif self.current:
            self.opened(self.current)

    def action_move(self, distance: str, step: int) -> None:
        (self.choices.action_line if distance == "line" else self.choices.action_page)(step)

    def action_filter(self) -> None:
        field = self.query_one(Input)
        field.disabled = False
        field.focus()

    @override
    def action_leave(self) -> None:
        field = self.query_one(Input)
        if self.FILTER_FIRST or field.disabled:
            super().action_leave()
            return
        field.value = ""
        self.view.focus()
        field.disabled = True
