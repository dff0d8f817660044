"""Ends and pauses the app for other reasons than a key: signals, a lost terminal, a blocked event loop, a shell's job control."""

from __future__ import annotations

import _thread
import asyncio
import os
import signal
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from tui_host.guard.terminal_state import given_back, restore
from tui_host.host.defects import catch_defects
from tui_host.tui import textual_private
from tui_host.tui.app import HANGUP

if TYPE_CHECKING:
    from types import FrameType

    from tui_host.guard.guard_client import Guard
    from tui_host.tui.app import TuiHost

SIGNALS = {signal.SIGHUP: HANGUP, signal.SIGINT: 130, signal.SIGTERM: 143}
LAST_SECONDS = 8.0
"""Seconds from a signal or the app's end until the program is ended by force, such as where the terminal reads nothing: a normal
end takes six at most."""
LOOK_SECONDS = 1.0
BACKGROUND_SECONDS = 0.2  # in the background before it stops again: a signal to end comes behind the one that resumes


@asynccontextmanager
async def beside(work: Coroutine[None, None, None]) -> AsyncGenerator[None]:
    """Run some work while the block runs, and cancel it at the end."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)
        try:
            yield
        finally:
            task.cancel()


@asynccontextmanager
async def watched(app: TuiHost, guard: Guard) -> AsyncGenerator[Callable[[], bool]]:
    """End the app in order on a signal or a lost terminal, within the block; yields a test for «a signal has come».

    Uses plain signal handlers instead of the loop's: they work even while the loop is blocked. Errors of threads and tasks nobody
    awaits are reported; Python would print these over the screen.
    """
    loop = asyncio.get_running_loop()
    signals: list[int] = []

    def end(number: int, _: FrameType | None) -> None:
        if number == signal.SIGINT and app.is_lent:
            return  # a ctrl+c for the editor, which the terminal sends to the whole job
        code = SIGNALS[signal.Signals(number)]
        signals.append(number)
        # A second signal may interrupt this handler: a lock that it took here, as those of `threading`, would never be free again.
        if len(signals) == 1:
            _thread.start_new_thread(end_by_force, (code,))
        loop.call_soon_threadsafe(partial(app.exit, return_code=code))

    def end_by_force(code: int) -> None:
        time.sleep(LAST_SECONDS)
        restore(guard)
        os._exit(code)  # the guard ends the servers once this process is gone

    async def watch_terminal() -> None:
        # It may go without a signal, as in a session without a controlling terminal.
        while os.isatty(0) and not app.ending.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await app.ending.wait()
        if not app.ending.is_set():
            app.exit(return_code=HANGUP)
        if not signals:
            _thread.start_new_thread(end_by_force, (app.return_code or 0,))

    def failed(error: BaseException, thread: str) -> None:
        if thread == textual_private.WRITER and isinstance(error, OSError):
            app.exit(return_code=HANGUP)
        else:
            app.report_error(error)

    before = {number: signal.signal(number, end) for number in SIGNALS}
    try:
        with catch_defects(failed):
            async with beside(watch_terminal()):
                yield lambda: bool(signals)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@asynccontextmanager
async def drawing(app: TuiHost, guard: Guard, is_told_to_end: Callable[[], bool]) -> AsyncGenerator[None]:
    """Tell the guard that the terminal is in use, and give it to the shell in each pause, while the block runs the app.

    Handlers of signals only say what is wanted, and one task does it: a handler runs in the midst of anything, also of another
    handler, and the terminal would be entered twice, or be waited for by its own writer.
    """
    loop, heard = asyncio.get_running_loop(), asyncio.Event()
    is_due = False

    def hear(number: int, _: FrameType | None) -> None:
        nonlocal is_due
        is_due = number == signal.SIGTSTP  # as in the system, SIGCONT takes back a stop that has not happened yet
        loop.call_soon_threadsafe(heard.set)

    async def heed() -> None:
        await app.first_frame.wait()
        for number in (signal.SIGTSTP, signal.SIGCONT):
            signal.signal(number, hear)  # in place of Textual's
        await asyncio.to_thread(guard.draw)
        while await heard.wait():
            heard.clear()
            if app.return_code is not None:
                continue  # it is on its way out of the screen anyway
            if is_due and not app.is_lent:
                pause()
            elif is_due:
                with suppress(InterruptedError):  # the editor has the terminal, and stops too
                    _stand_still(is_told_to_end)
            app.screen.refresh(layout=True)  # another program may have drawn over it

    def pause() -> None:
        guard.leave()
        try:
            with app.suspend():
                _stand_still(is_told_to_end)
        except InterruptedError:
            textual_private.let_go(app)
            given_back(guard)
        else:
            guard.draw()

    try:
        async with beside(heed()):
            yield
    finally:
        for number in (signal.SIGTSTP, signal.SIGCONT):
            signal.signal(number, signal.SIG_DFL)  # Textual's would enter a screen that has been left for good
        guard.leave()
    given_back(guard)


def _stand_still(is_told_to_end: Callable[[], bool]) -> None:
    """Stop until the terminal is available; raises `InterruptedError` if the program is told to end: the terminal may be gone."""
    is_ours = False
    while not is_ours:
        os.killpg(0, signal.SIGSTOP)  # with what started us in the same job, so that its shell notices
        try:
            is_ours = os.tcgetpgrp(0) == os.getpgrp()
        except OSError:
            is_ours = True  # no job control here
        if not is_ours:  # it goes on in the background, where it has no terminal
            time.sleep(BACKGROUND_SECONDS)
        if is_told_to_end():
            raise InterruptedError
