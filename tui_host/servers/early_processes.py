"""Starts the programs of stdio servers before the SDK is imported, so that they load meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from tui_host.errors import TuiHostError

if TYPE_CHECKING:
    from tui_host.guard.child_process import Process
    from tui_host.servers.pool_slot import Slot
    from tui_host.servers.shared_state import Shared

KILL_SECONDS = 0.5


async def start_early(shared: Shared, slots: Sequence[Slot], started: list[Process]) -> None:
    """Start the programs of all enabled stdio servers; adds each to `started`.

    A program that cannot be started is left to its connection, which reports why.
    """
    from tui_host.guard.child_process import Process
    from tui_host.servers.server_endpoint import resolve_endpoint

    for slot in slots:
        if slot.is_wanted and slot.spec.transport == "stdio" and not shared.is_stopping:
            with suppress(TuiHostError):
                command = resolve_endpoint(slot.spec, shared.environment).command
                if command is not None:
                    slot.early = Process.start(command)
                    started.append(slot.early)
                    shared.guard.add(slot.early.pid)
            await asyncio.sleep(0)  # starting a process blocks for some milliseconds


async def end_early(shared: Shared, started: Sequence[Process]) -> None:
    """End the processes that no connection has taken over."""
    import anyio

    with anyio.CancelScope(shield=True):
        for process in started:
            process.kill()
            await process.wait(KILL_SECONDS)
            for pipe in (process.stdin, process.stdout, process.stderr):
                pipe.close()
            shared.guard.remove(process.pid)
