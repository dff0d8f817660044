"""Bases of the screens over the main screen: `PageScreen`, and `Browse`, a list with a sheet beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from rich.cells import cell_len
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
from tui_host.tui.keys import Key, keys_of
from tui_host.tui.widgets.choices import Choice, ChoiceList
from tui_host.tui.widgets.lines.line_view import LineView
from tui_host.tui.widgets.pages.page_lines import PageLines
from tui_host.tui.widgets.pages.tree_page import TreePage
from tui_host.tui.widgets.status_lines import StatusLine

if TYPE_CHECKING:
    from typing import Self

    from tui_host.chat.attachments import Attached
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.tui.questions.asks import Asks
    from tui_host.tui.screens.direct_requests import DirectRequests
    from tui_host.tui.sources.live import SessionSource
    from tui_host.tui.widgets.pages.tree_page import Page

Work: TypeAlias = Coroutine[object, object, None]
_GAP = 3
LOW = 8
"""Height of the screen, in lines, below which only the body is shown."""
_FEW = 12
"""Height of the screen, in lines, below which the keys have one line."""
_PATIENCE = 8.0
"""How many times the duration of making a sheet must pass before it is made again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What stands on the main screen when another one is opened over it."""

    host: Host
    session: Session
    asks: Asks  # what servers ask
    direct: DirectRequests  # what the person asked servers for without a model
    source: SessionSource | None  # the rows of the inspector
    unsent: str  # what the prompt would send
    attached: Sequence[Attached]
    tell: Callable[[str], object]  # shows a message


class KeyLine(Static):
    """Keys with a short description each, on several lines if needed; a key stays with its description."""

    DEFAULT_CSS = "KeyLine { height: auto; padding: 0 1; background: $panel; color: $text-muted; }"

    def show(self, keys: Sequence[Key], width: int, most: int) -> None:
        """Lay the keys out in `width` cells and at most `most` lines; keys without room are left out."""
        lines: list[list[Content]] = [[]]
        used = 0
        for key in keys:
            part = Content.assemble(Content.styled(key.shown, "bold $foreground"), Content(f" {key.brief}"))
            cells = cell_len(part.plain)
            if lines[-1] and used + _GAP + cells > width:
                if len(lines) == most:
                    break
                lines.append([])
                used = 0
            used += cells + (_GAP if lines[-1] else 0)
            lines[-1].append(part)
        self.update(Content("\n").join(Content(" " * _GAP).join(parts) for parts in lines))


class PageScreen(Screen[None]):
    """A screen closed by `escape`: heading, body, a note if there is one, keys."""

    HEADING: str = ""  # the screen's title, also in the help
    IS_OWN: ClassVar[bool] = False  # whether it opens only for a session that is held here
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "back", tooltip="go back"),
        Binding("f1", "", "help", tooltip="every key, and where it works"),
    ]
    DEFAULT_CSS = """
    PageScreen {
        layout: vertical;
        & > #page-heading { color: $foreground; text-style: bold; background: $panel; }
        & > .page-body { height: 1fr; }
        & > #page-note { height: auto; max-height: 4; padding: 0 1; color: $text-muted; display: none; }
    }
    """

    def __init__(self, heading: str = "") -> None:
        super().__init__()
        textual_private.paint_exactly(self)
        self._heading = heading or self.HEADING
        self._held: list[events.Event] | None = []

    @classmethod
    def over(cls, place: Surroundings, words: str = "") -> Self | None:  # noqa: ARG003 - for subclasses
        """Return the screen over the main one, or None after saying why there is none."""
        return cls()

    @override
    def _forward_event(self, event: events.Event) -> None:
        """Keep keys typed before a widget can take them: Textual would drop them."""
        if self._held is not None and isinstance(event, events.Key | events.Paste):
            self._held.append(event)
        else:
            super()._forward_event(event)

    @override
    def set_focus(self, widget: Widget | None, scroll_visible: bool = True, from_app_focus: bool = False) -> None:
        super().set_focus(widget, scroll_visible, from_app_focus)
        if self.focused is not None:
            self._let_go()

    @override
    def _update_auto_focus(self) -> None:
        super()._update_auto_focus()
        if self.is_mounted:
            self._let_go()  # though nothing here should take the focus

    def _let_go(self) -> None:
        held, self._held = self._held, None
        for event in held or ():
            (self.focused or self)._forward_event(event)  # noqa: SLF001 - ours too: a screen is a widget

    @override
    def compose(self) -> ComposeResult:
        heading = StatusLine(id="page-heading")
        heading.say(Content(self._heading))
        yield heading
        yield from self.body()
        yield Static(id="page-note", markup=False)
        yield KeyLine(id="page-keys")

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

    def on_resize(self, event: events.Resize) -> None:
        keys = [key for key in keys_of(type(self)) if key.brief]
        key_line = self.query_one(KeyLine)
        key_line.show(keys, max(1, event.size.width - 2), 3 if event.size.height >= _FEW else 1)
        self.set_class(event.size.height < _FEW, "-few")
        key_line.display = event.size.height >= LOW

    def start(self, work: Work | Callable[[], Work], *, group: str = "default", exclusive: bool = False) -> None:
        """Run a worker, which ends without a crash if the widgets it writes to are gone with the screen.

        Args:
            work: What is done; a function that begins it, where the next of its group may come before it has begun.
        """
        self.run_worker(partial(self._until_left, work), group=group, exclusive=exclusive)

    async def _until_left(self, work: Work | Callable[[], Work]) -> None:
        try:
            await (work() if callable(work) else work)
        except NoMatches:
            if not textual_private.is_leaving(self):
                raise

    @contextmanager
    def telling(self, before: str = "", severity: SeverityLevel = "error") -> Generator[None]:
        """Show an error of the block as a message, instead of raising it."""
        try:
            yield
        except TuiHostError as error:
            self.app.notify(line(f"{before}{error}", 300), severity=severity, markup=False)  # pyright: ignore[reportUnknownMemberType] - of any app

    def action_leave(self) -> None:
        """Close the screen, unless another screen lies on top by now."""
        if self.is_on_top:
            self.dismiss()

    @property
    def is_on_top(self) -> bool:
        """Whether the screen gets keys; False once the user has left it, or the program ends."""
        stack = self.app.screen_stack  # pyright: ignore[reportUnknownMemberType] - of any app
        return bool(stack) and stack[-1] is self


class Browse(PageScreen):
    """A list with a field that filters it, and a sheet about the line under the cursor: beside the list, or below it.

    Subclasses define `items`, and if they have sheets `sheet` and `facts`, and handle keys by `BINDINGS` and `opened`.
    """

    FILTER: ClassVar[str] = ""  # the field's placeholder; without one there is no field
    FILTER_FIRST: ClassVar[bool] = False  # the field keeps the focus; else `/` opens it, and `escape` closes it
    HAS_SHEET: ClassVar[bool] = True
    LEAST: ClassVar[int] = 14  # cells that the words of a line keep; figures at the right are left out first
    BESIDE: ClassVar[int] = 76  # width in columns from which list and sheet are side by side
    EMPTY: str = ""  # stands for an empty list
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move('line', -1)", "choose", tooltip="move in the list"),
        Binding("down", "move('line', 1)"),
        Binding("pageup", "move('page', -1)", tooltip="move a page up or down"),
        Binding("pagedown", "move('page', 1)"),
    ]
    DEFAULT_CSS = """
    Browse {
        & > .page-body { layout: horizontal; }
        & Input { margin: 0 1; }
        & Input:disabled { display: none; }
        & #list { width: 32; }
        & .-wide #list { width: 44; }
        & .browse-sheet { width: 1fr; border-left: solid $panel; }
        & PageLines { width: 1fr; height: 1fr; }
        & .-alone #list { width: 1fr; }
        & .-below { layout: vertical; }
        & .-below #list { width: 1fr; height: auto; max-height: 40%; }
        & .-below.-low #list { max-height: 50%; }
        & .-below .browse-sheet { width: 1fr; height: 1fr; border-left: none; border-top: solid $panel; }
        & .-below.-low .browse-sheet { border-top: none; }
    }
    """

    def __init__(self, heading: str = "") -> None:
        super().__init__(heading)
        self._keys: list[str] = []
        self._shown: tuple[list[Choice], str] | None = None
        self._revision: object = None
        self._put: int | None = None  # the line that was chosen here, and by nobody
        self._is_chosen = False
        self._seen: tuple[str, object] | None = None
        self._due = 0.0
        self._flipped: dict[str, set[str]] = {}

    def revision(self) -> object:
        """Return what the list depends on, cheap to compare; None to have the items asked for at each look."""
        return None

    def items(self) -> Sequence[tuple[str, Choice]]:
        """Return the lines, each with a key that names it while the list changes; headings have none."""
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

    @property
    def chosen(self) -> str:
        """The key of the line that the person means from now on."""
        self._is_chosen = True
        return self.current

    @override
    def on_resize(self, event: events.Resize) -> None:
        body = self.query_one(".page-body")
        body.set_class(event.size.width < self.BESIDE, "-below")
        body.set_class(event.size.width >= 110, "-wide")
        body.set_class(event.size.height < LOW, "-low")

    def look(self) -> None:
        """Show what has changed."""
        if self.is_mounted and self.query("#list"):
            self.list_again()
            self._show()

    def list_again(self, wanted: str = "") -> None:
        """List the items; the cursor stays on its key, on the first until the person moves, or goes to the wanted one."""
        revision, choices = self.revision(), self.choices
        if revision is not None and revision == self._revision and not wanted:
            return
        self._revision, items = revision, self.items()
        lines = [choice for _, choice in items]
        if (lines, self.EMPTY) == self._shown and not wanted:
            return
        self._is_chosen |= choices.cursor != self._put
        key = wanted or (self.current if self._is_chosen else "")
        self._keys, self._shown = [key for key, _ in items], (lines, self.EMPTY)
        place = next((number for number, own in enumerate(self._keys) if own and own == key), None)
        stays = choices.cursor if self._is_chosen else 0
        choices.show(lines, empty=self.EMPTY, current=stays if place is None else place)
        self._put = choices.cursor

    def _show(self) -> None:
        """Show the sheet of the current line again if its facts are others, at most after a while."""
        key = self.current
        if not self.HAS_SHEET or self.choices.view_width <= 0:
            return
        now, before = (key, self.facts(key) if key else None), self._seen
        is_same = before is not None and before[0] == key
        began = time.perf_counter()
        if now == before or (is_same and began < self._due):
            self.view.advance()
            return
        self._seen = now
        page = self.sheet(key) if key else None
        if isinstance(page, Sheet):
            page = TreePage(page, self._flipped.setdefault(key, set()))
        if page is not None:
            self.view.show(page, hold=is_same)
        self.query_one(".browse-sheet").display = bool(key)
        self._due = began + (_PATIENCE + 1) * (time.perf_counter() - began)

    def on_line_view_cursor_moved(self, event: LineView.CursorMoved) -> None:
        event.stop()
        if event.view is self.choices:
            self._is_chosen = True
            self._show()

    def on_line_view_opened(self, event: LineView.Opened) -> None:
        if event.view is self.choices and self.chosen:
            event.stop()
            self.opened(self.current)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._due = 0.0
        self.look()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if not self.FILTER_FIRST:
            (self.view if self.HAS_SHEET else self.choices).focus()
        elif self.chosen:
            self.opened(self.current)

    def action_move(self, distance: str, step: int) -> None:
        if distance == "line":
            self.choices.action_line(step)
        else:
            self.choices.action_page(step)

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
        (self.view if self.HAS_SHEET else self.choices).focus()
        field.disabled = True
