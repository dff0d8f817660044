"""Options and value types shared by several commands."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import NoReturn, Protocol

from typing_extensions import override

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#\s]+")


class AddParser(Protocol):
    """The type of `add_parser`, whose class is private in argparse."""

    def __call__(self, name: str, /, *, help: str, description: str) -> argparse.ArgumentParser:  # noqa: A002 - argparse's word
        """Add a parser for a command."""
        ...


class _Version(argparse.Action):
    """Prints the version and exits. The version is imported only then."""

    @override
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        import importlib.metadata

        print(f"tui-host {importlib.metadata.version('tui-host')}")
        parser.exit()


def common(parser: argparse.ArgumentParser) -> None:
    """Add the options that every command has."""
    parser.add_argument(
        "--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help="show the version and exit"
    )
    # SUPPRESS: a default here would override an option that stands before the command.
    parser.add_argument(
        "--config", type=path_of, metavar="FILE", default=argparse.SUPPRESS, help="the configuration file"
    )
    parser.add_argument(
        "--data-dir", type=path_of, metavar="DIR", default=argparse.SUPPRESS, help="the folder of the database"
    )


def json_too(parser: argparse.ArgumentParser) -> None:
    """Add the option `--json`."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def answers(parser: argparse.ArgumentParser) -> None:
    """Add the options that answer what servers ask."""
    parser.add_argument(
        "--elicit",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="fill in a field of a server's form, which is declined otherwise; repeatable",
    )
    parser.add_argument("--sampling", action="store_true", help="let servers ask the model (deprecated in MCP)")
    parser.add_argument(
        "--root",
        action="append",
        default=[],
        type=path_of,
        metavar="PATH",
        help="let servers know a folder (deprecated in MCP); repeatable",
    )


def port_of(text: str) -> int:
    """Parse a port; 0 stands for any free port."""
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a port: a number up to 65535")
    return int(text)


def name_of(text: str) -> str:
    """Parse a name. An empty name is refused: it is usually an unset variable in a script."""
    if not text:
        raise argparse.ArgumentTypeError("found nothing, expected a name")
    return text


def host_of(text: str) -> str:
    """Parse a host name without a port."""
    if not text.isascii() or not text.replace(".", "").replace("-", "").replace("_", "").isalnum():
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a host name without a port")
    return text


def origin_of(text: str) -> str:
    """Parse an origin in the form that browsers send. Source: RFC 6454, section 6.2."""
    if text != "null" and _ORIGIN.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(
            f"found {text!r}, expected an origin without a path, such as app://obsidian.md"
        )
    return text


def path_of(text: str) -> Path:
    """Parse a path. An empty path is refused: `Path` would make it the working directory."""
    if not text:
        raise argparse.ArgumentTypeError("found nothing, expected a path")
    return Path(text)
