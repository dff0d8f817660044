"""The command line's grammar, and nothing else."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from typing_extensions import override

from tui_host.cli.shared_options import AddParser, common, json_too, name_of, path_of
from tui_host.cli.tap_grammar import add_tap, check_tap
from tui_host.errors import SettingsError
from tui_host.settings.table_reader import duration_of, size_of
from tui_host.tap.typed_command import read_words

EPILOG = """\
Without a command the app starts; with a URL or after -- with a command, it starts with just that server:
  tui-host https://docs.example/mcp
  tui-host -- uvx mcp-server-time

One question to several, side by side:
  tui-host compare "…" --with openai/gpt-4.1 --with ollama/llama3.1:8b:cline

Exit codes: 0 done, 1 failed, 2 wrong use or configuration, 3 a call was refused by a person or by default,
129, 130, 143 ended by SIGHUP, SIGINT, SIGTERM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What was typed.

    Attributes:
        command: The command's name, empty for the app.
        action: A command's own verb (`list`, `check`, `show`, …), empty if it has none.
        config: `--config FILE`.
        data_dir: `--data-dir DIR`.
        server: The app's one server, or the one behind a tap: a URL, or a command and its arguments; empty for the configured ones.
        json: `--json`.
        log: `--log FILE`, `-` for standard error.
        words: Positional arguments: the text of `ask` and `compare`, names of servers and providers, ids of sessions, the demo model's own arguments.
        columns: Whom `compare` asks: each `--with`.
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


class _Parser(argparse.ArgumentParser):
    """Mistakes become errors of ours, so that one place writes to standard error; names are written out.

    Attributes:
        color: Whether help is coloured on a terminal, for Python from 3.14 on, which also passes it to the parser of each command.
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
        del color  # true, unless the whole parser has said otherwise by then
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            add_help=add_help,
            allow_abbrev=False,
        )
        self.color = False  # the command line prints plain text, and the same with every Python

    @override
    def error(self, message: str) -> NoReturn:
        command = self.prog.partition(" ")[2]
        raise SettingsError(message, where=command, remedy=f"see {self.prog} --help")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a number from 1 on")
    return int(text)


def _duration(text: str) -> float:
    seconds = duration_of(text)
    if seconds is None:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a duration, such as 90d, 12h or 30m")
    return seconds


def _size(text: str) -> int:
    size = size_of(text)
    if size is None:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a size, such as 5GB or 500MB")
    return size


def _model_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", metavar="PROVIDER/MODEL", default=argparse.SUPPRESS, help="the model to ask")
    parser.add_argument("--protocol", metavar="NAME", default=argparse.SUPPRESS, help="the tool protocol")
    parser.add_argument(
        "--profile", type=name_of, metavar="NAME", default=argparse.SUPPRESS, help="the profile, and what it names"
    )


def _no_record(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-record", action="store_true", default=argparse.SUPPRESS, help="keep nothing on disk")


def _add_ask(add: AddParser) -> None:
    ask = add("ask", help="one turn without the screen", description="One turn without the screen.")
    common(ask)
    json_too(ask)
    _model_options(ask)
    ask.add_argument("--session", type=name_of, metavar="ID", help="go on with this session")
    ask.add_argument(
        "--attach",
        action="append",
        default=[],
        type=name_of,
        metavar="FILE",
        help="send an image or a text file along; repeatable",
    )
    _turn(ask)


def _turn(parser: argparse.ArgumentParser) -> None:
    """What a turn without the screen takes."""
    parser.add_argument("words", nargs=1, metavar="TEXT", help="the question; - reads standard input")
    parser.add_argument(
        "--allow", action="append", default=[], metavar="PATTERN", help="allow SERVER.TOOL, with *; repeatable"
    )
    parser.add_argument("--yes", action="store_true", help="allow every call that no rule denies")
    parser.add_argument("--max-steps", type=_count, metavar="N", help="model exchanges in the turn, at most")
    _no_record(parser)


def _add_compare(add: AddParser) -> None:
    words = "the same question to several models and tool protocols"
    compare = add(
        "compare",
        help=f"{words}, side by side",
        description=f"Put {words}, one after the other, and show side by side what each took and did.",
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
        help="whom to ask, through which tool protocol; repeatable",
    )
    compare.add_argument(
        "--repeat", type=_count, default=1, metavar="N", help="ask each so often, and tell what varies"
    )
    _turn(compare)


def _add_servers(add: AddParser) -> None:
    servers = add("servers", help="the configured servers", description="The configured servers.")
    common(servers)
    actions = servers.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=_Parser)
    for name, words in (("list", "what is configured"), ("check", "connect to each, and tell what it offers")):
        action = actions.add_parser(name, help=words, description=words)
        common(action)
        json_too(action)
        if name == "check":
            action.add_argument("words", nargs="*", metavar="SERVER", help="only these")


def _add_models(add: AddParser) -> None:
    models = add(
        "models",
        help="what the providers report",
        description="The models that the providers report: those with a key, those in a file, those on this machine.",
    )
    common(models)
    json_too(models)
    models.add_argument("words", nargs="*", type=name_of, metavar="PROVIDER", help="only these, asked in any case")


READ_FROM_FILES = """\
What is in a file is told by its content. Read are:
  JSON lines, as `sessions export` and `tap --log` write them
  HTTP archives (HAR), as browsers and mitmproxy write them, of any size: exchanges with models and MCP servers
  one request to a model, or one answer: an event stream, lines of JSON, or JSON; a list of messages, as Cline keeps
  logs of home-made proxies: request lines and `data:` lines, lines of JSON-RPC, with times and arrows before them or without;
    an object for each message or each exchange; values as Python prints them; Claude Desktop's and VS Code's own logs of their servers
Each may be packed by gzip. Several files are read as one: a request and its answer, the log before a model and the
one before a server, what went into a server and what came out of it."""


def _add_open(add: AddParser) -> None:
    opened = add(
        "open",
        help="the inspector on what was captured elsewhere",
        description="The app on what others captured. Nothing of it is kept.",
    )
    opened.epilog = READ_FROM_FILES
    common(opened)
    _files(opened, "what to show")


def _files(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "words",
        nargs="+",
        type=name_of,
        metavar="FILE",
        help=f"{what}; several where each holds a part, such as one wire",
    )


_NAMES = "an id, the beginning of one, or «last»: a story's id names all of its taps, a tap's id that tap alone"


def _add_sessions(add: AddParser) -> None:
    sessions = add("sessions", help="what was recorded", description="What was recorded.")
    common(sessions)
    actions = sessions.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=_Parser)
    listed = actions.add_parser(
        "list",
        help="newest first",
        description="All sessions, newest first. What several taps recorded of one host is one story, with its taps below it.",
    )
    shown = actions.add_parser("show", help="the conversation", description="A session's conversation.")
    exported = actions.add_parser("export", help="its records, or its text", description="A session, for elsewhere.")
    joined = actions.add_parser(
        "join",
        help="make one story of two",
        description="Make one story of two: of taps that did not overlap in time, or whose hosts have different names.",
    )
    parted = actions.add_parser(
        "part",
        help="take a tap out of its story",
        description="Take a tap out of its story, so that it is one by itself.",
    )
    deleted = actions.add_parser(
        "delete", help="remove for good", description="Remove sessions for good; a story of taps with all of its taps."
    )
    imported = actions.add_parser(
        "import", help="bring in what was captured elsewhere", description="Keep what others captured, as a session."
    )
    imported.epilog = READ_FROM_FILES
    common(imported)
    json_too(imported)
    _files(imported, "what to read, - for standard input")
    pruned = actions.add_parser(
        "prune",
        help="remove what is old, or too much",
        description="Remove for good what [store] keep and max no longer keep, or these: the oldest first, never what is in use.",
    )
    for action in (listed, shown, exported, joined, parted, deleted, pruned):
        common(action)
    for action in (listed, shown, joined, parted, deleted, pruned):
        json_too(action)
    for action in (shown, exported, parted):
        action.add_argument("words", nargs=1, metavar="ID", help=_NAMES)
    joined.add_argument("words", nargs=2, metavar="ID", help=_NAMES)
    deleted.add_argument("words", nargs="+", metavar="ID", help=_NAMES)
    pruned.add_argument(
        "--older-than", type=_duration, metavar="TIME", help="what did not change for so long, such as 90d"
    )
    pruned.add_argument("--max", type=_size, metavar="SIZE", help="until the rest takes no more, such as 5GB")
    pruned.add_argument("--dry-run", action="store_true", help="only tell what would go")
    exported.add_argument("--format", choices=("jsonl", "markdown"), default="jsonl")
    exported.add_argument(
        "-o", "--output", type=path_of, metavar="FILE", help="instead of standard output, which - stands for"
    )


def parser(*, commands_too: bool = True) -> argparse.ArgumentParser:
    """The whole grammar; without its commands it is made in a fraction of the time."""
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
    _add_servers(commands.add_parser)
    _add_models(commands.add_parser)
    _add_sessions(commands.add_parser)
    _add_open(commands.add_parser)
    add_tap(commands.add_parser)
    common(commands.add_parser("demo-model", help="the demo model, as a server of its own", add_help=False))
    return top


OPTIONS_WITH_VALUE = ("--config", "--data-dir", "--model", "--protocol", "--profile")


def _first_word(words: Sequence[str]) -> int | None:
    """The place of the first word that is neither an option nor an option's value."""
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
    """The demo model's own arguments, without those that every command takes."""
    if not any(word.partition("=")[0] in {"--config", "--data-dir", "--version"} for word in words):
        return tuple(words)  # the host starts it so, and waits for it
    ours = _Parser(prog="tui-host demo-model", add_help=False)
    common(ours)
    return tuple(ours.parse_known_args(list(words))[1])


def read_arguments(words: Sequence[str]) -> Arguments:
    """What the words after the program's name ask for.

    Raises:
        SettingsError: They are not in the grammar.
    """
    server: tuple[str, ...] = ()
    tap = read_words(words)
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
            raise SettingsError("no command after --", remedy="tui-host -- COMMAND ARGUMENTS…")
    elif first is not None and "://" in words[first]:
        server = (words[first],)
        words = [*words[:first], *words[first + 1 :]]
    elif first is not None and words[first] == "demo-model":
        return Arguments(command="demo-model", words=_own_words([*words[:first], *words[first + 1 :]]))
    is_plain = first is None and all(word.partition("=")[0] in OPTIONS_WITH_VALUE for word in words[::2])
    read, left = parser(commands_too=not is_plain).parse_known_args(list(words))
    found = vars(read)
    if left:
        where = " ".join(found[name] for name in ("command", "action") if found.get(name))
        remedy = f"see {' '.join(filter(None, ('tui-host', where)))} --help"
        raise SettingsError(f"unrecognized arguments: {' '.join(left)}", where, remedy)
    known = {name: value for name, value in found.items() if name in Arguments.__slots__ and value is not None}
    for name in ("words", "allow", "attach", "columns", "allow_origin", "allow_host"):
        if name in known:
            known[name] = tuple(known[name])
    return Arguments(**known, server=server)
