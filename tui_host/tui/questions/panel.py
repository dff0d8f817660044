"""The panel over the chat for everything that is asked. It alone decides whether a key counts: after a quiet period."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import inf
from typing import ClassVar, Literal

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets import Static
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.settings.key_names import PLACES
from tui_host.tui import textual_private
from tui_host.tui.keys import key_of, keys_named
from tui_host.tui.text_width import fill

MOVING = frozenset(
    ("up", "down", "left", "right", "pageup", "pagedown", "home", "end", "tab", "shift+tab", "raw", "about")
).union(PLACES["everywhere"])
"""Keys, and actions by their names in `[keys]`, that work at once and restart the quiet period: for moving around, and those that work everywhere."""
BUTTON_CHARACTERS = 28  # so that no button stands outside of a screen of 60 columns
WORDS_CHARACTERS = 600
REPAINT_SECONDS = 0.05


def paragraphs(text: str, width: int, style: str = "", most: int = 100) -> list[Content]:
    """Wrap visible text into lines, the last of the `most` tells where more are hidden; none for an empty text."""
    rows = text.split("\n") if text else ()
    lines = [Content.styled(row[start:end], style) for row in rows for start, end in fill(row, width)]
    if len(lines) > most:
        lines[most - 1 :] = [Content.assemble(lines[most - 1].truncate(max(1, width - 1)), "…")]
    return lines


class Rows(Widget):
    """Lines that are made for the width; none take no room."""

    DEFAULT_CSS = "Rows { height: auto; }"

    def __init__(self, make: Callable[[int], Sequence[Content]]) -> None:
        super().__init__()
        self._make = make

    @override
    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._make(max(1, width)))

    @override
    def render(self) -> Content:
        return Content("\n").join(self._make(max(1, self.content_size.width)))


class AskButton(Static, can_focus=True):
    """A button, pressed with `enter` or by a click."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "press", "press", tooltip="press the button")]
    DEFAULT_CSS = """
    AskButton { width: auto; height: 1; padding: 0 1; margin-right: 1; background: $foreground 8%; text-style: bold; }
    AskButton:focus { background: $primary; color: $text; }
    """

    def __init__(self, label: str, action: Callable[[], object]) -> None:
        super().__init__(Content(f"[ {line(label, BUTTON_CHARACTERS)} ]"), markup=False)
        self._action = action

    def action_press(self) -> None:
        panel = next((node for node in self.ancestors if isinstance(node, QuestionPanel)), None)
        if panel is None or panel.is_armed:
            self._action()

    on_click = action_press


class QuestionPanel(Container, can_focus=True):
    """A question over the chat. Base of the approval and of the panels for what servers ask.

    The app calls `swallow` with each key, paste and mouse button before any other widget gets it, and `look` at the screen's rate.
    """

    DECIDING: ClassVar[frozenset[str]] = (
        frozenset()
    )  # the actions whose keys decide, others begin a quiet period; empty for all
    QUIET_SECONDS: ClassVar[float] = 0.5  # how long no key decides after the question was painted
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll(-1)", tooltip="scroll; pageup, pagedown, home and end too"),
        Binding("down", "scroll(1)"),
        Binding("pageup", "scroll(-1, 'page')"),
        Binding("pagedown", "scroll(1, 'page')"),
        Binding("home", "scroll(-1, 'end')"),
        Binding("end", "scroll(1, 'end')"),
    ]
    DEFAULT_CSS = """
    QuestionPanel {
        height: auto; max-height: 100%; padding: 0 1; background: $surface; border: round $primary 60%;
        border-title-color: $text-primary; border-title-style: bold; border-subtitle-color: $text-muted;
        &:focus-within { border: round $primary; }
        & > Rows { color: $text-muted; }
    }
    """

    def __init__(self, scrolled: Widget, parts: Sequence[Widget]) -> None:
        self.foot = Rows(lambda width: paragraphs(self.message, width, "bold $text-warning", 8 if self.asked else 6))
        super().__init__(*parts, self.foot)
        self.scrolled = scrolled  # gives way where there is no room for everything
        self.first_field: Widget = self  # what takes the focus
        self.words = ""  # about the last key
        self.asked = ""  # what decides if it comes again, as the words say
        self.hint = ""  # about the last key that decided nothing
        self.turn = ""  # which of the questions of its server this is, where more wait
        self._armed_at = inf  # the time from which keys decide; infinite until the question is painted
        self._was_here = False

    # What is shown.

    @property
    def message(self) -> str:
        return self.words

    def say(self, words: str, asked: str = "") -> None:
        """Show words about the last key, and remember what decides if it comes again."""
        self.words, self.asked = line(words, WORDS_CHARACTERS), asked
        self.foot.refresh(layout=True)

    def is_again(self, asked: str, words: str) -> bool:
        """Whether something was asked for the second time. The first time say so, and begin a new quiet period."""
        if self.asked == asked:
            return True
        self.say(words, asked)
        self.look_again()
        return False

    def _show_corner(self) -> None:
        """Say at the lower right whether keys decide now, or why the last one did not."""
        words = self.hint or ("ready" if self.is_armed else "…")
        if self.is_text or not self.is_here:
            words = "" if self.is_here else "tab goes back to decide"
        elif "too early" in self.hint:
            words = f"{self.hint}; {'press it again' if self.is_armed else 'wait'}"
        corner = Content(f"{self.turn}{words}")
        if self.border_subtitle != corner.markup:  # which is painted anew with each setting
            self.border_subtitle = corner

    def look(self) -> None:
        """Follow what has changed around the panel, and give the part that scrolls the height that the others leave."""
        if not self.is_attached:
            return
        self._notice_focus()
        self._show_corner()
        if isinstance(self.parent, Widget) and self.parent.size.height:
            taken = sum(part.outer_size.height for part in self.children if part is not self.scrolled and part.display)
            self.scrolled.styles.max_height = max(1, self.parent.size.height - 2 - taken)

    def action_scroll(self, step: int, unit: Literal["line", "page", "end"] = "line") -> None:
        lines = {"line": 1, "page": max(1, self.scrolled.scrollable_content_region.height - 1), "end": 1 << 30}[unit]
        self.scrolled.scroll_relative(y=step * lines, animate=False, force=True)

    # Keys that come too early.

    @property
    def is_here(self) -> bool:
        """Whether the focus is in the panel; Textual's `has_focus` comes later than the keys that the focus brings."""
        focused = self.screen.focused if self.is_attached else None
        return focused is not None and self in focused.ancestors_with_self

    @property
    def is_text(self) -> bool:
        """Whether the keys are text of a field, where some keys decide: text decides nothing."""
        return bool(self.DECIDING) and self.is_here and self.screen.focused is not self

    @property
    def is_armed(self) -> bool:
        return self.is_here and time.monotonic() >= self._armed_at

    def swallow(self, event: events.Event) -> bool:
        """Return whether to ignore a key, paste or mouse button. What decides nothing restarts the quiet period."""
        self._notice_focus()
        if textual_private.writes_waiting(self) > 1:  # a terminal that does not read shows nobody what is asked
            self.look_again()
        key = event.key if isinstance(event, events.Key) else ""
        deciding = {key for name in self.DECIDING for key in keys_named(name)}
        is_deciding = key in deciding or not deciding
        if self.is_text or (self.is_here and is_deciding and event.time >= self._armed_at):
            self.hint = ""
            return False
        self.note(event)
        if not self.is_here or not isinstance(event, events.Key | events.Paste):
            return False
        is_moving = key not in deciding and any(key in keys_named(name) for name in MOVING)
        early = f"{'esc' if key == 'escape' else key or 'a paste'} came too early and was ignored"
        self.hint = f"{key_of('approve')} or {key_of('reject')} decides"
        if is_moving or is_deciding:
            self.hint = "" if is_moving else early
        elif self.asked:
            # Such as the rest of a terminal's answer, behind an escape that was its beginning.
            self.say("")
            self.look_again()
        self._show_corner()
        return not is_moving

    def note(self, event: events.Event) -> None:
        """Restart the quiet period after something that decides nothing, here or on another screen."""
        if self._armed_at != inf:
            self._armed_at = max(self._armed_at, event.time + self.QUIET_SECONDS)

    def look_again(self) -> None:
        """Let no key decide until the quiet period after the next paint has passed."""
        self._armed_at = inf
        self._show_corner()
        self.call_after_refresh(self.appeared)

    def appeared(self) -> None:
        """Begin the quiet period now that the question was painted, unless the terminal has not read it yet."""
        if textual_private.writes_waiting(self):
            self.set_timer(REPAINT_SECONDS, self.appeared)
        else:
            self._armed_at = time.monotonic() + self.QUIET_SECONDS

    def _notice_focus(self) -> None:
        """Coming back is a new look at the question."""
        was_here, self._was_here = self._was_here, self.is_here
        if self._was_here and not was_here:
            self.look_again()

    def on_mount(self) -> None:
        if all(node.display for node in self.ancestors_with_self if isinstance(node, Widget)):
            self.screen.set_focus(self.first_field, scroll_visible=False)  # at once: the quiet period begins but once
        self.look()
