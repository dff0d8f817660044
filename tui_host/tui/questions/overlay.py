"""Which question is shown over the chat, and when: calls that wait for decisions, or what a server asks. Imported late."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.screen import Screen
from textual.widget import Widget

from tui_host.capture.visible import line
from tui_host.chat.session import Session
from tui_host.host.host import Host
from tui_host.servers.server_questions import Elicitation, Login
from tui_host.tui.questions.approval import Approval
from tui_host.tui.questions.ask_panels import AddressPanel, AskPanel, FormPanel
from tui_host.tui.questions.asks import Asks, OpenAsk
from tui_host.tui.sources.live import SessionSource


@dataclass(eq=False, slots=True)
class QuestionOverlay:
    """Shows the open questions over the chat, which is disabled meanwhile: one panel at a time, the oldest question first.

    A login waits until it is wanted: servers ask for them at the start, while the person writes.
    """

    _screen: Screen[None]
    _host: Host
    _asks: Asks
    _prompt: Widget
    _source: Callable[[], SessionSource | None]
    panel: Approval | AskPanel | None = None  # the question; None while nothing is asked
    login: OpenAsk | None = None  # the login that waits until it is wanted

    def show(self, session: Session) -> None:
        """Show an open question; what is shown stays until it is answered."""
        waiting = self._asks.of(session)
        asks = [ask for ask in waiting if ask.is_wanted or not isinstance(ask.asked, Login)]
        self.login = next((ask for ask in waiting if ask not in asks), None)
        is_staying = bool(session.open_questions())
        if isinstance(self.panel, Approval) and asks:  # a server's question comes before the calls of the next step
            is_staying = self.panel.current.open
        if isinstance(self.panel, AskPanel):
            panel, ask = self.panel, self.panel.ask
            # One that nobody waits for any more stays if it was written in: keys meant for it must not reach the prompt.
            is_kept = panel.STAYS and ask.answer.cancelled() and not panel.is_left
            is_staying = ask in asks or (is_kept and ask.session in {"", session.id})
        if self.panel is not None and is_staying:
            self.panel.look()
            return
        self.close()
        asked = asks[0].asked if asks else None
        if isinstance(asked, Login) or (isinstance(asked, Elicitation) and asked.url):
            self.panel = AddressPanel(asks[0], asked, self._host)
        elif asked is not None:
            self.panel = FormPanel(asks[0], asked, self._host)
        elif session.open_questions():
            self.panel = Approval(session, self._host, self._source)
        else:
            return
        if not self._screen.has_class("-inspector"):  # which hides the chat
            self._screen.set_focus(None)  # a disabled prompt would hand its focus to a detail
        self._screen.query_one("#talk").disabled = True
        self._screen.query_one("#chat").mount(self.panel)

    def close(self) -> None:
        """Remove the question, and give its focus to the prompt."""
        panel, self.panel = self.panel, None
        if panel is None:
            return
        had_focus = panel.has_focus_within or self._screen.focused is None
        self._screen.query_one("#talk").disabled = False
        if had_focus and not self._screen.has_class("-inspector"):
            self._screen.set_focus(self._prompt)
        panel.remove()

    @property
    def words(self) -> str:
        """What a server asks now; empty if nothing, or if a call is to be decided."""
        ask = self.panel.ask if isinstance(self.panel, AskPanel) else self.login
        return f"{line(ask.server, 20)} {ask.words}" if ask is not None else ""
