"""An app at work in a test, and waiting for what it comes to by itself."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio
from textual.app import App
from textual.pilot import Pilot

A = TypeVar("A", bound=App[None])

PATIENCE = 90.0
"""Seconds; a machine that does much else takes some of them."""


async def until(pilot: Pilot[None], is_so: Callable[[], bool]) -> None:
    """Wait until it is so. After a change of size too: Textual lays it out some frames after it was told."""
    with anyio.fail_after(PATIENCE):
        while not is_so():
            await pilot.pause(0.01)


@asynccontextmanager
async def at_work(app: A, size: tuple[int, int] = (80, 24)) -> AsyncGenerator[tuple[A, Pilot[None]]]:
    async with app.run_test(size=size, notifications=True) as pilot:
        yield app, pilot
