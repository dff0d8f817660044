"""The grammar of `tap`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tui_host.cli.shared_options import AddParser, common, host_of, json_too, name_of, origin_of, path_of, port_of
from tui_host.errors import SettingsError
from tui_host.tap.typed_command import OPTIONS

TAP = """\
Look into what another host (Cline, Cherry Studio, Claude Code, an SDK, …) says
to its model and to its MCP servers. A tap stands before one of them, passes
everything on unchanged, and records it: see f5 in tui-host."""
TAPS = """\
Before the model; prints the base URL to put into the host's settings:
  tui-host tap llm --upstream https://api.deepseek.com/v1
Before all stdio servers of a host, written into its configuration:
  tui-host tap install cline
Before one of them by hand, in the place of «uvx mcp-server-time»:
  tui-host tap stdio time -- uvx mcp-server-time
Before a server behind a URL; prints the URL to put in that one's place:
  tui-host tap http docs --upstream https://docs.example/mcp"""
STDIO = """\
Put before a server's command in a host's configuration: it starts the server,
and to the host it is the server. Standard input, output and error, the exit
code and signals pass unchanged."""
LLM = """\
Listen on this machine, pass everything on to a model's API and back, unchanged,
the host's own key too, which is not kept. Standard output has the base URL for
the host's settings; standard error says where some hosts want it."""
HTTP = """\
Listen on this machine, pass everything on to an MCP server over streamable HTTP
or SSE and back. Standard output has the URL for the host's configuration."""
STDIO_FORM = "tui-host tap stdio NAME -- COMMAND ARGUMENTS…"
_UPSTREAMS: Mapping[str, str] = MappingProxyType(
    {
        "llm": "llm --upstream https://api.deepseek.com/v1",
        "http": "http NAME --upstream https://docs.example/mcp",
    }
)
_ANYWHERE = (
    "a tap listens on this machine alone, since keys pass through it",
    "let others of your machines come by way of ssh -L, and Docker with --allow-host",
)
_NOT_HERE: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "--no-record": (
            "to record is what a tap is for",
            "leave it out; --data-dir DIR keeps it elsewhere, and sessions delete removes it",
        ),
        "--host": _ANYWHERE,
        "--listen": _ANYWHERE,
        "--bind": _ANYWHERE,
    }
)
"""What people ask of a tap, and what is told of it."""


def check_tap(words: Sequence[str]) -> None:
    """Say of a `tap` what is mistaken about it, where the grammar would say that in words of its own.

    Raises:
        SettingsError: What it is asked for no tap does, or what it stands before is not named.
    """
    typed = words[: words.index("--")] if "--" in words else words
    options = [word.partition("=")[0] for word in typed if word.startswith("-")]
    relay = _relay_options(argparse.ArgumentParser(), "", 0)  # each takes a value
    with_value = {*OPTIONS, *(option for action in relay for option in action.option_strings)}
    values = {at + 1 for at, word in enumerate(typed) if word in with_value}
    plain = [word for at, word in enumerate(typed) if at not in values and not word.startswith("-")]
    if plain[:1] != ["tap"] or {"-h", "--help", "--version"} & set(typed):
        return
    kind = plain[1] if len(plain) > 1 else ""
    where = f"tap {kind}".rstrip()
    if not kind:
        raise SettingsError("it is not said what is tapped", where, "tap llm, stdio or http; see tui-host tap --help")
    if kind in {"install", "uninstall"}:
        return
    for option in options:
        if option in _NOT_HERE:
            raise SettingsError(f"{option}: {_NOT_HERE[option][0]}", where, _NOT_HERE[option][1])
    if kind == "stdio":
        _check_stdio(words, plain, options)
    elif kind in _UPSTREAMS and "--upstream" not in options:
        before = " before the URL" if any("://" in word for word in plain) else ""
        raise SettingsError(f"no --upstream{before}", where, f"tui-host tap {_UPSTREAMS[kind]}")


def _check_stdio(words: Sequence[str], plain: Sequence[str], options: Sequence[str]) -> None:
    if "--" not in words:
        raise SettingsError("no -- before the server's command", "tap stdio", STDIO_FORM)
    unknown = next((option for option in options if option not in OPTIONS), "")
    if unknown:
        raise SettingsError(f"no such option: {unknown}", "tap stdio", "it has --log FILE and --data-dir DIR")
    if len(plain) == 2:
        raise SettingsError("no name before --", "tap stdio", STDIO_FORM)
    if words[-1] == "--":
        raise SettingsError("no command after --", "tap stdio", STDIO_FORM)


def add_tap(add: AddParser) -> None:
    """`tap` and its actions."""
    tap = add("tap", help="look into another host: what it says to its model and servers", description=TAP)
    tap.epilog = TAPS
    common(tap)
    actions = tap.add_subparsers(dest="action", required=True, metavar="ACTION")
    stdio = actions.add_parser(
        "stdio",
        help="put before a stdio server's command",
        description=STDIO,
    )
    stdio.epilog = "For example: tui-host tap stdio time -- uvx mcp-server-time"
    stdio.usage = "tui-host tap stdio [--log FILE] [--data-dir DIR] NAME -- COMMAND..."
    common(stdio)
    _log(stdio)
    stdio.add_argument("words", nargs=1, type=name_of, metavar="NAME", help="what the server is called here")
    llm = actions.add_parser(
        "llm",
        help="put before a model's API",
        description=LLM,
    )
    http = actions.add_parser(
        "http",
        help="put before an MCP server behind a URL",
        description=HTTP,
    )
    http.add_argument("words", nargs=1, type=name_of, metavar="NAME", help="what the server is called here")
    llm.epilog = "For example: tui-host tap llm --upstream https://api.deepseek.com/v1"
    http.epilog = "For example: tui-host tap http docs --upstream https://docs.example/mcp"
    for relay, upstream, port in ((llm, "https://api.deepseek.com/v1", 8321), (http, "https://docs.example/mcp", 8322)):
        common(relay)
        _log(relay)
        _relay_options(relay, upstream, port)
    _add_install(actions.add_parser)


def _relay_options(relay: argparse.ArgumentParser, upstream: str, port: int) -> Sequence[argparse.Action]:
    """The options of what listens, each with a value.

    Args:
        relay: Gets them.
        upstream: One that may be named.
        port: The one that is taken where none is named.
    """
    return [
        relay.add_argument(
            "--upstream", required=True, metavar="URL", help=f"what it stands before, such as {upstream}"
        ),
        relay.add_argument(
            "--port", type=port_of, metavar="N", help=f"where it listens on this machine; 0 for any ({port})"
        ),
        relay.add_argument(
            "--ca-file", type=path_of, metavar="FILE", help="certificates to trust instead of the system's"
        ),
        relay.add_argument(
            "--allow-origin",
            action="append",
            type=origin_of,
            metavar="ORIGIN",
            help="take requests with this Origin; repeatable",
        ),
        relay.add_argument(
            "--allow-host",
            action="append",
            type=host_of,
            metavar="NAME",
            help="take requests that call this machine so, such as host.docker.internal; repeatable",
        ),
    ]


def _add_install(add: AddParser) -> None:
    from tui_host.settings.hosts.known_hosts import HOSTS

    for name, words, long in (
        (
            "install",
            "write stdio taps into a host's configuration",
            "Write stdio taps before the commands of a host's servers.",
        ),
        (
            "uninstall",
            "take them out again",
            "Take the taps out of a host's configuration again, to the byte where nobody edited it.",
        ),
    ):
        action = add(
            name,
            help=words,
            description=f"{long}\nShows the difference, asks, and keeps the file as it was beside it.\n"
            f"Hosts: {', '.join(host.name for host in HOSTS)}.",
        )
        action.usage = f"tui-host tap {name} [--file FILE] [--dry-run] [--yes] [--json] HOST [SERVER ...]"
        common(action)
        action.add_argument(
            "words", nargs="+", type=name_of, metavar="HOST", help="one of these hosts, then, if not all, its servers"
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
        help="write each record there too, as a JSON line; - tells each message in a line on standard error",
    )
