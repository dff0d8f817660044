"""Runs a bundled server over stdio or streamable HTTP: `python -m tui_host.demo.servers NAME`."""

from __future__ import annotations

import argparse
import gc
import json
import signal
import socket
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tui_host.demo.servers.bundled import BundledServer
from tui_host.demo.servers.math import MATH
from tui_host.demo.servers.orders import ORDERS
from tui_host.demo.servers.weather import WEATHER

if TYPE_CHECKING:
    from mcp.server import Server

_VERSION = "1.0.0"
_SERVERS = {server.name: server for server in (MATH, WEATHER, ORDERS)}


def main(argv: Sequence[str]) -> int:
    """Serve until standard input ends (stdio), or until SIGTERM, SIGINT or the lifeline (HTTP).

    Only the protocol is written to standard output; over HTTP only one line, `{"url": …}`, once the server listens.

    Returns:
        The exit code: 0 done, 1 the address was not available. Wrong arguments raise `SystemExit(2)`.
    """
    options = _grammar().parse_args(argv, namespace=_Options())
    bundled = _SERVERS[options.name]
    if not options.http:
        return _serve_stdio(bundled)
    try:
        listening = socket.create_server(("127.0.0.1", options.port))
    except OSError as error:
        print(f"{bundled.name} server: cannot listen on 127.0.0.1:{options.port}: {error}", file=sys.stderr)
        return 1
    with listening:
        return _serve_http(bundled, listening, has_lifeline=options.lifeline)


class _Options(argparse.Namespace):
    name: str
    http: bool
    port: int
    lifeline: bool


def _grammar() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tui_host.demo.servers", description="A small MCP server.")
    parser.add_argument("name", choices=sorted(_SERVERS))
    parser.add_argument("--http", action="store_true", help="streamable HTTP on 127.0.0.1 instead of stdio")
    parser.add_argument("--port", type=int, default=0, help="port for --http (default: any free one)")
    parser.add_argument("--lifeline", action="store_true", help="with --http: end when standard input ends")
    return parser


@contextmanager
def _quick_import() -> Generator[None]:
    """Make importing the SDK faster: three servers start with the app, on as few as two cores.

    At import, pydantic builds validators for a few hundred protocol models, of which a server uses a dozen:
    `defer_build` postpones each to its first use. Garbage collection is off, since it finds nothing while modules load.
    """
    import pydantic

    gc.disable()
    pydantic.BaseModel.model_config = pydantic.ConfigDict(defer_build=True)
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()


def _prepare(bundled: BundledServer) -> Server[dict[str, object]]:
    with _quick_import():
        from tui_host.demo.servers.sdk_server import sdk_server
    return sdk_server(bundled, _VERSION)


def _announce(bundled: BundledServer) -> None:
    print(f"{bundled.name} server: ready", file=sys.stderr, flush=True)


def _serve_stdio(bundled: BundledServer) -> int:
    # The host ends a stdio server by closing its input, then by signals; their default action is right and fast.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    server = _prepare(bundled)
    import anyio
    from mcp.server.stdio import stdio_server

    async def serve() -> None:
        async with stdio_server() as (read_stream, write_stream):
            _announce(bundled)
            await server.run(read_stream, write_stream, server.create_initialization_options())

    anyio.run(serve)
    return 0


def _serve_http(bundled: BundledServer, listening: socket.socket, *, has_lifeline: bool) -> int:
    server = _prepare(bundled)
    import anyio

    from tui_host.demo.lifetime import wait_for_end_of_stdin, wait_for_signal
    from tui_host.demo.servers.asgi import serve_asgi

    async def serve() -> None:
        async with anyio.create_task_group() as group:
            await group.start(wait_for_signal, group.cancel_scope)
            if has_lifeline:
                group.start_soon(wait_for_end_of_stdin, group.cancel_scope)
            url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
            # The socket already listens: whoever reads the line may connect at once.
            print(json.dumps({"url": url}), flush=True)
            _announce(bundled)
            await serve_asgi(server.streamable_http_app(host="127.0.0.1"), listening)

    anyio.run(serve)
    return 0
