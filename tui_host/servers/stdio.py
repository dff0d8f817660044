"""The stdio transport: our own pipes, so that each line is recorded before anybody reads it.

Source: MCP 2025-11-25 and 2026-07-28, Transports, stdio.
"""

from __future__ import annotations

import fcntl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import anyio

from tui_host.capture.record import current_place
from tui_host.capture.stdio.lines import Lines
from tui_host.capture.stdio.server_pipes import StdioChild
from tui_host.errors import ServerError
from tui_host.guard.child_process import Process, ending
from tui_host.servers.dispatcher import OutgoingMessage, Peer, peer_over

if TYPE_CHECKING:
    from tui_host.servers.server_endpoint import Endpoint
    from tui_host.servers.wire import Wire

PIPE_BYTES = 1 << 20


@asynccontextmanager
async def stdio_transport(endpoint: Endpoint, wire: Wire) -> AsyncGenerator[Peer]:
    """Start a server and connect to its pipes."""
    if endpoint.command is None:
        raise ServerError("there is no command to start", wire.server)
    lines = wire.tap = Lines(wire.recorder, peer=wire.server, connection=wire.id)
    async with running(Process.start(endpoint.command), wire, lines) as child:

        async def send(message: OutgoingMessage) -> None:
            await child.input.send(message.data + b"\n", message.frame, current_place.get())

        async with peer_over(wire, send) as peer, anyio.create_task_group() as group:

            async def watch() -> None:
                await child.over.wait()
                if not child.fault:  # the process usually ends a moment after its output
                    await child.process.wait(1.0)
                code = child.process.exit_code
                peer.close(child.fault or ("closed its standard output" if code is None else ending(code)))

            child.listener = peer.take
            group.start_soon(watch)
            try:
                yield peer
            finally:
                group.cancel_scope.cancel()


@asynccontextmanager
async def running(process: Process, wire: Wire, lines: Lines) -> AsyncGenerator[StdioChild]:
    """Run a process for the duration of the block; leaving takes at most 5 seconds and ends the process's whole group."""
    # A larger pipe, where the system has it: a line of 10 MB takes 150 turns of both programs otherwise.
    set_size: int | None = getattr(fcntl, "F_SETPIPE_SZ", None)  # Linux alone has it
    if set_size is not None:
        with suppress(OSError):  # more than this user may have: the pipe stays as it is
            fcntl.fcntl(process.stdout.fileno(), set_size, PIPE_BYTES)
    wire.shared.guard.add(process.pid)
    child = wire.child = StdioChild(process, lines, wire.shared.changed)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(child.run)
            try:
                yield child
            finally:
                await child.stop()
                group.cancel_scope.cancel()
    finally:
        process.kill()
        process.close()
        wire.shared.guard.forget_ended()
