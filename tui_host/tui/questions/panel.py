"""The panel over the chat for everything that is asked. It alone decides whether a key counts: after a quiet period."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import inf
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.tui import textual_private
from tui_host.tui.keys import ACTIONS
from tui_host.tui.text_width import fill

MOVING = frozenset(
    ("up", "down", "left", "right", "pageup", "pagedown", "home", "end", "tab", "shift+tab", "p", "d", "ctrl+p")
) | frozenset(action.key for action in ACTIONS)
"""Keys that work at once and restart the quiet period: for moving around, and those that work everywhere."""
BUTTON_CHARACTERS = 28
"""Largest length of a button, so that no button stands outside of a screen of 60 columns."""
REPAINT_SECONDS = 0.05


def paragraphs(text: str, width: int, style: str = "") -> list[Content]:
    """Wrap visible text into lines; none for an empty text."""
    rows = text.split("\n") if text else ()
    return [Content.styled(row[start:end], style) for row in rows for start, end in fill(row, width)]


class Rows(Widget):
    """Lines that are made for the width; none take no room, and the last one tells where more are hidden.

    Args:
        make: Returns the lines for a width in cells.
    """

    DEFAULT_CSS = "Rows { height: auto; }"

    def __init__(self, make: Callable[[int], Sequence[Content]], id: str) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._make = make

    @override
    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._make(max(1, width)))

    @override
    def render(self) -> Content:
        width, height = self.content_size
        rows = list(self._make(max(1, width)))
        if len(rows) > height > 0:
            rows[height - 1 :] = [Content.assemble(rows[height - 1].truncate(max(1, width - 1)), "…")]
        return Content("\n").join(rows)


class AskButton(Static, can_focus=True):
    """A button, pressed with `enter` or by a click.

    Args:
        label: The words.
        action: Run when the button is pressed.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "press", "press", tooltip="press the button"),
        Binding("left", "app.focus_previous"),
        Binding("right", "app.focus_next"),
    ]
    DEFAULT_CSS = """
    AskButton { width: auto; height: 1; padding: 0 1; margin-right: 1; background: $boost; text-style: bold; }
    AskButton:focus { background: $primary; color: $text; }
    """

    class Pressed(Message):
        """Posted when a button is pressed."""

        def __init__(self, action: Callable[[], None]) -> None:
            super().__init__()
            self.action = action

    def __init__(self, label: str, action: Callable[[], None]) -> None:
        super().__init__(Content(f"[ {line(label, BUTTON_CHARACTERS)} ]"), markup=False)
        self._action = action

    def action_press(self) -> None:
        self.post_message(self.Pressed(self._action))

    def on_click(self) -> None:
        self.post_message(self.Pressed(self._action))


class AskBody(VerticalScroll, can_focus=False):
    """The part of a question that scrolls."""

    DEFAULT_CSS = (
        "AskBody { height: auto; scrollbar-size-vertical: 1; } AskBody > Static { height: auto; margin-bottom: 1; }"
    )


class QuestionPanel(Container, can_focus=True):
    """A question over the chat. Base of the approval and of the panels for what servers ask.

    The app calls `swallow` with each key, paste and mouse button before any other widget gets it, and `look` at the screen's rate.

    Attributes:
        DECIDING: The keys that decide; all others restart the quiet period. Empty for every key.
        QUIET_SECONDS: How long no key decides after the question was painted.
    """

    DECIDING: ClassVar[frozenset[str]] = frozenset()
    QUIET_SECONDS: ClassVar[float] = 0.5
    DEFAULT_CSS = """
    QuestionPanel {
        height: auto;
        max-height: 100%;
        border: round $primary 60%;
        border-title-color: $text-primary;
        border-title-style: bold;
        border-subtitle-color: $text-muted;
        background: $surface;
        padding: 0 1;
        &:focus-within { border: round $primary; }
        & > #question-message { max-height: 4; color: $text-warning; text-style: bold; }
        & > #question-keys { color: $text-muted; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.message = Rows(self.message_rows, "question-message")
        self.keys = Rows(self.key_rows, "question-keys")
        self.hint = ""  # about the last key that decided nothing
        self._armed_at = inf  # the time from which keys decide; infinite until the question is painted
        self._was_here = False
        self._corner = ""

    # What each kind of question says.

    @property
    def scrolled(self) -> Widget:
        """The part that gives way where there is no room for everything."""
        raise NotImplementedError

    @property
    def first_field(self) -> Widget:
        """What takes the focus."""
        return self

    @property
    def is_writing(self) -> bool:
        """Whether the keys are text, which decides nothing."""
        return False

    def message_rows(self, width: int) -> Sequence[Content]:
        raise NotImplementedError

    def key_rows(self, width: int) -> Sequence[Content]:
        raise NotImplementedError

    def corner(self, *, is_ready: bool) -> str:
        """Return the words at the lower right: whether keys decide now, or why the last one did not."""
        if "too early" in self.hint:
            return f"{self.hint}; {'press it again' if is_ready else 'wait'}"
        return self.hint or ("ready" if is_ready else "…")

    def appeared(self) -> None:
        """Called after the question was painted."""

    # Keys that come too early.

    @property
    def is_here(self) -> bool:
        """Whether the focus is in the panel; Textual's `has_focus` comes later than the keys that the focus brings."""
        focused = self.screen.focused
        return focused is not None and self in focused.ancestors_with_self

    @property
    def is_armed(self) -> bool:
        return self.is_here and time.monotonic() >= self._armed_at

    def swallow(self, event: events.Event) -> bool:
        """Return whether to ignore a key, paste or mouse button. What decides nothing restarts the quiet period."""
        self._notice_focus()
        if textual_private.writes_waiting(self) > 1:  # a terminal that does not read shows nobody what is asked
            self.look_again()
        key = event.key if isinstance(event, events.Key) else ""
        is_deciding = key in self.DECIDING or not self.DECIDING
        if self.is_here and (self.is_writing or (is_deciding and event.time >= self._armed_at)):
            self.hint = ""
            return False
        self.note(event)
        if not self.is_here or not isinstance(event, events.Key | events.Paste):
            return False
        early = f"{'esc' if key == 'escape' else key or 'a paste'} came too early and was ignored"
        self.hint = early if is_deciding else "y or n decides"
        if key in MOVING:
            self.hint = ""
        self._show_corner()
        return key not in MOVING

    def note(self, event: events.Event) -> None:
        """Restart the quiet period after something that decides nothing, here or on another screen."""
        if self._armed_at != inf:
            self._armed_at = max(self._armed_at, event.time + self.QUIET_SECONDS)

    def disarm(self) -> None:
        """Let no key decide until the next quiet period has passed."""
        self._armed_at = inf
        self._show_corner()

    def look_again(self) -> None:
        """Begin a new quiet period after the next paint."""
        self.disarm()
        self.call_after_refresh(self._painted)

    def _painted(self) -> None:
        if textual_private.writes_waiting(self):
            self.set_timer(REPAINT_SECONDS, self._painted)
            return
        self._armed_at = time.monotonic() + self.QUIET_SECONDS
        self.appeared()

    def _notice_focus(self) -> None:
        """Coming back is a new look at the question."""
        was_here, self._was_here = self._was_here, self.is_here
        if self._was_here and not was_here:
            self.look_again()

    # What is shown.

    def on_mount(self) -> None:
        if all(node.display for node in self.ancestors_with_self if isinstance(node, Widget)):
            self.screen.set_focus(self.first_field, scroll_visible=False)  # at once: the quiet period begins but once
        self.look()

    def look(self) -> None:
        """Follow what has changed around the panel."""
        if self.is_attached:
            self._notice_focus()
            self.share_room()
            self._show_corner()

    def share_room(self) -> None:
        """Give the part that scrolls the height that the other parts leave."""
        parent = self.parent
        if isinstance(parent, Widget) and parent.size.height:
            taken = sum(part.outer_size.height for part in self.children if part is not self.scrolled and part.display)
            self.scrolled.styles.max_height = max(1, parent.size.height - 2 - taken)

    def _show_corner(self) -> None:
        words = self.corner(is_ready=self.is_armed)
        if words != self._corner:
            self._corner = words
            self.border_subtitle = Content(words)
