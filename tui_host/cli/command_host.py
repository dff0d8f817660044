"""Runs a host for a command: signals end the host in order, and errors are raised unwrapped."""

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
"""How long a command waits before it reports servers still connecting."""


class Interruption:
    """The first signal that asks the program to end; `code` is its exit code, None before one arrives."""

    def __init__(self) -> None:
        self.code: int | None = None
        self._act: Callable[[], object] | None = None

    def then(self, act: Callable[[], object]) -> None:
        """Set the action for a signal; runs at once if one has arrived."""
        self._act = act
        if self.code is not None:
            act()

    def came(self, number: signal.Signals) -> None:
        """Record a signal."""
        if self.code is None:
            self.code = diagnostics.ENDED_BY[number]
            if self._act is not None:
                self._act()


@asynccontextmanager
async def running(host: Host) -> AsyncGenerator[Interruption]:
    """Run the host for the duration of the block; on leaving, the host and all its children have ended.

    Raises:
        TuiHostError: Raised by the block, or the reason why the host failed.
        OSError: Raised by the block.
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
                        fault = error  # raised after the host's end: raised here, it would cancel the host
                    finally:
                        host.stop()
            finally:
                group.cancel_scope.cancel()
    fault = fault or host.fault
    if fault is not None:
        raise fault


async def _watch(interruption: Interruption, *, task_status: TaskStatus[None]) -> None:
    # A signal that our parent has switched off (nohup, a background job) stays switched off.
    heeded = [number for number in diagnostics.ENDED_BY if signal.getsignal(number) is not signal.SIG_IGN]
    if not heeded:
        task_status.started()
        return
    with anyio.open_signal_receiver(*heeded) as signals:
        task_status.started()
        async for number in signals:
            interruption.came(signal.Signals(number))


async def report_connecting(host: Host, is_waiting: Callable[[], bool]) -> None:
    """Report once on standard error which servers are still connecting, after a moment."""
    await anyio.sleep(PATIENCE_SECONDS)
    if host.pool is not None and is_waiting():
        waited = [status.name for status in host.pool.statuses() if status.state == "connecting"]
        if waited:
            diagnostics.tell(f"waiting for {', '.join(waited)} to connect")
