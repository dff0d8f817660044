"""The main screen: chat left, inspector right, the approval over the chat."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from textual import events, messages
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from typing_extensions import override

from tui_host.tui import sources, textual_private
from tui_host.tui.alerts import WAITING_SECONDS
from tui_host.tui.keys import ACTIONS, bound, key_of, keys_of, kinds_at
from tui_host.tui.screens.submissions import DRAFT_SECONDS, Submissions
from tui_host.tui.suggestions import ARRIVING, FROM_FILE, Offers, offers, read_only
from tui_host.tui.text_width import hanging
from tui_host.tui.widgets import status_lines as status
from tui_host.tui.widgets.placeholders import EmptyChat
from tui_host.tui.widgets.prompt.prompt_field import PLACEHOLDER, Prompt
from tui_host.tui.widgets.prompt.server_offers import ServerOffers

if TYPE_CHECKING:
    from tui_host.answers.wires import Section
    from tui_host.capture.ladder.row import Row
    from tui_host.chat.session import Session
    from tui_host.errors import JSON
    from tui_host.host.host import Host
    from tui_host.tui.questions.approval import Approval
    from tui_host.tui.questions.ask_panels import AskPanel
    from tui_host.tui.questions.asks import Asks
    from tui_host.tui.questions.overlay import QuestionOverlay
    from tui_host.tui.screens.server_sheet import DirectRequest
    from tui_host.tui.sources.live import SessionSource
    from tui_host.tui.widgets.inspector.inspector_pane import Inspector
    from tui_host.tui.widgets.prompt.server_offers import Form
    from tui_host.tui.widgets.transcript.transcript_view import Transcript

Arrangement: TypeAlias = Literal["both", "inspector", "chat"]
NEXT: dict[Arrangement, Arrangement] = {"both": "inspector", "inspector": "chat", "chat": "both"}
NARROW = 100  # columns below which only chat or inspector is shown
TOOLTIP_CELLS = 36  # as Textual has it
LOW = 14  # lines below which a question takes the status line's place
RECALLED = 1000  # messages of an opened session that `up` can bring back
BEHIND_SECONDS = 0.5  # between two redraws while earlier records are still being read


class Covered(Container):
    """A container whose children cover it."""

    BLANK = True


class MainScreen(Screen[None]):
    """Chat and inspector of one session.

    The first frame is light: `complete` mounts chat and inspector later, and the prompt takes every key meanwhile.
    """

    BLANK = True  # its widgets cover it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "app.focus_next", tooltip="move between prompt, chat, list and details"),
        Binding("shift+tab", "app.focus_previous"),
        Binding("escape", "close", tooltip="close what is on top, else stop the turn, else go to the prompt"),
        # At once, before the app passes on the next key: what was typed ahead behind it belongs to the field.
        bound("filter", "filter", priority=True, tooltip="filter the list, from the chat too"),
    ]
    DEFAULT_CSS = """
    MainScreen {
        overflow: hidden;
        & > #header, & > #keys { background: $panel; }
        & #chat { width: 2fr; layers: below above; }
        & #talk { layer: below; }
        & #paper { layers: below above; }
        & #queue { height: auto; display: none; &.-told { display: block; } }
        & QuestionPanel { layer: above; dock: bottom; }
        & #wires { width: 3fr; border-left: solid $panel; }
        /* Containers that their children cover need not be drawn. (They have no size of their own then: nobody asks for it.) */
        & #body, & #paper { visibility: hidden; }
        & #chat, & #wires, & EmptyChat, & Transcript { visibility: visible; }
        &.-inspector #chat { display: none; }
        &.-chat #wires { display: none; }
        &.-inspector #wires { border-left: none; }
    }
    """

    def __init__(self, host: Host, asks: Asks, begin: Callable[[], Session], reading: str = "") -> None:
        super().__init__()
        textual_private.paint_exactly(self)
        self.host = host
        self.asks = asks
        self.source: SessionSource | None = None  # of the inspector's rows; None before the host is open
        self.direct: list[DirectRequest] = []  # what the person asked servers for without a model, newest first
        self.offers = ServerOffers(host=host, session=lambda: self.submissions.session, ask=self._ask_values)
        self.prompt = Prompt(
            commands=[(action.name, action.help) for action in ACTIONS],
            offers=self.offers,
            may_send=lambda: (
                self.submissions.may_send(at_once=self.submissions.session.step_limit is not None)
                and self.submissions.is_meant()
            ),
            take_back=lambda is_draft: self.submissions.take_back(is_draft=is_draft),
            id="prompt",
        )
        self.submissions = Submissions(self, host, self.prompt, begin, self.show_session)
        self.arrangement: Arrangement = "both"  # which halves are shown
        self._is_narrow = False  # whether only one half has room
        self.overlay: QuestionOverlay | None = None  # the questions; None before chat and inspector are mounted
        self._transcript: Transcript | None = None
        self._inspector: Inspector | None = None
        self._reading = reading  # stands in the chat until the first session has come from a file
        self.suggested = offers(host.settings)  # what an empty chat offers
        self._failures: Sequence[str] = ()  # each failed server with its reason
        self._welcome = EmptyChat()
        self._header, self._status, self._keys = (status.StatusLine(id=name) for name in ("header", "status", "keys"))
        self._queue = status.StatusLine(id="queue")
        self._in_queue: tuple[object, ...] = ()
        self._in_header: tuple[object, ...] = ()
        # What the last look was about; empty while it left something to do, None before chat and inspector are mounted.
        self.seen: tuple[object, ...] | None = None
        self._draw_at = self.pressed_at = 0.0  # `pressed_at`: the time of the last key or click itself

    @override
    def compose(self) -> ComposeResult:
        yield self._header
        with Horizontal(id="body"):
            with Covered(id="chat"), Covered(id="talk"):
                with Covered(id="paper"):
                    yield self._welcome
                yield self._queue
                yield self.prompt
            yield Container(id="wires")  # the inspector comes once the first frame is painted
        yield self._status
        yield self._keys

    def on_mount(self) -> None:
        self.prompt.focus()
        self._look_at_words()

    def on_update(self, event: messages.Update) -> None:
        """Paint the focused widget at once, so that no key waits; everything else is painted at the screen's pace."""
        if event.widget is self.focused:
            textual_private.paint_now(self, event.widget)

    async def complete(self) -> None:
        if self._transcript is not None:
            return
        from tui_host.tui.questions.overlay import QuestionOverlay
        from tui_host.tui.widgets.inspector.inspector_pane import Inspector
        from tui_host.tui.widgets.transcript.transcript_view import Transcript

        conversation, is_open = self.submissions.session.conversation, self.host.settings.ui.thinking == "open"
        transcript = Transcript(conversation, mask=self.host.mask.marks, shows_thinking=is_open, id="transcript")
        inspector = Inspector()
        self.overlay = QuestionOverlay(self, self.host, self.asks, self.prompt, lambda: self.source)
        await self.query_one("#paper").mount(transcript)
        await self.query_one("#wires").mount(inspector)
        self._transcript, self._inspector = transcript, inspector
        keys = (*keys_of(Transcript), *keys_of(Inspector))
        self.prompt.own_commands += tuple((key.command, key.help) for key in keys if key.command)
        transcript.show(self.submissions.session.conversation)  # another session may be shown by now
        self.set_interval(DRAFT_SECONDS, self.submissions.keep_draft)
        self.look()
        self.prompt.refresh()  # it takes the terminal's cursor back: the mounted filter has set it, as fields of Textual do
        if self.arrangement == "inspector":
            self._focus()

    @property
    @override
    def focus_chain(self) -> list[Widget]:
        """The screen's order, but the prompt first: prompt, chat, list, details."""
        return sorted(super().focus_chain, key=lambda widget: widget is not self.prompt)

    # What is shown.

    def show_session(self, session: Session) -> None:
        left, self.source, self._reading = self.source, None, ""
        self.submissions.keep_draft()
        self.submissions.edited, self.prompt.border_title = 0, ""
        self.submissions.shown, self.submissions.turns_before = session, session.turn
        self.run_worker(self.submissions.find_branches, group="family", exclusive=True)
        self.prompt.put(session.draft)
        self.prompt.remember(*session.conversation.said(RECALLED))
        if self.overlay is not None:
            self.overlay.close()
        if left is not None and left.session is not session:
            self.host.leave(left.session)
        if self._transcript is not None:
            self._transcript.show(session.conversation)
        self._draw_at = 0.0  # it is drawn before its records are read
        self.look()
        if self.question is None and self.arrangement != "inspector":
            self.set_focus(self.prompt)

    def revisions(self) -> tuple[object, ...] | None:
        """Return the values that a look depends on, quick to compare: asked at the screen's rate. None before there are panes."""
        if self._transcript is None:
            return None
        session = self.submissions.session
        # A turn has a clock that runs, and a question is laid out and becomes ready.
        if session.busy or self.question is not None:
            return (object(),)  # like no other: each look has something to show
        return (
            status.header_state(self.host, session),
            self.submissions.place,
            session.conversation.revision,
            len(session.open_questions()),
            len(self.asks.of(session)),
            (*session.queued,),
            self.host.recorder is not None if self.source is None else self.source.news,
            self.focused,
        )

    def look(self) -> None:
        transcript, inspector, overlay = self._transcript, self._inspector, self.overlay
        if transcript is None or inspector is None or overlay is None or not self.is_mounted:
            return
        session = self.submissions.session
        seen = self.revisions()
        is_wanted = (self.source is None or self.source.is_stale) and session.id != ARRIVING
        if is_wanted and self.host.recorder is not None:
            self.source = sources.source_of(self.host, session)
            if session.is_foreign:  # the source has its conversation; one of our own is shown already, and may be read
                transcript.show(session.conversation)
            inspector.show(self.source)
        source = self.source
        # While much is still to be read, looks that read alternate with looks that draw.
        is_behind, is_due = source is not None and source.is_behind, time.monotonic() >= self._draw_at
        if source is not None and not (is_behind and is_due):
            source.look()
        if is_due or not is_behind:
            self._draw_at = time.monotonic() + BEHIND_SECONDS
            inspector.sync()
            transcript.sync()
        overlay.show(session)
        # The chat is shortened so that a question does not cover the call; it keeps at least three lines if possible.
        room, below = self.query_one("#talk").size.height, self.prompt.outer_size.height + self._queue.outer_size.height
        covered = 0 if overlay.panel is None else overlay.panel.outer_size.height - below
        margin = max(0, min(covered, room - below - 3))
        if transcript.styles.margin.bottom != margin:
            transcript.styles.margin = (0, 0, margin, 0)
        self._look_at_words()
        is_read = source is None or (source.is_settled and not source.is_stale)
        self.seen = seen if is_read and inspector.is_settled else ()

    def _look_at_words(self) -> None:
        """Show what an empty chat offers, and what header, prompt, status line and key bar say."""
        host, session, transcript, overlay = self.host, self.submissions.shown, self._transcript, self.overlay
        empty, told = self._welcome, None if self.source is None else self.source.empty
        offered = self.suggested if told is None else Offers(lines=(told,))
        offered = offered._replace(failures=tuple(self._failures))
        if self._reading:
            offered = Offers(lines=(self._reading,))
        empty.display = transcript is None or session is None or not len(session.conversation)
        empty.offers = offered
        quick = dict(offered.questions) if empty.display else {}
        if transcript is not None and session is not None:
            from tui_host.tui.widgets.transcript.items import numbered

            if session.step_limit is not None:
                quick = status.limit_answers(session.step_limit)
            transcript.quick = quick = quick or numbered(session.conversation.proposed())
        self.prompt.quick = {} if self.submissions.edited else quick
        width = max(self.size.width - 2, 1)
        foreign = f"{self._reading}: read only" if self._reading else ""
        if self.source is not None:
            foreign = self.source.foreign
        asked = "" if overlay is None else overlay.words
        waits = 0 if session is None else len(session.open_questions())
        if not asked and waits:
            asked = f"{waits} call{'s' * (waits > 1)} to decide"
        elif not asked and session is not None and session.activity.waits == "you":
            asked = "Continue, or stop?"
        alert = f"{asked} ({key_of('inspector')})" if asked and self.arrangement == "inspector" else ""
        if session is not None and session.activity.waits == "you" and session.waited >= WAITING_SECONDS:
            alert = f"{alert or 'waiting for you'} since {status.clock_words(session)}"
        state = (*status.header_state(host, session), width, alert, foreign, self.submissions.place)
        if state != self._in_header:
            self._in_header = state
            self._failures = () if foreign else status.failures(host)
            failures = "\n".join(hanging(words, TOOLTIP_CELLS) for words in self._failures)
            self._header.tooltip = Content(failures) if failures else None
            self._header.say(status.header(host, session, width, alert, foreign, self.submissions.place))
        self._look_at_status(width)
        question = self.question if self.arrangement != "inspector" else None
        self._status.display = question is None or self.size.height >= LOW  # else the room is the question's
        asked_keys = status.asked_keys(width, self.size.height, () if question is None else tuple(question.keys()))
        self._keys.styles.height = asked_keys.plain.count("\n") + 1  # looking around in the inspector moves nothing
        if question is None or not question.is_here:
            asked_keys = status.keys(width, kinds_at(self), here_first=self.focused is not self.prompt)
        self._keys.say(asked_keys)

    def _look_at_status(self, width: int) -> None:
        """Show what the prompt invites to, and what status line and queue say."""
        host, session, transcript, overlay = self.host, self.submissions.shown, self._transcript, self.overlay
        answers = list(self.prompt.quick) if session is not None and len(session.conversation) else []
        invitation = read_only(FROM_FILE) if self._reading else PLACEHOLDER
        if self.source is not None and self.source.read_only:
            invitation = self.source.read_only
        elif session is not None and session.step_limit is not None:
            invitation = "1 continues, 2 stops."
        elif session is not None and session.queued:
            invitation = f"{'' if session.busy else 'enter sends it · '}up takes it back · delete drops it"
        elif answers:
            keys = answers[0] if len(answers) == 1 else f"{answers[0]} to {answers[-1]}"
            invitation = f"{keys} answers, or write your own.  / commands"
        self.prompt.placeholder = Content(invitation)
        if session is None:
            self._status.say(Content("" if self._reading else status.IDLE))
            return
        below = 0 if transcript is None else transcript.new_below
        words = f"{below:,} new line{'s' * (below > 1)} below (end)   " if below else ""
        if overlay is not None and overlay.login is not None and self.question is None:
            words += f"{overlay.words}: {key_of('editor')} shows it   "
        self._status.say(status.status(host, session, width, words))
        queue = ((*session.queued,), session.busy, self._queue.size.width)
        if queue != self._in_queue:
            self._in_queue = queue
            self._queue.say(status.queue(host, session, self._queue.size.width or width))

    # What people do.

    @override
    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Leave the slash to fields, where it is text, and to the details, which search by it."""
        visible = None if self.arrangement == "chat" else self._inspector
        return action != "filter" or (visible is not None and self.focused in {self._transcript, visible.ladder})

    def action_filter(self) -> None:
        if self._inspector is not None:
            self._inspector.action_filter()

    def on_prompt_sent(self, event: Prompt.Sent) -> None:
        """Send what is written, else what is queued: with `joins_step` its last message, beside the results of a turn that runs."""
        session, edited = self.submissions.session, self.submissions.edited
        if edited and event.text and self.submissions.show_branch(session, edited - 1):
            self.host.send(self.submissions.session, event.text, event.attached)
        elif edited and event.text:
            self.prompt.put(event.text)
        elif event.text:
            session.draft = ""  # it is what is sent
            self.host.send(session, event.text, event.attached, joins_step=event.joins_step)
        elif session.queued and not edited:
            if event.joins_step and session.busy:
                session.queued[-1] = replace(session.queued[-1], joins_step=True)
            self.host.turns.send_queued(session)
        self.look()

    def _ask_values(self, form: Form, filled: Callable[[Mapping[str, JSON]], None]) -> None:
        from tui_host.tui.screens.field_screen import FillScreen

        self.app.push_screen(FillScreen(self.host, form, filled))  # pyright: ignore[reportUnknownMemberType] - of any app

    def on_prompt_quick_picked(self, event: Prompt.QuickPicked) -> None:
        """Send a question of the empty chat or an answer that the model proposes, or answer the limit of steps."""
        limit = self.submissions.session.step_limit
        if limit is not None and event.text in (answers := list(status.limit_answers(limit).values())):
            limit.answer(goes_on=event.text == answers[0])
        else:
            self.prompt.remember(event.text)
            self.host.send(self.submissions.session, event.text)
        self.look()

    def on_transcript_asked(self, event: Transcript.Asked) -> None:
        """Begin a branch, or show a call's chain; the screens of what is more are the app's."""
        if event.what == "more":
            return
        event.stop()
        if event.what != "chain":
            self.submissions.start(event.what, event.item.turn)
        elif not self.show_page(getattr(event.item, "call", ""), "Chain"):
            self.notify("Nothing of this call was recorded.", markup=False, timeout=4)

    def action_branch(self, step: int = 1) -> None:
        self.run_worker(partial(self.submissions.go, step), group="branches", exclusive=True)

    def action_close(self) -> None:
        if self.submissions.edited and self.focused is self.prompt:
            self.submissions.edited, self.prompt.border_title = 0, ""
            self.prompt.put(self.submissions.session.draft)
        elif self.question is None and self.submissions.session.busy:
            self.host.turns.stop(self.submissions.session)
        elif self.arrangement != "inspector":
            self._focus()
        else:
            self.action_arrange()

    @property
    def question(self) -> Approval | AskPanel | None:
        return None if self.overlay is None else self.overlay.panel

    def on_screen_resume(self) -> None:
        if self.question is not None:
            self.question.look_again()

    def action_login(self) -> None:
        """Show the login that a server waits for, or say that none does."""
        if self.overlay is not None and self.overlay.login is not None:
            self.overlay.login.is_wanted = True
        else:
            self.notify("No server waits for a login.", markup=False, timeout=4)
        self.look()

    def action_arrange(self) -> None:
        following = NEXT[self.arrangement]
        self._arrange("inspector" if self._is_narrow and following == "both" else following)
        self._focus()

    def _focus(self) -> None:
        """Give the focus to the question or the prompt, in the inspector alone to its list: the next key may be waiting."""
        if self.arrangement == "inspector":
            self.set_focus(None if self._inspector is None else self._inspector.ladder)
        else:
            self.set_focus(self.prompt if self.question is None else self.question.first_field)

    def action_zoom(self) -> None:
        if self._is_narrow:
            self.action_arrange()
        else:
            self._arrange("both" if self.arrangement == "inspector" else "inspector")

    def action_export(self) -> None:
        """Ask in which format the selected row's call, the row, the turn or the session is exported, and where to."""
        if self.source is not None and self._inspector is not None:
            from tui_host.tui.screens.export_screen import ask_for_export, parts_around

            ladder = self._inspector.ladder
            parts = parts_around(self.source, ladder.selected, ladder.selected_section)
            ask_for_export(self, self.host, self.source.session.id, parts)

    def action_note(self, joins: bool) -> None:
        """Ask for a note on the inspector's row, or for the call or frame that it is joined with."""
        row = None if self._inspector is None else self._inspector.chosen()
        if self.source is not None and self._inspector is not None and row is not None:
            from tui_host.tui.screens.field_screen import NOTE_WORDS, FieldScreen, join_screen

            marks, key, changed = self.source.row_marks, (row.capture, row.seq), self._inspector.ladder.redraw
            screen = FieldScreen("Note", NOTE_WORDS, partial(marks.write, key), changed, text=marks.notes.get(key, ""))
            screen = join_screen(self.host.store, self.source.story, row) if joins else screen
            self.app.push_screen(screen)  # pyright: ignore[reportUnknownMemberType] - of any app

    def show_page(self, subject: Row | Section | str, tab: str) -> bool:
        """Go to a page of a row, a heading or a call, if it is there; without a name to the page that was chosen last."""
        if self._inspector is None or not self._inspector.show_page(subject, tab):
            return False
        if self.arrangement == "chat":
            self.action_arrange()
        self.set_focus(self._inspector.details[0].view)
        return True

    def filter_by(self, text: str) -> None:
        """Go to the list, and to the first row in it that a filter keeps."""
        if self._inspector is not None:
            self._inspector.close_filter()
            self._inspector.ladder.is_at_first = True
            self._inspector.close_filter(text)
            if self.arrangement == "chat":
                self.action_arrange()
            self.set_focus(self._inspector.ladder)

    def on_resize(self, event: events.Resize) -> None:
        if (event.size.width < NARROW) != self._is_narrow:
            self._is_narrow = not self._is_narrow
            is_reading = self._inspector is not None and self._inspector.has_focus_within
            one: Arrangement = "inspector" if is_reading else "chat"
            self._arrange(one if self._is_narrow else "both")

    def _arrange(self, arrangement: Arrangement) -> None:
        self.arrangement = arrangement
        self.update_classes({f"-{alone}": alone == arrangement for alone in ("inspector", "chat")})
