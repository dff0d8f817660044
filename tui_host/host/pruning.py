"""What is kept no longer goes in the background. Source: DESIGN, Configuration, [store]."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from tui_host.errors import StoreError

if TYPE_CHECKING:
    from tui_host.capture.store.store import Store
    from tui_host.settings.schema import Store as StoreSettings

FIRST_SECONDS = 1.0
"""After the start, which is not to wait for it."""
PERIOD_SECONDS = 3600.0


async def keep_within(store: Store, settings: StoreSettings, stop: asyncio.Event, notices: list[str]) -> None:
    """Remove what is beyond the limits, soon and then every hour, until cancelled; a failure is told once and ends it.

    Args:
        store: Where.
        settings: The limits; without any there is nothing to do.
        stop: Set when the program is about to end: what is not removed by then has time.
        notices: Where a failure is told.
    """
    import anyio
    from anyio import to_thread

    from tui_host.capture.store.pruning import Limits, prune

    if settings.keep is None and settings.max is None:
        return
    await anyio.sleep(FIRST_SECONDS)
    while True:
        before_ns = None if settings.keep is None else time.time_ns() - int(settings.keep * 1_000_000_000)
        limits = Limits(before_ns=before_ns, max_bytes=settings.max)

        def work(limits: Limits = limits) -> None:
            prune(store, limits, stopped=stop.is_set)

        try:
            await to_thread.run_sync(work, abandon_on_cancel=True)
        except StoreError as error:
            notices.append(f"what [store] keep and max no longer keep could not be removed: {error}")
            return
        await anyio.sleep(PERIOD_SECONDS)
