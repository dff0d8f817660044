"""The screens over the main screen: their base, a list with a sheet beside it, and a list of things to do."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
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
from textual.widgets import Input
from typing_extensions import override

from tui_host.answers.sheet import Sheet
from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.tui import textual_private
from tui_host.tui.keys import bound, key_rows, keys_of
from tui_host.tui.widgets.choices import Choice, ChoiceList
from tui_host.tui.widgets.lines.line_view import LineView
from tui_host.tui.widgets.pages.page_lines import PageLines
from tui_host.tui.widgets.pages.tree_page import Page, TreePage
from tui_host.tui.widgets.status_lines import StatusLine

Work: TypeAlias = Coroutine[object, object, None]
HELD_SECONDS = 0.7  # until a held key first repeats itself (X waits up to 660 ms): a press within them confirms nothing


class Note(StatusLine):
    """Words in as many lines as they need, which take no room if there are none."""

    DEFAULT_CSS = """
    Note { height: auto; text-wrap: wrap; text-overflow: fold; display: none; }
    Note.-told { display: block; }
    """


class PageScreen(Screen[None]):
    """A screen closed by `escape`: heading, words about it, body, a note, keys."""

    HEADING: str = ""  # the screen's title, also in the help
    IS_OWN: ClassVar[bool] = False  # whether it opens only for a session that is held here
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "back", tooltip="go back"),
        bound("help", "", "help", tooltip="every key, and where it works"),
    ]
    VERTICAL_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-low"), (8, "-few"), (12, "-high")]  # noqa: RUF012 - Textual's
    DEFAULT_CSS = """
    PageScreen {
        & > #page-heading { color: $foreground; text-style: bold; background: $panel; }
        & > .page-body { height: 1fr; }
        & > #page-note { max-height: 4; }
        & > #page-words { padding: 1 1 0 1; color: $foreground; }
        & > #page-keys { height: auto; max-height: 3; text-wrap: wrap; background: $panel; }
        &.-few > #page-keys { max-height: 1; }
        &.-low > #page-keys { display: none; }
    }
    """

    def __init__(self, heading: str = "", words: str = "", body: Sequence[Widget] = ()) -> None:
        super().__init__()
        textual_private.paint_exactly(self)
        self._heading, self._above = heading or self.HEADING, words
        self._body = body  # the widgets between heading and keys
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

        for above, words in (StatusLine(id="page-heading"), self._heading), (Note(id="page-words"), self._above):
            above.say(Content(words))
            yield above
        yield from self._body
        yield Note(id="page-note")
        yield StatusLine(id="page-keys")
        self.call_after_refresh(let_go)

    def note(self, words: str, style: str = "", place: str = "#page-note") -> None:
        """Show a text above the keys, where an empty one takes no room, or in another place such as `#page-heading`."""
        self.query_one(place, StatusLine).say(Content.styled(words, style))

    def on_resize(self) -> None:
        keys = [(key.shown, key.brief) for key in keys_of(type(self)) if key.brief]
        self.query_one("#page-keys", StatusLine).say(Content("\n").join(key_rows(keys, self.size.width - 2)))

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

    Subclasses define `items`, `sheet` if they have sheets, and handle keys by `BINDINGS`.
    """

    FILTER: ClassVar[str] = ""  # the field's placeholder; without one there is no field
    FILTER_FIRST: ClassVar[bool] = False  # the field keeps the focus; else `/` goes to it, and `escape` empties it
    HAS_SHEET: ClassVar[bool] = True
    empty = ""  # stands for an empty list
    revision: object = None  # what the list depends on, cheap to compare; None to ask for the items at each look
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
        & #list { width: 40%; max-width: 44; }
        & .-alone #list { width: 1fr; max-width: 100%; }
        & .browse-sheet { border-left: solid $panel; }
        &.-below .page-body { layout: vertical; }
        &.-below #list { width: 1fr; max-width: 100%; height: auto; max-height: 40%; }
        &.-below .-alone #list { max-height: 100%; }
        &.-below .browse-sheet { border-left: none; border-top: solid $panel; }
    }
    """

    def __init__(self, heading: str = "", words: str = "") -> None:
        self.choices, self.view = ChoiceList(id="list"), PageLines(id="sheet")
        self.field = Input(placeholder=self.FILTER, compact=True)
        self.field.display = self.field.can_focus = bool(self.FILTER)  # Textual would focus a hidden one at first
        sheet = [Vertical(self.view, classes="browse-sheet")] if self.HAS_SHEET else []
        body = Container(self.choices, *sheet, classes=f"page-body{'' if sheet else ' -alone'}")
        super().__init__(heading, words, [self.field, Note(id="empty"), body])
        self.choices.can_focus = not self.FILTER_FIRST
        self.listed: Mapping[str, Choice] = {}  # the lines, by keys that name them while the list changes
        self._listed_at: object = None  # the revision they are of
        self._seen: tuple[str, object] = "", self
        self._flipped: dict[str, set[str]] = {}
        self._asked = ""  # the key and the line that the same key confirms
        self._pressed = "", 0.0  # the last of these keys, and when

    def items(self) -> Mapping[str, Choice]:
        """Return the lines, by their keys; unless they change, those that were listed before."""
        return self.listed

    def sheet(self, key: str) -> Sheet | Page | None:  # noqa: ARG002 - for subclasses
        """Return the sheet about a line; None where it is shown later, by `self.view.show`."""
        return None

    def on_mount(self) -> None:
        self.look()

    @property
    def typed(self) -> str:
        return self.field.value.strip()

    def look(self) -> None:
        """Show what has changed in the list, and in the sheet of the current line, which may take a while to make."""
        if not self.choices.is_mounted:
            return
        self.list_again()
        key = self.choices.current
        if not self.HAS_SHEET or self.choices.scrollable_size.width <= 0:
            return
        now, is_same = (key, self.listed[key].subject if key else None), self._seen[0] == key
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
        if self.revision is None or self.revision != self._listed_at or wanted:
            self._listed_at, self.listed = self.revision, self.items()
            self.choices.show(self.listed, wanted)
            self.note("" if self.listed else self.empty, place="#empty")

    def on_line_view_cursor_moved(self, event: LineView.CursorMoved) -> None:
        event.stop()
        if event.view is self.choices:
            self.look()

    def on_line_view_opened(self, event: LineView.Opened | Input.Submitted) -> None:
        if isinstance(event, Input.Submitted) or event.view is self.choices:
            event.stop()
            self.action_take()

    on_input_submitted = on_line_view_opened

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.look()

    def ask_again(self, asked: str = "", words: str = "") -> None:
        """Ask for a key to be pressed again, or no longer: any other key is a no."""
        self._asked = asked
        self.note(words, "bold $text-warning")

    def is_again(self, key: str, at: float, words: str) -> bool:
        """Whether a key comes for the second time on a line. The first time, say what it would do."""
        (before, pressed_at), self._pressed = self._pressed, (key, at)
        if before == key and at - pressed_at < HELD_SECONDS:
            return False
        asked = f"{key} {self.choices.current}"
        is_again = asked == self._asked
        self.ask_again("" if is_again else asked, "" if is_again else words)
        return is_again

    def on_key(self, event: events.Key) -> None:
        if self._asked and event.key == "escape":
            event.stop()
            event.prevent_default()  # it closes no more than the question
        self._pressed = "", 0.0
        if self._asked:
            self.ask_again()

    def action_take(self) -> None:
        choice = self.listed.get(self.choices.current)
        if choice is not None and choice.take is not None:
            choice.take()

    def action_move(self, distance: str, step: int) -> None:
        (self.choices.action_line if distance == "line" else self.choices.action_page)(step)

    @override
    def action_leave(self) -> None:
        if self.FILTER_FIRST or not self.typed:
            super().action_leave()
        else:
            self.field.value = ""
            self.choices.focus()


class PickScreen(Browse):
    """A few things to do, one of which is chosen; words above them."""

    HEADING = "Choose"
    HAS_SHEET = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "", "take", tooltip="do what the current line says, and go back"),
    ]
    DEFAULT_CSS = "PickScreen > .page-body { margin-top: 1; }"

    def __init__(self, heading: str, words: str, choices: Mapping[str, Callable[[], object]]) -> None:
        super().__init__(heading, words)
        self.listed = {words: Choice(words=words, take=take) for words, take in choices.items()}

    @override
    def action_take(self) -> None:
        if self.choices.current:
            self.action_leave()
            super().action_take()  # only now: it may open the next screen
