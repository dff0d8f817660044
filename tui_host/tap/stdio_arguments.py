"""Parses the arguments of `tap stdio` without the whole command line, whose import would delay a server's start."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

WRONG = 2
"""The exit code for wrong arguments."""
OPTIONS = ("--data-dir", "--log", "--config")


class StdioArguments:
    """The arguments of `tap stdio`; options that are not given are empty."""

    def __init__(self, name: str, command: Sequence[str], *, data_dir: str = "", log: str = "") -> None:
        self.name = name
        self.command = tuple(command)
        self.data_dir = data_dir
        self.log = log


def read_stdio_arguments(words: Sequence[str]) -> StdioArguments | None:
    """Parse a complete and plain `tap stdio`; None leaves the arguments to `cli.arguments`.

    The `--` before the command may be missing: some hosts take it as an argument of their own.
    """
    options: dict[str, str] = {}
    plain: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        name, equals, value = word.partition("=")
        if len(plain) == 3 and (word == "--" or not word.startswith("-")):
            break
        if not word.startswith("-"):
            plain.append(word)
        elif name in OPTIONS and (equals or at + 1 < len(words)):
            at += not equals
            options[name] = value if equals else words[at]
        else:
            return None
        at += 1
    command = words[at + (at < len(words) and words[at] == "--") :]
    if plain[:2] != ["tap", "stdio"] or not command or not all((*options.values(), *plain)):
        return None
    return StdioArguments(plain[2], command, data_dir=options.get("--data-dir", ""), log=options.get("--log", ""))


def relay_stdio(tap: StdioArguments) -> NoReturn:
    """Become the tap."""
    from tui_host.tap.log_file import NoLogError, open_log
    from tui_host.tap.relay import recorder_words, relay

    try:
        log_file = open_log(tap.log)
    except NoLogError as error:
        os.write(2, ascii(f"tui-host tap {tap.name}: --log {tap.log}: {error}")[1:-1].encode() + b"\n")
        os._exit(WRONG)
    words = recorder_words(
        "stdio", tap.name, data_dir=tap.data_dir, log=tap.log, log_file=log_file, command=tap.command
    )
    relay(words, tap.command)
