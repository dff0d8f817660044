"""The app from its start to its end: one host, what is new of it on the screens, and the keys that may decide."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.screen import Screen
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.tui.app_actions import Acting
from tui_host.tui.masks import mask_of
from tui_host.tui.screens.main_screen import MainScreen

if TYPE_CHECKING:
    from tui_host.chat.policy import Question
    from tui_host.host.host import Host

PRESSES = (events.Key, events.Paste, events.MouseDown, events.MouseUp, events.Click)
RATE = 1 / 25
"""Seconds between two looks at what is new."""

# Imported in a thread once the first frame is painted, in the order in which it is likely to be missed.
LATE = (
    "tui_host.chat.session",
    "tui_host.tui.widgets.transcript.transcript_view",
    "tui_host.tui.widgets.transcript.empty_chat",
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


def _import(modules: Sequence[str]) -> None:
    for module in modules:
        importlib.import_module(module)


class TuiHost(Acting):
    """The program's first front.

    Attributes:
        host: What all is asked of.
        first_frame: Set once something is painted.
        complete: Set once chat and inspector stand in it; the host waits for it.
        reading: What chat and list say of the first session while it is read from a file; empty for one of one's own.
    """

    TITLE = "tui-host"
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    CSS_PATH = "app.tcss"

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self.first_frame = asyncio.Event()
        self.complete = asyncio.Event()
        self._pressed = asyncio.Event()
        self.reading = ""
        self._is_open = self._is_looking = False
        self._told = 0
        host.approver = self

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
        from tui_host.capture.store.temporary_store import remove_left_behind
        from tui_host.tui.markdown.code_blocks import warm
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

    @override
    def before_end(self) -> None:
        """Keep what stands unsent in the prompt."""
        if self.main is not None:
            self.main.keep_draft()
