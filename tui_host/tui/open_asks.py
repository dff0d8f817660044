"""What servers ask of the person and nobody has answered yet, in the order of asking. The main screen shows these asks one by one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from tui_host.capture.visible import line

if TYPE_CHECKING:
    from tui_host.chat.session import Activity, Session
    from tui_host.host.host import Host
    from tui_host.servers.server_questions import Elicitation, ElicitationAnswer, Login, SamplingAnswer, SamplingRequest

# What servers ask is imported by the functions that are called once a server asks: the first frame needs none of it.


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A model's answer to review before it goes to the server."""

    request: SamplingRequest  # what the server asked
    answer: SamplingAnswer  # what the model answered


Asked: TypeAlias = "Elicitation | SamplingRequest | Review | Login"
Given: TypeAlias = "ElicitationAnswer | SamplingRequest | SamplingAnswer | str | None"


@dataclass(eq=False, kw_only=True)
class OpenAsk:
    """A question of a server to the person. Takes one answer."""

    server: str  # the server's configured name
    asked: Asked  # the question
    session: str = ""  # the id of the session whose call it belongs to; empty if unknown
    since: float = field(default_factory=time.monotonic)  # when the server asked, in monotonic seconds
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

    def decline(self) -> None:
        """Decline: a form is answered with `decline`, everything else is refused."""
        from tui_host.servers.server_questions import Elicitation, ElicitationAnswer

        self.give(ElicitationAnswer(action="decline") if isinstance(self.asked, Elicitation) else None)

    def withdraw(self) -> None:
        """Take the question back, unless it is answered."""
        if self.open:
            self.is_withdrawn = True
            self._done.set()

    async def wait(self) -> Given:
        """Wait for the answer."""
        await self._done.wait()
        return self._given

    @property
    def words(self) -> str:
        """What the server does, after its name."""
        from tui_host.servers.server_questions import Elicitation, Login, SamplingRequest

        match self.asked:
            case Elicitation(url=""):
                return "asks you to fill in a form"
            case Elicitation():
                return "asks you to visit a page"
            case SamplingRequest():
                return "asks your model"
            case Review():
                return "waits for your model's answer"
            case Login():
                return "asks you to log in"


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

        answer = await self._wait(OpenAsk(server=request.server, asked=request), request.call)
        return answer if isinstance(answer, ElicitationAnswer) else ElicitationAnswer(action="decline")

    async def review_request(self, request: SamplingRequest) -> SamplingRequest | None:
        """Show a sampling request before it goes to the model."""
        from tui_host.servers.server_questions import SamplingRequest

        answer = await self._wait(OpenAsk(server=request.server, asked=request), request.call)
        return answer if isinstance(answer, SamplingRequest) else None

    async def review_answer(self, request: SamplingRequest, answer: SamplingAnswer) -> SamplingAnswer | None:
        """Show the model's answer before it goes to the server."""
        from tui_host.servers.server_questions import SamplingAnswer

        reviewed = Review(request=request, answer=answer)
        given = await self._wait(OpenAsk(server=request.server, asked=reviewed), request.call)
        return given if isinstance(given, SamplingAnswer) else None

    async def log_in(self, login: Login) -> str | None:
        """Show a login's address; returns the address that the person pastes, None if the person gives up."""
        answer = await self._wait(OpenAsk(server=login.server, asked=login), "")
        return answer if isinstance(answer, str) else None

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
        ask.decline()

    # Waiting.

    async def _wait(self, ask: OpenAsk, call: str) -> Given:
        """Show a question until it is answered. A cancelled call closes it."""
        session = self._session_of(ask.server, call)
        ask.session = "" if session is None else session.id
        before = None if session is None else self._begin(session, ask, call)
        self._open.append(ask)
        self._announce(ask)
        try:
            return await ask.wait()
        finally:
            ask.withdraw()
            self._open.remove(ask)
            if session is not None and before is not None:
                self._end(session, before, call)

    def _session_of(self, server: str, call: str) -> Session | None:
        for session in self._host.sessions.values():
            if session.busy and call and _running(session, server, call) is not None:
                return session
        return None

    def _begin(self, session: Session, ask: OpenAsk, call: str) -> Activity:
        """Say in the session that the server asks; returns what the session waited for before."""
        _note(session, ask.server, call, ask.words)
        before = session.activity
        if before.waits != "you":
            session.wait_for("you", f"{line(ask.server, 20)} {ask.words}")
        return before

    def _end(self, session: Session, before: Activity, call: str) -> None:
        _note(session, "", call, "")
        others = [ask for ask in self._open if ask.open and ask.session == session.id]
        if session.activity.waits == "you" and session.activity.detail and not others:
            session.wait_for("tools" if before.waits in {"", "you"} else before.waits, before.detail)


def _running(session: Session, server: str, call: str) -> int | None:
    from tui_host.chat.conversation import CallItem

    for number, item in session.conversation.last_turn():
        if isinstance(item, CallItem) and item.call == call and server in {"", item.server} and item.state == "running":
            return number
    return None


def _note(session: Session, server: str, call: str, words: str) -> None:
    """Say on the line of a running call what its server waits for."""
    from tui_host.chat.conversation import CallItem

    number = _running(session, server, call)
    item = None if number is None else session.conversation[number]
    if number is not None and isinstance(item, CallItem):
        session.conversation.put(number, replace(item, progress=words), keep=False)
