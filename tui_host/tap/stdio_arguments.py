"""What a tap does before anything else is imported, since a server's start waits: reads the arguments of `tap stdio`, and opens a log."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

WRONG = 2  # exit code for wrong arguments
OPTIONS = ("--data-dir", "--log", "--config")
LOG_BEGINS = b'{"tui_host":'  # the first bytes of a log


class StdioArguments:
    """The arguments of `tap stdio`; options that are not given are empty."""

    def __init__(self, name: str, command: Sequence[str], *, data_dir: str = "", log: str = "") -> None:
        self.name, self.command, self.data_dir, self.log = name, tuple(command), data_dir, log


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
    from tui_host.tap.relay import StdioRelay, recorder_words

    try:
        file = open_log(tap.log)
    except NoLogError as error:
        os.write(2, ascii(f"tui-host tap {tap.name}: --log {tap.log}: {error}")[1:-1].encode() + b"\n")
        os._exit(WRONG)
    words = recorder_words("stdio", tap.name, data_dir=tap.data_dir, log=tap.log, log_file=file, command=tap.command)
    StdioRelay(words, tap.command).run()


class NoLogError(Exception):
    """The file cannot be used as a log. The message says why and gives a remedy."""


def open_log(path: str) -> int:
    """Open a log to append to, readable only by this user; returns the descriptor, -1 for none or for standard error (`-`)."""
    if path in {"", "-"}:
        return -1
    # Importing pathlib takes as long as all else.
    if os.path.basename(path).startswith("tui-host.db"):  # noqa: PTH119
        raise NoLogError("it belongs to the database (name another file)")
    access = os.O_RDWR if os.path.isfile(path) and os.access(path, os.R_OK) else os.O_WRONLY  # noqa: PTH113
    try:
        descriptor = os.open(path, access | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY, 0o600)
    except OSError as error:
        raise NoLogError(f"{error.strerror} (name a file that you may write, in a folder that exists)") from error
    status = os.fstat(descriptor)
    is_file, is_device = stat.S_ISREG(status.st_mode), stat.S_ISCHR(status.st_mode) and not os.isatty(descriptor)
    has_content = is_file and access == os.O_RDWR and status.st_size > 0
    faults = (
        (os.path.samestat(status, os.fstat(1)), "it is standard output, which is the server's"),
        (os.path.samestat(status, os.fstat(2)), "it is standard error"),
        (is_device and status.st_rdev != os.stat(os.devnull).st_rdev, "it is a device"),  # noqa: PTH116
        (is_file and status.st_uid != os.geteuid(), "it belongs to another user"),
        (has_content and os.pread(descriptor, 12, 0) != LOG_BEGINS, "it has other content"),
    )
    if fault := next((words for is_so, words in faults if is_so), ""):
        os.close(descriptor)
        raise NoLogError(f"{fault} (name a new file, or a log to continue; - prints plain lines on standard error)")
    if has_content and os.pread(descriptor, 1, status.st_size - 1) != b"\n":
        os.write(descriptor, b"\n")  # ends a line that a killed tap left unfinished
    return descriptor
