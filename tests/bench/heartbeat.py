"""How long an event loop kept others waiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

BEAT = 0.002


@asynccontextmanager
async def stalls(clock: Callable[[], float] = time.perf_counter) -> AsyncGenerator[list[float]]:
    """Sleep for 2 ms again and again while the block runs; the seconds by which each sleep was too long.

    With the CPU time of the thread as the clock these are its own work alone, whatever else the machine does.
    """
    slept = BEAT if clock is time.perf_counter else 0.0
    late = [0.0]

    async def beat() -> None:
        while True:
            before = clock()
            await asyncio.sleep(BEAT)
            late.append(clock() - before - slept)

    async with asyncio.TaskGroup() as group:
        beating = group.create_task(beat())
        await asyncio.sleep(0.02)  # so that the first block is seen too
        yield late
        beating.cancel()
