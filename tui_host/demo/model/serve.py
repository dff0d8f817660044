"""The program `demo-model`: listens on the loopback interface and prints its address."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import NoReturn

import anyio
import anyio.abc
from typing_extensions import override

from tui_host.demo.lifetime import wait_for_end_of_stdin, wait_for_signal
from tui_host.demo.model.http_connection import serve_connection
from tui_host.demo.model.service import DemoModel

_HOST = "127.0.0.1"


def main(argv: Sequence[str]) -> int:
    """Serve until SIGTERM or SIGINT; with `--lifeline`, also until standard input ends.

    The first line on standard output is `{"url": …, "dialects": {NAME: …}}`, with the base URL for the client of each
    dialect. It is printed once the program listens.

    Returns:
        The exit code: 0 done, 1 the address was not available. Wrong arguments raise `SystemExit(2)`.
    """
    options = _grammar().parse_args(argv, namespace=_Options())
    return anyio.run(_serve, options)


class _Options(argparse.Namespace):
    port: int
    pace: float
    lifeline: bool


class _Parser(argparse.ArgumentParser):
    """Reports mistakes in a single line, as all commands do.

    Attributes:
        color: Whether help has colours on a terminal, for Python 3.14 and later.
    """

    color: bool

    @override
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"tui-host: demo-model: {message} (see {self.prog} --help)\n")


def _grammar() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="tui-host demo-model", description="A model that follows rules, on a port of the loopback interface."
    )
    parser.color = False  # plain text, as in the help of every command
    parser.add_argument("--port", type=_port, default=0, help="the port (default: any free one)")
    parser.add_argument("--pace", type=_pace, default=1.0, metavar="FACTOR", help="factor for all delays; 0 for none")
    parser.add_argument("--lifeline", action="store_true", help="end when standard input ends")
    return parser


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: give a number from 0 to 65535")
    return int(text)


def _pace(text: str) -> float:
    try:
        pace = float(text)
    except ValueError:
        pace = -1.0
    if not 0 <= pace <= 1_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no pace: give a number from 0 to 1000")
    return pace


def _addresses(url: str) -> dict[str, str]:
    versioned = f"{url}/v1"
    return {"openai": versioned, "openai-responses": versioned, "anthropic": url, "gemini": url, "ollama": url}


async def _serve(options: _Options) -> int:
    try:
        listener = await anyio.create_tcp_listener(local_host=_HOST, local_port=options.port)
    except OSError as error:
        print(f"demo-model: cannot listen on {_HOST}:{options.port}: {error} (choose another --port)", file=sys.stderr)
        return 1
    model = DemoModel(pace=options.pace)

    async def serve_client(stream: anyio.abc.ByteStream) -> None:
        try:
            await serve_connection(stream, model.handle)
        except Exception as error:  # noqa: BLE001 - a failed request must not end the others; it is printed
            print(f"demo-model: {type(error).__name__}: {error}", file=sys.stderr, flush=True)

    async with anyio.create_task_group() as group, listener:
        await group.start(wait_for_signal, group.cancel_scope)
        if options.lifeline:
            group.start_soon(wait_for_end_of_stdin, group.cancel_scope)
        url = f"http://{_HOST}:{listener.extra(anyio.abc.SocketAttribute.local_port)}"  # noqa: S610 - anyio's method, no database
        print(json.dumps({"url": url, "dialects": _addresses(url)}), flush=True)
        await listener.serve(serve_client, group)
    return 0
