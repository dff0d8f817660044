"""How long an event loop kept others waiting."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Self

BEAT = 0.002


class Heartbeat:
    """Sleeps for 2 ms again and again while its block runs, and notes by how much it overslept.

    Attributes:
        longest: Seconds, of the worst.
    """

    def __init__(self) -> None:
        self.longest = 0.0
        self._group = asyncio.TaskGroup()
        self._is_over = False

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._group.create_task(self._beat())
        await asyncio.sleep(0.02)  # so that the first block is seen too
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over = True
        await self._group.__aexit__(kind, error, trace)

    async def _beat(self) -> None:
        while not self._is_over:
            before = time.perf_counter()
            await asyncio.sleep(BEAT)
            self.longest = max(self.longest, time.perf_counter() - before - BEAT)
