"""Runs a host for a command: a signal ends the host in order, and errors are raised without exception groups."""

from __future__ import annotations

import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from tui_host.cli import diagnostics
from tui_host.errors import TuiHostError
from tui_host.host.defects import catch_defects

if TYPE_CHECKING:
    from anyio.abc import TaskStatus

    from tui_host.host.host import Host

PATIENCE_SECONDS = 2.0
"""Seconds that a command waits before it names the servers still connecting."""


class Interruption:
    """The first signal that asks the program to exit. `code` is its exit code, None before a signal arrives."""

    def __init__(self) -> None:
        self.code: int | None = None
        self._act: Callable[[], object] | None = None

    def then(self, act: Callable[[], object]) -> None:
        """Set what a signal does; calls `act` at once if a signal has already arrived."""
        self._act = act
        if self.code is not None:
            act()

    def came(self, number: signal.Signals) -> None:
        """Record a signal; only the first one counts."""
        if self.code is None:
            self.code = diagnostics.ENDED_BY[number]
            if self._act is not None:
                self._act()


@asynccontextmanager
async def running(host: Host) -> AsyncGenerator[Interruption]:
    """Run the host while the block runs. When the block is left, the host and all its child processes have ended.

    Raises:
        TuiHostError: The block raised it, or the host failed.
        OSError: The block raised it.
    """
    interruption = Interruption()
    fault: TuiHostError | OSError | None = None
    with catch_defects(lambda error, _: diagnostics.tell(str(host.mistake(error)))):
        async with anyio.create_task_group() as group:
            await group.start(_watch, interruption)
            try:
                async with anyio.create_task_group() as served:
                    served.start_soon(host.serve)
                    try:
                        await host.ready()
                        yield interruption
                    except (TuiHostError, OSError) as error:
                        fault = error  # raised again after the host's end: an error raised here would cancel the host
                    finally:
                        host.stop()
            finally:
                group.cancel_scope.cancel()
    fault = fault or host.fault
    if fault is not None:
        raise fault


async def _watch(interruption: Interruption, *, task_status: TaskStatus[None]) -> None:
    # If the parent process has switched a signal off (nohup, a background job), the signal stays switched off.
    heeded = [number for number in diagnostics.ENDED_BY if signal.getsignal(number) is not signal.SIG_IGN]
    if not heeded:
        task_status.started()
        return
    with anyio.open_signal_receiver(*heeded) as signals:
        task_status.started()
        async for number in signals:
            interruption.came(signal.Signals(number))


async def report_connecting(host: Host, is_waiting: Callable[[], bool]) -> None:
    """Name the servers still connecting on standard error, once, if the wait takes longer than a moment."""
    await anyio.sleep(PATIENCE_SECONDS)
    if host.pool is not None and is_waiting():
        waited = [status.name for status in host.pool.statuses() if status.state == "connecting"]
        if waited:
            diagnostics.tell(f"waiting for {', '.join(waited)} to connect")
