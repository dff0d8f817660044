"""Deletes sessions that exceed the limits of `[store]`, in the background."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tui_host.errors import StoreError

if TYPE_CHECKING:
    from tui_host.capture.store.deletion import Pruned
    from tui_host.capture.store.store import Store
    from tui_host.settings.schema import StoreLimits

FIRST_SECONDS = 1.0
"""Delay after the program's start, in seconds: the start does not wait for the cleanup."""
PERIOD_SECONDS = 3600.0
_DURATIONS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_SIZES = {"TB": 1e12, "GB": 1e9, "MB": 1e6, "KB": 1e3}


async def keep_within(store: Store, settings: StoreLimits, stop: asyncio.Event, notices: list[str]) -> None:
    """Delete sessions that exceed the limits, soon and then hourly, until cancelled. A failure is reported once and ends it.

    `stop` is set when the program is about to exit, and interrupts the cleanup.
    """
    import anyio
    from anyio import to_thread

    from tui_host.capture.store.deletion import prune

    if settings.keep is None and settings.max is None:
        return
    await anyio.sleep(FIRST_SECONDS)
    while True:
        before_ns = None if settings.keep is None else time.time_ns() - int(settings.keep * 1_000_000_000)

        def work(before_ns: int | None = before_ns) -> None:
            pruned = prune(store, before_ns=before_ns, max_bytes=settings.max, stopped=stop.is_set)
            notices.extend(_told(pruned, before_ns or 0, settings))

        try:
            await to_thread.run_sync(work, abandon_on_cancel=True)
        except StoreError as error:
            notices.append(f"sessions beyond the limits of [store] could not be deleted: {error}")
            return
        await anyio.sleep(PERIOD_SECONDS)


def _told(pruned: Pruned, before_ns: int, settings: StoreLimits) -> Iterator[str]:
    """Say how many sessions each limit deleted; yields nothing if none were deleted."""
    gone = [old for old in pruned.gone if old.thing == "session"]
    aged = sum(old.time_ns < before_ns for old in gone)
    reasons: list[str] = []
    if aged:
        reasons.append(f"{aged} by [store] keep = {_in_units(settings.keep or 0, _DURATIONS)}")
    if len(gone) > aged:
        reasons.append(f"{len(gone) - aged} by [store] max = {_in_units(settings.max or 0, _SIZES)}")
    if gone:
        were = "session was" if len(gone) == 1 else "sessions were"
        yield f"{len(gone)} old {were} deleted: {', '.join(reasons)}"


def _in_units(number: float, units: Mapping[str, float]) -> str:
    """Format a limit with a unit, as in the configuration."""
    unit = next((unit for unit, size in units.items() if number >= size), "")
    return f"{number / units.get(unit, 1):.4g}{unit}"
