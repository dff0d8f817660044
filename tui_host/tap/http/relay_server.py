"""Runs a relay on a port of this machine until a signal ends it."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel

from tui_host.errors import TuiHostError
from tui_host.tap.http.relay import ClientLink, Relay, Service

LOOPBACK = "127.0.0.1"
_BACKLOG = 1024


@asynccontextmanager
async def listening(service: Service) -> AsyncGenerator[str]:
    """Run the relay while the block runs, then break off exchanges in progress; yields the relay's origin.

    Raises:
        TuiHostError: The port is not available, or is the upstream's own.
    """
    loop = asyncio.get_running_loop()
    # Name the protocol: otherwise asyncio leaves Nagle's algorithm on for accepted connections, which delays answers.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, service.port))
        except OSError as error:
            taken = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be had: {error.strerror or error}"
            remedy = "choose another with --port N, or any free one with --port 0"
            raise TuiHostError(f"port {service.port} {taken}", "--port", remedy) from error
        port: int = listener.getsockname()[1]
        if service.upstream.is_at(port):  # a request would be sent to the relay itself again and again
            what = f"{service.upstream.origin} is this tap itself"
            raise TuiHostError(what, "--upstream", "name the upstream server")
        own = f"http://{LOOPBACK}:{port}"
        relay = Relay(service, port, own)
        server = await loop.create_server(lambda: ClientLink(relay).client, sock=listener, backlog=_BACKLOG)

        def tell(_loop: asyncio.AbstractEventLoop, context: Mapping[str, object]) -> None:
            """Print one short sentence for each kind of failure, and no traceback."""
            error = context.get("exception")
            if isinstance(error, OSError) and error.errno in {errno.EMFILE, errno.ENFILE}:
                service.tell("too many connections for the limit of open files (ulimit -n): further ones wait")
            elif server.is_serving():  # a closed server may still get callbacks that were already scheduled
                service.tell(f"a connection broke: {error or context.get('message')!r}")

        loop.set_exception_handler(tell)
        try:
            yield own
        finally:
            server.close()
            relay.end()
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()  # lets the event loop close the sockets


async def serve(service: Service, started: Callable[[str], None], ended_by: Mapping[signal.Signals, int]) -> int:
    """Run the relay until a signal ends it; returns the signal's exit code. `started` gets the origin when it listens.

    Raises:
        TuiHostError: The port is not available.
    """
    # If the parent process has switched a signal off (nohup, a background job), the signal stays switched off.
    heeded = [number for number in ended_by if signal.getsignal(number) is not signal.SIG_IGN]
    with anyio.open_signal_receiver(*heeded) as signals:
        async with listening(service) as own:
            started(own)
            async for number in signals:
                return ended_by[signal.Signals(number)]
    raise AssertionError("signals end")
