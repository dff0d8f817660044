"""The options and subcommands of `servers`, `call`, `read` and `prompt`."""

from __future__ import annotations

import argparse

from tui_host.cli.shared_options import AddParser, answers, common, json_too, name_of

CALL = """\
Call a tool of a configured server, without a model and without approval: the command is your consent.
Prints the result. Without JSON, the tool is called without arguments; - reads them from standard input."""

ADD = """\
Add a server in a file of its own, servers.d/NAME.toml beside the configuration file.
Write secrets as '${NAME}': the value is read from the environment when the server starts."""

IMPORT = """\
Show the servers in the configuration of Claude Desktop, Claude Code, Cursor, VS Code, Cline, Windsurf, Gemini CLI,
LM Studio and Codex, or in a file, or in text pasted to standard input, and add the chosen ones, switched off."""
EXPORT = 'Print servers as {"mcpServers": …}, the form that most hosts read. References stay ${NAME}.'


def add_requests(add: AddParser) -> None:
    """Add `call`, `read` and `prompt`."""
    call = add("call", help="call a tool of a server", description=CALL)
    call.usage = "tui-host call [OPTIONS] SERVER TOOL [JSON]"
    read = add("read", help="read a resource of a server", description="Read a resource and print its contents.")
    read.usage = "tui-host read [OPTIONS] SERVER URI"
    prompt = add("prompt", help="fill in a prompt of a server", description="Fill in a prompt and print its messages.")
    prompt.usage = "tui-host prompt [OPTIONS] SERVER NAME [KEY=VALUE…]"
    for parser, rest in ((call, "TOOL, JSON"), (read, "URI"), (prompt, "NAME, KEY=VALUE…")):
        common(parser)
        json_too(parser)
        answers(parser)
        parser.add_argument("words", nargs="+", metavar="SERVER", help=f"the server's name, followed by {rest}")
        parser.set_defaults(has_words_anywhere=True)
        parser.add_argument(
            "--no-record", action="store_true", default=argparse.SUPPRESS, help="record nothing on disk"
        )


def add_servers(add: AddParser) -> None:
    """Add `servers` with its subcommands."""
    words = "list, check, add, remove, enable, disable, import or export servers"
    servers = add("servers", help=words, description=f"{words.capitalize()}.")
    common(servers)
    actions = servers.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, words in (
        ("list", "list the configured servers"),
        ("check", "connect to the servers, and check all that they offer; exit code 1 on a mistake"),
    ):
        action = actions.add_parser(name, help=words, description=words)
        common(action)
        json_too(action)
        if name == "check":
            action.add_argument("words", nargs="*", metavar="SERVER", help="only these servers")
            action.add_argument(
                "--call",
                nargs=2,
                action="append",
                default=[],
                metavar=("TOOL", "JSON"),
                help="call a tool of the one server, and check the result against its output schema; repeatable",
            )
    _add_import(actions.add_parser("import", help="import servers of other hosts", description=IMPORT))
    exported = actions.add_parser("export", help="print servers for other hosts", description=EXPORT)
    common(exported)
    exported.add_argument("words", nargs="*", type=name_of, metavar="SERVER", help="only these servers")
    _add_add(actions.add_parser("add", help="add a server", description=ADD))
    for name, words in (
        ("remove", "remove servers that were added or imported"),
        ("enable", "switch servers, or single tools as SERVER.TOOL, on for good"),
        ("disable", "switch servers, or single tools as SERVER.TOOL, off for good"),
        ("login", "log in at servers behind URLs, in the browser"),
        ("logout", "forget the logins at servers"),
    ):
        action = actions.add_parser(name, help=words, description=f"{words.capitalize()}.")
        common(action)
        action.add_argument("words", nargs="+", type=name_of, metavar="SERVER", help="the servers' names")


def _add_add(parser: argparse.ArgumentParser) -> None:
    parser.usage = "tui-host servers add [OPTIONS] NAME URL | NAME -- COMMAND… | NAME --registry ID"
    common(parser)
    parser.add_argument(
        "--registry",
        metavar="ID",
        default="",
        help="take the registry's entry, such as io.github.user/server; switched off",
    )
    parser.add_argument(
        "words", nargs="+", type=name_of, metavar="NAME", help="the server's name, then its URL or command"
    )
    parser.set_defaults(has_words_anywhere=True)
    for option, metavar, words in (
        ("--env", "NAME=VALUE", "an environment variable of the command; repeatable"),
        ("--header", "NAME:VALUE", "a header of every request to the URL; repeatable"),
        ("--set", "NAME=VALUE", "with --registry: a value that the entry wants; repeatable"),
    ):
        parser.add_argument(option, action="append", default=[], metavar=metavar, help=words)


def _add_import(parser: argparse.ArgumentParser) -> None:
    common(parser)
    json_too(parser)
    parser.add_argument("words", nargs="*", type=name_of, metavar="FILE", help="read this file; - reads standard input")
    parser.add_argument("--all", action="store_true", help="add all")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="add this server; repeatable")
    parser.add_argument("--dry-run", action="store_true", help="only show the servers")
