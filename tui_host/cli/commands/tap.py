"""`tap stdio`, `tap llm` and `tap http`: relay and record the traffic of another host until a signal ends the relay.

`tap-recorder` is the process that records beside a tap. Taps start it; no help lists it.

A complete `tap stdio` becomes a relay before this module is loaded, because a server's start must not wait for it.
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Mapping

from tui_host.capture.visible import visible
from tui_host.cli import diagnostics, options, output
from tui_host.errors import SettingsError

TAP = """\
Record the traffic of another host (Cline, Cherry Studio, Claude Code, an SDK, …)
with its model and its MCP servers. A tap sits between the two, relays everything
unchanged, and records it. In tui-host, /sessions shows the recordings.
All stdio servers of a host: tui-host tap install cline
Its model: tui-host tap llm --upstream https://api.deepseek.com/v1"""
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
_WRITTEN = {
    "tap stdio": "tap stdio NAME -- COMMAND ARGUMENTS…",
    "tap llm": "tap llm --upstream https://api.deepseek.com/v1",
    "tap http": "tap http NAME --upstream https://docs.example/mcp",
}
# Source: RFC 6454, section 6.2.
_ORIGIN = re.compile(r"null|[a-z][a-z0-9+.-]*://[^/?#\s]+")


def add(parser: options.CommandParser) -> None:
    """Add the options; the words of the recorder are the relay's."""
    if parser.command == "tap-recorder":
        return
    if parser.command == "tap":
        parser.description = TAP
        return
    parser.description = {"tap stdio": STDIO, "tap llm": LLM, "tap http": HTTP}[parser.command]
    words = "also write each record to FILE as a JSON line; - prints one line per message on standard error"
    parser.option("--log", "FILE", words, options.name_of)
    if parser.command == "tap stdio":
        parser.epilog = "For example: tui-host tap stdio time -- uvx mcp-server-time"
        parser.usage = "tui-host tap stdio [--log FILE] [--data-dir DIR] NAME -- COMMAND..."
        parser.words("*", "NAME", "a name for the server")
        return
    is_mcp = parser.command == "tap http"
    upstream, port = ("https://docs.example/mcp", 8322) if is_mcp else ("https://api.deepseek.com/v1", 8321)
    parser.epilog = f"For example: tui-host {_WRITTEN[parser.command].replace('NAME', 'docs')}"
    if is_mcp:
        parser.words(1, "NAME", "a name for the server")
    parser.option("--upstream", "URL", f"the URL to relay to, such as {upstream}")
    number_of = options.checked(
        lambda text: int(text) if text.isdecimal() and int(text) <= 65535 else None, "a port: a number up to 65535"
    )
    parser.option("--port", "N", f"the port to listen on, 0 for any ({port})", number_of, default=port)
    parser.option("--ca-file", "FILE", "certificates to trust instead of the system's", options.path_of)
    words = "an origin without a path, such as app://obsidian.md"
    origin_of = options.checked(lambda text: text if _ORIGIN.fullmatch(text) else None, words)
    parser.option("--allow-origin", "ORIGIN", "accept requests with this Origin", origin_of, repeats=True)
    words = "accept requests to this host name, such as host.docker.internal"
    parser.option("--allow-host", "NAME", words, options.name_of, repeats=True)


def run(args: Namespace, environment: Mapping[str, str]) -> int:
    """Relay and record the traffic; returns the exit code. Reads no configuration, whose mistakes could stop a host."""
    if args.command == "tap-recorder":
        from tui_host.cli.tap_log import PlainLines
        from tui_host.infer.tap_facts import TapFacts
        from tui_host.tap.recorder import record

        record(args.server, plain=PlainLines, learn=lambda text: TapFacts(text).feed)
    remedy = f"write tui-host {_WRITTEN[args.command]}"
    if args.no_record:
        raise SettingsError("the purpose of a tap is to record", "--no-record", "--data-dir DIR records elsewhere")
    if args.command == "tap stdio":
        # A complete one has become a relay before.
        raise SettingsError("no name, or no command after --", args.command, remedy)
    if not args.upstream:
        raise SettingsError("no --upstream", args.command, remedy)
    return _relay(args, environment, is_mcp=args.command == "tap http")


def _relay(args: Namespace, environment: Mapping[str, str], *, is_mcp: bool) -> int:
    import anyio

    from tui_host.settings.presets import service_at
    from tui_host.settings.urls import is_loopback
    from tui_host.tap.http import llm_tap as llm
    from tui_host.tap.http.relay import Relay, bound
    from tui_host.tap.http.upstream import Upstream
    from tui_host.tap.relay import RecorderChild, Ring, recorder_words, told_once
    from tui_host.tap.stdio_arguments import NoLogError, open_log

    upstream = Upstream(args.upstream, environment, args.ca_file)
    wire, name = ("http", args.words[0]) if is_mcp else ("llm", service_at(upstream.url.geturl()) or upstream.name)
    log = args.log or ""
    try:
        log_file = open_log(log)
    except NoLogError as error:
        raise SettingsError(str(error), f"--log {log}") from error
    ring = Ring()
    words = recorder_words(wire, name, data_dir=str(args.data_dir or ""), log=log, log_file=log_file)
    recorders: list[RecorderChild] = []
    with bound(args.port, upstream) as listener:
        relay = Relay(
            listener,
            upstream,
            is_mcp=is_mcp,
            report=ring.add,
            tell=told_once(diagnostics.tell),
            allowed_origins=args.allow_origin,
            allowed_hosts=args.allow_host,
        )

        def started() -> None:
            recorders.append(RecorderChild(ring, words, diagnostics.tell))
            own, of = relay.origin, upstream.origin
            diagnostics.tell(f"{own} relays to {of}; ctrl+c ends it")
            if upstream.trust is None and not is_loopback(upstream.url.hostname or ""):
                diagnostics.tell(f"{of} is not encrypted: anyone on the network can read the traffic, keys too")
            if is_mcp:
                url = own + upstream.url.path
                diagnostics.tell("enter the line below in your host as the server's URL")
            else:
                url = llm.base_url(upstream, own)
                diagnostics.tell("enter the last line in your host as the base URL, and leave its key as it is:")
                diagnostics.write("".join(f"{visible(line)}\n" for line in llm.instructions(upstream, own)))
            output.text(url)  # printed last, so that the URL stays visible on a small screen

        try:
            return anyio.run(relay.serve, started, diagnostics.ENDED_BY)
        finally:
            for recorder in recorders:
                recorder.end()
