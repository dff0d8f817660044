"""The options and subcommands of `tap`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tui_host.cli.shared_options import AddParser, common, host_of, json_too, name_of, origin_of, path_of, port_of
from tui_host.errors import SettingsError
from tui_host.tap.stdio_arguments import OPTIONS

TAP = """\
Record the traffic of another host (Cline, Cherry Studio, Claude Code, an SDK, …)
with its model and its MCP servers. A tap sits between the two, relays everything
unchanged, and records it. Press f5 in tui-host to see the recordings."""
TAPS = """\
In front of the model; prints the base URL to enter in the host's settings:
  tui-host tap llm --upstream https://api.deepseek.com/v1
In front of all stdio servers of a host, written into its configuration:
  tui-host tap install cline
In front of one stdio server, by hand, instead of «uvx mcp-server-time»:
  tui-host tap stdio time -- uvx mcp-server-time
In front of a server behind a URL; prints the URL to enter instead:
  tui-host tap http docs --upstream https://docs.example/mcp"""
STDIO = """\
Start a server for another host, and record their messages. Put this command
in front of the server's own in the host's configuration. Standard input, output and
error, the exit code and signals pass unchanged."""
LLM = """\
Listen on this machine, and relay everything to a model's API and back, unchanged.
The host's own key is relayed and never recorded. Prints the base URL for the
host's settings on standard output, and hints for some hosts on standard error."""
HTTP = """\
Listen on this machine, and relay everything to an MCP server over streamable HTTP
or SSE and back. Prints the URL for the host's configuration on standard output."""
STDIO_FORM = "tui-host tap stdio NAME -- COMMAND ARGUMENTS…"
_UPSTREAMS: Mapping[str, str] = MappingProxyType(
    {
        "llm": "llm --upstream https://api.deepseek.com/v1",
        "http": "http NAME --upstream https://docs.example/mcp",
    }
)
_ANYWHERE = (
    "a tap listens on this machine only, because keys pass through it",
    "reach it from other machines with ssh -L, and from Docker with --allow-host",
)
_NOT_HERE: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "--no-record": (
            "the purpose of a tap is to record",
            "leave it out; --data-dir DIR records elsewhere, and sessions delete removes the recording",
        ),
        "--host": _ANYWHERE,
        "--listen": _ANYWHERE,
        "--bind": _ANYWHERE,
    }
)
"""Options that users may expect on a tap, each with an explanation and a remedy."""


def check_tap(words: Sequence[str]) -> None:
    """Raise an error for common mistakes in a `tap` command, with a clearer text than argparse's.

    Raises:
        SettingsError: An option is not supported, or the relay's target is missing.
    """
    typed = words[: words.index("--")] if "--" in words else words
    options = [word.partition("=")[0] for word in typed if word.startswith("-")]
    relay = _relay_options(argparse.ArgumentParser(), "", 0)  # only the options with a value are needed
    with_value = {*OPTIONS, *(option for action in relay for option in action.option_strings)}
    values = {at + 1 for at, word in enumerate(typed) if word in with_value}
    plain = [word for at, word in enumerate(typed) if at not in values and not word.startswith("-")]
    if plain[:1] != ["tap"] or {"-h", "--help", "--version"} & set(typed):
        return
    kind = plain[1] if len(plain) > 1 else ""
    where = f"tap {kind}".rstrip()
    if not kind:
        raise SettingsError(
            "no kind of tap given", where, "write tap llm, tap stdio or tap http; see tui-host tap --help"
        )
    if kind in {"install", "uninstall"}:
        return
    for option in options:
        if option in _NOT_HERE:
            raise SettingsError(f"{option}: {_NOT_HERE[option][0]}", where, _NOT_HERE[option][1])
    if kind == "stdio":
        _check_stdio(words, plain, options)
    elif kind in _UPSTREAMS and not any(
        option.startswith("--up") for option in options
    ):  # a misspelled one is named later
        before = " before the URL" if any("://" in word for word in plain) else ""
        raise SettingsError(f"no --upstream{before}", where, f"write tui-host tap {_UPSTREAMS[kind]}")


def _check_stdio(words: Sequence[str], plain: Sequence[str], options: Sequence[str]) -> None:
    if "--" not in words:
        raise SettingsError("no -- before the server's command", "tap stdio", STDIO_FORM)
    unknown = next((option for option in options if option not in OPTIONS), "")
    if unknown:
        raise SettingsError(f"no such option: {unknown}", "tap stdio", "the options are --log FILE and --data-dir DIR")
    if len(plain) == 2:
        raise SettingsError("no name before --", "tap stdio", STDIO_FORM)
    if words[-1] == "--":
        raise SettingsError("no command after --", "tap stdio", STDIO_FORM)


def add_tap(add: AddParser) -> None:
    """Add the command `tap` and its subcommands."""
    tap = add("tap", help="record another host's traffic with its model and servers", description=TAP)
    tap.epilog = TAPS
    common(tap)
    actions = tap.add_subparsers(dest="action", required=True, metavar="ACTION")
    stdio = actions.add_parser(
        "stdio",
        help="in front of a stdio server's command",
        description=STDIO,
    )
    stdio.epilog = "For example: tui-host tap stdio time -- uvx mcp-server-time"
    stdio.usage = "tui-host tap stdio [--log FILE] [--data-dir DIR] NAME -- COMMAND..."
    common(stdio)
    _log(stdio)
    stdio.add_argument("words", nargs=1, type=name_of, metavar="NAME", help="a name for the server")
    llm = actions.add_parser(
        "llm",
        help="in front of a model's API",
        description=LLM,
    )
    http = actions.add_parser(
        "http",
        help="in front of an MCP server behind a URL",
        description=HTTP,
    )
    http.add_argument("words", nargs=1, type=name_of, metavar="NAME", help="a name for the server")
    llm.epilog = "For example: tui-host tap llm --upstream https://api.deepseek.com/v1"
    http.epilog = "For example: tui-host tap http docs --upstream https://docs.example/mcp"
    for relay, upstream, port in ((llm, "https://api.deepseek.com/v1", 8321), (http, "https://docs.example/mcp", 8322)):
        common(relay)
        _log(relay)
        _relay_options(relay, upstream, port)
    _add_install(actions.add_parser)


def _relay_options(relay: argparse.ArgumentParser, upstream: str, port: int) -> Sequence[argparse.Action]:
    """Add the options of a relay that listens on a port, each with a value. The help names `upstream` and `port`."""
    return [
        relay.add_argument("--upstream", required=True, metavar="URL", help=f"the URL to relay to, such as {upstream}"),
        relay.add_argument("--port", type=port_of, metavar="N", help=f"the port to listen on, 0 for any ({port})"),
        relay.add_argument(
            "--ca-file", type=path_of, metavar="FILE", help="certificates to trust instead of the system's"
        ),
        relay.add_argument(
            "--allow-origin",
            action="append",
            type=origin_of,
            metavar="ORIGIN",
            help="accept requests with this Origin; repeatable",
        ),
        relay.add_argument(
            "--allow-host",
            action="append",
            type=host_of,
            metavar="NAME",
            help="accept requests to this host name, such as host.docker.internal; repeatable",
        ),
    ]


def _add_install(add: AddParser) -> None:
    from tui_host.settings.hosts.known_hosts import TAPPED

    for name, words, long in (
        (
            "install",
            "write stdio taps into a host's configuration",
            "Write stdio taps in front of the commands of a host's servers.",
        ),
        (
            "uninstall",
            "remove the taps again",
            "Remove the taps from a host's configuration; a file that was not edited since is restored exactly.",
        ),
    ):
        action = add(
            name,
            help=words,
            description=f"{long}\nShows the difference, asks, and keeps a copy of the old file beside it.\n"
            f"Hosts: {', '.join(host.name for host in TAPPED)}.",
        )
        action.usage = f"tui-host tap {name} [--file FILE] [--dry-run] [--yes] [--json] HOST [SERVER ...]"
        common(action)
        action.add_argument(
            "words", nargs="+", type=name_of, metavar="HOST", help="a host, then its servers, if not all"
        )
        action.add_argument(
            "--file", type=path_of, metavar="FILE", help="the host's configuration file, if not the usual one"
        )
        action.add_argument("--dry-run", action="store_true", help="only show the difference")
        action.add_argument("--yes", action="store_true", help="write without asking")
        json_too(action)


def _log(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--log",
        type=name_of,
        metavar="FILE",
        help="also write each record to FILE as a JSON line; - prints one line per message on standard error",
    )
