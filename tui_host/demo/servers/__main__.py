"""Runs a bundled server over stdio or streamable HTTP: `python -m tui_host.demo.servers NAME`."""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import signal
import socket
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer


class _Options(argparse.Namespace):
    name: str
    http: bool
    port: int
    lifeline: bool


def main(argv: Sequence[str]) -> int:
    """Serve until standard input ends (stdio), or until SIGTERM, SIGINT or the lifeline (HTTP).

    Only the protocol is written to standard output; over HTTP only one line, `{"url": …}`, once the server listens.
    Return 0, or 1 if the address was not available; wrong arguments raise `SystemExit(2)`.
    """
    parser = argparse.ArgumentParser(prog="python -m tui_host.demo.servers", description="A small MCP server.")
    parser.add_argument("name", choices=("math", "orders", "weather"))
    parser.add_argument("--http", action="store_true", help="streamable HTTP on 127.0.0.1 instead of stdio")
    parser.add_argument("--port", type=int, default=0, help="port for --http (default: any free one)")
    parser.add_argument("--lifeline", action="store_true", help="with --http: end when standard input ends")
    options = parser.parse_args(argv, namespace=_Options())
    listening = None
    if options.http:
        try:
            listening = socket.create_server(("127.0.0.1", options.port))
        except OSError as error:
            print(f"{options.name} server: cannot listen on 127.0.0.1:{options.port}: {error}", file=sys.stderr)
            return 1
    else:
        # The host ends a stdio server by closing its input, then by signals; their default action is right and fast.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    server = server_named(options.name)
    import anyio

    if listening is None:
        print(f"{options.name} server: ready", file=sys.stderr, flush=True)
        anyio.run(server.run_stdio_async)
        return 0
    from tui_host.demo.lifetime import serve_until_told

    with listening:
        # The socket already listens: whoever reads the line may connect at once.
        print(json.dumps({"url": f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"}), flush=True)
        print(f"{options.name} server: ready", file=sys.stderr, flush=True)
        anyio.run(serve_until_told, server.streamable_http_app(host="127.0.0.1"), listening, options.lifeline)
    return 0


def server_named(name: str) -> MCPServer:
    """Load a server, importing the SDK the quick way: three servers start with the app, on as few as two cores.

    At import, pydantic builds validators for a few hundred protocol models, of which a server uses a dozen:
    `defer_build` postpones each to its first use. Garbage collection is off, since it finds nothing while modules load.
    """
    import pydantic

    gc.disable()
    pydantic.BaseModel.model_config = pydantic.ConfigDict(defer_build=True)
    server: MCPServer = importlib.import_module(f"tui_host.demo.servers.{name}").SERVER
    gc.enable()
    gc.freeze()
    return server


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
