"""The approval over the chat, shown while calls wait for decisions. Imported late, with chat and inspector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_host.tui.widgets.approval.approval_panel import Approval
from tui_host.tui.widgets.approval.approval_words import name_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.screen import Screen

    from tui_host.chat.policy import Question
    from tui_host.chat.session import Session
    from tui_host.tui.glyphs import Glyphs
    from tui_host.tui.masks import Mask
    from tui_host.tui.widgets.prompt.prompt_field import Prompt
    from tui_host.tui.widgets.transcript.transcript_view import Transcript


class ApprovalOverlay:
    """Shows the open questions of a session over the chat, which is disabled meanwhile.

    Args:
        screen: The main screen.
        prompt: Gets the focus back when no question is left.
        mask: Hides secrets.
        glyphs: The glyphs to draw with.
        shows_chat: Whether the chat is on the screen.

    Attributes:
        panel: The approval; None while nothing is asked.
    """

    def __init__(
        self, screen: Screen[None], prompt: Prompt, mask: Mask, glyphs: Glyphs, shows_chat: Callable[[], bool]
    ) -> None:
        self.panel: Approval | None = None
        self._screen = screen
        self._prompt = prompt
        self._mask = mask
        self._glyphs = glyphs
        self._shows_chat = shows_chat
        self._asked: list[Question] = []

    def show(self, session: Session) -> None:
        """Show the questions that are open now."""
        if not session.open_questions():
            self.close()
        elif self.panel is None:
            self._open(session)
        elif session.questions != self._asked:
            self._asked = list(session.questions)
            self.panel.take(self._asked)

    def _open(self, session: Session) -> None:
        screen = self._screen
        self._asked = list(session.questions)

        def grant(question: Question) -> None:
            session.grant(question)
            name = name_of(question.request.tool)
            screen.notify(f"{name} runs unasked in this session from now on. /revoke takes it back.", markup=False)

        self.panel = Approval(self._asked, on_grant=grant, mask=self._mask, glyphs=self._glyphs)
        if self._shows_chat():
            screen.set_focus(None)  # a disabled prompt would hand its focus to a detail
        screen.query_one("#talk").disabled = True
        screen.query_one("#chat").mount(self.panel)

    def close(self) -> None:
        """Remove the approval, and give its focus to the prompt."""
        panel, self.panel = self.panel, None
        if panel is None:
            return
        screen = self._screen
        had_focus = panel.has_focus_within or screen.focused is None
        screen.query_one("#talk").disabled = False
        if had_focus and self._shows_chat():
            screen.set_focus(self._prompt)
        panel.remove()

    def reserve_space(self, transcript: Transcript) -> None:
        """End the chat above the approval, which would cover the call it asks about; three lines of chat stay if they can."""
        room = self._screen.query_one("#talk").size.height
        below = self._prompt.outer_size.height + 1
        covered = 0 if self.panel is None else self.panel.outer_size.height - below
        margin = max(0, min(covered, room - below - 3))
        if transcript.styles.margin.bottom != margin:
            transcript.styles.margin = (0, 0, margin, 0)
