"""The main screen: chat left, inspector right, the approval over the chat."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from textual import events, messages
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import TextArea
from typing_extensions import override

from tui_host.tui import sources, textual_private
from tui_host.tui.key_tables import ACTIONS
from tui_host.tui.markdown.parser import loaded
from tui_host.tui.masks import mask_of
from tui_host.tui.screens.submissions import Submissions
from tui_host.tui.suggestions import Offers, offers
from tui_host.tui.widgets import status_lines as status
from tui_host.tui.widgets.background import Covered, CoveredContainer, CoveredVertical
from tui_host.tui.widgets.first_frame import FROM_FILE, FirstChat, FirstInspector
from tui_host.tui.widgets.prompt.prompt_field import PLACEHOLDER, Prompt

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.llm.probe import LocalServer
    from tui_host.tui.glyphs import Glyphs
    from tui_host.tui.screens.approval_overlay import ApprovalOverlay
    from tui_host.tui.sources.live import SessionSource
    from tui_host.tui.widgets.approval.approval_panel import Approval
    from tui_host.tui.widgets.inspector.inspector_pane import Inspector
    from tui_host.tui.widgets.transcript.item_lines import Empty
    from tui_host.tui.widgets.transcript.transcript_view import Transcript

Arrangement: TypeAlias = Literal["both", "inspector", "chat"]
NEXT: dict[Arrangement, Arrangement] = {"both": "inspector", "inspector": "chat", "chat": "both"}
NARROW = 100
"""Columns below which chat and inspector take turns."""
LOOK_ON_SECONDS = 1.0
"""How long after a key or click every look is a full one: lists glide, pages are made."""
BEHIND_SECONDS = 0.5
"""Time between two redraws while earlier records are still being read."""


class Halves:
    """Which halves of the main screen are shown: chat and inspector, or one of them.

    Attributes:
        is_narrow: Whether there is room for one half only.
    """

    def __init__(self) -> None:
        self.is_narrow = False
        self._wanted: Arrangement = "both"
        self._side: Arrangement = "chat"  # the half shown where there is room for one

    @property
    def arrangement(self) -> Arrangement:
        """What is shown now."""
        return self._side if self.is_narrow else self._wanted

    def advance(self) -> None:
        """Go to the next arrangement."""
        if self.is_narrow:
            self._side = "chat" if self._side == "inspector" else "inspector"
        else:
            self._wanted = NEXT[self._wanted]

    def zoom(self) -> None:
        """Give the inspector the whole screen, or give up the half again."""
        self._wanted = "both" if self._wanted == "inspector" else "inspector"

    def fit(self, width: int, *, is_reading: bool) -> bool:
        """Take a new width; whether the screen became narrow or wide.

        Args:
            width: Columns of the screen.
            is_reading: Whether the focus is in the inspector, which stays on screen then.
        """
        is_narrow = width < NARROW
        if is_narrow == self.is_narrow:
            return False
        if is_narrow:
            self._side = "inspector" if self._wanted == "inspector" or is_reading else "chat"
        elif self._wanted not in {"both", self._side}:
            self._wanted = "both"  # more room never hides the half that was read
        self.is_narrow = is_narrow
        return True


class MainScreen(Covered, Screen[None]):
    """Chat and inspector of one session.

    The first frame is light: placeholders stand for chat and inspector until `complete` mounts them, and the prompt takes every
    key meanwhile.

    Args:
        host: The host.
        begin: Returns the first session; called when something is sent, or by `complete`.
        glyphs: The glyphs to draw with.
        reading: Placeholder text for chat and list while the first session is read from a file.

    Attributes:
        host: The host.
        glyphs: The glyphs to draw with.
        submissions: What the prompt sends, and the drafts.
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
        /* Containers that their children cover need not be drawn. (They have no size of their own then: nobody asks for it.) */
        & #body, & #paper, & #wires { visibility: hidden; }
        & #chat, & #paper > *, & #wires > * { visibility: visible; }
        &.-inspector #chat { display: none; }
        &.-chat #wires { display: none; }
        &.-inspector Inspector { border-left: none; }
    }
    """

    def __init__(self, host: Host, begin: Callable[[], Session], glyphs: Glyphs, reading: str = "") -> None:
        super().__init__()
        textual_private.paint_exactly(self)
        self.host = host
        self.glyphs = glyphs
        self._mask = mask_of(host, glyphs)
        commands = [(action.name, action.help) for action in ACTIONS]
        may_send: Callable[[], bool] = lambda: self.submissions.may_send  # noqa: E731 - a property of what is made next
        self._prompt = Prompt(commands=commands, may_send=may_send, glyphs=glyphs, id="prompt")
        self.submissions = Submissions(host, begin, self._prompt, self.notify)
        self._halves = Halves()
        self._overlay: ApprovalOverlay | None = None
        self._transcript: Transcript | None = None
        self._inspector: Inspector | None = None
        self._early_turns = 0
        self._has_placeholders = True
        self._reading = reading
        self._offers = offers(host.settings)
        self._source: SessionSource | None = None
        self._is_awaited = False  # whether the chat of a session that was just opened is still unpainted
        self._empty: str | None = None
        self._last_state: tuple[object, ...] = ()
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
            yield Container(FirstInspector(self.glyphs, self._reading), id="wires")
        yield self._lines.keys

    def on_mount(self) -> None:
        """Focus the prompt."""
        self._prompt.focus()
        self._prompt.quick = dict(self._offered.questions)
        self._prompt.invite(self._invitation())
        self._look_at_lines()

    def on_update(self, event: messages.Update) -> None:
        """Paint the focused widget at once, so that no key waits; everything else is painted at the screen's pace."""
        if event.widget is self.focused:
            textual_private.paint_now(self, event.widget)

    @property
    def is_complete(self) -> bool:
        """Whether chat and inspector are mounted."""
        return self._transcript is not None

    @property
    def is_whole(self) -> bool:
        """Whether chat and inspector are mounted and no placeholder is left."""
        return self.is_complete and not self.query("FirstChat, FirstInspector")

    async def complete(self) -> None:
        """Mount chat and inspector under their placeholders, which go once both are drawn."""
        if self.is_complete:
            return
        from tui_host.tui.screens.approval_overlay import ApprovalOverlay
        from tui_host.tui.widgets.inspector.inspector_pane import Inspector
        from tui_host.tui.widgets.transcript.transcript_view import Transcript

        conversation, mask, glyphs = self.submissions.session.conversation, self._mask, self.glyphs
        transcript = Transcript(conversation, empty=self._made_empty(), glyphs=glyphs, mask=mask.marks, id="transcript")
        inspector = Inspector(glyphs=glyphs, reading=self._reading)
        self._overlay = ApprovalOverlay(self, self._prompt, mask, glyphs, lambda: self.shows_chat)
        await self.query_one("#paper").mount(transcript)
        await self.query_one("#wires").mount(inspector)
        self._transcript, self._inspector = transcript, inspector
        transcript.show(self.submissions.session.conversation)  # another session may be shown by now
        self.look()
        for _ in range(self._early_turns):
            self.next_arrangement()

    @property
    @override
    def focus_chain(self) -> list[Widget]:
        """The screen's order, but the prompt first: prompt, chat, list, details."""
        chain = super().focus_chain
        return sorted(chain, key=lambda widget: widget is not self._prompt)

    # News.

    def show_session(self, session: Session) -> None:
        """Show the chat and the records of another session."""
        self.submissions.switch_to(session)
        if self._overlay is not None:
            self._overlay.close()
        self._source = None
        if self._transcript is not None:
            self._transcript.show(session.conversation)
        self._is_awaited = True
        self.look()
        self.call_after_refresh(self._read_records)
        if self.approval is None and self.shows_chat:
            self.set_focus(self._prompt)

    def _read_records(self) -> None:
        """Read the session's records, now that its chat is painted."""
        self._is_awaited = False
        self.look()

    def look(self) -> None:
        """Show the news; paint only changes."""
        transcript, inspector, overlay = self._transcript, self._inspector, self._overlay
        if transcript is None or inspector is None or overlay is None or not self.is_mounted:
            return
        session = self.submissions.session
        self._last_state = self._state()
        if (self._source is None or self._source.is_stale) and self.host.recorder is not None:
            self._source = sources.source_of(self.host, session)
            transcript.show(session.conversation)
            inspector.show(self._source)
            self._update_empty(transcript)
        is_behind = self._source is not None and self._source.is_behind
        is_due = time.monotonic() >= self._draw_at
        # While much is still to be read, looks that read alternate with looks that draw.
        if self._source is not None and not self._is_awaited and not (is_behind and is_due):
            self._source.look()
            self._update_empty(transcript)
        if is_due or not is_behind:
            self._draw_at = time.monotonic() + BEHIND_SECONDS
            inspector.sync()
            transcript.sync()
        self._prompt.quick = transcript.quick
        self._prompt.invite(self._invitation())
        overlay.show(session)
        overlay.reserve_space(transcript)
        self.submissions.keep_draft_at_times()
        self._look_at_lines()
        is_read = self._source is None or self._source.is_settled
        is_drawn = transcript.view_width > 0 or not self.shows_chat
        self._is_settled = is_read and inspector.is_settled and is_drawn
        if self._is_settled and self._has_placeholders:
            self._has_placeholders = False
            self.call_after_refresh(self.query("FirstChat, FirstInspector").remove)

    def keep_looking(self) -> None:
        """Look fully for a while: the person did something."""
        self._look_on_until = time.monotonic() + LOOK_ON_SECONDS

    @property
    def has_news(self) -> bool:
        """Whether a look may find news. Cheap: asked at screen rate."""
        return self.is_complete and (
            self.submissions.session.busy  # a clock runs
            or self.approval is not None  # it is laid out, and its quiet period passes
            or not self._is_settled
            or (self._source is not None and self._source.is_stale)  # the next look begins anew
            or self.submissions.is_draft_unsaved
            or time.monotonic() < self._look_on_until
            or self._last_state != self._state()
        )

    def _state(self) -> tuple[object, ...]:
        """The values that a look depends on, quick to compare."""
        session = self.submissions.session
        return (
            status.told_in_header(self.host, session),
            session.conversation.revision,
            len(session.open_questions()),
            self.host.recorder is not None if self._source is None else self._source.news,
            self.size,
            self.arrangement,
            loaded(),
        )

    def _look_at_lines(self) -> None:
        foreign = "" if self._source is None else self._source.foreign
        width = max(self.size.width - 2, 1)
        self._lines.look(self.submissions.shown, width, foreign=foreign, shows_chat=self.shows_chat)

    @property
    def source(self) -> SessionSource | None:
        """The source of the inspector's rows; None before the host is open."""
        return self._source

    # The empty chat.

    def _invitation(self) -> str:
        """The prompt's placeholder: ask, answer the model's question, or read only in a session from elsewhere."""
        if read_only := FROM_FILE if self._is_awaiting_file else "" if self._source is None else self._source.read_only:
            return read_only
        has_items = self._source is not None and len(self.submissions.session.conversation)
        answers = list(self._prompt.quick) if has_items else []
        if not answers:
            return PLACEHOLDER
        keys = answers[0] if len(answers) == 1 else f"{answers[0]} to {answers[-1]}"
        return f"{keys} answers, or write your own.  / commands"

    def _update_empty(self, transcript: Transcript) -> None:
        words = None if self._source is None else self._source.empty
        if words != self._empty and not self.submissions.session.conversation:
            self._empty = words
            transcript.set_empty(self._made_empty())

    def _made_empty(self) -> Empty:
        from tui_host.tui.widgets.transcript.item_lines import Empty

        questions, lines = self._offered if self._empty is None else ((), (self._empty,))
        return Empty(questions=questions, lines=lines)

    @property
    def _is_awaiting_file(self) -> bool:
        """Whether the session will come from a file that has given no record yet."""
        shown = self.submissions.shown
        return bool(self._reading) and self._source is None and (shown is None or shown.is_foreign)

    @property
    def _offered(self) -> Offers:
        return Offers((), (self._reading,)) if self._is_awaiting_file else self._offers

    def offer(self, servers: Sequence[LocalServer]) -> None:
        """Name the model servers on this machine in an empty chat."""
        self._offers = offers(self.host.settings, servers)
        if self._transcript is not None and self._empty is None:
            self._transcript.set_empty(self._made_empty())

    # What a person does.

    def on_prompt_sent(self, event: Prompt.Sent) -> None:
        """Begin a turn."""
        self.submissions.send(event.text, event.attached)
        self.look()

    def on_prompt_held(self) -> None:
        """Say why nothing was sent; the text stays."""
        self.submissions.explain_refusal()

    def on_transcript_picked(self, event: Transcript.Picked) -> None:
        """Send a question of the empty chat, or an answer that the model proposes."""
        self._prompt.remember(event.text)
        self.submissions.send(event.text)
        self.look()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Mark the draft as unsaved."""
        if event.text_area is self._prompt:
            self.submissions.is_draft_unsaved = True

    def action_close(self) -> None:
        """Go back from the inspector to the question, else stop the turn. Never quits."""
        if self.approval is None:
            self.host.stop_turn(self.submissions.session)
        elif self.shows_chat:
            self.set_focus(self.approval)
        else:
            self.next_arrangement()

    def current_source(self) -> tuple[str, str]:
        """Return the chat's current or last item: copied from the prompt if nothing is selected."""
        return ("", "") if self._transcript is None else self._transcript.current_source()

    def copy_code(self) -> None:
        """Copy the next code block of the chat's current answer, else of its last one."""
        if self._transcript is not None:
            self._transcript.action_copy_code()

    # The approval.

    @property
    def approval(self) -> Approval | None:
        """The approval; None while nothing is asked."""
        return None if self._overlay is None else self._overlay.panel

    def on_screen_resume(self) -> None:
        """Begin a new quiet period: another screen covered the question."""
        if self.approval is not None:
            self.approval.look_again()

    def ignores(self, event: events.Event) -> bool:
        """Whether a key or click came too early to decide."""
        return self.approval is not None and self.approval.swallow(event)

    def note_press(self, event: events.Event) -> None:
        """Restart the quiet period after a key or click on another screen."""
        if self.approval is not None:
            self.approval.note(event)

    # Chat, inspector, or both.

    @property
    def arrangement(self) -> Arrangement:
        """Which halves are shown."""
        return self._halves.arrangement

    @property
    def shows_chat(self) -> bool:
        """Whether the chat is on the screen."""
        return self.arrangement != "inspector"

    def next_arrangement(self) -> None:
        """Go to the next arrangement; before chat and inspector exist, `complete` does so later."""
        if not self.is_complete:
            self._early_turns += 1
            return
        self._halves.advance()
        self._arrange()
        if self.arrangement == "inspector" and self._inspector is not None:
            self.set_focus(self._inspector.ladder)  # at once: the next key may be waiting
        else:
            self.set_focus(self.approval or self._prompt)

    def on_inspector_zoom_asked(self) -> None:
        """Give the inspector the whole screen, or give it up again."""
        if self._halves.is_narrow:
            self.next_arrangement()
        else:
            self._halves.zoom()
            self._arrange()

    def on_resize(self, event: events.Resize) -> None:
        """Show one half where there is no room for both."""
        is_reading = self._inspector is not None and self._inspector.has_focus_within
        if self._halves.fit(event.size.width, is_reading=is_reading):
            self._arrange()

    def _arrange(self) -> None:
        alone = self.arrangement
        self.update_classes({f"-{name}": name == alone for name in ("inspector", "chat")})  # one restyling
