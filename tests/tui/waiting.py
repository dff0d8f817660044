"""An app at work in a test, and a pilot that waits until all has been done that follows from a key, a click or a new size, however slow the machine is.

Textual's own waits until its process uses little time, which on a busy machine it does also while it waits for its turn; and it
lays a new size out some frames later. Only private names of Textual tell what is on its way; pyright knows few of their types.
"""
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio
import textual.app
import textual.pilot
from textual.app import App
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.screen import Screen

A = TypeVar("A", bound=App[None])

PATIENCE = 90.0
"""Seconds; a machine that does much else takes some of them."""
_press, _pause, _wait_for_screen = Pilot.press, Pilot.pause, Pilot._wait_for_screen


async def settled(app: App[object]) -> None:
    """Wait until every message has been handled, what was put off to the next frame is done, and that frame is painted."""
    # What waits for a time to pass, for a thread or for another process has not come by then.
    with anyio.fail_after(PATIENCE):
        while not _is_over(app):
            if getattr(asyncio.get_running_loop(), "_ready", ()):  # the loop has something to do now
                await asyncio.sleep(0)
            elif not all(map(_is_waiting, (app, *app._registry))) or app._resize_event is not None:
                await asyncio.sleep(0.001)  # for a thread, or a timer
            elif _is_to_be_painted(app.screen):
                app.screen._on_timer_update()  # as at its next frame
            else:
                return


def _is_over(app: App[object]) -> bool:
    """Whether the app ends, by itself or by a mistake: then nobody reads messages any more."""
    return app._exit or app._closing or not app._running or app._exception_event.is_set() or not app.screen_stack


def _is_waiting(pump: MessagePump) -> bool:
    if pump._closed or pump._task is None:
        return True
    ready = pump._message_queue.ready_event
    return pump._running and not ready.is_set() and bool(getattr(ready, "_waiters", ()))


def _is_to_be_painted(screen: Screen[object]) -> bool:
    return not screen.app._batch_count and bool(
        screen._layout_required
        or screen._scroll_required
        or screen._repaint_required
        or screen._recompose_required
        or screen._dirty_widgets
        or screen._callbacks
    )


async def press(self: Pilot[object], *keys: str) -> None:
    for key in keys:
        await _press(self, key)
        await settled(self.app)


async def pause(self: Pilot[object], delay: float | None = None) -> None:
    """Wait for what is on its way; with a delay, for what comes in that time too."""
    await _pause(self, delay)
    await settled(self.app)


async def no_wait(min_sleep: float = 0, max_sleep: float = 0) -> None:
    """Let others run, in place of Textual's wait of 20 ms or more until its process uses little time; `settled` does the rest."""
    await asyncio.sleep(0)


async def wait_for_screen(self: Pilot[object], timeout: float = PATIENCE) -> bool:  # noqa: ASYNC109 - as Textual has it
    is_there = await _wait_for_screen(self, timeout)
    await settled(self.app)
    return is_there


def let_pilots_wait() -> None:
    """From now on, in this process."""
    for module in (textual.app, textual.pilot):
        setattr(module, "wait_for_idle", no_wait)  # noqa: B010 - a name of its own imports
    setattr(Pilot, "press", press)  # noqa: B010 - a method is replaced
    setattr(Pilot, "pause", pause)  # noqa: B010
    setattr(Pilot, "_wait_for_screen", wait_for_screen)  # noqa: B010


async def until(pilot: Pilot[None], is_so: Callable[[], bool]) -> None:
    """Wait until it is so. After a change of size too: Textual lays it out some frames after it was told."""
    with anyio.fail_after(PATIENCE):
        while not is_so():
            await pilot.pause(0.01)


@asynccontextmanager
async def at_work(app: A, size: tuple[int, int] = (80, 24)) -> AsyncGenerator[tuple[A, Pilot[None]]]:
    async with app.run_test(size=size, notifications=True) as pilot:
        yield app, pilot
