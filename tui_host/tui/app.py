"""The app: one host, its screens, and what holds on all of them."""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from typing_extensions import override

from tui_host.capture.visible import line, tool_name
from tui_host.tui import copying
from tui_host.tui.drawn import Drawn
from tui_host.tui.keys import ACTIONS, Action
from tui_host.tui.masks import mask_of
from tui_host.tui.screens.main import MainScreen

if TYPE_CHECKING:
    from tui_host.chat.policy import Question
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.tui.screens.sessions import SessionsScreen
    from tui_host.tui.widgets.transcript.view import Transcript

PRESSES = (events.Key, events.Paste, events.MouseDown, events.MouseUp, events.Click)
RATE = 1 / 25
"""Seconds between two looks at what is new."""

# Imported in a thread once the first frame is painted, in the order in which it is likely to be missed.
LATE = (
    "tui_host.chat.session",
    "tui_host.tui.widgets.transcript.view",
    "tui_host.tui.widgets.transcript.empty",
    "tui_host.tui.widgets.inspector.pane",
    "tui_host.tui.source",
)
LATER = (
    "tui_host.tui.widgets.prompt.completion",
    "tui_host.tui.screens.help",
    "tui_host.tui.screens.servers",
    "tui_host.tui.screens.model",
    "tui_host.tui.screens.sessions",
    "tui_host.tui.screens.request",
    "tui_host.tui.tapped",
    "tui_host.tui.widgets.approval.panel",
    "tui_host.host.crash",
)
SWITCH_SECONDS = 0.0005
"""How soon a key gets the interpreter from a thread that imports."""


def _import(modules: Sequence[str]) -> None:
    for module in modules:
        importlib.import_module(module)


def can_try_again(session: Session) -> bool:
    """Whether the last turn ended with something that the same request may mend."""
    from tui_host.chat.conversation import NoteItem, SummaryItem

    for item in reversed(session.conversation.items):
        if isinstance(item, NoteItem):
            return item.again
        if not isinstance(item, SummaryItem):
            return False
    return False


class TuiHost(Drawn):
    """The program's first front.

    Attributes:
        host: What all is asked of.
        first_frame: Set once something is painted.
        complete: Set once chat and inspector stand in it; the host waits for it.
        begin: Makes the session that is shown first.
        reading: What chat and list say of it while it is read from a file; empty for a session of one's own.
    """

    TITLE = "tui-host"
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            action.key,
            action.action,
            action.label or action.name,
            show=False,
            priority=action.key != "ctrl+c",
            id=action.name,
        )
        for action in ACTIONS
        if action.key
    ]

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self.first_frame = asyncio.Event()
        self.complete = asyncio.Event()
        self._pressed = asyncio.Event()
        self._session: Session | None = None
        self.begin: Callable[[], Session] = host.sessions.new
        self.reading = ""
        self._is_open = self._is_looking = False
        self._told = 0
        host.approver = self

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
        """The main screen, None before it is there."""
        return next((screen for screen in self.screen_stack if isinstance(screen, MainScreen)), None)

    # From start to end.

    @override
    def get_default_screen(self) -> Screen[None]:
        """The main screen lies below all others, instead of a blank one that would be laid out and drawn first."""
        return MainScreen(self.host, lambda: self.session, self._glyphs, self.reading)

    def on_mount(self) -> None:
        """Let the rest come, and the host begin, after the first frame."""
        self.dress()
        self.run_worker(self._keep_looking)
        self.call_after_refresh(self._painted)

    def _painted(self) -> None:
        if self.first_frame.is_set():
            return
        self.first_frame.set()
        self.run_worker(self._bring_the_rest)

    async def _bring_the_rest(self) -> None:
        """Put in what the first frame did without; keys have their turn before what is imported."""
        usual = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_SECONDS)
        try:
            await asyncio.to_thread(_import, LATE)
            if self.main is not None:
                await self.main.complete()
            self.complete.set()
            await asyncio.to_thread(_import, LATER)
        finally:
            sys.setswitchinterval(usual)
        from tui_host.capture.store.fleeting import remove_left_behind
        from tui_host.tui.markdown.fences import warm
        from tui_host.tui.markdown.parser import load

        await asyncio.to_thread(load)  # Markdown is plain text until its parser is there
        await asyncio.to_thread(remove_left_behind)
        await self._pressed.wait()
        await asyncio.to_thread(warm)  # 4 MiB that an app at which nobody sits does without

    async def _keep_looking(self) -> None:
        """Look whenever there may be something new, at most at the screen's rate."""
        while True:
            await asyncio.sleep(RATE)
            if self.is_running and not self._is_looking and self._has_news:
                self._is_looking = self.call_later(self._look)

    @property
    def _has_news(self) -> bool:
        """Whether a look may find something; costs next to nothing."""
        main = self.main
        is_main = main is not None and self.screen is main and self._is_open and self.host.fault is None
        return not is_main or main is None or main.has_news or self._told < len(self.host.notices)

    def _look(self) -> None:
        """Let what is on screen take in what is new."""
        self._is_looking = False
        if not self.is_running:
            return  # the screens are being taken down
        if not self.first_frame.is_set():
            if self.screen is not self.main:
                self._painted()  # what waits for the main screen's first frame waits in vain behind another screen
            return
        if self.host.fault is not None:
            self.exit(return_code=1)  # who runs the app tells it, below
            return
        if self.host.pool is not None and not self._is_open:
            self._is_open = True
            self._opened()
        if self._is_open:
            self._tell()
        main = self.main
        if main is not None:
            main.look()
        looks = getattr(self.screen, "look", None)
        if self.screen is not main and self.screen.is_mounted and callable(looks):  # else it has nothing to look with
            looks()

    def _opened(self) -> None:
        """The host is there: put back a draft, and look for model servers on this machine."""
        if not self.session.turn:
            self.run_worker(self._look_around())

    def _tell(self) -> None:
        """Say what the host has to tell since."""
        notices = self.host.notices[self._told :]
        self._told += len(notices)
        mask = mask_of(self.host, self._glyphs)
        for notice in notices:
            self.notify(line(mask(notice), 300), severity="warning", markup=False, timeout=10)

    async def _look_around(self) -> None:
        """Put back what a program that ended left unsent; ask this machine's usual ports which models they have.

        Nobody waits for it, and the host has imported httpx by now.
        """
        store = self.host.store
        left = await asyncio.to_thread(store.sessions.left_draft) if store is not None else None
        if left is not None and store is not None and self.main is not None and self.main.put_draft(left[1]):
            store.sessions.forget_draft(left[0])
        from tui_host.llm.probe import local_servers

        local = await local_servers()
        if local and self.main is not None:
            self.main.offer(local)

    # Deciding.

    async def decide(self, questions: Sequence[Question]) -> None:
        """The host asks; the main screen shows `session.questions`. Returns when all are answered or the turn is stopped."""
        while any(question.open for question in questions):
            await asyncio.sleep(RATE)

    @override
    async def on_event(self, event: events.Event) -> None:
        """The one place that keeps the quiet period: a key typed before the question was up never decides."""
        main = self.main
        if main is not None and isinstance(event, events.InputEvent | events.Paste):
            main.look_on()
        if main is not None and isinstance(event, PRESSES):
            self._pressed.set()
            if self.screen is not main:
                main.note(event)
            elif main.swallow(event):
                return
        await super().on_event(event)

    # Actions of the whole app.

    def show_session(self, session: Session) -> None:
        """Put another session on the screen; the turn of the one that leaves goes on."""
        self.session = session
        if self.main is not None:
            self.main.show_session(session)

    def action_help(self) -> None:
        """Every key, those of the place where the person is first; over whatever is there."""
        from tui_host.tui.screens.help import HelpScreen, place_of

        if isinstance(self.screen, HelpScreen):
            self.pop_screen()
        else:
            self.push_screen(HelpScreen(place_of(self.screen, self.focused)))

    def action_servers(self) -> None:
        """The servers; of a session from elsewhere those of its host too."""
        from tui_host.tui.screens.servers import ServersScreen
        from tui_host.tui.tapped_servers import ToldServers

        source = self.main.source if self.main is not None and self.session.is_foreign else None
        self._open(lambda: ServersScreen(self.host, None if source is None else ToldServers(source)))

    def action_model(self) -> None:
        """Choose the model."""
        from tui_host.tui.screens.model import ModelScreen

        if self._is_own():
            self._open(lambda: ModelScreen(self.host, self.session))

    def action_profile(self) -> None:
        """Choose a profile."""
        from tui_host.tui.screens.model import ModelScreen

        if not self._is_own():
            return
        if self.host.settings.profiles:
            self._open(lambda: ModelScreen(self.host, self.session, "profile"))
        else:
            self.notify("no profile is configured: write [profiles.NAME] into config.toml", markup=False)

    def action_request(self) -> None:
        """The coming request."""
        from tui_host.tui.screens.request import RequestScreen

        if self.main is not None and self._is_own():
            unsent, source, attached = self.main.unsent, self.main.source, self.main.attached
            self._open(lambda: RequestScreen(self.host, self.session, unsent, source, attached))

    def _is_own(self) -> bool:
        return self.main is None or self.main.is_own()

    def action_sessions(self) -> None:
        """Earlier sessions."""
        from tui_host.tui.screens.sessions import SessionsScreen

        self._open(lambda: SessionsScreen(self.host))

    def _open(self, make: Callable[[], Screen[None]]) -> None:
        """Put a screen over the main one; the same key again closes it."""
        screen = make()
        if isinstance(self.screen, type(screen)):
            self.pop_screen()
            return
        while self.screen is not self.main and len(self.screen_stack) > 1 and not isinstance(self.screen, type(screen)):
            self.pop_screen()
        if not isinstance(self.screen, type(screen)):
            self.push_screen(screen)

    def _to_main(self) -> None:
        """Leave the screens over the main one, where what is asked for can be seen."""
        while self.main is not None and self.screen is not self.main and len(self.screen_stack) > 1:
            self.pop_screen()

    @override
    def action_suspend_process(self) -> None:
        """Give the terminal back to the shell that started us, if there is one to continue us."""
        if os.getpgrp() == os.getsid(0):
            self.notify("no shell waits here that could bring tui-host back", severity="warning", markup=False)
        else:
            super().action_suspend_process()

    def action_new(self) -> None:
        """A new session."""
        self._to_main()
        unsent = next((each for each in self.host.sessions.values() if not each.turn and each.draft), None)
        if self.session.turn:
            self.show_session(unsent or self.host.sessions.new())
        elif self.main is not None:
            self.main.show_session(self.session)  # it is new: there is nothing to leave

    def action_again(self) -> None:
        """Send the last request again, if it failed."""
        if self.session.busy:
            self.notify("A turn is at work; escape stops it.", markup=False, timeout=4)
        elif not can_try_again(self.session):
            self.notify("Nothing failed: there is nothing to try again.", markup=False, timeout=4)
        else:
            self.host.again(self.session)

    def action_revoke(self) -> None:
        """Take back every rule that was given for this session."""
        policy = self.session.policy
        names = ", ".join(tool_name(grant.server, grant.tool) for grant in policy.grants)
        for grant in policy.grants:
            policy.revoke(grant)
        words = f"Taken back; asked again from now on: {names}" if names else "No rule was given for this session."
        self.notify(line(words, 300), markup=False, timeout=6)

    def action_stop(self) -> None:
        """Stop the turn on screen."""
        self.host.stop_turn(self.session)

    def action_inspector(self) -> None:
        """Chat and inspector, inspector alone, chat alone."""
        self._to_main()
        if self.main is not None:
            self.main.next_arrangement()

    def action_copy(self) -> None:
        """Copy what the person is at, and say how much went where."""
        what, text = copying.current_source(self.focused)
        if text:
            copying.send(self, what, text)

    def action_copy_code(self) -> None:
        """Copy a block of code of the chat."""
        if self.main is not None:
            self.main.copy_code()

    def on_transcript_copy_asked(self, event: Transcript.CopyAsked) -> None:
        """Copy a part of an item."""
        copying.send(self, event.what, event.text)

    def on_speaking_screen_command_asked(self, event: MainScreen.CommandAsked) -> None:
        """Do the action of a `/name`."""
        for action in ACTIONS:
            if action.name == event.name:
                self._run_action_of(action)

    def on_sessions_screen_chosen(self, event: SessionsScreen.Chosen) -> None:
        """Show the session that was chosen."""
        self.show_session(event.session)

    def _run_action_of(self, action: Action) -> None:
        self.call_later(self.run_action, action.action)

    @override
    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette: the table of keys."""
        for action in ACTIONS:
            if action.name == "palette":
                continue
            key = f" ({action.shown})" if action.shown else ""
            yield SystemCommand(f"{action.name}{key}", action.help, partial(self._run_action_of, action))

    @override
    def before_end(self) -> None:
        """Keep what stands unsent in the prompt."""
        if self.main is not None:
            self.main.keep_draft()
