"""The approval over the chat: server, tool, exact arguments, and a key for each decision."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import inf
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget
from textual.widgets import TextArea
from typing_extensions import override

from tui_host.answers.masks import Mask
from tui_host.capture.visible import visible
from tui_host.chat.policy import Question
from tui_host.errors import TuiHostError
from tui_host.tui import textual_private
from tui_host.tui.keys import ACTIONS
from tui_host.tui.widgets.approval import approval_words as words
from tui_host.tui.widgets.approval.approval_lines import WIDE, ApprovalFace, Field
from tui_host.tui.widgets.approval.argument_edit import Editable, editable, read_edit

QUIET_SECONDS = 0.5
DECIDING = frozenset(("y", "a", "Y", "A", "e", "n", "r", "escape"))
MOVING = frozenset(
    ("up", "down", "left", "right", "pageup", "pagedown", "home", "end", "tab", "shift+tab", "p", "d", "z", "ctrl+p")
) | frozenset(action.key for action in ACTIONS)
"""Keys that work at once and restart the quiet period: for moving around, and those that work everywhere."""


class Quiet:
    """Decides from when on keys count. Times are those of events (`time.monotonic`)."""

    def __init__(self, seconds: float = QUIET_SECONDS) -> None:
        self._seconds = seconds
        self.armed_at = inf  # the time from which keys decide; infinite until the question is painted

    def begin(self) -> None:
        """Disarm the keys until the next question is painted."""
        self.armed_at = inf

    def painted(self, now: float) -> None:
        """Start the quiet period: the question was painted."""
        self.armed_at = now + self._seconds

    def swallow(self, event: events.Event, *, here: bool) -> bool:
        """Return whether to ignore an event. Events that decide nothing restart the quiet period.

        Args:
            event: A key, a paste, or a mouse button.
            here: Whether the focus is in the approval; elsewhere keys keep their own meaning.
        """
        key = event.key if isinstance(event, events.Key) else ""
        if here and key in DECIDING and event.time >= self.armed_at:
            return False
        if self.armed_at != inf:
            self.armed_at = max(self.armed_at, event.time + self._seconds)
        if not isinstance(event, events.Key | events.Paste):
            return False
        return here and key not in MOVING


class Approval(Container, can_focus=True):
    """Asks questions one by one, and answers them by key.

    The app calls `swallow` with each key, paste and mouse button before any other widget gets it, and `take` when the
    questions change.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,a", "once", "once", tooltip="approve this call once; what was not shown to its end is shown first"),
        Binding(
            "Y",
            "all",
            "all that remain",
            tooltip="approve all that remain, once the whole arguments of each were shown, in the list or below",
        ),
        Binding(
            "A",
            "session",
            "this tool, this session",
            key_display="A, twice",
            tooltip="approve this tool for the session; the first A shows the rule in words",
        ),
        Binding("e", "edit", "edit", tooltip="edit the arguments, then approve"),
        Binding("n", "no", "no", tooltip="reject"),
        Binding("r", "because", "no, because…", tooltip="reject with a reason that the model is told"),
        Binding(
            "escape",
            "back",
            "stop the turn",
            key_display="escape, twice",
            tooltip="reject, and stop the turn; from an edit, a reason or a description: go back",
        ),
        Binding("tab", "", "look around", tooltip="look around in the inspector, and back; no key decides there"),
        Binding("left", "other(-1)", tooltip="go to the call before or after, where several wait"),
        Binding("right", "other(1)"),
        Binding(
            "up",
            "scroll(-1)",
            key_display="up down, …",
            tooltip="scroll the arguments; pageup, pagedown, home and end too",
        ),
        Binding("down", "scroll(1)"),
        Binding("pageup", "turn(-1)"),
        Binding("pagedown", "turn(1)"),
        Binding("home", "edge(-1)"),
        Binding("end", "edge(1)"),
        Binding("p", "raw", tooltip="show the arguments indented, or byte for byte"),
        Binding("d", "description", tooltip="show the server's whole description"),
        Binding("z", "widen", tooltip="give the approval the width of the screen, and back"),
    ]

    DEFAULT_CSS = """
    Approval {
        height: auto;
        max-height: 100%;
        border: round $warning 60%;
        border-title-color: $text-warning;
        border-title-style: bold;
        border-subtitle-color: $text-muted;
        background: $surface;
        padding: 0 1;
        &:focus { border: round $warning; }
        & > Static { height: auto; }
        & > #approval-description { color: $text-muted; }
        & > #approval-note { text-align: right; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
        & > #approval-message { color: $text-warning; text-style: bold; }
    }
    """

    def __init__(
        self,
        questions: Sequence[Question],
        *,
        on_grant: Callable[[Question], None],
        mask: Mask | None = None,
        quiet_seconds: float = QUIET_SECONDS,
        id: str | None = None,  # noqa: A002 - Textual's word
    ) -> None:
        super().__init__(id=id)
        self._mask = mask or Mask()
        self._face = ApprovalFace(self, questions, mask=self._mask)
        self._on_grant = on_grant
        self._quiet = Quiet(quiet_seconds)
        self._asked_key = ""  # the key that decides if pressed again, as the message says
        self._editable = Editable()
        self._has_complained = False  # about what stands in the field now
        self._ignored = ""  # the last key that came too early to decide

    @override
    def compose(self) -> ComposeResult:
        yield from self._face.parts

    def on_mount(self) -> None:
        if all(node.display for node in self.ancestors_with_self if isinstance(node, Widget)):
            self.focus()
        self._ask(self._next())

    # What the app calls.

    def take(self, questions: Sequence[Question]) -> None:
        """Set the questions, and continue with the next one if the current question was answered elsewhere."""
        known_ids = {id(question) for question in self._face.questions}
        added = [question for question in questions if id(question) not in known_ids]
        self._face.questions += added
        if self._face.current is None or not self._face.current.open:
            self._ask(self._next())
        elif added:
            self._face.draw()

    def swallow(self, event: events.Event) -> bool:
        """Return whether to ignore an event that came too early or means nothing here. `App.on_event` calls this first."""
        focused = self.screen.focused  # `has_focus` comes later than the bindings that the focus brings
        if self._face.field is not None and focused is self._face.field:
            return False
        if textual_private.writes_waiting(self) > 1:  # a terminal that does not read shows nobody what is asked
            self._begin_quiet()
        swallowed = self._quiet.swallow(event, here=focused is self)
        if isinstance(event, events.Key):
            if swallowed and event.key in DECIDING:
                self._ignored = words.key_name(event.key)
            elif not swallowed:
                self._ignored = ""
        self._show_readiness()
        return swallowed

    def note(self, event: events.Event) -> None:
        """Restart the quiet period after a key or click in another place."""
        self._quiet.swallow(event, here=False)

    def look(self) -> None:
        """Follow what has changed around the panel: the inspector may come after it."""
        self._face.keep_arranged()

    def look_again(self) -> None:
        """Begin a new quiet period, because something else was on the screen."""
        if self._face.current is not None:
            self._begin_quiet()

    @property
    def is_armed(self) -> bool:
        return self.has_focus and time.monotonic() >= self._quiet.armed_at

    # Asking.

    def _next(self) -> Question | None:
        """Return the next open question after the current question, else the first."""
        start = 0
        if self._face.current is not None and self._face.current in self._face.questions:
            start = self._face.questions.index(self._face.current)
        around = [*self._face.questions[start:], *self._face.questions[:start]]
        return next((question for question in around if question.open), None)

    def _ask(self, question: Question | None, message: str = "") -> None:
        """Show a question. Its quiet period begins after the next paint."""
        if question is None:
            self._face.turn_to(None)
            self._quiet.begin()
            return
        self._face.turn_to(question)
        self._asked_key = ""
        self._face.message = message
        self._face.draw()
        self._begin_quiet()

    def _begin_quiet(self) -> None:
        self._quiet.begin()
        self._show_readiness()
        self.call_after_refresh(self._painted)

    def _painted(self) -> None:
        if textual_private.writes_waiting(self):
            self.set_timer(0.05, self._painted)
            return
        self._face.note_seen()
        if self._face.current is not None:
            self._face.current.appear()
        self._quiet.painted(time.monotonic())
        self._show_readiness()

    @override
    def watch_has_focus(self, _has_focus: bool) -> None:
        """Coming back is a new look at the question; elsewhere keys decide nothing."""
        super().watch_has_focus(_has_focus)
        if _has_focus and self._face.field is not None:
            self._face.field.focus()  # what is being written is not decided by a letter
        elif _has_focus:
            self._begin_quiet()
        else:
            self._show_readiness()

    def _show_readiness(self) -> None:
        """Show whether keys decide now, and update when that changes."""
        if not self.has_focus:
            tab = "" if self._face.field is not None else "tab goes back to decide"
            self.border_subtitle = Content(tab)
            return
        wait = self._quiet.armed_at - time.monotonic()
        self.border_subtitle = words.readiness(
            ignored=self._ignored, is_ready=wait <= 0, is_readable=self._face.is_readable
        )
        if 0 < wait < 60:
            self.set_timer(wait + 0.01, self._show_readiness)

    # Looking.

    def action_other(self, step: int) -> None:
        left = [question for question in self._face.questions if question.open]
        if self._face.current in left and len(left) > 1:
            self._ask(left[(left.index(self._face.current) + step) % len(left)])

    def on_resize(self) -> None:
        self._face.arrange()
        self._show_readiness()

    def action_scroll(self, lines: int) -> None:
        self._face.arguments.action_line(lines)

    def action_turn(self, pages: int) -> None:
        self._face.arguments.action_page(pages)

    def action_edge(self, end: int) -> None:
        if end > 0:
            self._face.arguments.action_last()
        else:
            self._face.arguments.action_first()

    def action_raw(self) -> None:
        self._face.is_raw = not self._face.is_raw
        self._face.shows_description = False
        self._face.draw()

    def action_description(self) -> None:
        self._face.shows_description = not self._face.shows_description
        self._face.draw()

    def action_widen(self) -> None:
        self.screen.toggle_class(WIDE)

    # Deciding.

    def _is_again(self, key: str, question: Question, words_asked: str) -> bool:
        """Whether a key was pressed for the second time. The first time ask, and begin a new quiet period."""
        if self._asked_key == key:
            return True
        self._ask(question, words_asked)
        self._asked_key = key
        return False

    def _may_approve(self, key: str) -> Question | None:
        """Return the current question if its arguments were shown completely; otherwise scroll to the rest and say so."""
        question = self._face.current
        if question is None or not question.open or not self._face.is_readable:
            return None
        if self._face.shows_description:
            self.action_description()
            self._ask(question, f"These are the arguments. Press {key} again to approve.")
            return None
        if (question.request.call, self._face.arguments_of(question)) not in self._face.seen:
            self._ask(question, f"This is the end. Press {key} again to approve.")
            self._face.arguments.action_last()
            return None
        return question

    def action_once(self) -> None:
        question = self._may_approve("y")
        if question is not None:
            question.approve(edited=self._face.edits.get(question.request.call))
            self._ask(self._next())

    def action_all(self) -> None:
        """Approve all remaining calls if each was shown completely; otherwise show the first that was not."""
        question = self._may_approve("Y")
        if question is None:
            return
        left = [waiting for waiting in self._face.questions if waiting.open]
        for waiting in left:
            if (waiting.request.call, self._face.arguments_of(waiting)) not in self._face.seen:
                self._ask(waiting, "This call was not shown whole yet. Read it, then press Y again.")
                return
        how = "approved with all remaining calls" if len(left) > 1 else "approved once"
        for waiting in left:
            waiting.approve(how=how, edited=self._face.edits.get(waiting.request.call))
        self._ask(self._next())

    def action_session(self) -> None:
        """Approve the tool for the session: the first press shows the rule, the second press applies it."""
        question = self._may_approve("A")
        if question is None:
            return
        name = words.name_of(question.request.tool)
        rule = (
            f"Press A again to run every call of {name}, as defined now, without asking for the rest of this session."
        )
        if not self._is_again("A", question, rule):
            return
        question.approve(how="approved for the session", edited=self._face.edits.get(question.request.call))
        self._on_grant(question)
        self._ask(self._next())

    def action_no(self) -> None:
        if self._face.current is not None:
            self._face.current.reject()
            self._ask(self._next())

    def action_back(self) -> None:
        """Go back to the arguments, or take back an asked `A`; else ask once, then reject the call and stop the turn."""
        question = self._face.current
        if question is None:
            return
        if self._face.shows_description:
            self.action_description()
        elif self._asked_key == "A":
            self._ask(question)
        elif self._is_again("escape", question, "escape again: reject and stop the turn"):
            question.reject(stop=True)
            self._ask(self._next())

    # Writing.

    def action_because(self) -> None:
        self._open(self._face.reason, "", "Why not? The model will read this.")

    def action_edit(self) -> None:
        if self._face.current is not None:
            self._editable = editable(self._face.arguments_of(self._face.current), self._mask)
            self._open(self._face.editor, self._editable.text, words.stand_ins(self._editable.values))

    def _open(self, field: Field, text: str, message: str) -> None:
        self._asked_key, self._has_complained = "", False
        self._quiet.begin()  # the field has the focus only later: what was typed behind the key decides nothing
        field.open(text)
        self._face.message = message
        self.call_after_refresh(self._face.arrange)

    def on_field_left(self, event: Field.Left) -> None:
        event.stop()
        field = self._face.field
        if field is not None:
            field.close()
            self.focus()
            self._ask(self._face.current)

    def on_field_taken(self, event: Field.Taken) -> None:
        event.stop()
        question, field = self._face.current, self._face.field
        if question is None or field is None:
            return
        if field is self._face.reason:
            question.reject(event.text.strip())
        elif not self._take_edit(question, event.text):
            return
        field.close()
        self.focus()
        self._ask(question if question.open else self._next())

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Make room for the text, and replace a complaint once the text is changed, without moving any line."""
        self.call_after_refresh(self._face.note_seen)
        if self._has_complained and event.text_area is self._face.editor:
            self._has_complained = False
            self._face.message = "press enter to check again"
            self._face.arrange()

    def _take_edit(self, question: Question, text: str) -> bool:
        """Keep a valid edit, to be shown and confirmed; else report the mistake and return False."""
        try:
            edited = read_edit(text, question.request.tool.schema, self._editable.values)
        except TuiHostError as error:
            self._face.message = visible(self._mask.values(str(error)), newlines=False)
            self._has_complained = True
            self._face.arrange()
            return False
        self._face.edits.pop(question.request.call, None)
        if edited != question.request.arguments:
            self._face.edits[question.request.call] = edited
        return True
