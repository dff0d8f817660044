"""Reads the command line: finds the command, and lets its module say which options it has."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module

from tui_host.cli.options import RECORDS_NOTHING, UNSET, CommandParser, UsageError, model
from tui_host.cli.table import APP, COMMANDS, CommandRow
from tui_host.errors import SettingsError

EPILOG = """\
Without a command, the app starts. Given a URL, or a command after --, it starts with that one server:
  tui-host https://docs.example/mcp
  tui-host -- uvx mcp-server-time

Ask several models the same question, side by side:
  tui-host compare "…" --with openai/gpt-4.1 --with ollama/llama3.1:8b:cline

Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 a call was refused by the user or by default,
129, 130, 143 ended by SIGHUP, SIGINT, SIGTERM."""
_OPTIONS_WITH_VALUE = ("--config", "--data-dir", "--model", "--protocol", "--profile")


def read_arguments(words: Sequence[str]) -> tuple[CommandRow, argparse.Namespace]:
    """Parse the words that follow the program's name; raises SettingsError if they are wrong.

    `server` has the URL or command of the app's only server, or of the server to add or to test.
    """
    args = argparse.Namespace(
        command="", server=(), config=None, data_dir=None, model=None, protocol=None, profile=None, no_record=False
    )
    place = _first_word(words)
    head, rest = list(words[:place]), list(words[place:])
    if rest == ["--"]:
        raise SettingsError("no command after --", remedy="write tui-host -- COMMAND ARGUMENTS…")
    if rest[:1] == ["--"]:
        args.server, rest = tuple(rest[1:]), []
    elif rest and "://" in rest[0]:
        args.server, head, rest = (rest[0],), [*head, *rest[1:]], []
    top = CommandParser(prog="tui-host")
    top.description, top.epilog = "A terminal chat client that is an MCP host with glass walls.", EPILOG
    model(top)
    top.flag("--no-record", RECORDS_NOTHING, default=UNSET)
    command, parser = APP, top
    _read_with(parser, command, head, args)  # also for its errors, when a command follows
    while rest:
        rows = _rows_of(command)
        if rest[0] not in rows:
            names = ", ".join(repr(name) for name, row in rows.items() if row.summary)
            kind = "ACTION" if command.name else "COMMAND"
            parser.error(f"argument {kind}: invalid choice: {rest[0]!r} (choose from {names})")
        command, rest = rows[rest[0]], rest[1:]
        args.command = command.name
        parser = CommandParser(prog=f"tui-host {command.name}", add_help=not command.has_own_grammar)
        if command.module:
            import_module(f"tui_host.cli.commands.{command.module}").add(parser)
        parser.description = parser.description or f"{command.summary[:1].upper()}{command.summary[1:]}."
        place = _first_word(rest) if command.is_group else len(rest)
        if command.runs_command and "--" in rest:
            place = rest.index("--")
        _read_with(parser, command, rest[:place], args)
        if command.runs_command and rest[place:]:
            args.server = tuple(rest[place + 1 :])
        rest = rest[place:] if command.is_group else []
    if command.is_group:
        parser.error("the following arguments are required: ACTION")
    return command, args


def _first_word(words: Sequence[str]) -> int:
    """Return the index of the first word that is neither an option nor an option's value; the length without one."""
    place = 0
    while place < len(words) and (words[place].startswith("-") and words[place] != "--"):
        place += 2 if words[place] in _OPTIONS_WITH_VALUE else 1
    return min(place, len(words))


def _rows_of(group: CommandRow) -> dict[str, CommandRow]:
    start = f"{group.name} ".lstrip()
    names = ((row.name.removeprefix(start), row) for row in COMMANDS if row.name.startswith(start))
    return {name: row for name, row in names if " " not in name}


def _read_with(parser: CommandParser, command: CommandRow, words: Sequence[str], args: argparse.Namespace) -> None:
    """Parse the words into `args`. Raises SettingsError if an option does not exist, or the words are wrong."""
    if (command is APP or command.is_group) and {"-h", "--help"} & {*words}:
        listed = parser.add_subparsers(metavar="ACTION" if command.name else "COMMAND", required=bool(command.name))
        for name, row in _rows_of(command).items():
            if row.summary:  # only listed: each command has a parser of its own
                listed.add_parser(name, help=row.summary)
    try:
        _, left = parser.parse_known_args(list(words), args)
    except UsageError:
        # argparse may have taken an unknown option's value for a word, so unknown options are named first.
        parser.check_options(words)
        raise
    if command.has_own_grammar:
        args.words = left
    elif left:
        parser.check_options(left)
        # argparse takes no words that stand behind an option which follows the first word.
        if not parser.takes_many or any(word.startswith("-") for word in left):
            parser.error(f"unrecognized arguments: {' '.join(left)}")
        args.words += left
