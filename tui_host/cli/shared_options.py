"""Options and value types shared by several commands."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import NoReturn, Protocol

from typing_extensions import override

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#\s]+")


class AddParser(Protocol):
    """`add_parser` of a parser's commands; argparse keeps the class private."""

    def __call__(self, name: str, /, *, help: str, description: str) -> argparse.ArgumentParser:  # noqa: A002 - argparse's word
        """Add a parser for a command."""
        ...


class _Version(argparse.Action):
    """Prints the version and exits; the import that knows the version is late."""

    @override
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        import importlib.metadata

        print(f"tui-host {importlib.metadata.version('tui-host')}")
        parser.exit()


def common(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command."""
    parser.add_argument(
        "--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help="show the version and exit"
    )
    # SUPPRESS: a default here would override an option given before the command.
    parser.add_argument(
        "--config", type=path_of, metavar="FILE", default=argparse.SUPPRESS, help="the configuration file"
    )
    parser.add_argument(
        "--data-dir", type=path_of, metavar="DIR", default=argparse.SUPPRESS, help="the folder of the database"
    )


def json_too(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def port_of(text: str) -> int:
    """Parse a port, 0 for any."""
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a port: a number up to 65535")
    return int(text)


def name_of(text: str) -> str:
    """Parse a name; an empty one is usually an unset variable of a script, and refused."""
    if not text:
        raise argparse.ArgumentTypeError("found nothing, expected a name")
    return text


def host_of(text: str) -> str:
    """Parse a host name without a port."""
    if not text.isascii() or not text.replace(".", "").replace("-", "").replace("_", "").isalnum():
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a host name without a port")
    return text


def origin_of(text: str) -> str:
    """Parse an origin as sent by browsers. Source: RFC 6454, section 6.2."""
    if text != "null" and _ORIGIN.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(
            f"found {text!r}, expected an origin without a path, such as app://obsidian.md"
        )
    return text


def path_of(text: str) -> Path:
    """Parse a path; `Path` would turn an empty one into the working directory."""
    if not text:
        raise argparse.ArgumentTypeError("found nothing, expected a path")
    return Path(text)
