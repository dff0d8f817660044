"""The options and commands of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from typing_extensions import override

from tui_host.cli.server_grammar import add_requests, add_servers
from tui_host.cli.session_grammar import READ_FROM_FILES, add_mcp, add_sessions, files_of
from tui_host.cli.shared_options import AddParser, answers, common, json_too, name_of
from tui_host.cli.tap_grammar import add_tap, check_tap
from tui_host.errors import SettingsError
from tui_host.tap.stdio_arguments import read_stdio_arguments

EPILOG = """\
Without a command, the app starts. Given a URL, or a command after --, it starts with that one server:
  tui-host https://docs.example/mcp
  tui-host -- uvx mcp-server-time

Ask several models the same question, side by side:
  tui-host compare "…" --with openai/gpt-4.1 --with ollama/llama3.1:8b:cline

Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 a call was refused by the user or by default,
129, 130, 143 ended by SIGHUP, SIGINT, SIGTERM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The parsed command line.

    Attributes:
        command: The command's name, empty for the app.
        action: The command's subcommand (`list`, `check`, `show`, …), empty if it has none.
        config: `--config FILE`.
        data_dir: `--data-dir DIR`.
        server: The app's only server, the server behind a tap, or the server to add: a URL, or a command; else empty.
        json: `--json`.
        log: `--log FILE`, `-` for standard error.
        of_call: `--call ID` of `sessions export`.
        words: Positional arguments: the text of `ask` and `compare`, names of servers and providers, session ids.
        columns: Each `--with` of `compare`.
        answer: The page that `sessions show` prints, with what follows the option.
    """

    command: str = ""
    action: str = ""
    config: Path | None = None
    data_dir: Path | None = None
    server: tuple[str, ...] = ()
    json: bool = False
    words: tuple[str, ...] = ()
    model: str | None = None
    protocol: str | None = None
    profile: str | None = None
    session: str | None = None
    allow: tuple[str, ...] = ()
    attach: tuple[str, ...] = ()
    yes: bool = False
    max_steps: int | None = None
    columns: tuple[str, ...] = ()
    repeat: int = 1
    no_record: bool = False
    turn: int | None = None
    of_call: str | None = None
    marked: bool = False
    format: str = "jsonl"
    output: Path | None = None
    older_than: float | None = None
    max: int | None = None
    dry_run: bool = False
    file: Path | None = None
    log: str | None = None
    upstream: str | None = None
    port: int | None = None
    ca_file: Path | None = None
    allow_origin: tuple[str, ...] = ()
    allow_host: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    call: tuple[tuple[str, str], ...] = ()
    all: bool = False
    registry: str = ""
    set: tuple[str, ...] = ()
    elicit: tuple[str, ...] = ()
    sampling: bool = False
    root: tuple[Path, ...] = ()
    answer: tuple[str, ...] = ()


class _Parser(argparse.ArgumentParser):
    """Raises errors as `SettingsError`, so that one module writes to standard error. Accepts no abbreviated options.

    Attributes:
        color: Whether help has colours on a terminal. Python 3.14 and later pass this argument to subparsers.
    """

    def __init__(
        self,
        *,
        prog: str | None = None,
        description: str | None = None,
        epilog: str | None = None,
        add_help: bool = True,
        color: bool = False,
    ) -> None:
        del color  # Python's default is True; the attribute is set below
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            add_help=add_help,
            allow_abbrev=False,
        )
        self.color = False  # plain text, as in earlier versions of Python

        self.set_defaults(parser=self)

    @property
    def command(self) -> str:
        """The command and subcommand whose arguments this parser reads."""
        return self.prog.partition(" ")[2]

    @override
    def error(self, message: str) -> NoReturn:
        first = ", before the options" if message.endswith("required: ID") else ""  # an option may have taken it
        raise _UsageError(self, f"{message}{first}")

    def check_options(self, words: Sequence[str]) -> None:
        """Raise an error for the first option that does not exist.

        Raises:
            SettingsError: An option does not exist. The error names the most similar option.
        """
        from difflib import get_close_matches

        for word in words:
            option = word.partition("=")[0]
            if (
                option.strip("-")
                and option[0] == "-"
                and " " not in option
                and option not in self._option_string_actions
            ):
                near = get_close_matches(option, self._option_string_actions, n=1)
                meant = f"did you mean {near[0]}? " if near else ""
                raise SettingsError(f"there is no option {option}", self.command, f"{meant}see {self.prog} --help")


class _UsageError(SettingsError):
    """Arguments that a parser could not read, with that parser."""

    def __init__(self, parser: _Parser, message: str) -> None:
        super().__init__(message, parser.command, f"see {parser.prog} --help")
        self.parser = parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a whole number, 1 or more")
    return int(text)


def _model_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", metavar="PROVIDER/MODEL", default=argparse.SUPPRESS, help="the model to ask")
    parser.add_argument("--protocol", metavar="NAME", default=argparse.SUPPRESS, help="the tool protocol")
    parser.add_argument(
        "--profile",
        type=name_of,
        metavar="NAME",
        default=argparse.SUPPRESS,
        help="the profile, with its model and tool protocol",
    )


def _no_record(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-record", action="store_true", default=argparse.SUPPRESS, help="record nothing on disk")


def _add_ask(add: AddParser) -> None:
    ask = add("ask", help="ask one question without the app", description="Ask one question and print the answer.")
    common(ask)
    json_too(ask)
    _model_options(ask)
    ask.add_argument("--session", type=name_of, metavar="ID", help="continue this session")
    ask.add_argument(
        "--attach",
        action="append",
        default=[],
        type=name_of,
        metavar="FILE",
        help="attach an image or a text file; repeatable",
    )
    _turn(ask)
    answers(ask)


def _turn(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that run a turn without the app."""
    parser.add_argument("words", nargs=1, metavar="TEXT", help="the question; - reads standard input")
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="PATTERN",
        help="allow calls of SERVER.TOOL, with * as wildcard; repeatable",
    )
    parser.add_argument("--yes", action="store_true", help="allow every call not denied by a rule")
    parser.add_argument("--max-steps", type=_count, metavar="N", help="largest number of model exchanges")
    _no_record(parser)


def _add_compare(add: AddParser) -> None:
    words = "the same question to several models or tool protocols"
    compare = add(
        "compare",
        help=f"{words}, side by side",
        description=f"Put {words}, one after the other, and compare costs, tool calls and answers.",
    )
    common(compare)
    json_too(compare)
    compare.add_argument(
        "--with",
        dest="columns",
        action="append",
        required=True,
        type=name_of,
        metavar="PROVIDER/MODEL[:PROTOCOL]",
        help="a model to ask, and the tool protocol to use; repeatable",
    )
    compare.add_argument("--repeat", type=_count, default=1, metavar="N", help="ask each model N times, and compare")
    _turn(compare)


def _add_models(add: AddParser) -> None:
    models = add(
        "models",
        help="list the models of the providers",
        description="List the models of providers that have a key, are configured, or run on this machine.",
    )
    common(models)
    json_too(models)
    models.add_argument(
        "words", nargs="*", type=name_of, metavar="PROVIDER", help="only these providers, with or without a key"
    )


def _add_open(add: AddParser) -> None:
    opened = add(
        "open",
        help="open files captured elsewhere in the inspector",
        description="Open files captured elsewhere in the app. Nothing is stored.",
    )
    opened.epilog = READ_FROM_FILES
    common(opened)
    files_of(opened, "file to open")


def parser(*, commands_too: bool = True) -> argparse.ArgumentParser:
    """Return the parser for the whole command line; without the commands it is built much faster."""
    top = _Parser(
        prog="tui-host",
        description="A terminal chat client that is an MCP host with glass walls.",
        epilog=EPILOG,
    )
    common(top)
    _model_options(top)
    _no_record(top)
    if not commands_too:
        return top
    commands = top.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    _add_ask(commands.add_parser)
    _add_compare(commands.add_parser)
    add_servers(commands.add_parser)
    add_requests(commands.add_parser)
    _add_models(commands.add_parser)
    add_sessions(commands.add_parser)
    add_mcp(commands.add_parser)
    _add_open(commands.add_parser)
    add_tap(commands.add_parser)
    common(commands.add_parser("demo-model", help="run the demo model as a server", add_help=False))
    return top


OPTIONS_WITH_VALUE = ("--config", "--data-dir", "--model", "--protocol", "--profile")


def _take_left(read: argparse.Namespace, left: Sequence[str]) -> None:
    """Add what argparse left to the command's words: it takes none that stand behind an option that follows the first word.

    Raises:
        SettingsError: An option does not exist, or the command takes no such words.
    """
    read.parser.check_options(left)
    if not getattr(read, "has_words_anywhere", False) or any(word.startswith("-") for word in left):
        read.parser.error(f"unrecognized arguments: {' '.join(left)}")
    read.words += left


def _first_word(words: Sequence[str]) -> int | None:
    """Return the index of the first argument that is neither an option nor an option's value."""
    place = 0
    while place < len(words):
        word = words[place]
        if word in OPTIONS_WITH_VALUE:
            place += 2
        elif word.startswith("-") and word != "--":
            place += 1
        else:
            return place
    return None


def _own_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments of the demo model, without the options that all commands share."""
    if not any(word.partition("=")[0] in {"--config", "--data-dir", "--version"} for word in words):
        return tuple(words)  # the usual case: a host that starts the demo model is waiting for its first line
    ours = _Parser(prog="tui-host demo-model", add_help=False)
    common(ours)
    return tuple(ours.parse_known_args(list(words))[1])


def _conformance(words: Sequence[str]) -> Arguments:
    """Parse the arguments of `conformance`, which no help mentions: a URL, or a command after --."""
    place = words.index("--") if "--" in words else len(words)
    ours = _Parser(prog="tui-host conformance", add_help=False)
    common(ours)
    read, left = ours.parse_known_args(list(words[:place]))
    server = tuple(words[place + 1 :]) or tuple(left[:1])
    if not server or (len(server) == 1 and place == len(words) and "://" not in server[0]):
        raise SettingsError("no server", "conformance", "write a URL, or -- and a command")
    return Arguments(
        command="conformance",
        server=server,
        config=getattr(read, "config", None),
        data_dir=getattr(read, "data_dir", None),
    )


def read_arguments(words: Sequence[str]) -> Arguments:
    """Parse the arguments that follow the program's name.

    Raises:
        SettingsError: The arguments are invalid.
    """
    server: tuple[str, ...] = ()
    tap = read_stdio_arguments(words)
    if tap is not None:
        folder = None if tap.data_dir is None else Path(tap.data_dir)
        return Arguments(
            command="tap", action="stdio", words=(tap.name,), server=tap.command, data_dir=folder, log=tap.log
        )
    check_tap(words)
    first = _first_word(words)
    if first is not None and words[first] == "--":
        words, server = words[:first], tuple(words[first + 1 :])
        if not server:
            raise SettingsError("no command after --", remedy="write tui-host -- COMMAND ARGUMENTS…")
    elif first is not None and words[first] == "conformance":
        return _conformance([*words[:first], *words[first + 1 :]])
    elif first is not None and words[first] == "servers" and "add" in words and "--" in words:
        end = words.index("--")
        words, server = words[:end], tuple(words[end + 1 :])
    elif first is not None and "://" in words[first]:
        server = (words[first],)
        words = [*words[:first], *words[first + 1 :]]
    elif first is not None and words[first] == "demo-model":
        return Arguments(command="demo-model", words=_own_words([*words[:first], *words[first + 1 :]]))
    is_plain = first is None and all(word.partition("=")[0] in OPTIONS_WITH_VALUE for word in words[::2])
    try:
        read, left = parser(commands_too=not is_plain).parse_known_args(list(words))
        if left:
            _take_left(read, left)
    except _UsageError as error:
        # argparse may have taken an unknown option's value for a command, so look for unknown options first.
        error.parser.check_options(words if error.parser.command else words[:first])
        raise
    parsed = vars(read)
    values = {name: value for name, value in parsed.items() if name in Arguments.__slots__ and value is not None}
    for name, value in tuple(values.items()):
        if isinstance(value, list):
            values[name] = tuple(values[name])
    return Arguments(**values, server=server)
