"""Sends what the user types, and stores the draft with its session until then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_host.chat.attachments import Attached
    from tui_host.chat.queued_messages import Queued
    from tui_host.chat.session import Session
    from tui_host.tui.widgets.prompt.prompt_field import Prompt

DRAFT_SECONDS = 1.0  # between two saves of a draft that is being written
EDITING = "editing turn {}: enter asks anew · escape leaves"


@dataclass(slots=True)
class Submissions:
    """What the prompt may send into which session, and the drafts."""

    _begin: Callable[[], Session]  # makes the first session when something is sent, or once chat and inspector exist
    _prompt: Prompt
    shown: Session | None = None  # the session on screen; None before there is one
    edited: int = 0  # the turn whose message is edited in the prompt, in the draft's place; 0 for none

    @property
    def session(self) -> Session:
        """The session on screen, begun if there is none yet."""
        if self.shown is None:
            self.shown = self._begin()
        return self.shown

    def may_send(self, *, at_once: bool = True) -> bool:
        """Whether messages can be sent in this session, and would begin a turn `at_once`; if not, tells the user."""
        if self.session.is_foreign:
            what = "This is another host's session" if self.session.source == "tap" else "This was captured elsewhere"
            self._prompt.notify(f"{what}; ctrl+n begins a session of your own.", markup=False, timeout=6)
            return False
        if not at_once or self.edited:  # what was edited is asked in a branch
            return True
        if self.session.busy:
            words = "A turn is running. Do this when it has ended, or stop it with escape."
            if self.session.step_limit is not None:
                words = "The turn waits for an answer: tab goes to the chat, then 1 continues and 2 stops."
            self._prompt.notify(words, markup=False, timeout=4)
        return not self.session.busy

    def take_back(self, *, is_draft: bool) -> Queued | None:
        """Take the message that was queued last out of the queue, to be edited as the draft or dropped. None if none waits."""
        if self.shown is None or not self.shown.queued or self.edited:
            return None
        message = self.shown.queued.pop()
        self.shown.draft = message.text if is_draft else self.shown.draft
        self.shown.save()
        return message

    def edit(self, turn: int, text: str, attached: Mapping[str, Attached]) -> None:
        """Put what began a turn into the prompt; the draft stays with the session."""
        self.keep_draft()
        self.edited = turn
        self._prompt.bring(text, attached)
        self._prompt.border_title = EDITING.format(turn)
        self._prompt.focus()

    def leave_edit(self) -> None:
        """Put the draft back into the place of what is edited."""
        self.end_edit()
        self._prompt.put(self.session.draft)

    def end_edit(self) -> None:
        self.edited, self._prompt.border_title = 0, ""

    def keep_draft(self) -> None:
        """Save the prompt's text with the session, if it has changed."""
        if self.edited:
            return
        draft = self._prompt.marks.whole(self._prompt.text)
        draft = draft if draft.strip() else ""  # blank text is no draft
        if draft != ("" if self.shown is None else self.shown.draft):
            self.session.draft = draft
            self.session.save()
