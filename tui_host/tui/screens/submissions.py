"""What the prompt asks, in which session: the one on screen, or a branch of it; and the drafts, kept with the session until then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from textual.screen import Screen

from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.tui.keys import key_of

if TYPE_CHECKING:
    from tui_host.chat.queued_messages import Queued
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.tui.widgets.prompt.prompt_field import Prompt

DRAFT_SECONDS = 1.0  # between two saves of a draft that is being written
KEYS_CHARACTERS = 4  # of a message that may be keys which were meant for the list
EDITING = "editing turn {}: enter asks anew · escape leaves"
Way: TypeAlias = Literal["edit", "before", "behind", "again"]


@dataclass(slots=True, eq=False)
class Submissions:
    """What the prompt may send into which session. A branch shares the turns before it, and leaves what stood there as it is."""

    _screen: Screen[None]
    _host: Host
    _prompt: Prompt
    _begin: Callable[[], Session]  # makes the first session when something is sent, or once chat and inspector exist
    _show: Callable[[Session], None]  # shows another session
    shown: Session | None = None  # the session on screen; None before there is one
    turns_before: int = 0  # of the session on screen, when it was opened
    _doubted: str = ""  # the message that another enter sends
    edited: int = 0  # the turn whose message is edited in the prompt, in the draft's place; 0 for none
    family: Sequence[str] = ()  # ids of the session and all that branch off it or with it, by their creation

    @property
    def session(self) -> Session:
        """The session on screen, begun if there is none yet."""
        if self.shown is None:
            self.shown = self._begin()
        return self.shown

    def is_meant(self) -> bool:
        """Whether what is written is meant as a message: as the first one in an opened session, a very short one needs a second enter."""
        text, before = self._prompt.message(), self._doubted
        is_first = 0 < self.session.turn == self.turns_before and not self.edited
        self._doubted = text if is_first and text.isascii() and len(text) <= KEYS_CHARACTERS else ""
        if self._doubted in {"", before}:
            return True
        words = f"«{text}» would go to the model, in this earlier session. Enter again sends it; ctrl+u deletes it."
        self._prompt.notify(f"{words} For keys of the list: tab, tab.", markup=False, timeout=8)
        return False

    def may_send(self, *, at_once: bool = True) -> bool:
        """Whether messages can be sent in this session, and would begin a turn `at_once`; if not, tells the user."""
        if self.session.is_foreign:
            what = "This is another host's session" if self.session.source == "tap" else "This was captured elsewhere"
            self._prompt.notify(f"{what}; {key_of('new')} begins a session of your own.", markup=False, timeout=6)
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

    def keep_draft(self) -> None:
        """Save the prompt's text with the session, if it has changed."""
        if self.edited:
            return
        draft = self._prompt.marks.whole(self._prompt.text)
        draft = draft if draft.strip() else ""  # blank text is no draft
        if draft != ("" if self.shown is None else self.shown.draft):
            self.session.draft = draft
            self.session.save()

    # Branches.

    def start(self, way: Way, turn: int) -> None:
        """Edit what began a turn, fork before or behind the turn, or ask it again, once the messages are read."""
        session = self.session
        if not self.may_send(at_once=False):
            return
        if session.messages.unread is None:  # at once: the next keys are meant for the prompt
            self._branch_off(session, way, turn)
        else:
            self._screen.run_worker(partial(self._read_first, session, way, turn), group="branches", exclusive=True)

    async def _read_first(self, session: Session, way: Way, turn: int) -> None:
        try:
            await asyncio.to_thread(session.messages.load)
        except TuiHostError as error:
            self._tell(error)
        else:
            if self.session is session:
                self._branch_off(session, way, turn)

    def _branch_off(self, session: Session, way: Way, turn: int) -> None:
        from tui_host.chat.opening import opening_of

        opening = opening_of(session.conversation, session.messages, turn)
        if way == "behind":
            self.show_branch(session, turn)
        elif opening is None:
            self._screen.notify(f"Nobody asked a model in turn {turn}.", markup=False, timeout=4)
        elif way == "edit" and opening.opened[0].origin:
            words = "is a server's prompt: f forks before it, where it can be filled in anew."
            self._screen.notify(line(f"{opening.opened[0].origin} {words}", 300), markup=False, timeout=6)
        elif way == "edit":
            self.keep_draft()
            self.edited, self._prompt.border_title = turn, EDITING.format(turn)
            self._prompt.bring(opening.title, opening.attached)
            self._prompt.focus()
        elif self.show_branch(session, turn - 1) and way == "again":
            self._host.send(self.session, "", filled=opening)
        elif self.session is not session:
            self._prompt.bring(opening.opened[0].origin or opening.title, opening.attached)

    def show_branch(self, session: Session, turn: int) -> bool:
        """Show a new branch; False once the user was told why there is none."""
        try:
            branch = self._host.sessions.branch(session, turn)
        except TuiHostError as error:
            self._tell(error)
            return False
        self._show(branch)
        return True

    def _tell(self, error: TuiHostError) -> None:
        self._screen.notify(line(str(error), 300), severity="warning", markup=False, timeout=8)

    @property
    def place(self) -> str:
        """Which of its branches is on screen: «branch 2 of 3»; empty for a session without branches."""
        if self.shown is None or len(self.family) < 2 or self.shown.id not in self.family:
            return ""
        return f"branch {self.family.index(self.shown.id) + 1} of {len(self.family)}"

    async def find_branches(self) -> None:
        """Find the branches of the session that is shown from now on."""
        try:
            self.family = await asyncio.to_thread(self._host.sessions.family, self.session)
        except TuiHostError:
            self.family = ()  # whoever wants to go to another one is told

    async def go(self, step: int) -> None:
        """Show the next branch, or the one before."""
        sessions, session, focused = self._host.sessions, self.session, self._screen.focused
        try:
            family = await asyncio.to_thread(sessions.family, session)
            if len(family) < 2:
                words = (
                    f"This session has no branches: in the chat, {key_of('fork')} on a message or an answer makes one."
                )
                self._screen.notify(words, markup=False, timeout=4)
                return
            place = family.index(session.id) + step
            target = await asyncio.to_thread(sessions.open, family[place % len(family)])
        except TuiHostError as error:
            self._tell(error)
            return
        if self.session is session:  # else the person has gone on meanwhile
            self._show(target)
            self._screen.set_focus(focused)  # the same key goes on
