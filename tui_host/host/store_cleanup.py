"""Completes what killed processes left, and deletes sessions that exceed the limits of `[store]`, in the background."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING

from tui_host.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui_host.capture.store.store import Store
    from tui_host.settings.schema import StoreLimits

FIRST_SECONDS = 1.0
"""Delay after the program's start, in seconds: the start does not wait for the cleanup."""
PERIOD_SECONDS = 3600.0


async def tend_store(
    store: Store, finish_left: Callable[[], None], settings: StoreLimits, stop: asyncio.Event, notices: list[str]
) -> None:
    """Finish what is left, then delete sessions that exceed the limits, soon and hourly, until cancelled. Tells of a failure once.

    `stop` is set when the program is about to exit, and interrupts the cleanup.
    """
    import anyio
    from anyio import to_thread

    from tui_host.capture.store.deletion import prune

    try:
        await to_thread.run_sync(finish_left)
    except StoreError as error:
        notices.append(str(error))
    if settings.keep is None and settings.max is None:
        return
    await anyio.sleep(FIRST_SECONDS)
    while True:
        before_ns = None if settings.keep is None else time.time_ns() - int(settings.keep * 1_000_000_000)
        work = partial(prune, store, before_ns=before_ns, max_bytes=settings.max, stopped=stop.is_set)
        try:
            pruned = await to_thread.run_sync(work, abandon_on_cancel=True)
        except StoreError as error:
            notices.append(f"sessions beyond the limits of [store] could not be deleted: {error}")
            return
        gone = sum(old.thing == "session" for old in pruned.gone)
        if gone:
            were = "session was" if gone == 1 else "sessions were"
            notices.append(f"{gone} old {were} deleted, as [store] keep and max say")
        await anyio.sleep(PERIOD_SECONDS)
