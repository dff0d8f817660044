"""The question over the chat: calls that wait for decisions, or what a server asks. Imported late, with chat and inspector."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeAlias

from tui_host.capture.visible import line
from tui_host.servers.server_questions import Elicitation, Login, SamplingRequest
from tui_host.tui.host_mask import mask_of
from tui_host.tui.web_addresses import open_in_browser
from tui_host.tui.widgets.approval.approval_lines import WIDE
from tui_host.tui.widgets.approval.approval_panel import Approval
from tui_host.tui.widgets.approval.approval_words import name_of
from tui_host.tui.widgets.asks.ask_panel import AskPanel

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.screen import Screen
    from textual.widget import Widget

    from tui_host.answers.masks import Mask
    from tui_host.chat.policy import Question
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.tui.open_asks import Asks, OpenAsk
    from tui_host.tui.widgets.transcript.transcript_view import Transcript

QuestionPanel: TypeAlias = "Approval | AskPanel"


def panel_of(ask: OpenAsk, asks: Asks, host: Host, mask: Mask) -> AskPanel:
    """Return the panel for a server's question."""
    from tui_host.tui.widgets.asks import elicitation_panels as elicitation
    from tui_host.tui.widgets.asks import sampling_panels as sampling

    kinds: dict[type, type[AskPanel]] = {Login: elicitation.LoginPanel, SamplingRequest: sampling.SamplingPanel}
    kind = kinds.get(type(ask.asked), sampling.ReviewPanel)
    if isinstance(ask.asked, Elicitation):
        kind = elicitation.VisitPanel if ask.asked.url else elicitation.FormPanel
    panel = kind(ask, mask=mask, decline_all=lambda: asks.decline_all(ask), behind=lambda: asks.behind(ask))
    if isinstance(panel, elicitation.FormPanel):
        panel.misfits = lambda schema, value: host.misfits(schema, value)  # noqa: PLW0108 - it comes when the host is ready
    elif isinstance(panel, elicitation.AddressPanel):
        panel.opener = lambda address: open_in_browser(address, host.settings.environment)
    return panel


class QuestionOverlay:
    """Shows the open questions over the chat, which is disabled meanwhile: one panel at a time, the oldest question first.

    Args:
        screen: The screen, with a container `#chat` around `#talk`.
        host: The host.
        asks: What servers ask.
        prompt: Gets the focus back when no question is left.
        shows_chat: Whether the chat is on the screen.
    """

    def __init__(
        self,
        screen: Screen[None],
        host: Host,
        asks: Asks,
        *,
        prompt: Widget,
        shows_chat: Callable[[], bool],
    ) -> None:
        self.panel: QuestionPanel | None = None  # the question; None while nothing is asked
        self._screen = screen
        self._host = host
        self._asks = asks
        self._prompt = prompt
        self._mask = mask_of(host)
        self._shows_chat = shows_chat
        self._asked: list[Question] = []  # the calls that wait, or were the last to do so
        self._taken: list[Question] = []  # what the approval shows
        self._calls_since = 0.0  # when the calls were asked about, in monotonic seconds

    def show(self, session: Session) -> None:
        """Show the question that is open now and was asked first."""
        asks, has_calls = self._asks.of(session), bool(session.open_questions())
        if not any(question.open for question in self._asked):
            self._calls_since = time.monotonic()
            self._asked = list(session.questions)
        panel = self.panel
        is_first = bool(asks) and not (has_calls and self._calls_since < asks[0].since)
        if isinstance(panel, AskPanel):
            if panel.ask in asks or (panel.stays and panel.ask.session in {"", session.id}):
                panel.look()
                return
            self.close()
        elif panel is not None:
            if has_calls and not is_first:
                self._take(panel, session)
                return
            self.close()
        if is_first:
            self._mount(panel_of(asks[0], self._asks, self._host, self._mask))
        elif has_calls:
            self._mount(self._approval(session))

    def _take(self, panel: Approval, session: Session) -> None:
        if session.questions != self._taken:
            self._taken = self._asked = list(session.questions)
            panel.take(self._taken)
        panel.look()

    def _approval(self, session: Session) -> Approval:
        screen = self._screen
        self._taken = self._asked = list(session.questions)

        def grant(question: Question) -> None:
            session.grant(question)
            name = name_of(question.request.tool)
            screen.notify(f"{name} runs unasked in this session from now on. /rules takes it back.", markup=False)

        return Approval(self._taken, on_grant=grant, mask=self._mask)

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
        screen.remove_class(WIDE)
        if had_focus and self._shows_chat():
            screen.set_focus(self._prompt)
        panel.remove()

    def focus(self) -> None:
        """Give the focus to the question."""
        panel = self.panel
        if panel is not None:
            self._screen.set_focus((panel.first_field if isinstance(panel, AskPanel) else None) or panel)

    @property
    def words(self) -> str:
        """What a server asks now; empty if nothing, or if a call is to be decided."""
        panel = self.panel
        return f"{line(panel.ask.server, 20)} {panel.ask.words}" if isinstance(panel, AskPanel) else ""

    def reserve_space(self, transcript: Transcript) -> None:
        """Shorten the chat so that the question does not cover the call; keep at least three lines if possible."""
        room = self._screen.query_one("#talk").size.height
        below = self._prompt.outer_size.height + 1
        covered = 0 if self.panel is None else self.panel.outer_size.height - below
        margin = max(0, min(covered, room - below - 3))
        if transcript.styles.margin.bottom != margin:
            transcript.styles.margin = (0, 0, margin, 0)
