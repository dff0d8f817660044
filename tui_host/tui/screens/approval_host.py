"""A screen over whose chat the approval comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import events

from tui_host.tui.screens.split_layout import ArrangedScreen
from tui_host.tui.widgets.prompt.prompt_field import Prompt

if TYPE_CHECKING:
    from tui_host.chat.policy import Question
    from tui_host.chat.session import Session
    from tui_host.tui.glyphs import Glyphs
    from tui_host.tui.masks import Mask
    from tui_host.tui.widgets.approval.approval_panel import Approval
    from tui_host.tui.widgets.transcript.transcript_view import Transcript


class AskingScreen(ArrangedScreen):
    """Puts the questions of a session's turn before the person; meanwhile the chat's half is disabled.

    Args:
        begin: Gives the session to show first; asked when something is sent, or when all is there.
        prompt: Has the focus again when nothing is asked any more.
        mask: Hides secrets.
        glyphs: The marks to draw with.
    """

    def __init__(self, begin: Callable[[], Session], prompt: Prompt, mask: Mask, glyphs: Glyphs) -> None:
        super().__init__()
        self._begin = begin
        self._shown: Session | None = None
        self._prompt = prompt
        self._mask = mask
        self._glyphs = glyphs
        self._approval: Approval | None = None
        self._asked: list[Question] = []

    @property
    def _session(self) -> Session:
        """The session that is shown."""
        if self._shown is None:
            self._shown = self._begin()
        return self._shown

    @property
    def approval(self) -> Approval | None:
        """The approval, None while nothing is asked."""
        return self._approval

    def look_at_questions(self) -> None:
        """Ask what is asked now, and nothing else."""
        session = self._session
        if not session.open_questions():
            self.put_away()
        elif self._approval is None:
            self._ask(session)
        elif session.questions != self._asked:
            self._asked = list(session.questions)
            self._approval.take(self._asked)

    def _ask(self, session: Session) -> None:
        from tui_host.tui.widgets.approval.approval_panel import Approval

        self._asked = list(session.questions)
        self._approval = Approval(self._asked, on_grant=self._granted, mask=self._mask, glyphs=self._glyphs)
        if self.shows_chat:
            self.set_focus(None)  # what is disabled hands its focus to the next one: that would be a detail
        self.query_one("#talk").disabled = True
        self.query_one("#chat").mount(self._approval)

    def put_away(self) -> None:
        """Nothing is asked here any more."""
        approval, self._approval = self._approval, None
        if approval is None:
            return
        had_focus = approval.has_focus_within or self.focused is None
        self.query_one("#talk").disabled = False
        if had_focus and self.shows_chat:
            self.set_focus(self._prompt)
        approval.remove()

    def keep_the_end_in_view(self, transcript: Transcript) -> None:
        """The approval covers what it is about, unless the chat ends above it; three lines of the chat stay if they can."""
        room = self.query_one("#talk").size.height
        below = self._prompt.outer_size.height + 1
        covered = 0 if self._approval is None else self._approval.outer_size.height - below
        margin = max(0, min(covered, room - below - 3))
        if transcript.styles.margin.bottom != margin:
            transcript.styles.margin = (0, 0, margin, 0)

    def _granted(self, question: Question) -> None:
        """Allow the tool for the session, and say how that is taken back."""
        from tui_host.tui.widgets.approval.approval_words import name_of

        self._session.grant(question)
        name = name_of(question.request.tool)
        self.notify(f"{name} runs unasked in this session from now on. /revoke takes it back.", markup=False)

    def on_screen_resume(self) -> None:
        """Coming back from another screen is a new look at the question."""
        if self._approval is not None:
            self._approval.look_again()

    def swallow(self, event: events.Event) -> bool:
        """Whether a key or click came too early to decide."""
        return self._approval is not None and self._approval.swallow(event)

    def note(self, event: events.Event) -> None:
        """A key or click on another screen: a question here is not answered by the next one."""
        if self._approval is not None:
            self._approval.note(event)
