"""The parser of a command, and the options and types of values that commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

from typing_extensions import override

from tui_host.errors import SettingsError

Value = TypeVar("Value")
READ_FROM_FILES = """\
The format is recognised by a file's content: JSON lines, as written by `sessions export` and `tap --log`; HTTP archives (HAR);
one request to a model, or one response; a list of messages, as kept by Cline; lines of JSON-RPC messages, of bodies or of
`data:`, each with an optional time and direction. Files may be compressed with gzip. Several files are read as one capture in
the order of their times."""

AS_JSON, RECORDS_NOTHING = "print one JSON object", "record nothing on disk"
UNSET = argparse.SUPPRESS  # no default, which would override an option that stands before the command


def checked(read: Callable[[str], Value | None], expected: str) -> Callable[[str], Value]:
    """Return a type of values for argparse: `read` returns None for a text that is none."""

    def value_of(text: str) -> Value:
        if (value := read(text)) is None:
            raise argparse.ArgumentTypeError(f"found {repr(text) if text else 'nothing'}, expected {expected}")
        return value

    return value_of


# Empty ones are refused: they are usually an unset variable in a script, and `Path` would make it the working directory.
name_of = checked(lambda text: text or None, "a name")
path_of = checked(lambda text: Path(text) if text else None, "a path")
count_of = checked(lambda text: int(text) if text.isdecimal() and int(text) else None, "a whole number, 1 or more")


def pairs(words: Iterable[str], where: str, form: str) -> dict[str, str]:
    """Split words of a form such as `NAME=VALUE` or `NAME:VALUE`; raises SettingsError for a word without either part."""
    mark = "=" if "=" in form else ":"
    values: dict[str, str] = {}
    for word in words:
        name, found, value = word.partition(mark)
        if not name.strip() or not found:
            raise SettingsError(f"{name or 'an empty name'} has no value", where, f"write {form}")
        values[name.strip()] = value.strip() if mark == ":" else value
    return values


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
    """Reads a command's words. Raises errors as `SettingsError`, so that one module writes to standard error."""

    def __init__(self, *, prog: str, add_help: bool = True, **_: object) -> None:
        form = argparse.RawDescriptionHelpFormatter
        super().__init__(prog=prog, formatter_class=form, add_help=add_help, allow_abbrev=False)
        self.color = False  # Python 3.14 would colour the help
        self.takes_many = False  # any number of words, which may then stand between and behind the options
        self.command = prog.partition(" ")[2]
        words = "show the version and exit"
        self.add_argument("--version", action=_Version, nargs=0, default=UNSET, help=words)
        self.option("--config", "FILE", "the configuration file", path_of, default=UNSET)
        self.option("--data-dir", "DIR", "the folder of the database", path_of, default=UNSET)

    def option(
        self,
        name: str,
        metavar: str,
        words: str,
        kind: Callable[[str], object] = str,
        *,
        default: object = None,
        dest: str | None = None,
        repeats: bool = False,
    ) -> None:
        """Add an option with a value, or with a list of values if it `repeats`."""
        action = "append" if repeats else "store"
        if repeats:
            default, words = list[object](), f"{words}; repeatable"
        self.add_argument(name, metavar=metavar, help=words, type=kind, dest=dest, action=action, default=default)

    def flag(self, name: str, words: str, *, default: object = False) -> None:
        """Add an option without a value."""
        self.add_argument(name, action="store_true", default=default, help=words)

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
    parser.option("--model", "PROVIDER/MODEL", "the model to ask", default=UNSET)
    parser.option("--protocol", "NAME", "the tool protocol", default=UNSET)
    words = "the profile, with its model and tool protocol"
    parser.option("--profile", "NAME", words, name_of, default=UNSET)


def turn(parser: CommandParser) -> None:
    """Add the question, and the options of commands that run a turn without the app."""
    parser.add_argument("text", metavar="TEXT", help="the question; - reads standard input")
    parser.option("--allow", "PATTERN", "allow calls of SERVER.TOOL, with * as wildcard", repeats=True)
    parser.flag("--yes", "allow every call not denied by a rule")
    parser.option("--max-steps", "N", "largest number of model exchanges", count_of)
    parser.flag("--no-record", RECORDS_NOTHING, default=UNSET)


def answers(parser: CommandParser) -> None:
    """Add the options that answer what servers ask."""
    parser.option(
        "--elicit", "FIELD=VALUE", "fill in a field of a server's form, which is declined otherwise", repeats=True
    )
    parser.flag("--confirm", "accept a server's form without fields")
    parser.flag("--sampling", "let servers ask the model (deprecated in MCP)")
    parser.option("--root", "PATH", "let servers know a folder (deprecated in MCP)", path_of, repeats=True)


def files(parser: CommandParser, words: str) -> None:
    """Add the files to read."""
    parser.epilog = READ_FROM_FILES
    parser.words("+", "FILE", f"{words}; several files are read as one capture")
