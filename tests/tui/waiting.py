"""Waiting for what an app comes to by itself."""

from __future__ import annotations

from collections.abc import Callable

import anyio
from textual.pilot import Pilot

PATIENCE = 20.0
"""Seconds; a machine that does much else takes some of them."""


async def until(pilot: Pilot[None], is_so: Callable[[], bool]) -> None:
    """Wait until it is so. After a change of size too: Textual lays it out some frames after it was told."""
    with anyio.fail_after(PATIENCE):
        while not is_so():
            await pilot.pause(0.01)
