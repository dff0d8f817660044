"""Ends the app for other reasons than a key: signals, a lost terminal, a bug, a blocked event loop."""

from __future__ import annotations

import _thread
import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from tui_host.guard.terminal_state import restore
from tui_host.host.defects import catch_defects
from tui_host.tui import textual_private

if TYPE_CHECKING:
    from types import FrameType

    from textual.app import App

    from tui_host.guard.guard_client import Guard

HANGUP = 129
SIGNALS = {signal.SIGHUP: HANGUP, signal.SIGINT: 130, signal.SIGTERM: 143}
LAST_SECONDS = 8.0
"""Seconds after a signal until the program is ended by force. A normal exit takes six at most."""
LOOK_SECONDS = 1.0


@asynccontextmanager
async def watched(
    app: App[int], report_error: Callable[[BaseException], None], guard: Guard
) -> AsyncGenerator[Callable[[], bool]]:
    """End the app in order on a signal or a lost terminal, within the block; yields a test for «a signal has come».

    Uses plain signal handlers instead of the loop's: they work even while the loop is blocked. Errors of threads and tasks nobody
    awaits are reported; Python would print these over the screen.
    """
    loop = asyncio.get_running_loop()
    signals: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        del frame
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
        while not is_terminal_gone():
            await asyncio.sleep(LOOK_SECONDS)
        app.exit(return_code=HANGUP)

    def failed(error: BaseException, thread: str) -> None:
        if thread == textual_private.WRITER and isinstance(error, OSError):
            app.exit(return_code=HANGUP)
        else:
            report_error(error)

    before = {number: signal.signal(number, end) for number in SIGNALS}
    try:
        with catch_defects(failed):
            async with asyncio.TaskGroup() as group:
                watch = group.create_task(watch_terminal())
                try:
                    yield lambda: bool(signals)
                finally:
                    watch.cancel()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def is_terminal_gone() -> bool:
    """Whether standard input is no longer a terminal."""
    return not os.isatty(0)


def leave_output(app: App[int], code: int, guard: Guard) -> None:
    """Flush buffered output, or drop it if nobody reads it, so that the interpreter can end."""
    if textual_private.is_stuck(app):
        restore(guard)
        os._exit(code)  # the interpreter would wait for the writer's lock
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is None:
            continue
        try:
            stream.flush()
        except OSError:
            with suppress(OSError):  # nothing is left to write to
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, stream.fileno())
                os.close(null)
