"""The program `demo-model`, also `python -m tui_host.demo.model`: listens on the loopback interface and prints its address."""

from __future__ import annotations

import argparse
import json
import socket
import sys
from collections.abc import Sequence
from typing import NoReturn

import anyio
from typing_extensions import override

from tui_host.demo.lifetime import serve_until_told
from tui_host.demo.model.service import DemoModel


def main(argv: Sequence[str]) -> int:
    """Serve until SIGTERM or SIGINT; with `--lifeline`, also until standard input ends.

    The first line on standard output is `{"url": …, "dialects": {NAME: …}}`, with the base URL for the client of each
    dialect. It is printed once the program listens.
    Return 0, or 1 if the address was not available; wrong arguments raise `SystemExit(2)`.
    """
    parser = _Parser(prog="tui-host demo-model", description="A model that follows rules, on this machine alone.")
    parser.add_argument(
        "--port", type=int, choices=range(65_536), default=0, metavar="PORT", help="the port (default: any)"
    )
    parser.add_argument("--pace", type=float, default=1.0, metavar="FACTOR", help="factor for all delays; 0 for none")
    parser.add_argument("--lifeline", action="store_true", help="end when standard input ends")
    options = parser.parse_args(argv, namespace=_Options())
    if not 0 <= options.pace <= 1_000:
        parser.error(f"{options.pace} is no pace: give a number from 0 to 1000")
    try:
        listening = socket.create_server(("127.0.0.1", options.port))
    except OSError as error:
        print(
            f"demo-model: cannot listen on 127.0.0.1:{options.port}: {error} (choose another --port)", file=sys.stderr
        )
        return 1
    with listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        dialects = dict.fromkeys(("openai", "openai-responses"), f"{url}/v1")
        dialects |= dict.fromkeys(("anthropic", "gemini", "ollama"), url)
        print(json.dumps({"url": url, "dialects": dialects}), flush=True)
        anyio.run(serve_until_told, DemoModel(pace=options.pace), listening, options.lifeline)
    return 0


class _Options(argparse.Namespace):
    port: int
    pace: float
    lifeline: bool


class _Parser(argparse.ArgumentParser):
    """Reports mistakes in a single line, as all commands do."""

    @override
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"tui-host: demo-model: {message} (see {self.prog} --help)\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
