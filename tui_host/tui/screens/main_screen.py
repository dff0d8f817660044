"""The main screen: chat left, inspector right, the approval over the chat."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.widget import Widget
from typing_extensions import override

from tui_host.tui.markdown.parser import loaded
from tui_host.tui.screens.speaking import SpeakingScreen
from tui_host.tui.sources.session_sources import source_of
from tui_host.tui.suggestions import Offers, offers
from tui_host.tui.widgets import status_lines as status
from tui_host.tui.widgets.background import Covered, CoveredContainer, CoveredVertical
from tui_host.tui.widgets.first_frame import FROM_FILE, FirstChat, FirstInspector
from tui_host.tui.widgets.prompt.prompt_field import PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.llm.probe import LocalServer
    from tui_host.tui.glyphs import Glyphs
    from tui_host.tui.sources.live import SessionSource
    from tui_host.tui.widgets.inspector.inspector_pane import Inspector
    from tui_host.tui.widgets.transcript.empty_chat import Empty
    from tui_host.tui.widgets.transcript.transcript_view import Transcript

LOOK_ON_SECONDS = 1.0
"""How long each look is a whole one after something was done by hand: lists glide, pages are made."""
BEHIND_SECONDS = 0.5
"""How often what is read of earlier is drawn while more of it comes."""


class MainScreen(Covered, SpeakingScreen):
    """Chat and inspector of one session.

    Its first frame is light. What takes longer to import is put in by `complete`; until then look-alikes stand there, and the
    prompt takes every key.

    Args:
        host: Whose sessions.
        begin: Gives the session to show first; asked when something is sent, or when all is there.
        glyphs: The marks to draw with.
        reading: What chat and list say while that session is read from a file, until it can tell so itself.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Stop", show=False)]
    DEFAULT_CSS = """
    MainScreen {
        layout: vertical;
        & > #header { background: $panel; }
        & > #keys { background: $panel; }
        & #body { height: 1fr; }
        & #chat { width: 2fr; layers: below above; }
        & #talk { layer: below; height: 1fr; }
        & #paper { height: 1fr; layers: below above; }
        & #paper Transcript { height: 1fr; }
        & #waiting { height: 1; }
        & Approval { layer: above; dock: bottom; }
        & #wires { width: 3fr; layers: below above; }
        & FirstChat, & FirstInspector { layer: above; width: 100%; height: 100%; }
        & Inspector, & FirstInspector { border-left: solid $panel; }
        /* What is covered by what is in it need not be drawn itself. (It has no size of its own then: nobody asks these.) */
        & #body, & #paper, & #wires { visibility: hidden; }
        & #chat, & #paper > *, & #wires > * { visibility: visible; }
        &.-inspector #chat { display: none; }
        &.-chat #wires { display: none; }
        &.-inspector Inspector { border-left: none; }
    }
    """

    def __init__(self, host: Host, begin: Callable[[], Session], glyphs: Glyphs, reading: str = "") -> None:
        super().__init__(host, begin, glyphs)
        self._transcript: Transcript | None = None
        self._inspector: Inspector | None = None
        self._held_arrangements = 0
        self._has_first = True
        self._reading = reading
        self._offers = offers(host.settings)
        self._source: SessionSource | None = None
        self._is_awaited = False  # the chat of a session that was just opened, which nobody has seen yet
        self._empty: str | None = None
        self._seen: tuple[object, ...] = ()
        self._is_settled = False
        self._draw_at = 0.0
        self._look_on_until = 0.0
        self._lines = status.Lines(host, glyphs)

    @override
    def compose(self) -> ComposeResult:
        yield self._lines.header
        with Horizontal(id="body"):
            with CoveredContainer(id="chat"), CoveredVertical(id="talk"):
                yield Container(FirstChat(self._offered), id="paper")
                yield self._lines.waiting
                yield self._prompt
            yield Container(FirstInspector(self._glyphs, self._reading), id="wires")
        yield self._lines.keys

    def on_mount(self) -> None:
        """The prompt has the focus."""
        self._prompt.focus()
        self._prompt.quick = dict(self._offered.questions)
        self._prompt.invite(self._invitation())
        self._look_at_lines()

    @property
    def is_complete(self) -> bool:
        """Whether chat and inspector are there; without them there is little to look at."""
        return self._transcript is not None

    @property
    def is_whole(self) -> bool:
        """Whether nothing of the first frame stands in their places any more."""
        return self.is_complete and not self.query("FirstChat, FirstInspector")

    async def complete(self) -> None:
        """Put chat and inspector under what stands in their places, and take that away once they are drawn."""
        if self.is_complete:
            return
        from tui_host.tui.widgets.inspector.inspector_pane import Inspector
        from tui_host.tui.widgets.transcript.transcript_view import Transcript

        transcript = Transcript(
            self._session.conversation,
            empty=self._made_empty(),
            glyphs=self._glyphs,
            mask=self._mask.marks,
            id="transcript",
        )
        inspector = Inspector(glyphs=self._glyphs, reading=self._reading)
        await self.query_one("#paper").mount(transcript)
        await self.query_one("#wires").mount(inspector)
        self._transcript, self._inspector = transcript, inspector
        transcript.show(self._session.conversation)  # which may be another one by now
        self.look()
        for _ in range(self._held_arrangements):
            self.next_arrangement()

    @property
    @override
    def focus_chain(self) -> list[Widget]:
        """As the screen reads, but the prompt first: prompt, chat, list, details."""
        chain = super().focus_chain
        return [
            *(each for each in chain if each is self._prompt),
            *(each for each in chain if each is not self._prompt),
        ]

    # What is on screen.

    def show_session(self, session: Session) -> None:
        """Another session's chat and wires."""
        self.speak_in(session)
        self._source = None
        if self._transcript is not None:
            self._transcript.show(session.conversation)
        self._is_awaited = True
        self.look()
        self.call_after_refresh(self._read_wires)
        if self._approval is None and self.shows_chat:
            self.set_focus(self._prompt)

    def _read_wires(self) -> None:
        """The chat is painted; now there is time for what was recorded of it."""
        self._is_awaited = False
        self.look()

    @override
    def look(self) -> None:
        """Take in what is new; paints only what changed."""
        transcript, inspector = self._transcript, self._inspector
        if transcript is None or inspector is None or not self.is_mounted:
            return
        self._seen = self._present()
        if (self._source is None or self._source.is_stale) and self._host.recorder is not None:
            self._source = source_of(self._host, self._session)
            transcript.show(self._session.conversation)
            inspector.show(self._source)
            self._say_what_is_empty(transcript)
        is_behind = self._source is not None and self._source.is_behind
        is_due = time.monotonic() >= self._draw_at
        is_drawn = is_behind and is_due  # while much is to come, one look reads and the next one draws
        if self._source is not None and not self._is_awaited and not is_drawn:
            self._source.look()
            self._say_what_is_empty(transcript)
        if is_due or not is_behind:
            self._draw_at = time.monotonic() + BEHIND_SECONDS
            inspector.sync()
            transcript.sync()
        self._prompt.quick = transcript.quick
        self._prompt.invite(self._invitation())
        self.look_at_questions()
        self.keep_the_end_in_view(transcript)
        self.keep_draft_at_times()
        self._look_at_lines()
        is_read = self._source is None or self._source.is_settled
        self._is_settled = is_read and inspector.is_settled and transcript.view_width > 0
        if self._is_settled and self._has_first:
            self._has_first = False
            self.call_after_refresh(self.query("FirstChat, FirstInspector").remove)

    def _invitation(self) -> str:
        """What can be done in the prompt: ask, answer the model's question, or nothing in a session from elsewhere."""
        if read_only := FROM_FILE if self._is_awaiting_file else "" if self._source is None else self._source.read_only:
            return read_only
        answers = list(self._prompt.quick) if self._source is not None and len(self._session.conversation) else []
        if not answers:
            return PLACEHOLDER
        keys = answers[0] if len(answers) == 1 else f"{answers[0]} to {answers[-1]}"
        return f"{keys} answers, or write your own.  / commands"

    def _say_what_is_empty(self, transcript: Transcript) -> None:
        """In a chat without a message: what can be tried, or what a tapped host would have to do. What has come is drawn in its place."""
        words = None if self._source is None else self._source.empty
        if words != self._empty and not self._session.conversation:
            self._empty = words
            transcript.set_empty(self._made_empty())

    def _made_empty(self) -> Empty:
        from tui_host.tui.widgets.transcript.empty_chat import Empty

        questions, lines = self._offered if self._empty is None else ((), (self._empty,))
        return Empty(questions=questions, lines=lines)

    @property
    def _is_awaiting_file(self) -> bool:
        """Whether what is on screen will come from a file, and there is nothing yet that could tell so."""
        if not self._reading or self._source is not None:
            return False
        return self._shown is None or self._shown.is_foreign

    @property
    def _offered(self) -> Offers:
        """What stands in the chat of a session that has no source yet, or none that says so."""
        return Offers((), (self._reading,)) if self._is_awaiting_file else self._offers

    @property
    def has_news(self) -> bool:
        """Whether a look may find something. Costs next to nothing: it is asked at screen rate."""
        return self.is_complete and (
            self._session.busy  # a clock runs
            or self._approval is not None  # it is laid out, and its quiet period passes
            or not self._is_settled
            or (self._source is not None and self._source.is_stale)  # found by the last look; the next begins anew
            or self._draft_is_new
            or time.monotonic() < self._look_on_until
            or self._seen != self._present()
        )

    def _present(self) -> tuple[object, ...]:
        """What a look depends on, as revisions and other values that are quickly compared."""
        return (
            status.told_in_header(self._host, self._session),
            self._session.conversation.revision,
            len(self._session.open_questions()),
            self._host.recorder is not None if self._source is None else self._source.news,
            self.size,
            self.arrangement,
            loaded(),
        )

    def _look_at_lines(self) -> None:
        foreign = "" if self._source is None else self._source.foreign
        self._lines.look(self._shown, max(self.size.width - 2, 1), foreign=foreign, shows_chat=self.shows_chat)

    @property
    def source(self) -> SessionSource | None:
        """What the inspector reads from, None before the host is open."""
        return self._source

    def current_source(self) -> tuple[str, str]:
        """What is copied from the prompt, where nothing is selected: the chat's current item, else its last."""
        return ("", "") if self._transcript is None else self._transcript.current_source()

    def copy_code(self) -> None:
        """Copy the code of the chat's current answer, else of its last one; once more, the next block."""
        if self._transcript is not None:
            self._transcript.action_copy_code()

    def offer(self, local: Sequence[LocalServer]) -> None:
        """Say in an empty chat which model servers answer on this machine."""
        self._offers = offers(self._host.settings, local)
        if self._transcript is not None and self._empty is None:
            self._transcript.set_empty(self._made_empty())

    def look_on(self) -> None:
        """Something was done by hand: look whole for a while."""
        self._look_on_until = time.monotonic() + LOOK_ON_SECONDS

    # What a person does.

    def action_close(self) -> None:
        """From looking around back to the question; else stop the turn. Never quits."""
        if self._approval is None:
            self._host.stop_turn(self._session)
        elif self.shows_chat:
            self.set_focus(self._approval)
        else:
            self.next_arrangement()

    # Who has the screen.

    @property
    @override
    def is_reading(self) -> bool:
        """Whether the focus is in the inspector."""
        return self._inspector is not None and self._inspector.has_focus_within

    @override
    def next_arrangement(self) -> None:
        """The next one; before all is there it is kept in mind."""
        if self.is_complete:
            super().next_arrangement()
        else:
            self._held_arrangements += 1

    @override
    def take_focus(self) -> None:
        """The list where the inspector is alone, else the approval or the prompt; at once, for the next key may be there."""
        if self.arrangement == "inspector" and self._inspector is not None:
            self.set_focus(self._inspector.ladder)
        else:
            self.set_focus(self._approval or self._prompt)
