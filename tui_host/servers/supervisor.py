"""Keeps a server connected or disconnected, as wanted. Imported late, because the SDK comes along."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import anyio

from tui_host.servers.connection import Connection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_host.servers.pool_slot import Shared, Slot

AGAIN_SECONDS = 60.0
"""A session that is lost twice within this time is not renewed automatically again."""


async def supervise_all(shared: Shared, slots: Sequence[Slot]) -> None:
    """Own every connection of a pool until the pool stops; no server's fault escapes."""
    async with anyio.create_task_group() as group:
        for slot in slots:
            group.start_soon(_supervise, shared, slot)


async def _supervise(shared: Shared, slot: Slot) -> None:
    lost_at = -AGAIN_SECONDS
    while not shared.is_stopping:
        slot.wake.clear()
        if not slot.is_wanted:
            await slot.wake.wait()
            continue
        connection = slot.connection = Connection(
            slot.spec, shared.environment, recorder=shared.recorder, guard=shared.guard, changed=shared.changed
        )
        slot.started = time.monotonic()
        connection.early, slot.early = slot.early, None
        shared.changed()
        await connection.run()
        slot.end(connection.status)
        if connection.is_session_lost and slot.is_wanted and time.monotonic() - lost_at > AGAIN_SECONDS:
            lost_at = time.monotonic()
            slot.set_notice("the server forgot the session; a new one was made")
            continue
        if slot.is_restarting:
            slot.is_restarting = False
            continue
        slot.is_wanted = False
        shared.changed()
