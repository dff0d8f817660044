"""Serves an ASGI application, and ends a demo program on a signal or when its parent process is gone."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Generator

import anyio
import anyio.abc
import uvicorn
from starlette.types import ASGIApp
from typing_extensions import override


class _WithoutSignals(uvicorn.Server):
    """Leaves signals to the program: uvicorn would end the process by the signal, not with exit code 0."""

    @override
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


async def serve_until_told(application: ASGIApp, listening: socket.socket, has_lifeline: bool) -> None:  # noqa: FBT001 - anyio.run passes arguments by position
    """Serve until SIGTERM or SIGINT; with a lifeline, also until standard input ends. Open streams end then."""
    config = uvicorn.Config(application, log_level="critical", access_log=False, ws="none", loop="asyncio", http="h11")
    async with anyio.create_task_group() as group:
        await group.start(_wait_for_signal, group.cancel_scope)
        if has_lifeline:
            group.start_soon(_wait_for_end_of_stdin, group.cancel_scope)
        await _WithoutSignals(config).serve(sockets=[listening])


async def _wait_for_signal(scope: anyio.CancelScope, *, task_status: anyio.abc.TaskStatus[None]) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for _ in signals:
            scope.cancel()


async def _wait_for_end_of_stdin(scope: anyio.CancelScope) -> None:
    """Cancel `scope` when standard input ends. Its other end is the parent's: the kernel closes it however the parent dies."""
    while True:
        # A file, or /dev/null, cannot be waited for; reading it never blocks, so no wait is needed.
        with contextlib.suppress(PermissionError):
            await anyio.wait_readable(0)
        if not os.read(0, 65_536):
            scope.cancel()
            return
