"""Branches in the chat: edit a message and ask from there, fork, ask again, and go from branch to branch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from textual.screen import Screen

from tui_host.capture.visible import line
from tui_host.errors import TuiHostError

if TYPE_CHECKING:
    from tui_host.chat.attachments import Attached
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.tui.screens.submissions import Submissions
    from tui_host.tui.widgets.prompt.prompt_field import Prompt

Way: TypeAlias = Literal["edit", "before", "behind", "again"]


@dataclass(slots=True, eq=False)
class Branches:
    """The branches of the session on screen. A branch shares the turns before it, and leaves what stood there as it is."""

    _screen: Screen[None]
    _host: Host
    _prompt: Prompt
    _submissions: Submissions
    _show: Callable[[Session], None]  # shows another session
    family: Sequence[str] = ()  # ids of the session and all that branch off it or with it, by their creation

    @property
    def place(self) -> str:
        """Which of its branches is on screen: «branch 2 of 3»; empty for a session without branches."""
        shown = self._submissions.shown
        if shown is None or len(self.family) < 2 or shown.id not in self.family:
            return ""
        return f"branch {self.family.index(shown.id) + 1} of {len(self.family)}"

    def look(self) -> None:
        """Find the branches of the session that is shown from now on."""
        self._screen.run_worker(partial(self._find, self._submissions.session), group="family", exclusive=True)

    async def _find(self, session: Session) -> None:
        try:
            self.family = await asyncio.to_thread(self._host.sessions.family, session)
        except TuiHostError:
            self.family = ()  # whoever wants to go to another one is told

    # At a turn.

    def start(self, way: Way, turn: int) -> None:
        """Edit what began a turn, fork before or behind the turn, or ask it again, once the messages are read."""
        session = self._submissions.session
        if not self._submissions.may_send(at_once=False):
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
            if self._submissions.session is session:
                self._branch_off(session, way, turn)

    def _branch_off(self, session: Session, way: Way, turn: int) -> None:
        from tui_host.chat.opening import opening_of

        opening = opening_of(session.conversation, session.messages, turn)
        if way == "behind":
            self._show_branch(session, turn)
        elif opening is None:
            self._screen.notify(f"Nobody asked a model in turn {turn}.", markup=False, timeout=4)
        elif way == "edit" and opening.opened[0].origin:
            words = "is a server's prompt: f forks before it, where it can be filled in anew."
            self._screen.notify(line(f"{opening.opened[0].origin} {words}", 300), markup=False, timeout=6)
        elif way == "edit":
            self._submissions.edit(turn, opening.title, opening.attached)
        elif self._show_branch(session, turn - 1) and way == "again":
            self._host.send(self._submissions.session, "", filled=opening)
        elif self._submissions.session is not session:
            self._prompt.bring(opening.opened[0].origin or opening.title, opening.attached)

    def asked_in(self) -> Session:
        """Return the session in which the prompt's text would be asked: of what is edited, a branch to look at."""
        session = self._submissions.session
        if self._submissions.edited:
            session = self._host.sessions.branch(session, self._submissions.edited - 1)
            self._host.sessions.leave(session)
        return session

    def ask(self, text: str, attached: Sequence[Attached]) -> None:
        """Ask what was edited, in a branch."""
        session, turn = self._submissions.session, self._submissions.edited
        if self._show_branch(session, turn - 1):
            self._host.send(self._submissions.session, text, attached)
        else:
            self._prompt.put(text)

    def _show_branch(self, session: Session, turn: int) -> bool:
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

    # From branch to branch.

    async def go(self, step: int) -> None:
        """Show the next branch, or the one before."""
        sessions, session, focused = self._host.sessions, self._submissions.session, self._screen.focused
        try:
            family = await asyncio.to_thread(sessions.family, session)
            if len(family) < 2:
                words = "This session has no branches: in the chat, f on a message or an answer makes one."
                self._screen.notify(words, markup=False, timeout=4)
                return
            place = family.index(session.id) + step
            target = await asyncio.to_thread(sessions.open, family[place % len(family)])
        except TuiHostError as error:
            self._tell(error)
            return
        if self._submissions.session is session:  # else the person has gone on meanwhile
            self._show(target)
            self._screen.set_focus(focused)  # the same key goes on
