"""The question over the chat: calls that wait for decisions, or what a server asks. Imported late, with chat and inspector."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui_host.answers.values import Values
from tui_host.capture.visible import line
from tui_host.servers.server_questions import Elicitation, Login
from tui_host.tui.host_mask import mask_of
from tui_host.tui.in_thread import in_thread
from tui_host.tui.questions.approval import Approval
from tui_host.tui.questions.arguments import name_of
from tui_host.tui.questions.elicitation import AddressPanel, AskPanel, FormPanel
from tui_host.tui.questions.sampling import SamplingPanel

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.screen import Screen
    from textual.widget import Widget

    from tui_host.chat.policy import Question
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.tui.questions.asks import Asks, OpenAsk
    from tui_host.tui.questions.panel import QuestionPanel
    from tui_host.tui.sources.live import SessionSource
    from tui_host.tui.widgets.transcript.transcript_view import Transcript


def panel_of(ask: OpenAsk, asks: Asks, host: Host) -> AskPanel:
    """Return the panel for a server's question."""
    match ask.asked:
        case Elicitation(url="") as asked:
            return FormPanel(ask, asked, asks, host)
        case Elicitation() | Login() as asked:
            return AddressPanel(ask, asked, asks, host)
        case asked:
            return SamplingPanel(ask, asked, asks, host)


class QuestionOverlay:
    """Shows the open questions over the chat, which is disabled meanwhile: one panel at a time, the oldest question first.

    Args:
        screen: The screen, with a container `#chat` around `#talk`.
        host: The host.
        asks: What servers ask.
        prompt: Gets the focus back when no question is left.
        shows_chat: Whether the chat is on the screen.
        source: Returns the rows in which values of arguments are looked for.
        defers_logins: Whether a login waits until `show_login`: servers want them at the start, while the person writes.
    """

    def __init__(
        self,
        screen: Screen[None],
        host: Host,
        asks: Asks,
        *,
        prompt: Widget,
        shows_chat: Callable[[], bool],
        source: Callable[[], SessionSource | None] = lambda: None,
        defers_logins: bool = False,
    ) -> None:
        self.panel: QuestionPanel | None = None  # the question; None while nothing is asked
        self.login: OpenAsk | None = None  # the login that waits for `show_login`
        self._screen = screen
        self._host = host
        self._asks = asks
        self._prompt = prompt
        self._shows_chat = shows_chat
        self._source = source
        self._defers_logins = defers_logins
        self._wanted: OpenAsk | None = None  # the login that the person asked to see
        self._asked: list[Question] = []  # the calls that the approval shows

    def show(self, session: Session) -> None:
        """Show an open question; what is shown stays until it is answered."""
        logins = [ask for ask in self._asks.of(session) if self._defers_logins and isinstance(ask.asked, Login)]
        self.login = next((ask for ask in logins if ask is not self._wanted), None)
        asks = [ask for ask in self._asks.of(session) if ask not in logins or ask is self._wanted]
        panel = self.panel
        is_staying = panel is not None and bool(session.open_questions())
        if isinstance(panel, AskPanel):
            is_staying = panel.ask in asks or (panel.stays and panel.ask.session in {"", session.id})
        if panel is None or not is_staying:
            self.close()
            if asks:
                self._mount(panel_of(asks[0], self._asks, self._host))
            elif session.open_questions():
                self._mount(self._approval(session))
            return
        if isinstance(panel, Approval) and session.questions != self._asked:
            self._asked = list(session.questions)
            panel.take(self._asked)
        panel.look()

    def show_login(self) -> bool:
        """Show the login that waits at the next look; returns whether there is one."""
        self._wanted = self.login
        return self._wanted is not None

    def _approval(self, session: Session) -> Approval:
        host = self._host
        self._asked = list(session.questions)

        def grant(question: Question) -> None:
            session.grant(question)
            words = f"{name_of(question.request.tool)} runs unasked in this session from now on. /rules ends it."
            self._screen.notify(words, markup=False)

        return Approval(
            self._asked,
            on_grant=grant,
            mask=mask_of(host),
            misfits=lambda schema, value: host.misfits(schema, value),  # noqa: PLW0108 - it comes when the host is ready
            notes=self._notes,
        )

    async def _notes(self, arguments: bytes) -> Mapping[str, str]:
        """Return which values of arguments stand in earlier results, once the records before the call are read."""
        source = self._source()
        if source is None:
            return {}
        await source.caught_up()
        made = asyncio.wrap_future(in_thread(lambda: Values(source).notes_on(json.loads(arguments))))
        await asyncio.wait([made])
        return {} if made.exception() else made.result()  # a call is decided without notes, if they cannot be made

    def _mount(self, panel: QuestionPanel) -> None:
        screen = self._screen
        self.panel = panel
        if self._shows_chat():
            screen.set_focus(None)  # a disabled prompt would hand its focus to a detail
        screen.query_one("#talk").disabled = True
        screen.query_one("#chat").mount(panel)

    def close(self) -> None:
        """Remove the question, and give its focus to the prompt."""
        panel, self.panel = self.panel, None
        if panel is None:
            return
        screen = self._screen
        had_focus = panel.has_focus_within or screen.focused is None
        screen.query_one("#talk").disabled = False
        if had_focus and self._shows_chat():
            screen.set_focus(self._prompt)
        panel.remove()

    def focus(self) -> None:
        """Give the focus to the question."""
        if self.panel is not None:
            self._screen.set_focus(self.panel.first_field)

    @property
    def words(self) -> str:
        """What a server asks now; empty if nothing, or if a call is to be decided."""
        ask = self.panel.ask if isinstance(self.panel, AskPanel) else self.login
        return f"{line(ask.server, 20)} {ask.words}" if ask is not None else ""

    def reserve_space(self, transcript: Transcript) -> None:
        """Shorten the chat so that the question does not cover the call; keep at least three lines if possible."""
        room = self._screen.query_one("#talk").size.height
        below = self._prompt.outer_size.height + 1
        covered = 0 if self.panel is None else self.panel.outer_size.height - below
        margin = max(0, min(covered, room - below - 3))
        if transcript.styles.margin.bottom != margin:
            transcript.styles.margin = (0, 0, margin, 0)
