"""A server's question over the chat, in the place of the approval: its body, its buttons, and keys that count only after a quiet period."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static
from typing_extensions import override

from tui_host.capture.visible import line, visible
from tui_host.tui import textual_private
from tui_host.tui.open_asks import OpenAsk
from tui_host.tui.widgets.approval.approval_panel import MOVING, QUIET_SECONDS
from tui_host.tui.widgets.forms.form_fields import Finished
from tui_host.tui.widgets.status_lines import DIM

if TYPE_CHECKING:
    from tui_host.answers.masks import Mask

_LONGEST = 20_000
"""Largest number of characters of a server's text to show."""
_LABEL = 28
"""Largest number of characters of a button, so that no button stands outside of a screen of 60 columns."""
_GIVEN_UP = "Its server gave this question up: nothing was sent, and nothing can be. What you wrote stays until you press escape."
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n){2,}")


class AskButton(Static, can_focus=True):
    """A button of a question, pressed with `enter` or by a click.

    Args:
        label: The words.
        action: Run when the button is pressed.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "press", show=False),
        Binding("left", "app.focus_previous", show=False),
        Binding("right", "app.focus_next", show=False),
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
        super().__init__(Content(f"[ {line(label, _LABEL)} ]"), markup=False)
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


class AskPanel(Container, can_focus=True):
    """Shows one question of a server, and gives the person's answer to it. Base of the panels for each kind of question.

    The app calls `swallow` with each key, paste and mouse button before any other widget gets it.

    Args:
        ask: The question.
        mask: Hides secrets.
        decline_all: Declines all questions of the server.
        behind: Returns the number of further questions of the server.
        quiet_seconds: How long keys mean nothing after a paint.

    Attributes:
        KEEPS: Whether the panel stays, with what was written in it, once its server gave the question up.
    """

    KEEPS: ClassVar[bool] = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "tab,shift+tab", "", tooltip="go to the next field, then to the buttons; letters are text in the fields"
        ),
        Binding("enter", "", tooltip="in a field: go to the next one; on a button: press it"),
        Binding("ctrl+d", "decline", "decline", priority=True, tooltip="decline"),
        Binding(
            "escape", "cancel", "cancel", priority=True, tooltip="cancel: the question is closed without an answer"
        ),
        Binding("pageup", "scroll_body(-1)", tooltip="scroll"),
        Binding("pagedown", "scroll_body(1)"),
        Binding("up", "scroll_line(-1)", key_display="up down, space", tooltip="move in a list of values, and choose"),
        Binding("down", "scroll_line(1)"),
    ]
    DEFAULT_CSS = """
    AskPanel {
        height: auto;
        max-height: 100%;
        border: round $primary 60%;
        border-title-color: $text-primary;
        border-title-style: bold;
        border-subtitle-color: $text-muted;
        background: $surface;
        padding: 0 1;
        &:focus-within { border: round $primary; }
        & > Static { height: auto; }
        & > #ask-buttons { height: 1; }
        & > #ask-message { color: $text-warning; text-style: bold; }
        & > #ask-keys { color: $text-muted; }
    }
    """
    KEYS: ClassVar[str] = "tab to Send, enter sends   ctrl+d declines   escape cancels"

    def __init__(
        self,
        ask: OpenAsk,
        *,
        mask: Mask,
        decline_all: Callable[[], None] = lambda: None,
        behind: Callable[[], int] = lambda: 0,
        quiet_seconds: float = QUIET_SECONDS,
    ) -> None:
        super().__init__()
        self.ask = ask
        self.mask = mask
        self._decline_all = decline_all
        self._behind = behind
        self._waiting_shown = -1
        self._quiet_seconds = quiet_seconds
        self._armed_at = inf
        self._ignored = ""
        self._is_asked = False  # whether to decline all questions
        self._is_given_up = False  # and said to be
        self._is_left = False
        self._body = AskBody()
        self._buttons = Horizontal(id="ask-buttons")
        self._message = Static(id="ask-message", markup=False)

    @override
    def compose(self) -> ComposeResult:
        with self._body:
            yield from self.body()
        yield self._message
        with self._buttons:
            yield from self.buttons()
            yield AskButton("Decline all", self._decline_each)
        yield Static(Content(self.KEYS), id="ask-keys", markup=False)

    # What the panels for each kind of question say.

    def body(self) -> Sequence[Widget]:
        raise NotImplementedError

    def buttons(self) -> Sequence[AskButton]:
        """Return the buttons, the one that accepts first."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Answer that the person closed the question."""
        raise NotImplementedError

    @property
    def first_field(self) -> Widget | None:
        """What takes the focus; None for the panel itself."""
        return None

    def note_seen(self) -> None:
        """Note what is on the screen."""

    def read(self, text: str) -> str:
        """Return foreign text to show: secrets masked, hidden characters visible, one blank line at a time, cut with its length told."""
        shown = visible(_BLANK_LINES.sub("\n\n", self.mask(text[:_LONGEST]).strip()))
        return shown if len(text) <= _LONGEST else f"{shown}\n… and {len(text) - _LONGEST:,} more characters"

    def say(self, words: str) -> None:
        """Show a text above the buttons; nothing for an empty text."""
        self._message.display = bool(words)
        self._message.update(Content(line(words, 600)))
        self.call_after_refresh(self._make_room)

    def _make_room(self) -> None:
        """Shorten the body by the text above the buttons, and keep the field with the focus in view."""
        if not self.is_attached:  # answered meanwhile
            return
        self.share_room()
        focused = self.screen.focused
        if focused is not None and self._body in focused.ancestors:
            self.call_after_refresh(self._body.scroll_to_widget, focused, animate=False)

    @property
    def stays(self) -> bool:
        """Whether the panel is to be left open though nobody waits: keys meant for it must not reach the prompt."""
        return self.KEEPS and self.ask.is_withdrawn and not self._is_left

    # From appearing to the answer.

    def on_mount(self) -> None:
        self._message.display = False
        self.border_title = Content(f"{line(self.ask.server, 30)} {self.ask.words}")
        self.look()
        self.share_room()
        if all(node.display for node in self.ancestors_with_self if isinstance(node, Widget)):
            (self.first_field or self).focus(scroll_visible=False)
        self._body.scroll_home(animate=False)
        self.look_again()

    def look(self) -> None:
        """Show who asks, and how many questions wait. Called at the screen's rate."""
        if not self._buttons.is_attached:
            return
        self.note_seen()
        if self.ask.is_withdrawn and not self._is_given_up:
            self._is_given_up = True
            self.border_title = Content(f"{line(self.ask.server, 30)} waits no more")
            self.query_one("#ask-keys", Static).update(Content("escape closes   ctrl+c copies"))
            self.say(_GIVEN_UP)
        behind = self._behind()
        if behind == self._waiting_shown:
            return
        self._waiting_shown = behind
        self._show_readiness()

    def share_room(self) -> None:
        """Let the body scroll where there is no room for everything."""
        parent = self.parent
        if isinstance(parent, Widget) and parent.size.height:
            others = sum(
                widget.outer_size.height or 1 for widget in self.children if widget is not self._body and widget.display
            )
            self._body.styles.max_height = max(1, parent.size.height - 2 - others)

    def on_resize(self) -> None:
        self.share_room()

    # Keys that come too early.

    @property
    def is_armed(self) -> bool:
        return time.monotonic() >= self._armed_at

    def swallow(self, event: events.Event) -> bool:
        """Return whether to ignore a key or click that came before the question could be read."""
        focused = self.screen.focused  # `has_focus_within` comes later than the bindings that the focus brings
        if focused is None or self not in focused.ancestors_with_self or event.time >= self._armed_at:
            return False
        if self._armed_at != inf:
            self._armed_at = event.time + self._quiet_seconds
        if isinstance(event, events.Key) and event.key in MOVING:
            return False
        self._ignored = event.key if isinstance(event, events.Key) else ""
        self._show_readiness()
        return True

    def note(self, event: events.Event) -> None:
        """Do nothing: the question is read anew once its screen is on top again."""

    def look_again(self) -> None:
        """Begin a new quiet period, after the next paint."""
        self._armed_at = inf
        self._show_readiness()
        self.call_after_refresh(self._painted)

    def _painted(self) -> None:
        if textual_private.writes_waiting(self):
            self.set_timer(0.05, self._painted)
            return
        self._armed_at = time.monotonic() + self._quiet_seconds
        self._show_readiness()

    def _show_readiness(self) -> None:
        """Name a key that came too early, until keys count."""
        wait = self._armed_at - time.monotonic()
        early = f"{self._ignored} came too early and was ignored" if self._ignored else ""
        words = early
        if wait <= 0:
            words = f"{early}; press it again" if early else "ready"
        count = f"1 of {self._waiting_shown + 1}   " if self._waiting_shown > 0 else ""
        self.border_subtitle = Content(f"{count}{words}")
        if 0 < wait < 60:
            self.set_timer(wait + 0.01, self._show_readiness)

    def on_focus(self) -> None:
        self.look_again()

    def on_descendant_focus(self) -> None:
        self._ignored, self._is_asked = "", False
        self._show_readiness()

    # Answering.

    def on_ask_button_pressed(self, event: AskButton.Pressed) -> None:
        event.stop()
        if self.is_armed and self.ask.is_withdrawn:
            self.say(_GIVEN_UP)
        elif self.is_armed:
            self.say("")
            event.action()

    def on_finished(self, event: Finished) -> None:
        """After the last field: say how to send."""
        event.stop()
        self.say("tab goes to the buttons; enter there sends")

    def _decline_each(self) -> None:
        """Decline all questions of the server at the second press; the first press says so, and begins a new quiet period."""
        if self._is_asked:
            self._decline_all()
            return
        self._is_asked = True
        self.say(
            f"Press it again to decline this and all further questions of {line(self.ask.server, 40)}, until it is connected again."
        )
        self.look_again()

    def action_decline(self) -> None:
        self._leave(self.ask.decline)

    def action_cancel(self) -> None:
        self._leave(self.cancel)

    def _leave(self, answer: Callable[[], None]) -> None:
        if self.is_armed:
            self._is_left = True
            answer()  # which nobody hears if the question was given up

    def action_scroll_body(self, pages: int) -> None:
        self._body.scroll_relative(y=pages * max(1, self._body.size.height - 1), animate=False)

    def action_scroll_line(self, lines: int) -> None:
        self._body.scroll_relative(y=lines, animate=False)


def fact(name: str, words: str, style: str = "") -> Content:
    """Return a line with a name and a value."""
    return Content.assemble((f"{name:<12}", DIM), (words, style))
