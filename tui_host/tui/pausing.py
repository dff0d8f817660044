"""A program that is paused and goes on: `kill -TSTP`, `kill -STOP`, a shell's job control, and `fg`. Source: threats.md, UIX-06."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING

from typing_extensions import override

if TYPE_CHECKING:
    from textual.app import App

    from tui_host.servers.guard import Guard

TOLD_SECONDS = 5.0
"""A shorter pause is not worth a word."""


class PausableLoop(asyncio.SelectorEventLoop):
    """An event loop whose time stands still while the program is paused, so that no deadline passes meanwhile."""

    def __init__(self) -> None:
        self._paused = 0.0
        self._looked = time.monotonic()
        super().__init__()

    @override
    def time(self) -> float:
        """Seconds on the monotonic clock, less those in which the program was paused."""
        self._looked = time.monotonic()
        return self._looked - self._paused

    def skip(self) -> float:
        """Take the time since the clock was last looked at, which an app does many times a second, as not passed; how much it was."""
        seconds = time.monotonic() - self._looked
        self._paused += seconds
        self._looked += seconds
        return seconds


@contextmanager
def pausing(app: App[int], loop: PausableLoop, guard: Guard) -> Generator[None]:
    """Within the block a pause costs nothing but its time. Enter it once Textual draws: its handlers are called by ours.

    Args:
        app: Told of the pause, and drawn anew.
        loop: Its deadlines are moved.
        guard: Leaves the terminal alone while it is the shell's.
    """
    leave, enter = signal.getsignal(signal.SIGTSTP), signal.getsignal(signal.SIGCONT)
    has_left = False

    def pause(number: int, frame: FrameType | None) -> None:
        nonlocal has_left
        guard.leave()
        has_left = True
        if callable(leave):
            leave(number, frame)  # leaves the screen, stops the process, and comes back when that goes on

    def go_on(number: int, frame: FrameType | None) -> None:
        nonlocal has_left
        seconds = loop.skip()
        if has_left and callable(enter):  # after a bare SIGSTOP entering the screen again would lose the way out of it
            has_left = False
            enter(number, frame)
            guard.draw()
        loop.call_soon_threadsafe(partial(_resume, app, seconds))

    signal.signal(signal.SIGTSTP, pause)
    signal.signal(signal.SIGCONT, go_on)
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, leave)
        signal.signal(signal.SIGCONT, enter)


def _resume(app: App[int], seconds: float) -> None:
    app.screen.refresh(layout=True)
    if seconds >= TOLD_SECONDS:
        from tui_host.tui.widgets.transcript.words import duration

        app.notify(f"paused for {duration(seconds)}; no deadline passed meanwhile", markup=False)
