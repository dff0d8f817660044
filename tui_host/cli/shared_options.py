"""What the words of several commands have in common: options that all take, and what a value may be."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import NoReturn, Protocol

from typing_extensions import override

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#\s]+")


class AddParser(Protocol):
    """`add_parser` of a parser's commands, whose own class argparse keeps to itself."""

    def __call__(self, name: str, /, *, help: str, description: str) -> argparse.ArgumentParser:  # noqa: A002 - argparse's word
        """A parser for one more command."""
        ...


class _Version(argparse.Action):
    """Says the version and ends; what knows it is imported for that alone."""

    @override
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        import importlib.metadata

        print(f"tui-host {importlib.metadata.version('tui-host')}")
        parser.exit()


def common(parser: argparse.ArgumentParser) -> None:
    """The options that every command takes."""
    parser.add_argument(
        "--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help="show program's version number and exit"
    )
    # SUPPRESS: a default here would undo what stood before the command.
    parser.add_argument(
        "--config", type=path_of, metavar="FILE", default=argparse.SUPPRESS, help="the configuration to read"
    )
    parser.add_argument(
        "--data-dir", type=path_of, metavar="DIR", default=argparse.SUPPRESS, help="where sessions are kept"
    )


def json_too(parser: argparse.ArgumentParser) -> None:
    """The option of the commands that answer."""
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def port_of(text: str) -> int:
    """A port that was typed, 0 for any."""
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a port: a number up to 65535")
    return int(text)


def name_of(text: str) -> str:
    """A name that was typed. An empty one is a variable that a script forgot to set, and stands for nothing."""
    if not text:
        raise argparse.ArgumentTypeError("found nothing, expected a name")
    return text


def host_of(text: str) -> str:
    """A machine's name that was typed, as it stands before the port."""
    if not text.isascii() or not text.replace(".", "").replace("-", "").replace("_", "").isalnum():
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a machine's name without a port")
    return text


def origin_of(text: str) -> str:
    """An origin that was typed, as browsers send it. Source: RFC 6454, section 6.2."""
    if text != "null" and _ORIGIN.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(
            f"found {text!r}, expected an origin without a path, such as app://obsidian.md"
        )
    return text


def path_of(text: str) -> Path:
    """A path that was typed; `Path` would take an empty one for the working directory."""
    if not text:
        raise argparse.ArgumentTypeError("found nothing, expected a path")
    return Path(text)
