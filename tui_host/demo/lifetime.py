"""Ends a demo program on a signal, or when its parent process is gone."""

from __future__ import annotations

import contextlib
import os
import signal

import anyio
import anyio.abc


async def wait_for_signal(scope: anyio.CancelScope, *, task_status: anyio.abc.TaskStatus[None]) -> None:
    """Cancel `scope` at the first SIGTERM or SIGINT, so the program can end with 0."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for _ in signals:
            scope.cancel()


async def wait_for_end_of_stdin(scope: anyio.CancelScope) -> None:
    """Cancel `scope` when standard input ends.

    The parent process holds the other end of the pipe. The kernel closes it however the parent dies, also by SIGKILL.
    Input is read and dropped.
    """
    descriptor = 0
    while True:
        # A file, or /dev/null, cannot be waited for; reading it never blocks, so no wait is needed.
        with contextlib.suppress(PermissionError):
            await anyio.wait_readable(descriptor)
        if not os.read(descriptor, 65_536):
            scope.cancel()
            return
