"""Base of the screens over the main screen: title, body, line of keys, and `escape` to close."""

from __future__ import annotations

from collections.abc import Coroutine, Generator, Sequence
from contextlib import contextmanager
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.css.query import NoMatches
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.tui import textual_private
from tui_host.tui.key_tables import HELP, LEAVE, PLACES, Key
from tui_host.tui.widgets.choices import ChoiceList
from tui_host.tui.widgets.status_lines import StatusLine

_GAP = 3
LOW = 8
"""Height of the screen, in lines, below which only the body is shown."""
_FEW = 12
"""Height of the screen, in lines, below which the keys have one line."""


class KeyLine(Static):
    """Keys with a short description each, on several lines if needed; a key stays with its description."""

    DEFAULT_CSS = """
    KeyLine { height: auto; padding: 0 1; background: $panel; color: $text-muted; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__("", markup=False, id=id)

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
        self.update(Content("\n").join(Content(" " * _GAP).join(line) for line in lines))


class PageScreen(Screen[None]):
    """A screen closed by `escape`."""

    HEADING: str = ""  # the screen's title
    PLACE: str = ""  # the name of the screen's keys in `key_tables.PLACES`
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", show=False)]
    DEFAULT_CSS = """
    PageScreen {
        layout: vertical;
        & > #page-heading { color: $foreground; text-style: bold; background: $panel; }
        & > .page-body { height: 1fr; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        textual_private.paint_exactly(self)
        self._held: list[events.Event] | None = []

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
        heading.say(Content(self.HEADING))
        yield heading
        yield from self.body()
        yield KeyLine(id="page-keys")

    def body(self) -> Sequence[Widget]:
        """Return the widgets between heading and keys. Abstract: the metaclass of Textual's widgets leaves no room for `ABC`."""
        raise NotImplementedError

    def say(self, heading: str) -> None:
        """Set the heading."""
        self.query_one("#page-heading", StatusLine).say(Content(heading))

    def on_resize(self, event: events.Resize) -> None:
        keys = [key for key in (*PLACES[self.PLACE], LEAVE, HELP) if key.brief and (key, self.PLACE) != (HELP, "Help")]
        width = max(1, event.size.width - 2)
        key_line = self.query_one(KeyLine)
        key_line.show(keys, width, 3 if event.size.height >= _FEW else 1)
        self.set_class(event.size.height < _FEW, "-few")
        key_line.display = event.size.height >= LOW

    def start(self, work: Coroutine[object, object, None], *, group: str = "default", exclusive: bool = False) -> None:
        """Run a worker, which ends without a crash if the widgets it writes to are gone with the screen."""
        self.run_worker(self._until_left(work), group=group, exclusive=exclusive)

    async def _until_left(self, work: Coroutine[object, object, None]) -> None:
        try:
            await work
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


class ChoiceScreen(PageScreen):
    """A screen with a list and a field that filters it. The field keeps the focus; the arrow keys move in the list."""

    AUTO_FOCUS = "Input"
    PLACEHOLDER: ClassVar[str] = ""
    FIELD: ClassVar[type[Input]] = Input
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move('line', -1)", show=False),
        Binding("down", "move('line', 1)", show=False),
        Binding("pageup", "move('page', -1)", show=False),
        Binding("pagedown", "move('page', 1)", show=False),
    ]
    DEFAULT_CSS = """
    ChoiceScreen {
        & > Input { margin: 0 1; }
        &.-few > #choice-note { display: none; }
        & > #choice-note { height: auto; max-height: 4; padding: 0 1; color: $text-muted; }
    }
    """

    @override
    def body(self) -> Sequence[Widget]:
        choices = ChoiceList(classes="page-body")
        choices.can_focus = False  # what is typed always goes to the field
        return [self.FIELD(placeholder=self.PLACEHOLDER, compact=True), choices, Static(id="choice-note", markup=False)]

    @property
    def choices(self) -> ChoiceList:
        return self.query_one(ChoiceList)

    @property
    def typed(self) -> str:
        return self.query_one(Input).value.strip()

    def note(self, words: str) -> None:
        """Show a text below the list."""
        self.query_one("#choice-note", Static).update(Content(words))

    def action_move(self, distance: str, step: int) -> None:
        if distance == "line":
            self.choices.action_line(step)
        else:
            self.choices.action_page(step)
