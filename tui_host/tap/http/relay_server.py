"""A relay on a port of this machine, from start to signal."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import anyio.lowlevel

from tui_host.errors import TuiHostError
from tui_host.tap.http.client_side import ClientSide
from tui_host.tap.http.exchange_reporter import ItemWriter
from tui_host.tap.http.logins import Logins
from tui_host.tap.http.relay import Relay
from tui_host.tap.http.request_gate import Gate
from tui_host.tap.http.rewriting import Rewriting
from tui_host.tap.http.upstream import Upstream

LOOPBACK = "127.0.0.1"
_BACKLOG = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The parameters of a relay.

    Attributes:
        upstream: Where to.
        port: The port to listen on; 0 for any.
        is_mcp: Whether the upstream is an MCP server.
        allowed: Origins allowed by a person.
        names: Names of this machine allowed by a person.
        writer: Takes reports for the recorder.
        answer_limit: Bytes of an answer to record; None for all.
        tell: Takes a sentence for a person.
    """

    upstream: Upstream
    port: int
    is_mcp: bool
    allowed: tuple[str, ...]
    names: tuple[str, ...] = ()
    writer: ItemWriter
    answer_limit: int | None
    tell: Callable[[str], None]


@asynccontextmanager
async def listening(service: Service) -> AsyncGenerator[str]:
    """Relay while the block runs, then break off exchanges in progress.

    Yields:
        The relay's origin, such as `http://127.0.0.1:8321`.

    Raises:
        TuiHostError: The port cannot be had, or is the upstream's own.
    """
    with _listener(service.port) as listener:
        port: int = listener.getsockname()[1]
        if service.upstream.is_at(port):  # what comes would go round until nothing is left to go with
            raise TuiHostError(
                f"{service.upstream.origin} is this tap itself", "--upstream", "name what it is to stand before"
            )
        own = f"http://{LOOPBACK}:{port}"
        logins = Logins(service.upstream, own, service.tell) if service.is_mcp else None
        async with anyio.create_task_group() as group:
            relay = Relay(
                upstream=service.upstream,
                gate=Gate(
                    port=port,
                    allowed=frozenset(origin.encode() for origin in service.allowed),
                    names=frozenset(name.encode() for name in service.names),
                    forms=service.is_mcp,
                ),
                rewriting=Rewriting(service.upstream.origin, own, logins=logins, tell=service.tell),
                logins=logins,
                writer=service.writer,
                answer_limit=service.answer_limit,
                group=group,
                tell=service.tell,
            )
            server = await asyncio.get_running_loop().create_server(
                lambda: ClientSide(relay), sock=listener, backlog=_BACKLOG
            )
            asyncio.get_running_loop().set_exception_handler(_teller(service.tell, server))
            try:
                yield own
            finally:
                server.close()
                relay.end()
                group.cancel_scope.cancel()
                with anyio.CancelScope(shield=True):
                    await anyio.lowlevel.checkpoint()  # the loop closes the sockets


def _teller(
    tell: Callable[[str], None], server: asyncio.Server
) -> Callable[[asyncio.AbstractEventLoop, dict[str, object]], None]:
    """Make an exception handler with a single short sentence for each kind of failure, instead of a traceback for each connection."""

    def told(_loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in {errno.EMFILE, errno.ENFILE}:
            tell("there are too many connections for this machine's limit (ulimit -n): more have to wait")
        elif server.is_serving():  # one that is closed is asked to go on by what was due then
            tell(f"a connection was broken off: {error or context.get('message')!r}")

    return told


async def serve(service: Service, started: Callable[[str], None], ended_by: Mapping[signal.Signals, int]) -> int:
    """Relay until a signal comes.

    Args:
        service: The parameters.
        started: Called with the relay's origin once the relay listens.
        ended_by: Signals that end the relay, with exit codes.

    Returns:
        The exit code.

    Raises:
        TuiHostError: The port cannot be had.
    """
    # One that whoever started us has switched off (nohup, a job in the background) stays switched off.
    heeded = [number for number in ended_by if signal.getsignal(number) is not signal.SIG_IGN]
    with anyio.open_signal_receiver(*heeded) as signals:
        async with listening(service) as own:
            started(own)
            async for number in signals:
                return ended_by[signal.Signals(number)]
    raise AssertionError("signals end")


def _listener(port: int) -> socket.socket:
    """A socket on the loopback interface and nowhere else.

    Raises:
        TuiHostError: The port is taken.
    """
    # With its protocol named: else asyncio leaves Nagle's algorithm on for what it accepts, which holds answers back.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
    except OSError as error:
        listener.close()
        taken = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be had: {error.strerror or error}"
        raise TuiHostError(
            f"port {port} {taken}", "--port", "choose another with --port N, or any free one with --port 0"
        ) from error
    return listener
