"""The approval over the chat: server, tool, exact arguments, and a key for each decision."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget
from textual.widgets import TextArea
from typing_extensions import override

from tui_host.capture.visible import visible
from tui_host.chat.policy import Question
from tui_host.errors import TuiHostError
from tui_host.tui import textual_private
from tui_host.tui.glyphs import UNICODE, Glyphs
from tui_host.tui.masks import Mask
from tui_host.tui.widgets.approval import approval_words as words
from tui_host.tui.widgets.approval.approval_fields import Field
from tui_host.tui.widgets.approval.approval_lines import ApprovalFace
from tui_host.tui.widgets.approval.argument_edit import Editable, editable, read_edit
from tui_host.tui.widgets.approval.quiet_period import DECIDING, QUIET_SECONDS, Quiet


class Approval(Container, can_focus=True):
    """Asks questions one by one, and answers them by key.

    The app asks `swallow` for each key, paste and mouse button before anything else may have it, and calls `take` when
    the questions are others.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,a", "once", show=False),
        Binding("Y", "all", show=False),
        Binding("A", "session", show=False),
        Binding("e", "edit", show=False),
        Binding("n", "no", show=False),
        Binding("r", "because", show=False),
        Binding("escape", "stop", show=False),
        Binding("up", "scroll(-1)", show=False),
        Binding("down", "scroll(1)", show=False),
        Binding("pageup", "turn(-1)", show=False),
        Binding("pagedown", "turn(1)", show=False),
        Binding("home", "edge(-1)", show=False),
        Binding("end", "edge(1)", show=False),
        Binding("left", "other(-1)", show=False),
        Binding("right", "other(1)", show=False),
        Binding("p", "raw", show=False),
        Binding("d", "description", show=False),
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
        &.-ascii { border: ascii $warning 60%; }
        &:focus { border: round $warning; }
        &.-ascii:focus { border: ascii $warning; }
        & > Static { height: auto; }
        & > #approval-description { color: $text-muted; }
        & > #approval-note { text-align: right; color: $text-muted; }
        & > #approval-message { color: $text-warning; text-style: bold; }
    }
    """

    def __init__(
        self,
        questions: Sequence[Question],
        *,
        on_grant: Callable[[Question], None],
        mask: Mask | None = None,
        glyphs: Glyphs = UNICODE,
        quiet_seconds: float = QUIET_SECONDS,
        id: str | None = None,  # noqa: A002 - Textual's word
    ) -> None:
        super().__init__(id=id, classes="-ascii" if glyphs.more.isascii() else None)
        self._mask = mask or Mask()
        self._glyphs = glyphs
        self._face = ApprovalFace(self, questions, mask=self._mask, glyphs=glyphs)
        self._on_grant = on_grant
        self._quiet = Quiet(quiet_seconds)
        self._asked_session = False
        self._editable = Editable()
        self._has_complained = False  # about what stands in the field now
        self._ignored = ""  # the last key that came too early to decide

    @override
    def compose(self) -> ComposeResult:
        yield from self._face.parts

    def on_mount(self) -> None:
        """Take the focus if visible, and ask the first question."""
        if all(node.display for node in self.ancestors_with_self if isinstance(node, Widget)):
            self.focus()
        self._ask(self._next())

    # What the app calls.

    def take(self, questions: Sequence[Question]) -> None:
        """Take new questions, and go on if the current question was answered elsewhere."""
        known_ids = {id(question) for question in self._face.questions}
        added = [question for question in questions if id(question) not in known_ids]
        self._face.questions += added
        if self._face.current is None or not self._face.current.open:
            self._ask(self._next())
        elif added:
            self._face.draw()

    def swallow(self, event: events.Event) -> bool:
        """Whether an event came too early to decide, or means nothing here; for `App.on_event`, before all else."""
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
        self._tell_ready()
        return swallowed

    def note(self, event: events.Event) -> None:
        """Restart the quiet period after a key or click elsewhere."""
        self._quiet.swallow(event, here=False)

    def look_again(self) -> None:
        """Something else was on the screen: a new quiet period begins."""
        if self._face.current is not None:
            self._begin_quiet()

    @property
    def is_armed(self) -> bool:
        """Whether a key would decide now."""
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
            self._face.current = None
            self._quiet.begin()
            return
        if question is not self._face.current:
            self._face.is_raw = self._face.shows_description = False
        self._face.current = question
        self._asked_session = False
        self._face.message = message
        self._face.draw()
        self._begin_quiet()

    def _begin_quiet(self) -> None:
        self._quiet.begin()
        self._tell_ready()
        self.call_after_refresh(self._painted)

    def _painted(self) -> None:
        if textual_private.writes_waiting(self):
            self.set_timer(0.05, self._painted)
            return
        self._face.note_seen()
        self._quiet.painted(time.monotonic())
        self._tell_ready()

    @override
    def watch_has_focus(self, _has_focus: bool) -> None:
        """Coming back is a new look at the question; elsewhere keys decide nothing."""
        super().watch_has_focus(_has_focus)
        if _has_focus and self._face.field is not None:
            self._face.field.focus()  # what is being written is not decided by a letter
        elif _has_focus:
            self._begin_quiet()
        else:
            self._tell_ready()

    def _tell_ready(self) -> None:
        """Show whether keys decide now, and update when that changes."""
        if not self.has_focus:
            tab = "" if self._face.field is not None else "tab goes back to decide"
            self.border_subtitle = Content(tab)
            return
        wait = self._quiet.armed_at - time.monotonic()
        self.border_subtitle = words.readiness(ignored=self._ignored, is_ready=wait <= 0, more=self._glyphs.more)
        if 0 < wait < 60:
            self.set_timer(wait + 0.01, self._tell_ready)

    # Looking.

    def action_other(self, step: int) -> None:
        """Show the next or the previous waiting call."""
        left = [question for question in self._face.questions if question.open]
        if self._face.current in left and len(left) > 1:
            self._ask(left[(left.index(self._face.current) + step) % len(left)])

    def on_resize(self) -> None:
        """Share the room out anew."""
        self._face.arrange()

    def action_scroll(self, lines: int) -> None:
        """Scroll the arguments."""
        self._face.arguments.action_line(lines)

    def action_turn(self, pages: int) -> None:
        """Scroll the arguments by screenfuls."""
        self._face.arguments.action_page(pages)

    def action_edge(self, end: int) -> None:
        """To the first or the last line of the arguments."""
        if end > 0:
            self._face.arguments.action_last()
        else:
            self._face.arguments.action_first()

    def action_raw(self) -> None:
        """Switch between bytes and indented arguments."""
        self._face.is_raw = not self._face.is_raw
        self._face.shows_description = False
        self._face.draw()

    def action_description(self) -> None:
        """The server's description whole, in place of the arguments, and back."""
        self._face.shows_description = not self._face.shows_description
        self._face.draw()

    # Deciding.

    def _may_approve(self) -> Question | None:
        """Return the current question if its arguments were seen to the end; else scroll there, and say so."""
        question = self._face.current
        if question is None or not question.open or not self._face.is_readable:
            return None
        if self._face.shows_description:
            self.action_description()
            self._ask(question, "These are the arguments. Now decide again.")
            return None
        if (question.request.call, self._face.arguments_of(question)) not in self._face.seen:
            below = self._face.arguments.below
            self._ask(question, f"You hadn't seen {below} lines. Here is the end; now decide again.")
            self._face.arguments.action_last()
            return None
        return question

    def action_once(self) -> None:
        """Approve the current call."""
        question = self._may_approve()
        if question is not None:
            question.approve(edited=self._face.edits.get(question.request.call))
            self._ask(self._next())

    def action_all(self) -> None:
        """Approve all remaining calls if each was seen to the end; else show the first unseen call."""
        question = self._may_approve()
        if question is None:
            return
        left = [waiting for waiting in self._face.questions if waiting.open]
        for waiting in left:
            if (waiting.request.call, self._face.arguments_of(waiting)) not in self._face.seen:
                self._ask(waiting, "You haven't seen all of this call yet. Scroll to its end, then press Y.")
                return
        for waiting in left:
            waiting.approve(how="approved with all remaining calls", edited=self._face.edits.get(waiting.request.call))
        self._ask(self._next())

    def action_session(self) -> None:
        """Approve the tool for the session: the first press shows the rule, the second applies the rule."""
        asked, self._asked_session = self._asked_session, False
        question = self._may_approve()
        if question is None:
            return
        if not asked:
            name = words.name_of(question.request.tool)
            self._ask(
                question,
                f"Press A again to run every call of {name}, as defined now, without asking for the rest of this session.",
            )
            self._asked_session = True
            return
        question.approve(how="approved for the session", edited=self._face.edits.get(question.request.call))
        self._on_grant(question)
        self._ask(self._next())

    def action_no(self) -> None:
        """Reject the current call."""
        if self._face.current is not None:
            self._face.current.reject()
            self._ask(self._next())

    def action_stop(self) -> None:
        """Reject the current call, and stop the turn."""
        if self._face.current is not None:
            self._face.current.reject(stop=True)
            self._ask(self._next())

    # Writing.

    def action_because(self) -> None:
        """Ask for a reason."""
        self._open(self._face.reason, "", "Why not? The model will read this.")

    def action_edit(self) -> None:
        """Edit the arguments."""
        if self._face.current is not None:
            self._editable = editable(self._face.arguments_of(self._face.current), self._mask)
            self._open(self._face.editor, self._editable.text, words.stand_ins(self._editable.values))

    def _open(self, field: Field, text: str, message: str) -> None:
        self._asked_session = self._has_complained = False
        self._quiet.begin()  # the field has the focus only later: what was typed behind the key decides nothing
        field.open(text)
        self._face.message = message
        self.call_after_refresh(self._face.arrange)

    def on_field_left(self, event: Field.Left) -> None:
        """Back to the question."""
        event.stop()
        field = self._face.field
        if field is not None:
            field.close()
            self.focus()
            self._ask(self._face.current)

    def on_field_taken(self, event: Field.Taken) -> None:
        """Reject with the reason, or show the edit and ask again."""
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
        """Replace a complaint once the text is changed, without moving any line."""
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
