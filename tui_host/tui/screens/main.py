"""The main screen: chat left, inspector right, the approval over the chat."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.message import Message
from textual.screen import Screen
from typing_extensions import override

from tui_host.tui.keys import ACTIONS
from tui_host.tui.widgets import status
from tui_host.tui.widgets.approval import Approval
from tui_host.tui.widgets.inspector import Inspector
from tui_host.tui.widgets.prompt import Prompt
from tui_host.tui.widgets.transcript import Transcript
from tui_host.tui.widgets.transcript_empty import Empty

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.tui.glyphs import Glyphs
    from tui_host.tui.source import SessionSource

Arrangement: TypeAlias = Literal["both", "inspector", "chat"]
NEXT: dict[Arrangement, Arrangement] = {"both": "inspector", "inspector": "chat", "chat": "both"}
NARROW = 100
"""Columns below which chat and inspector take turns."""
QUESTIONS = (
    "what is (6 × 5 + 7) / 2? use the tools",
    "what is the weather in Paris and in Tokyo?",
    "订单 1042 到哪了？",
)


class MainScreen(Screen[None]):
    """Chat and inspector of one session."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Stop", show=False)]
    DEFAULT_CSS = """
    MainScreen {
        layout: vertical;
        & > #header { background: $panel; }
        & > #keys { background: $panel; }
        & #body { height: 1fr; }
        & #chat { width: 2fr; layers: below above; }
        & #talk { layer: below; height: 1fr; }
        & #talk Transcript { height: 1fr; }
        & #waiting { height: 1; }
        & Approval { layer: above; dock: bottom; }
        & Inspector { width: 3fr; border-left: solid $panel; }
        &.-inspector #chat { display: none; }
        &.-chat Inspector { display: none; }
        &.-inspector Inspector { border-left: none; }
    }
    """

    class CommandAsked(Message):
        """A `/name` of the table of keys was typed."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, host: Host, session: Session, glyphs: Glyphs) -> None:
        super().__init__()
        self._host = host
        self._session = session
        self._glyphs = glyphs
        self._arrangement: Arrangement = "both"
        self._source: SessionSource | None = None

    @override
    def compose(self) -> ComposeResult:
        yield status.Line(id="header")
        with Horizontal(id="body"):
            with Container(id="chat"), Vertical(id="talk"):
                yield Transcript(
                    self._session.conversation, empty=empty(self._host), glyphs=self._glyphs, id="transcript"
                )
                yield status.Line(id="waiting")
                yield Prompt(id="prompt")
            yield Inspector(glyphs=self._glyphs)
        yield status.Line(id="keys")

    def on_mount(self) -> None:
        """The prompt has the focus; commands come from the table of keys."""
        self.query_one(Prompt).focus()
        self.look()

    # What is on screen.

    def show_session(self, session: Session) -> None:
        """Another session's chat and wires; the draft of the one that leaves is kept with it."""
        prompt = self.query_one(Prompt)
        self._session.draft = prompt.text
        self._session = session
        prompt.text = session.draft
        self._source = None
        self.query_one(Transcript).show(session.conversation)
        self.look()
        prompt.focus()

    def look(self) -> None:
        """Take in what is new; paints only what changed."""
        if not self.is_mounted:
            return
        if self._source is None and self._host.recorder is not None:
            from tui_host.tui.source import SessionSource

            self._source = SessionSource(self._host, self._session)
            self.query_one(Inspector).show(self._source)
        if self._source is not None:
            self._source.look()
            self.query_one(Inspector).sync()
        self.query_one(Transcript).sync()
        self._look_at_questions()
        width = max(self.size.width - 2, 1)
        self.query_one("#header", status.Line).say(status.header(self._host, self._session, self._glyphs, width))
        count = len(self._session.open_questions())
        self.query_one("#waiting", status.Line).say(status.waiting(self._session, count))
        self.query_one("#keys", status.Line).say(status.keys(width))

    # The approval.

    @property
    def approval(self) -> Approval | None:
        """The approval, None while nothing is asked."""
        return next(iter(self.query(Approval)), None)

    def _look_at_questions(self) -> None:
        questions = self._session.open_questions()
        approval = self.approval
        if questions and approval is None:
            self.set_focus(None)  # what is disabled hands its focus to the next one: that would be a detail
            self.query_one("#talk").disabled = True
            self.query_one("#chat").mount(Approval(list(self._session.questions), on_grant=self._session.grant))
        elif approval is not None and not questions:
            had_focus = approval.has_focus_within or self.focused is None
            self.query_one("#talk").disabled = False
            if had_focus:
                self.set_focus(self.query_one(Prompt))
            approval.remove()

    def swallow(self, event: events.Event) -> bool:
        """Whether a key or click came too early to decide, or was taken as the number of a question to try."""
        if self.approval is not None:
            return self.approval.swallow(event)
        if not isinstance(event, events.Key) or event.character is None or self._session.turn:
            return False
        prompt = self.query_one(Prompt)
        return prompt.has_focus and not prompt.text and self.query_one(Transcript).pick(event.character)

    # What a person does.

    def on_prompt_sent(self, event: Prompt.Sent) -> None:
        """Begin a turn."""
        self._host.send(self._session, event.text)
        self.look()

    def on_transcript_picked(self, event: Transcript.Picked) -> None:
        """Send a question of the empty chat."""
        self._host.send(self._session, event.text)

    def on_prompt_command(self, event: Prompt.Command) -> None:
        """Do a `/name`."""
        if any(action.name == event.name for action in ACTIONS):
            self.post_message(self.CommandAsked(event.name))
            return
        names = ", ".join(f"/{action.name}" for action in ACTIONS)
        self.notify(f"there is no such command; there is {names}", severity="warning", markup=False)

    def action_close(self) -> None:
        """Stop the turn; never quits."""
        self._host.stop_turn(self._session)

    def on_inspector_zoom_asked(self) -> None:
        """The whole screen for the inspector, and back."""
        self._arrange("both" if self._arrangement == "inspector" else "inspector")

    def next_arrangement(self) -> None:
        """Chat and inspector, inspector alone, chat alone."""
        arrangement = NEXT[self._arrangement]
        if self.size.width < NARROW and arrangement == "both":
            arrangement = "inspector"
        self._arrange(arrangement)

    def on_resize(self, event: events.Resize) -> None:
        """Under 100 columns chat and inspector take turns."""
        if event.size.width < NARROW and self._arrangement == "both":
            self._arrange("chat")

    def _arrange(self, arrangement: Arrangement) -> None:
        self._arrangement = arrangement
        self.set_class(arrangement == "inspector", "-inspector")
        self.set_class(arrangement == "chat", "-chat")
        if arrangement == "inspector":
            self.query_one(Inspector).ladder.focus()
        elif self.approval is None:
            self.query_one(Prompt).focus()


def empty(host: Host) -> Empty:
    """What an empty chat says: three questions to try, and what real models were found."""
    from tui_host.tui.screens.model import choices

    found = [f"{ref.provider}/{ref.model}" for ref, origin in choices(host) if origin.endswith("is set")]
    lines = ("Each number sends its question. Nothing runs before you approve it.",)
    if found:
        lines = (*lines, f"Found: {', '.join(found[:4])}. f4 chooses.")
    return Empty(questions=tuple((str(n), words) for n, words in enumerate(QUESTIONS, start=1)), lines=lines)
