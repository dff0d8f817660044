"""The main screen: chat left, inspector right, the approval over the chat."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.message import Message
from textual.widget import Widget
from textual.widgets import TextArea
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.tui.keys import ACTIONS
from tui_host.tui.markdown.parser import loaded
from tui_host.tui.masks import mask_of
from tui_host.tui.offers import offers
from tui_host.tui.screens.painted import PaintedScreen
from tui_host.tui.widgets import status
from tui_host.tui.widgets.covered import Covered, CoveredContainer, CoveredVertical
from tui_host.tui.widgets.first import FirstChat, FirstInspector
from tui_host.tui.widgets.prompt.field import Prompt

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tui_host.chat.policy import Question
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.llm.probe import LocalServer
    from tui_host.tui.glyphs import Glyphs
    from tui_host.tui.source import SessionSource
    from tui_host.tui.widgets.approval.panel import Approval
    from tui_host.tui.widgets.inspector.pane import Inspector
    from tui_host.tui.widgets.transcript.view import Transcript

Arrangement: TypeAlias = Literal["both", "inspector", "chat"]
NEXT: dict[Arrangement, Arrangement] = {"both": "inspector", "inspector": "chat", "chat": "both"}
NARROW = 100
"""Columns below which chat and inspector take turns."""
AS_TEXT = "A space before the / sends it as text."
LOOK_ON_SECONDS = 1.0
"""How long each look is a whole one after something was done by hand: lists glide, pages are made."""
RECALLED = 1000
"""So many of the last messages of an opened session come back with `up`."""
DRAFT_SECONDS = 1.0
"""How often at most the draft is put on the disk while it is written."""


class MainScreen(Covered, PaintedScreen):
    """Chat and inspector of one session.

    Its first frame is light. What takes longer to import is put in by `complete`; until then look-alikes stand there, and the
    prompt takes every key.

    Args:
        host: Whose sessions.
        begin: Gives the session to show first; asked when something is sent, or when all is there.
        glyphs: The marks to draw with.
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

    class CommandAsked(Message):
        """A `/name` of the table of keys was typed."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, host: Host, begin: Callable[[], Session], glyphs: Glyphs) -> None:
        super().__init__()
        self._host = host
        self._begin = begin
        self._shown: Session | None = None
        self._transcript: Transcript | None = None
        self._inspector: Inspector | None = None
        self._held_arrangements = 0
        self._has_first = True
        self._glyphs = glyphs
        self._mask = mask_of(host, glyphs)
        self._offers = offers(host.settings)
        self._wanted: Arrangement = "both"
        self._side: Arrangement = "chat"  # which one of the two where there is room for one
        self._is_narrow = False
        self._source: SessionSource | None = None
        self._approval: Approval | None = None
        self._asked: list[Question] = []
        self._draft_is_new = False
        self._draft_kept_at = 0.0
        self._seen: tuple[object, ...] = ()
        self._in_header: tuple[object, ...] = ()
        self._is_settled = False
        self._look_on_until = 0.0
        self._header, self._waiting, self._keys = (status.Line(id=name) for name in ("header", "waiting", "keys"))
        self._prompt = Prompt(
            commands=[(action.name, action.help) for action in ACTIONS],
            may_send=lambda: not self._session.busy,
            glyphs=glyphs,
            id="prompt",
        )

    @override
    def compose(self) -> ComposeResult:
        yield self._header
        with Horizontal(id="body"):
            with CoveredContainer(id="chat"), CoveredVertical(id="talk"):
                yield Container(FirstChat(self._offers), id="paper")
                yield self._waiting
                yield self._prompt
            yield Container(FirstInspector(self._glyphs), id="wires")
        yield self._keys

    def on_mount(self) -> None:
        """The prompt has the focus."""
        self._prompt.focus()
        self._prompt.quick = dict(self._offers.questions)
        self._look_at_lines()

    @property
    def _session(self) -> Session:
        """The session that is shown."""
        if self._shown is None:
            self._shown = self._begin()
        return self._shown

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
        from tui_host.tui.widgets.inspector.pane import Inspector
        from tui_host.tui.widgets.transcript.empty import Empty
        from tui_host.tui.widgets.transcript.view import Transcript

        offered = self._offers
        transcript = Transcript(
            self._session.conversation,
            empty=Empty(questions=offered.questions, lines=offered.lines),
            glyphs=self._glyphs,
            mask=self._mask.marks,
            id="transcript",
        )
        inspector = Inspector(glyphs=self._glyphs)
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
        """Another session's chat and wires; the draft of the one that leaves is kept with it."""
        self.keep_draft()
        self._shown = session
        self._source = None
        self._put_away()
        self._prompt.put(session.draft)
        self._draft_is_new = False
        self._prompt.remember(*session.conversation.said(RECALLED))
        if self._transcript is not None:
            self._transcript.show(session.conversation)
        self.look()
        if self._approval is None and self._shows_chat:
            self._prompt.focus()

    def look(self) -> None:
        """Take in what is new; paints only what changed."""
        transcript, inspector = self._transcript, self._inspector
        if transcript is None or inspector is None or not self.is_mounted:
            return
        self._seen = self._present()
        if self._source is None and self._host.recorder is not None:
            from tui_host.tui.source import SessionSource

            self._source = SessionSource(self._host, self._session)
            inspector.show(self._source)
        if self._source is not None:
            self._source.look()
        inspector.sync()
        transcript.sync()
        self._prompt.quick = {} if self._session.turn else transcript.questions
        self._look_at_questions()
        self._keep_the_end_in_view(transcript)
        if self._draft_is_new and time.monotonic() - self._draft_kept_at >= DRAFT_SECONDS:
            self.keep_draft()
        self._look_at_lines()
        is_read = self._source is None or self._source.is_settled
        self._is_settled = is_read and inspector.is_settled and transcript.view_width > 0
        if self._is_settled and self._has_first:
            self._has_first = False
            self.call_after_refresh(self.query("FirstChat, FirstInspector").remove)

    @property
    def has_news(self) -> bool:
        """Whether a look may find something. Costs next to nothing: it is asked at screen rate."""
        return self.is_complete and (
            self._session.busy  # a clock runs
            or self._approval is not None  # it is laid out, and its quiet period passes
            or not self._is_settled
            or self._draft_is_new
            or time.monotonic() < self._look_on_until
            or self._seen != self._present()
        )

    def _present(self) -> tuple[object, ...]:
        """What a look depends on, as revisions and other values that are quickly compared."""
        recorder = self._host.recorder
        return (
            status.told_in_header(self._host, self._session),
            self._session.conversation.revision,
            len(self._session.open_questions()),
            None if recorder is None else recorder.revision,
            self.size,
            self.arrangement,
            loaded(),
        )

    def _look_at_lines(self) -> None:
        width = max(self.size.width - 2, 1)
        waits = 0 if self._shown is None else len(self._shown.open_questions())
        alert = f"{waits} call{'s' * (waits > 1)} to decide (f2)" if waits and not self._shows_chat else ""
        told = (*status.told_in_header(self._host, self._shown), width, alert)
        if told != self._in_header:
            self._in_header = told
            header = status.header(self._host, self._shown, self._glyphs, width, alert)
            self._header.say(header)
        if self._shown is not None:
            self._waiting.say(status.waiting(self._host, self._shown))
        self._keys.say(status.keys(width))

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
        from tui_host.tui.widgets.transcript.empty import Empty

        offered = self._offers = offers(self._host.settings, local)
        if self._transcript is not None:
            self._transcript.set_empty(Empty(questions=offered.questions, lines=offered.lines))

    # The draft.

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """What is written is kept, though not at each letter."""
        if event.text_area is self._prompt:
            self._draft_is_new = True

    @property
    def unsent(self) -> str:
        """What `enter` would send now."""
        return self._prompt.message()

    def keep_draft(self) -> None:
        """Put what stands in the prompt on the disk, if it is not there."""
        self._draft_is_new = False
        self._draft_kept_at = time.monotonic()
        draft = self._prompt.whole_text()
        draft = draft if draft.strip() else ""  # nothing but blanks is no beginning of anything
        if draft != ("" if self._shown is None else self._shown.draft):
            self._session.draft = draft
            self._session.save()

    def put_draft(self, draft: str) -> bool:
        """Put back what was written before the program ended; False if something is being written already."""
        if self._session.turn or self._prompt.text.strip():
            return False
        self._prompt.put(draft)
        self.keep_draft()
        return True

    # The approval.

    @property
    def approval(self) -> Approval | None:
        """The approval, None while nothing is asked."""
        return self._approval

    @property
    def _shows_chat(self) -> bool:
        return self.arrangement != "inspector"

    def _look_at_questions(self) -> None:
        if not self._session.open_questions():
            self._put_away()
        elif self._approval is None:
            self._ask()
        elif self._session.questions != self._asked:
            self._asked = list(self._session.questions)
            self._approval.take(self._asked)

    def _keep_the_end_in_view(self, transcript: Transcript) -> None:
        """The approval covers what it is about, unless the chat ends above it; three lines of the chat stay if they can."""
        room = self.query_one("#talk").size.height
        below = self._prompt.outer_size.height + 1
        covered = 0 if self._approval is None else self._approval.outer_size.height - below
        margin = max(0, min(covered, room - below - 3))
        if transcript.styles.margin.bottom != margin:
            transcript.styles.margin = (0, 0, margin, 0)

    def _ask(self) -> None:
        from tui_host.tui.widgets.approval.panel import Approval

        self._asked = list(self._session.questions)
        self._approval = Approval(self._asked, on_grant=self._granted, mask=self._mask, glyphs=self._glyphs)
        if self._shows_chat:
            self.set_focus(None)  # what is disabled hands its focus to the next one: that would be a detail
        self.query_one("#talk").disabled = True
        self.query_one("#chat").mount(self._approval)

    def _put_away(self) -> None:
        """Nothing is asked here any more."""
        approval, self._approval = self._approval, None
        if approval is None:
            return
        had_focus = approval.has_focus_within or self.focused is None
        self.query_one("#talk").disabled = False
        if had_focus and self._shows_chat:
            self.set_focus(self._prompt)
        approval.remove()

    def _granted(self, question: Question) -> None:
        """Allow the tool for the session, and say how that is taken back."""
        from tui_host.tui.widgets.approval.words import name_of

        self._session.grant(question)
        name = name_of(question.request.tool)
        self.notify(f"{name} runs unasked in this session from now on. /revoke takes it back.", markup=False)

    def on_screen_resume(self) -> None:
        """Coming back from another screen is a new look at the question."""
        if self._approval is not None:
            self._approval.look_again()

    def swallow(self, event: events.Event) -> bool:
        """Whether a key or click came too early to decide."""
        return self._approval is not None and self._approval.swallow(event)

    def look_on(self) -> None:
        """Something was done by hand: look whole for a while."""
        self._look_on_until = time.monotonic() + LOOK_ON_SECONDS

    def note(self, event: events.Event) -> None:
        """A key or click on another screen: a question here is not answered by the next one."""
        if self._approval is not None:
            self._approval.note(event)

    # What a person does.

    def on_prompt_sent(self, event: Prompt.Sent) -> None:
        """Begin a turn."""
        self._host.send(self._session, event.text)
        self.look()

    def on_prompt_held(self) -> None:
        """Nothing is sent into a turn that is at work; what was written stays."""
        self.notify("A turn is at work. It can be sent when that has ended; escape stops it.", markup=False, timeout=4)

    def on_transcript_picked(self, event: Transcript.Picked) -> None:
        """Send a question of the empty chat."""
        self._prompt.remember(event.text)
        self._host.send(self._session, event.text)
        self.look()

    def on_prompt_command(self, event: Prompt.Command) -> None:
        """Do a `/name`."""
        names = [action.name for action in ACTIONS]
        if event.name not in names:
            from difflib import get_close_matches

            name = line(event.name, 40)
            near = " or ".join(f"/{each}" for each in get_close_matches(event.name, names, n=2, cutoff=0.5))
            words = f"There is no command /{name}{f': {near}?' if near else '.'} {AS_TEXT}"
            self.notify(words, severity="warning", markup=False, timeout=8)
            return
        if event.arguments:
            words = f"/{event.name} takes nothing after it; what stood there was not sent, up brings it back. {AS_TEXT}"
            self.notify(words, severity="warning", markup=False, timeout=8)
        self.post_message(self.CommandAsked(event.name))

    def action_close(self) -> None:
        """From looking around back to the question; else stop the turn. Never quits."""
        if self._approval is None:
            self._host.stop_turn(self._session)
        elif self._shows_chat:
            self._approval.focus()
        else:
            self.next_arrangement()

    # Who has the screen.

    @property
    def arrangement(self) -> Arrangement:
        """What is shown: as the person wants it, or one of the two where there is room for one."""
        return self._side if self._is_narrow else self._wanted

    def on_inspector_zoom_asked(self) -> None:
        """The whole screen for the inspector, and back."""
        if self._is_narrow:
            self.next_arrangement()
            return
        self._wanted = "both" if self._wanted == "inspector" else "inspector"
        self._arrange(focus=False)  # it was asked for in the inspector, which is on the screen before and after

    def next_arrangement(self) -> None:
        """Chat and inspector, inspector alone, chat alone; under 100 columns the one or the other."""
        if not self.is_complete:
            self._held_arrangements += 1
            return
        if self._is_narrow:
            self._side = "chat" if self._side == "inspector" else "inspector"
        else:
            self._wanted = NEXT[self._wanted]
        self._arrange()

    def on_resize(self, event: events.Resize) -> None:
        """Under 100 columns chat and inspector take turns."""
        is_narrow = event.size.width < NARROW
        if is_narrow == self._is_narrow:
            return
        if is_narrow:
            is_read = self._inspector is not None and self._inspector.has_focus_within
            self._side = "inspector" if self._wanted == "inspector" or is_read else "chat"
        elif self._wanted not in {"both", self._side}:
            self._wanted = "both"  # what was turned to while there was room for one does not go away with more room
        self._is_narrow = is_narrow
        self._arrange(focus=False)

    def _arrange(self, *, focus: bool = True) -> None:
        arrangement = self.arrangement
        self.set_class(arrangement == "inspector", "-inspector")
        self.set_class(arrangement == "chat", "-chat")
        if not focus:
            return
        if arrangement == "inspector" and self._inspector is not None:
            self._inspector.ladder.focus()
        else:
            (self._approval or self._prompt).focus()
