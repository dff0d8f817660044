"""The parser of a command, and the options and types of values that commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from typing_extensions import override

from tui_host.errors import SettingsError

READ_FROM_FILES = """\
The format is recognised by a file's content:
  JSON lines, as written by `sessions export` and `tap --log`
  HTTP archives (HAR) from browsers and mitmproxy, of any size
  one request to a model, or one response: an event stream, JSON lines, or JSON; a list of messages, as kept by Cline
  logs: a JSON object on each line; JSON-RPC lines with or without a prefix and a direction, as written by Claude Desktop,
    VS Code and `tee`; request lines followed by `data:` lines
Files may be compressed with gzip. Several files are read as one capture: requests and responses, the log in front of a
model and the log in front of a server, a server's input and output."""


def name_of(text: str) -> str:
    """Parse a name. An empty name is refused: it is usually an unset variable in a script."""
    if not text:
        raise argparse.ArgumentTypeError("found nothing, expected a name")
    return text


def path_of(text: str) -> Path:
    """Parse a path. An empty path is refused: `Path` would make it the working directory."""
    if not text:
        raise argparse.ArgumentTypeError("found nothing, expected a path")
    return Path(text)


def count_of(text: str) -> int:
    """Parse a whole number, 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a whole number, 1 or more")
    return int(text)


class UsageError(SettingsError):
    """Words that a parser could not read."""


class _Version(argparse.Action):
    """Prints the version and exits. The version is imported only then."""

    @override
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        import importlib.metadata

        print(f"tui-host {importlib.metadata.version('tui-host')}")
        parser.exit()


class CommandParser(argparse.ArgumentParser):
    """Reads a command's words. Raises errors as `SettingsError`, so that one module writes to standard error.

    Attributes:
        takes_many: Whether the command takes any number of words, which may then stand between and behind its options.
    """

    def __init__(self, *, prog: str, add_help: bool = True, **_: object) -> None:
        super().__init__(
            prog=prog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            add_help=add_help,
            allow_abbrev=False,
        )
        self.color = False  # Python 3.14 would colour the help
        self.takes_many = False
        self.add_argument(
            "--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help="show the version and exit"
        )
        # Without a default, which would override an option that stands before the command.
        self.option("--config", "FILE", "the configuration file", path_of, default=argparse.SUPPRESS)
        self.option("--data-dir", "DIR", "the folder of the database", path_of, default=argparse.SUPPRESS)

    @property
    def command(self) -> str:
        """The command and action whose words this parser reads."""
        return self.prog.partition(" ")[2]

    def option(
        self, name: str, metavar: str, words: str, kind: Callable[[str], object] = str, *, default: object = None
    ) -> None:
        """Add an option with a value."""
        self.add_argument(name, metavar=metavar, help=words, type=kind, default=default)

    def several(
        self, name: str, metavar: str, words: str, kind: Callable[[str], object] = str, *, dest: str | None = None
    ) -> None:
        """Add an option with a value that may be given several times."""
        self.add_argument(
            name, metavar=metavar, help=f"{words}; repeatable", type=kind, dest=dest, action="append", default=[]
        )

    def flag(self, name: str, words: str) -> None:
        """Add an option without a value."""
        self.add_argument(name, action="store_true", help=words)

    def words(self, number: str | int, metavar: str, words: str, kind: Callable[[str], object] = name_of) -> None:
        """Add the command's words: `number` of them, or `*` or `+` as in argparse."""
        self.add_argument("words", nargs=number, metavar=metavar, help=words, type=kind)
        self.takes_many = isinstance(number, str)

    @override
    def error(self, message: str) -> NoReturn:
        first = ", before the options" if message.endswith("required: ID") else ""  # an option may have taken it
        raise UsageError(f"{message}{first}", self.command, f"see {self.prog} --help")

    def check_options(self, words: Sequence[str]) -> None:
        """Raise a SettingsError for the first option that does not exist; it names the most similar one."""
        from difflib import get_close_matches

        for word in words:
            option = word.partition("=")[0]
            is_option = bool(option.strip("-")) and option[0] == "-" and " " not in option
            if is_option and option not in self._option_string_actions:
                near = get_close_matches(option, self._option_string_actions, n=1)
                meant = f"did you mean {near[0]}? " if near else ""
                raise SettingsError(f"there is no option {option}", self.command, f"{meant}see {self.prog} --help")


def model(parser: CommandParser) -> None:
    """Add the options that choose the model."""
    parser.option("--model", "PROVIDER/MODEL", "the model to ask", default=argparse.SUPPRESS)
    parser.option("--protocol", "NAME", "the tool protocol", default=argparse.SUPPRESS)
    words = "the profile, with its model and tool protocol"
    parser.option("--profile", "NAME", words, name_of, default=argparse.SUPPRESS)


def no_record(parser: CommandParser) -> None:
    """Add `--no-record`."""
    parser.add_argument("--no-record", action="store_true", default=argparse.SUPPRESS, help="record nothing on disk")


def json_too(parser: CommandParser) -> None:
    """Add `--json`."""
    parser.flag("--json", "print one JSON object")


def turn(parser: CommandParser) -> None:
    """Add the question, and the options of commands that run a turn without the app."""
    parser.add_argument("text", metavar="TEXT", help="the question; - reads standard input")
    parser.several("--allow", "PATTERN", "allow calls of SERVER.TOOL, with * as wildcard")
    parser.flag("--yes", "allow every call not denied by a rule")
    parser.option("--max-steps", "N", "largest number of model exchanges", count_of)
    no_record(parser)


def answers(parser: CommandParser) -> None:
    """Add the options that answer what servers ask."""
    parser.several("--elicit", "FIELD=VALUE", "fill in a field of a server's form, which is declined otherwise")
    parser.flag("--confirm", "accept a server's form without fields")
    parser.flag("--sampling", "let servers ask the model (deprecated in MCP)")
    parser.several("--root", "PATH", "let servers know a folder (deprecated in MCP)", path_of)


def files(parser: CommandParser, words: str) -> None:
    """Add the files to read."""
    parser.epilog = READ_FROM_FILES
    parser.words("+", "FILE", f"{words}; several files are read as one capture")
