"""Pausing and resuming the program: `kill -TSTP`, `kill -STOP`, a shell's job control, and `fg`."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

from typing_extensions import override

from tui_host.guard.terminal_state import given_back
from tui_host.tui import textual_private

if TYPE_CHECKING:
    from textual.app import App

    from tui_host.guard.guard_client import Guard

SIGNAL_SECONDS = 0.2
"""Longest time, in seconds, for an earlier signal to arrive after the one that resumes the program."""
NOTICE_SECONDS = 5.0
"""Shortest pause to tell the user about, in seconds."""


class PausableLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock stops while the program is paused, so that no deadline passes.

    No clock of the system stands still then. So a pause is the time between two looks at the clock, which an app does many times a second.
    A handler only says that there was one, and `time` alone works it out: so neither changes what the other is in the midst of.

    Args:
        clock: Seconds, which pass in a pause, too.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._heard = self._minded = 0
        self._paused = self._reported = 0.0
        self._looked = self._gap_end = clock()
        self._gap = 0.0
        super().__init__()

    @override
    def time(self) -> float:
        while True:
            heard, now = self._heard, self._clock()
            if heard == self._heard:  # else it may have been read before the pause, or behind it
                break
        if now - self._looked >= self._gap or now - self._gap_end > SIGNAL_SECONDS:
            self._gap, self._gap_end = now - self._looked, now
        self._looked = now
        if heard != self._minded:
            self._minded = heard
            self._paused += self._gap  # not always the last: another thread may have taken the signal, and been late
            self._gap = 0.0
        return now - self._paused

    def go_on(self) -> None:
        """Note that the program was paused until now. Called by a signal handler."""
        self._heard += 1

    def skipped(self) -> float:
        """Return the seconds of pauses since the last call."""
        self.time()
        seconds, self._reported = self._paused - self._reported, self._paused
        return seconds


class Pauses:
    """Gives the terminal to the shell during a pause, and restores the screen afterwards.

    Signals only say what is wanted. What is done about it is done by one task, one thing after the other: a handler runs
    in the midst of anything, also of another handler, and the terminal would be entered twice, or be waited for by its own writer.

    Args:
        app: Leaves the terminal, is redrawn, and is told of a long pause.
        loop: The event loop, whose deadlines are moved.
        guard: Does not touch the terminal while the shell has it.
        is_told_to_end: Returns whether a signal has arrived that the app handles only after it resumes.
    """

    def __init__(self, app: App[int], loop: PausableLoop, guard: Guard, is_told_to_end: Callable[[], bool]) -> None:
        self._app = app
        self._loop = loop
        self._guard = guard
        self._is_told_to_end = is_told_to_end
        self._is_due = False
        self._signalled = asyncio.Event()

    async def heed(self) -> None:
        """Pause whenever a signal asks for it, until cancelled. Call after Textual has begun to draw, to replace its handlers."""
        signal.signal(signal.SIGTSTP, self._hear)
        signal.signal(signal.SIGCONT, self._hear)
        try:
            await asyncio.to_thread(self._guard.draw)
            while True:
                await self._signalled.wait()
                self._signalled.clear()
                if self._is_due and self._app.return_code is None:  # else it is on its way out of the screen anyway
                    self._pause()
        finally:
            for number in (signal.SIGTSTP, signal.SIGCONT):
                signal.signal(number, signal.SIG_DFL)  # Textual's would enter a screen that has been left for good

    def _hear(self, number: int, frame: FrameType | None) -> None:
        del frame
        if number == signal.SIGTSTP:
            self._is_due = True
            self._loop.call_soon_threadsafe(self._signalled.set)
        else:
            self._is_due = False  # as in the system, where it takes back a stop that has not happened yet
            self._loop.go_on()
            self._loop.call_soon_threadsafe(_resume, self._app, self._loop)

    def _pause(self) -> None:
        """Leave the screen, stop, and enter the screen again when the shell gives the terminal back."""
        self._guard.leave()
        textual_private.bound_the_end(self._app)
        try:
            with self._app.suspend():
                self._stand_still()
        except InterruptedError:
            textual_private.let_go(self._app)
            given_back(self._guard)
        else:
            self._guard.draw()

    def _stand_still(self) -> None:
        """Stop until the terminal is available.

        Raises:
            InterruptedError: The terminal may be gone: the program was told to end.
        """
        while self._is_due:
            os.killpg(0, signal.SIGSTOP)  # with what started us in the same job, so that its shell notices
            is_ours = _is_in_foreground()  # else it goes on in the background, where it has no terminal
            if not is_ours:
                time.sleep(SIGNAL_SECONDS)
            if self._is_told_to_end():
                raise InterruptedError
            self._is_due = not is_ours


def _is_in_foreground() -> bool:
    """Whether job control allows drawing on the terminal."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:  # no job control here
        return True


def _resume(app: App[int], loop: PausableLoop) -> None:
    seconds = loop.skipped()
    if app.return_code is not None:
        return  # its screens are being taken down
    app.screen.refresh(layout=True)
    if seconds >= NOTICE_SECONDS:
        from tui_host.tui.widgets.transcript.items import duration

        app.notify(f"paused for {duration(seconds)}; timeouts did not run meanwhile", markup=False)
