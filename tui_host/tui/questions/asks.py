"""What servers ask of the person and nobody has answered yet, in the order of asking. The screens show these asks one by one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from tui_host.capture.visible import line

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.servers.server_questions import (
        Elicitation,
        ElicitationAnswer,
        Login,
        Reviewed,
        SamplingAnswer,
        SamplingRequest,
    )

T = TypeVar("T")
Asked: TypeAlias = "Elicitation | SamplingRequest | SamplingAnswer | Login"
Given: TypeAlias = "ElicitationAnswer | SamplingRequest | SamplingAnswer | str | None"


@dataclass(eq=False, slots=True, kw_only=True)
class OpenAsk:
    """A question of a server to the person. Takes one answer."""

    server: str  # the server's configured name
    asked: Asked  # the question
    words: str  # what the server does, after its name
    session: str  # the id of the session whose call it belongs to; empty if unknown
    answer: asyncio.Future[Given]  # cancelled by a server, or a call, that gave up
    since: float = field(default_factory=time.monotonic)
    is_wanted: bool = False  # whether the person asked for it; a login waits until then

    def give(self, answer: Given) -> None:
        """Answer the question; later answers have no effect."""
        if not self.answer.done():
            self.answer.set_result(answer)


@dataclass(eq=False, slots=True)
class Asks:
    """The open questions of servers, oldest first; implements `Answerer` for the app, and announces each question."""

    _host: Host
    _announce: Callable[[OpenAsk], None]
    _open: list[OpenAsk] = field(default_factory=list[OpenAsk])

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        # Imported once a server asks: the first frame needs none of it.
        from tui_host.servers.server_questions import ElicitationAnswer

        words = "asks you to visit a page" if request.url else "asks you to fill in a form"
        answer = await self._wait(request, request, words, ElicitationAnswer)
        return answer or ElicitationAnswer(action="decline")

    async def review(self, request: SamplingRequest, shown: Reviewed) -> Reviewed | None:
        words = "asks your model" if shown is request else "waits for your model's answer"
        return await self._wait(request, shown, words, type(shown))

    async def log_in(self, login: Login) -> str | None:
        return await self._wait(login, login, "asks you to log in", str)

    def of(self, session: Session | None) -> Sequence[OpenAsk]:
        """Return the open questions to show with a session: its own, if there is one, and those of no known session."""
        names = {""} if session is None else {"", session.id}
        return [ask for ask in self._open if not ask.answer.done() and ask.session in names]

    async def _wait(
        self, request: Elicitation | SamplingRequest | Login, asked: Asked, words: str, kind: type[T]
    ) -> T | None:
        """Show a question until it is answered, and say so at its call. A cancelled call closes the question."""
        server, call = request.server, getattr(request, "call", "")
        busy = [session for session in self._host.sessions.values() if session.busy]
        session = next((session for session in busy if _tell(session, server, call, words)), None)
        of, answer = "" if session is None else session.id, asyncio.get_running_loop().create_future()
        ask = OpenAsk(server=server, asked=asked, words=words, session=of, answer=answer)
        before = None if session is None else session.activity
        if session is not None and session.activity.waits != "you":
            session.wait_for("you", f"{line(server, 20)} {words}")
        self._open.append(ask)
        self._announce(ask)
        try:
            given = await answer
            return given if isinstance(given, kind) else None
        finally:
            answer.cancel()
            self._open.remove(ask)
            if session is not None and before is not None:
                _tell(session, server, call, "")
                is_address = bool(getattr(asked, "url", ""))  # which closes because the person was there
                if answer.cancelled() and not is_address:
                    did = words.replace("asks", "asked")
                    session.note(f"{server} {did}, and took the question back: nothing was sent")
                others = any(waiting.session == session.id for waiting in self._open if not waiting.answer.done())
                if session.activity.waits == "you" and session.activity.detail and not others:
                    session.wait_for("tools" if before.waits in {"", "you"} else before.waits, before.detail)


def _tell(session: Session, server: str, call: str, words: str) -> bool:
    """Say on the line of a running call of the last turn what its server waits for; returns whether there is such a call."""
    from tui_host.chat.conversation import CallItem

    for number, item in session.conversation.last_turn() if call else ():
        if isinstance(item, CallItem) and (item.call, item.server, item.state) == (call, server, "running"):
            session.conversation.put(number, replace(item, progress=words), keep=False)
            return True
    return False
