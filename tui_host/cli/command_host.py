"""A host at work under a command: signals end it in order, and its errors come out as themselves."""

from __future__ import annotations

import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from tui_host.cli import diagnostics
from tui_host.errors import TuiHostError
from tui_host.host.defects import noticed

if TYPE_CHECKING:
    from anyio.abc import TaskStatus

    from tui_host.host.host import Host

PATIENCE_SECONDS = 2.0
"""How long a command waits without a word about what it waits for."""


class Interruption:
    """What is known of a signal that asks the program to end. The first one counts.

    Attributes:
        code: The exit code that it stands for, None while none has come.
    """

    def __init__(self) -> None:
        self.code: int | None = None
        self._act: Callable[[], object] | None = None

    def then(self, act: Callable[[], object]) -> None:
        """What to do when one comes; done at once if it has come already."""
        self._act = act
        if self.code is not None:
            act()

    def came(self, number: signal.Signals) -> None:
        """One has come."""
        if self.code is None:
            self.code = diagnostics.ENDED_BY[number]
            if self._act is not None:
                self._act()


@asynccontextmanager
async def running(host: Host) -> AsyncGenerator[Interruption]:
    """The host lives while the block runs, and has ended, with all its children, when it is left.

    Raises:
        TuiHostError: What the block raised, or why the host could not go on.
        OSError: What the block raised.
    """
    interruption = Interruption()
    fault: TuiHostError | OSError | None = None
    with noticed(lambda error, _: diagnostics.tell(str(host.mistake(error)))):
        async with anyio.create_task_group() as group:
            await group.start(_watch, interruption)
            try:
                async with anyio.create_task_group() as served:
                    served.start_soon(host.serve)
                    try:
                        await host.ready()
                        yield interruption
                    except (TuiHostError, OSError) as error:
                        fault = error  # kept until the host has ended: raised in here it would cancel it
                    finally:
                        host.stop()
            finally:
                group.cancel_scope.cancel()
    fault = fault or host.fault
    if fault is not None:
        raise fault


async def _watch(interruption: Interruption, *, task_status: TaskStatus[None]) -> None:
    # One that whoever started us has switched off (nohup, a job in the background) stays switched off.
    heeded = [number for number in diagnostics.ENDED_BY if signal.getsignal(number) is not signal.SIG_IGN]
    if not heeded:
        task_status.started()
        return
    with anyio.open_signal_receiver(*heeded) as signals:
        task_status.started()
        async for number in signals:
            interruption.came(signal.Signals(number))


async def told_while_connecting(host: Host, is_waiting: Callable[[], bool]) -> None:
    """Say once on standard error which servers are waited for, if that takes longer than a moment."""
    await anyio.sleep(PATIENCE_SECONDS)
    if host.pool is not None and is_waiting():
        waited = [status.name for status in host.pool.statuses() if status.state == "connecting"]
        if waited:
            diagnostics.tell(f"waiting for {', '.join(waited)} to connect")
