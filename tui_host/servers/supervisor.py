"""Keeps each server connected or disconnected, as wanted. Imported late, because it imports the SDK."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import anyio

from tui_host.servers.connection import Connection

if TYPE_CHECKING:
    from tui_host.servers.pool_slot import Slot
    from tui_host.servers.shared_state import Shared


async def supervise_all(shared: Shared, added: list[Slot], news: asyncio.Event) -> None:
    """Run every connection of a pool until the pool stops, also of servers added later. Never raises for a server's fault.

    Args:
        shared: The state of the pool.
        added: Slots that no task keeps connected yet; taken out here.
        news: Set when slots were added, or when the pool stops.
    """
    async with anyio.create_task_group() as group:
        while True:
            news.clear()
            while added:
                group.start_soon(_supervise, shared, added.pop(0))
            if shared.is_stopping:
                return
            await news.wait()


async def _supervise(shared: Shared, slot: Slot) -> None:
    async with anyio.create_task_group() as group:
        while not (shared.is_stopping or slot.is_removed):
            slot.wake.clear()
            if not slot.is_wanted:
                await slot.wake.wait()
                continue
            connection = slot.connection = Connection(slot.spec, shared, subscriptions=slot.subscriptions)
            slot.started = time.monotonic()
            slot.reconnection.begin()
            connection.early, slot.early = slot.early, None
            shared.changed()
            group.start_soon(connection.run)
            if slot.reconnection.is_told:
                group.start_soon(_tell_if_back, shared, slot, connection)
            await connection.replaceable.wait()
            slot.end(connection)
            if connection.is_session_lost and slot.is_wanted:
                slot.set_notice("the server no longer knew the session; a new one was made")
                continue
            if slot.is_restarting:
                slot.is_restarting = False
                continue
            was_tried = slot.reconnection.tries > 0
            delay = slot.lose(connection) if slot.is_wanted else None
            if delay is None:
                slot.is_wanted = slot.reconnection.is_told = False
                if was_tried and slot.state == "failed":
                    shared.turned(slot.spec.name, "given up", slot.status.detail)
                shared.changed()
                continue
            if not slot.reconnection.is_told:
                slot.reconnection.is_told = True
                shared.turned(slot.spec.name, "lost", slot.status.detail)
            shared.changed()
            with anyio.move_on_after(delay):
                await slot.wake.wait()


async def _tell_if_back(shared: Shared, slot: Slot, connection: Connection) -> None:
    """Say once that a server that went away is back."""
    await connection.settled.wait()
    if connection.ready_since is not None and slot.reconnection.is_told:
        slot.reconnection.is_told = False
        shared.turned(slot.spec.name, "back", "")
