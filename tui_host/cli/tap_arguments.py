"""The grammar of `tap`."""

from __future__ import annotations

import argparse

from tui_host.cli.options import AddParser, common, host_of, json_too, name_of, path_of, port_of


def add_tap(add: AddParser) -> None:
    """`tap` and its actions."""
    tap = add(
        "tap", help="look into another host", description="Relays for other hosts: what they pass on is recorded."
    )
    common(tap)
    actions = tap.add_subparsers(dest="action", required=True, metavar="ACTION")
    stdio = actions.add_parser(
        "stdio",
        help="put before a stdio server's command",
        description="Put before a server's command in a host's configuration. Standard input, output and error, the exit code"
        " and signals pass unchanged.",
    )
    stdio.usage = "tui-host tap stdio [--log FILE] [--data-dir DIR] NAME -- COMMAND..."
    common(stdio)
    _log(stdio)
    stdio.add_argument("words", nargs=1, type=name_of, metavar="NAME", help="what the server is called here")
    llm = actions.add_parser(
        "llm",
        help="put before a model's API",
        description="Listen on this machine, pass everything on to a model's API and back, unchanged. Standard output has the"
        " base URL for the host's settings.",
    )
    http = actions.add_parser(
        "http",
        help="put before an MCP server behind a URL",
        description="The same for an MCP server over streamable HTTP or SSE. Standard output has the URL for the host's"
        " settings.",
    )
    http.add_argument("words", nargs=1, type=name_of, metavar="NAME", help="what the server is called here")
    for relay, upstream, port in ((llm, "https://api.deepseek.com/v1", 8321), (http, "https://mcp.example/mcp", 8322)):
        common(relay)
        _log(relay)
        relay.add_argument(
            "--upstream", type=name_of, required=True, metavar="URL", help=f"what it stands for, such as {upstream}"
        )
        relay.add_argument("--port", type=port_of, metavar="N", help=f"where it listens; 0 for any ({port})")
        relay.add_argument(
            "--ca-file", type=path_of, metavar="FILE", help="certificates to trust instead of the system's"
        )
        relay.add_argument(
            "--allow-origin", action="append", metavar="ORIGIN", help="take requests with this Origin; repeatable"
        )
        relay.add_argument(
            "--allow-host",
            action="append",
            type=host_of,
            metavar="NAME",
            help="take requests that call this machine so, such as host.docker.internal; repeatable",
        )
    _add_install(actions.add_parser)


def _add_install(add: AddParser) -> None:
    from tui_host.settings.hosts.known import HOSTS

    for name, words, long in (
        ("install", "into another host's configuration", "Write stdio taps before the commands of a host's servers"),
        ("uninstall", "out of it again", "Take the taps out of a host's configuration again"),
    ):
        action = add(
            name,
            help=words,
            description=f"{long}. Shows the difference, asks, and keeps the file as it was beside it."
            f" Hosts: {', '.join(host.name for host in HOSTS)}.",
        )
        action.usage = f"tui-host tap {name} [--file FILE] [--dry-run] [--yes] [--json] HOST [SERVER ...]"
        common(action)
        action.add_argument(
            "words", nargs="+", type=name_of, metavar="HOST", help="and, if not all, which of its servers"
        )
        action.add_argument("--file", type=path_of, metavar="FILE", help="the host's file, if it is another one")
        action.add_argument("--dry-run", action="store_true", help="only show the difference")
        action.add_argument("--yes", action="store_true", help="write it without a question")
        json_too(action)


def _log(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--log",
        type=name_of,
        metavar="FILE",
        help="write each record there too, as a JSON line; - writes plain lines to standard error",
    )
