"""What servers ask of the person and nobody has answered yet, in the order of asking. The main screen shows these asks one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from tui_host.capture.visible import line

if TYPE_CHECKING:
    from tui_host.chat.conversation import CallItem
    from tui_host.chat.session import Activity, Session
    from tui_host.host.host import Host
    from tui_host.servers.server_questions import Elicitation, ElicitationAnswer, Login, SamplingAnswer, SamplingRequest

# What servers ask is imported by the functions that are called once a server asks: the first frame needs none of it.


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A model's answer to review before it goes to the server."""

    request: SamplingRequest  # what the server asked
    answer: SamplingAnswer  # what the model answered


T = TypeVar("T")
Asked: TypeAlias = "Elicitation | SamplingRequest | Review | Login"
Given: TypeAlias = "ElicitationAnswer | SamplingRequest | SamplingAnswer | str | None"


@dataclass(eq=False, kw_only=True)
class OpenAsk:
    """A question of a server to the person. Takes one answer."""

    server: str  # the server's configured name
    asked: Asked  # the question
    session: str = ""  # the id of the session whose call it belongs to; empty if unknown
    is_withdrawn: bool = False  # nobody waits for an answer any more: the server, or its call, gave the question up
    _done: asyncio.Event = field(default_factory=asyncio.Event)
    _given: Given = None

    @property
    def open(self) -> bool:
        """Whether the question still takes an answer."""
        return not self._done.is_set()

    def give(self, answer: Given) -> None:
        """Answer the question; later answers have no effect."""
        if self.open:
            self._given = answer
            self._done.set()

    def refuse(self, how: Literal["decline", "cancel"]) -> None:
        """Decline, or close without an answer: a form and a page are answered so, everything else gets none."""
        from tui_host.servers.server_questions import Elicitation, ElicitationAnswer

        self.give(ElicitationAnswer(action=how) if isinstance(self.asked, Elicitation) else None)

    def withdraw(self) -> None:
        """Take the question back, unless it is answered."""
        if self.open:
            self.is_withdrawn = True
            self._done.set()

    @property
    def can_be_missed(self) -> bool:
        """Whether the person has to be told that the question is gone; a page and a login close because they were done."""
        return "form" in self.words or "model" in self.words

    async def wait(self, kind: type[T]) -> T | None:
        """Wait for an answer of a kind; None for another one."""
        await self._done.wait()
        return self._given if isinstance(self._given, kind) else None

    @property
    def words(self) -> str:
        """What the server does, after its name."""
        from tui_host.servers.server_questions import Elicitation, Login, SamplingRequest

        if isinstance(self.asked, Elicitation):
            return "asks you to visit a page" if self.asked.url else "asks you to fill in a form"
        if isinstance(self.asked, Login):
            return "asks you to log in"
        return "asks your model" if isinstance(self.asked, SamplingRequest) else "waits for your model's answer"


class Asks:
    """The open questions of servers, oldest first; implements `Answerer` for the app.

    Args:
        host: The host, whose sessions have the calls that servers ask in.
        announce: Called with each new question.
    """

    def __init__(self, host: Host, announce: Callable[[OpenAsk], None] = lambda _: None) -> None:
        self._host = host
        self._announce = announce
        self._open: list[OpenAsk] = []

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        """Ask the person to fill in a form or to visit a page."""
        from tui_host.servers.server_questions import ElicitationAnswer

        answer = await self._wait(request.server, request, request.call, ElicitationAnswer)
        return answer or ElicitationAnswer(action="decline")

    async def review_request(self, request: SamplingRequest) -> SamplingRequest | None:
        """Show a sampling request before it goes to the model."""
        from tui_host.servers.server_questions import SamplingRequest

        return await self._wait(request.server, request, request.call, SamplingRequest)

    async def review_answer(self, request: SamplingRequest, answer: SamplingAnswer) -> SamplingAnswer | None:
        """Show the model's answer before it goes to the server."""
        from tui_host.servers.server_questions import SamplingAnswer

        return await self._wait(request.server, Review(request=request, answer=answer), request.call, SamplingAnswer)

    async def log_in(self, login: Login) -> str | None:
        """Show a login's address; returns the address that the person pastes, None if the person gives up."""
        return await self._wait(login.server, login, "", str)

    # What the screen needs.

    def of(self, session: Session) -> Sequence[OpenAsk]:
        """Return the open questions to show with a session: its own, and those of no known session."""
        return [ask for ask in self._open if ask.open and ask.session in {"", session.id}]

    def behind(self, ask: OpenAsk) -> int:
        """Return the number of further questions of the same server, which come one by one."""
        status = None if self._host.pool is None else self._host.pool.status_of(ask.server)
        return 0 if status is None else max(0, status.questions - 1)

    def decline_all(self, ask: OpenAsk) -> None:
        """Decline all questions of a server, also those that it asks until it is connected again, and say so in the chats."""
        from tui_host.chat.session import note_turning

        note_turning(self._host.sessions.values(), self._host.settings, ask.server, "declined", "")
        if self._host.pool is not None:
            self._host.pool.server(ask.server).decline_all()
        ask.refuse("decline")

    # Waiting.

    async def _wait(self, server: str, asked: Asked, call: str, kind: type[T]) -> T | None:
        """Show a question until it is answered, and say so at its call. A cancelled call closes the question."""
        session = next(
            (session for session in self._host.sessions.values() if session.busy and _running(session, server, call)),
            None,
        )
        ask = OpenAsk(server=server, asked=asked, session="" if session is None else session.id)
        before = None if session is None else session.activity
        if session is not None:
            _say(session, server, call, ask.words)
            if session.activity.waits != "you":
                session.wait_for("you", f"{line(server, 20)} {ask.words}")
        self._open.append(ask)
        self._announce(ask)
        try:
            return await ask.wait(kind)
        finally:
            ask.withdraw()
            self._open.remove(ask)
            if session is not None and before is not None:
                self._go_on(session, before, ask, call)

    def _go_on(self, session: Session, before: Activity, ask: OpenAsk, call: str) -> None:
        """Let the session wait for what it waited for before, and say in the chat that an unanswered question was closed."""
        _say(session, ask.server, call, "")
        if ask.is_withdrawn and ask.can_be_missed:
            session.note(
                f"{ask.server} {ask.words.replace('asks', 'asked')}, and took the question back: nothing was sent"
            )
        waiting = [left for left in self._open if left.open and left.session == session.id]
        if session.activity.waits == "you" and session.activity.detail and not waiting:
            session.wait_for("tools" if before.waits in {"", "you"} else before.waits, before.detail)


def _running(session: Session, server: str, call: str) -> tuple[int, CallItem] | None:
    """Return a running call of the last turn, with its number."""
    from tui_host.chat.conversation import CallItem

    for number, item in session.conversation.last_turn() if call else ():
        is_call = isinstance(item, CallItem) and (item.call, item.server, item.state) == (call, server, "running")
        if is_call and isinstance(item, CallItem):
            return number, item
    return None


def _say(session: Session, server: str, call: str, words: str) -> None:
    """Say on the line of a running call what its server waits for."""
    running = _running(session, server, call)
    if running is not None:
        number, item = running
        session.conversation.put(number, replace(item, progress=words), keep=False)
