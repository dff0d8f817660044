"""How long an event loop kept others waiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

BEAT = 0.002


@asynccontextmanager
async def stalls() -> AsyncGenerator[list[float]]:
    """Sleep for 2 ms again and again while the block runs; the seconds by which each sleep was too long."""
    late = [0.0]

    async def beat() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(BEAT)
            late.append(time.perf_counter() - before - BEAT)

    async with asyncio.TaskGroup() as group:
        beating = group.create_task(beat())
        await asyncio.sleep(0.02)  # so that the first block is seen too
        yield late
        beating.cancel()
