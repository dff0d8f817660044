"""The app: one host, one session on the main screen, and the actions that work everywhere."""

from __future__ import annotations

import asyncio
import importlib
import locale
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.screen import Screen
from typing_extensions import override

from tui_host.capture.visible import line, tool_name
from tui_host.errors import TuiHostError
from tui_host.tui import clipboard, textual_private
from tui_host.tui.exit_filter import ExitFilter
from tui_host.tui.exits import HANGUP, is_terminal_gone
from tui_host.tui.glyphs import ASCII, UNICODE, Glyphs
from tui_host.tui.key_tables import ACTIONS
from tui_host.tui.masks import mask_of
from tui_host.tui.screens.main_screen import MainScreen

if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.theme import Theme

    from tui_host.chat.policy import Question
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.tui.screens.sessions_screen import SessionsScreen
    from tui_host.tui.widgets.prompt.prompt_field import Prompt
    from tui_host.tui.widgets.transcript.transcript_view import Transcript

THEME = "textual-dark"
PRESSES = (events.Key, events.Paste, events.MouseDown, events.MouseUp, events.Click)
RATE = 1 / 25
"""Seconds between two looks for news."""

# Imported in a thread after the first frame, the most urgent first.
LATE = (
    "tui_host.chat.session",
    "tui_host.tui.widgets.transcript.transcript_view",
    "tui_host.tui.widgets.inspector.inspector_pane",
    "tui_host.tui.sources.live",
)
LATER = (
    "tui_host.tui.widgets.prompt.completion",
    "tui_host.tui.screens.help_screen",
    "tui_host.tui.screens.servers_screen",
    "tui_host.tui.screens.model_screen",
    "tui_host.tui.screens.sessions_screen",
    "tui_host.tui.screens.request_screen",
    "tui_host.tui.sources.tapped",
    "tui_host.tui.widgets.approval.approval_panel",
    "tui_host.host.crash_log",
)
SWITCH_SECONDS = 0.0005
"""How soon a key gets the interpreter from a thread that imports."""


class TuiHost(App[int]):
    """The full-screen front of a host.

    Attributes:
        host: The host that owns sessions, servers and the recorder.
        begin: Makes the session that is shown first.
        crash: The error to report after the app has ended because of a bug; None if there was none.
        first_frame: Set once the first frame is painted.
        complete: Set once chat and inspector are mounted. The host starts after that.
        reading: Placeholder text for chat and list while the first session is read from a file; empty otherwise.
    """

    TITLE = "tui-host"
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(a.key, a.action, a.label or a.name, show=False, priority=a.key != "ctrl+c", id=a.name)
        for a in ACTIONS
        if a.key
    ]

    def __init__(self, host: Host) -> None:
        super().__init__()
        self.host = host
        self.begin: Callable[[], Session] = host.sessions.new
        self.crash: TuiHostError | None = None
        self.first_frame, self.complete, self.pressed = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.reading = ""
        wide = locale.getlocale()[1] not in {"UTF-8", "utf-8", "UTF8", None}
        chosen = host.settings.ui.ascii
        self.glyphs: Glyphs = ASCII if chosen or (chosen is None and wide) else UNICODE
        self._session: Session | None = None
        self._early_keys: list[events.Key | events.Paste] | None = []
        self._exit_filter = ExitFilter()
        self._has_skipped_frame = self._has_chosen_theme = self._has_reported = False
        self._is_host_open = self._is_looking = False
        self._notices_shown = 0
        host.approver = self

    # Start and end.

    @override
    def get_default_screen(self) -> Screen[None]:
        """Return the main screen: it lies below all others, in place of Textual's blank one."""
        return MainScreen(self.host, lambda: self.session, self.glyphs, self.reading)

    def on_mount(self) -> None:
        """Set the theme, and load everything else after the first frame."""
        self.theme = self.host.settings.ui.theme or THEME
        self.theme_changed_signal.subscribe(self, self._remember_theme)
        self.set_class(self.glyphs is ASCII, "-ascii")
        self.run_worker(self._keep_looking)
        self.call_after_refresh(self._first_frame_painted)

    def _first_frame_painted(self) -> None:
        if not self.first_frame.is_set():
            self.first_frame.set()
            self.run_worker(self.load_the_rest)

    async def load_the_rest(self) -> None:
        """Import and mount what the first frame did without."""
        await _load_the_rest(self)

    def _remember_theme(self, theme: Theme) -> None:
        """Save a newly chosen theme as the default for later starts."""
        if theme.name == (self.host.settings.ui.theme or THEME) and not self._has_chosen_theme:
            return
        self._has_chosen_theme = True
        from tui_host.settings.save import save_state

        try:
            save_state(self.host.settings, {"theme": theme.name})
        except TuiHostError as error:
            words = f"The theme applies until the program ends, but could not be saved: {error}"
            self.notify(line(words, 300), severity="warning", markup=False)

    @override
    def exit(self, result: int | None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """End the app after saving the draft, even where the terminal reads nothing any more."""
        try:
            if self.main is not None:
                self.main.submissions.keep_draft()
        except Exception as error:  # noqa: BLE001 - nothing may keep the program from its end
            self.report_error(error)
        super().exit(result, return_code, message)
        self.workers.cancel_all()  # their screens are being taken down
        textual_private.bound_the_end(self)

    def report_error(self, error: BaseException) -> None:
        """Log a bug that the app survives; the first one is shown too."""
        report = self.host.mistake(error)
        if not self._has_reported and self.is_running:
            self.notify(str(report), severity="error", markup=False)
        self._has_reported = True

    @override
    def panic(self, *renderables: RenderableType) -> None:
        """Replace Textual's traceback on the screen. A lost terminal gets here too, through Textual's input thread."""
        if is_terminal_gone():
            self.exit(return_code=HANGUP)
            return
        self._fatal_error()

    @override
    def _fatal_error(self) -> None:
        """Replace Textual's traceback, which shows local variables, by a log without them; exit code 1."""
        error = textual_private.first_exception(self) or RuntimeError("the terminal could not be read")
        if self.crash is None:
            self.crash = self.host.mistake(error)
        self.exit(return_code=1)
        textual_private.end_messages(self)

    # News.

    async def _keep_looking(self) -> None:
        """Look for news at the screen's rate."""
        while True:
            await asyncio.sleep(RATE)
            if self.is_running and not self._is_looking and self._has_news:
                self._is_looking = self.call_later(self._look)

    @property
    def _has_news(self) -> bool:
        """Whether a look may find something; costs next to nothing."""
        main = self.main
        if main is None or self.screen is not main or not self._is_host_open or self.host.fault is not None:
            return True
        return main.has_news or self._notices_shown < len(self.host.notices)

    def _look(self) -> None:
        """Show what is new on the current screen and on the main one."""
        self._is_looking = False
        main = self.main
        if not self.is_running:
            return  # the screens are being taken down
        if not self.first_frame.is_set():
            if self.screen is not main:
                self._first_frame_painted()  # another screen covers the main one, whose first frame will not come
            return
        if self.host.fault is not None:
            self.exit(return_code=1)  # run_app reports the fault
            return
        if self.host.pool is not None and not self._is_host_open:
            self._is_host_open = True
            if not self.session.turn:
                self.run_worker(_restore_and_offer(self))
        if self._is_host_open:
            self._show_notices()
        if main is not None:
            main.look()
        look = getattr(self.screen, "look", None)
        if self.screen is not main and self.screen.is_mounted and callable(look):
            look()

    def _show_notices(self) -> None:
        notices = self.host.notices[self._notices_shown :]
        self._notices_shown += len(notices)
        mask = mask_of(self.host, self.glyphs)
        for notice in notices:
            self.notify(line(mask(notice), 300), severity="warning", markup=False, timeout=10)

    # Deciding.

    async def decide(self, questions: Sequence[Question]) -> None:
        """Wait until all questions are answered. The main screen shows `session.questions` meanwhile."""
        while any(question.open for question in questions):
            await asyncio.sleep(RATE)

    @override
    async def on_event(self, event: events.Event) -> None:
        """Pass an event on, unless the quiet period ignores it: a key typed before a question was shown never decides.

        Keys that come before any widget has the focus are kept for the first one; Textual would drop them.
        """
        if self._early_keys is not None and isinstance(event, events.Key | events.Paste):
            self._early_keys.append(event)
            return
        main = self.main
        if main is not None and isinstance(event, events.InputEvent | events.Paste):
            main.keep_looking()
        if main is not None and isinstance(event, PRESSES):
            self.pressed.set()
            if self.screen is not main:
                main.note_press(event)
            elif main.ignores(event):
                return
        await super().on_event(event)

    async def on_descendant_focus(self) -> None:
        """Hand the early keys to the first widget that has the focus."""
        early, self._early_keys = self._early_keys, None
        for event in early or ():
            await self.on_event(event)

    # Drawing.

    @override
    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return one filter: Textual's own, then the exit filter that keeps control characters from the terminal."""
        filters = tuple(super().get_line_filters())
        if filters != self._exit_filter.others:
            self._exit_filter = ExitFilter(filters)
        return [self._exit_filter]

    @override
    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        """Skip frames while the terminal does not read, then draw everything: a full queue would block the loop."""
        if textual_private.writes_waiting(self) >= textual_private.MOST_WAITING:
            self._has_skipped_frame = True
            return
        if self._has_skipped_frame:
            self._has_skipped_frame = False
            self.call_later(self.screen.refresh, layout=True)
        super()._display(screen, renderable)  # pyright: ignore[reportUnknownMemberType] - Textual leaves its screen open

    # Sessions and screens.

    @property
    def session(self) -> Session:
        """The session on screen."""
        if self._session is None:
            self._session = self.begin()
        return self._session

    @session.setter
    def session(self, session: Session) -> None:
        self._session = session

    @property
    def main(self) -> MainScreen | None:
        """The main screen; None before it exists."""
        return next((screen for screen in self.screen_stack if isinstance(screen, MainScreen)), None)

    def show_session(self, session: Session) -> None:
        """Show another session. The turn of the session that leaves the screen goes on."""
        self.session = session
        if self.main is not None:
            self.main.show_session(session)

    def on_sessions_screen_chosen(self, event: SessionsScreen.Chosen) -> None:
        """Show the chosen session."""
        self.show_session(event.session)

    def _open(self, screen: Screen[None]) -> None:
        """Put a screen over the main one, or close the open screen of the same kind."""
        if isinstance(self.screen, type(screen)):
            self.pop_screen()
            return
        while self.screen is not self.main and len(self.screen_stack) > 1 and not isinstance(self.screen, type(screen)):
            self.pop_screen()
        if not isinstance(self.screen, type(screen)):
            self.push_screen(screen)

    def _to_main(self) -> None:
        """Close the screens over the main one."""
        while self.main is not None and self.screen is not self.main and len(self.screen_stack) > 1:
            self.pop_screen()

    # Actions: by key, from the palette, or by `/name` in the prompt.

    def run_command(self, name: str) -> None:
        """Run the action of a `/name`."""
        for action in ACTIONS:
            if action.name == name:
                self.call_later(self.run_action, action.action)

    def on_prompt_command(self, event: Prompt.Command) -> None:
        """Run a `/name`, or say which command may have been meant."""
        names = [action.name for action in ACTIONS]
        as_text = "A space before the / sends it as text."
        words = ""
        if event.name not in names:
            from difflib import get_close_matches

            near = " or ".join(f"/{name}" for name in get_close_matches(event.name, names, n=2, cutoff=0.5))
            words = f"There is no command /{line(event.name, 40)}{f': {near}?' if near else '.'} {as_text}"
        elif event.arguments:
            words = f"/{event.name} takes no arguments; up brings back what you wrote. {as_text}"
        if words:
            self.notify(words, severity="warning", markup=False, timeout=8)
        self.run_command(event.name)

    @override
    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Return the palette's entries: the table of actions, and the documents that come with the program."""
        from tui_host.tui.screens.help_screen import DOCUMENTS, shipped_documents

        for action in ACTIONS:
            if action.name != "palette":
                key = f" ({action.shown})" if action.shown else ""
                yield SystemCommand(f"{action.name}{key}", action.help, partial(self.run_command, action.name))
        for name in shipped_documents():
            yield SystemCommand(f"read: {name}", DOCUMENTS.get(name, ""), partial(self._read_document, name))

    def _read_document(self, name: str) -> None:
        from tui_host.tui.screens.help_screen import DocumentScreen

        self.call_later(self.push_screen, DocumentScreen(name))

    def action_help(self) -> None:
        """Show every key, first those of the place where the focus is; over whatever is shown."""
        from tui_host.tui.screens.help_screen import HelpScreen, place_of

        if isinstance(self.screen, HelpScreen):
            self.pop_screen()
        else:
            self.push_screen(HelpScreen(place_of(self.screen, self.focused)))

    def action_open_screen(self, name: str) -> None:
        """Open a screen of the table of actions over the main one, or close it."""
        from tui_host.tui.screens.screen_table import make_screen

        if self.main is not None and (screen := make_screen(name, self.main, self.session)) is not None:
            self._open(screen)

    @override
    def action_suspend_process(self) -> None:
        """Suspend the program, if it was started by a shell that can resume it."""
        if os.getpgrp() == os.getsid(0):
            words = "tui-host was not started from a shell, so nothing could bring it back."
            self.notify(words, severity="warning", markup=False)
        else:
            super().action_suspend_process()

    def action_new(self) -> None:
        """Begin a new session, or go back to one that has no message yet."""
        self._to_main()
        drafts = (session for session in self.host.sessions.values() if not session.turn and session.draft)
        if self.session.turn:
            self.show_session(next(drafts, None) or self.host.sessions.new())
        elif self.main is not None:
            self.main.show_session(self.session)  # new already

    def action_again(self) -> None:
        """Send the last request again, if it failed."""
        if self.session.busy:
            self.notify("A turn is running; escape stops it.", markup=False, timeout=4)
        elif not can_try_again(self.session):
            self.notify("Nothing failed, so there is nothing to try again.", markup=False, timeout=4)
        else:
            self.host.again(self.session)

    def action_revoke(self) -> None:
        """Revoke every rule that was given for this session."""
        policy = self.session.policy
        names = ", ".join(tool_name(grant.server, grant.tool) for grant in policy.grants)
        for grant in policy.grants:
            policy.revoke(grant)
        words = f"Revoked; asked again from now on: {names}" if names else "No rule was given for this session."
        self.notify(line(words, 300), markup=False, timeout=6)

    def action_stop(self) -> None:
        """Stop the turn on screen."""
        self.host.stop_turn(self.session)

    def action_inspector(self) -> None:
        """Switch between chat and inspector, the inspector alone, and the chat alone."""
        self._to_main()
        if self.main is not None:
            self.main.next_arrangement()

    def action_copy(self) -> None:
        """Copy the selection or the current item, and say how much was copied."""
        what, text = clipboard.current_source(self.focused)
        if text:
            clipboard.send(self, what, text)

    def action_copy_code(self) -> None:
        """Copy a code block of the chat."""
        if self.main is not None:
            self.main.copy_code()

    def on_transcript_copy_asked(self, event: Transcript.CopyAsked) -> None:
        """Copy a part of an item."""
        clipboard.send(self, event.what, event.text)


def can_try_again(session: Session) -> bool:
    """Whether the last turn ended with an error that the same request may not meet again."""
    from tui_host.chat.conversation import NoteItem, SummaryItem

    for item in reversed(session.conversation.items):
        if isinstance(item, NoteItem):
            return item.again
        if not isinstance(item, SummaryItem):
            return False
    return False


def _import(modules: Sequence[str]) -> None:
    for module in modules:
        importlib.import_module(module)


async def _load_the_rest(app: TuiHost) -> None:
    usual_seconds = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        await asyncio.to_thread(_import, LATE)
        if app.main is not None:
            await app.main.complete()
        app.complete.set()
        await asyncio.to_thread(_import, LATER)
    finally:
        sys.setswitchinterval(usual_seconds)
    from tui_host.capture.store.temporary_store import remove_left_behind
    from tui_host.tui.markdown.code_blocks import warm
    from tui_host.tui.markdown.parser import load

    await asyncio.to_thread(load)  # until then Markdown is drawn as plain text
    await asyncio.to_thread(remove_left_behind)
    await app.pressed.wait()
    await asyncio.to_thread(warm)  # 4 MiB that an app nobody sits at does without


async def _restore_and_offer(app: TuiHost) -> None:
    """Restore an unsent draft of an earlier run, then offer the model servers that run on this machine."""
    store = app.host.store
    draft = await asyncio.to_thread(store.sessions.left_draft) if store is not None else None
    if draft is not None and store is not None and app.main is not None and app.main.submissions.put_draft(draft[1]):
        store.sessions.forget_draft(draft[0])
    from tui_host.llm.probe import local_servers

    servers = await local_servers()
    if servers and app.main is not None:
        app.main.offer(servers)
