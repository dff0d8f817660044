"""The end of a demo program: on a signal, or when its parent is gone."""

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
    """Cancel `scope` at the end of standard input.

    The starter keeps the other end of the pipe: the kernel closes it however the starter dies, by SIGKILL too.
    What comes on it is read and dropped.
    """
    descriptor = 0
    while True:
        # A file, or /dev/null, cannot be waited for, and need not be: reading it never blocks.
        with contextlib.suppress(PermissionError):
            await anyio.wait_readable(descriptor)
        if not os.read(descriptor, 65_536):
            scope.cancel()
            return
