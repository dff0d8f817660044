"""Runs a server's command in the tap's place, and explains why it cannot start. Imported before the first byte flows."""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import NoReturn

NOT_EXECUTABLE, NOT_FOUND = 126, 127
"""Exit codes for a command that cannot be started, as in the shell, `env` and `nohup`."""
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def environment() -> Mapping[bytes, bytes]:
    """Return the environment as the host set it, without the LC_CTYPE that Python adds in the C locale."""
    variables = dict(os.environb)
    if variables.get(b"LC_CTYPE", b"").upper() in {b"C.UTF-8", b"C.UTF8", b"UTF-8"}:
        try:
            with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - pathlib takes as long to import as all else
                if not any(line.startswith(b"LC_CTYPE=") for line in file.read().split(b"\0")):
                    del variables[b"LC_CTYPE"]
        except OSError:
            return variables  # the system has no such file
    return variables


def cannot_start(command: str, error: OSError | ValueError, tell: Callable[[str], object]) -> NoReturn:
    """Exit as a shell would, and say why the command cannot start."""
    tell(f"{command!r} cannot be started: {_why(command, error)}")
    os._exit(NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE)


def become(command: tuple[str, ...], closed: Collection[int], tell: Callable[[str], object]) -> NoReturn:
    """Run the server in the tap's place, so that the host has a server although the tap failed.

    Args:
        command: The server's command.
        closed: Standard streams that the host left closed.
        tell: Receives a message for the user.
    """
    for number in closed:
        os.close(number)
    for number in IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(command[0], command, environment())  # noqa: S606 - as the host would have started it
    except (OSError, ValueError) as error:
        cannot_start(command[0], error, tell)


def _why(command: str, error: OSError | ValueError) -> str:
    """Describe why a command cannot be started, with a remedy."""
    if not command:
        return "the command is empty (tui-host tap stdio NAME -- COMMAND ARGUMENTS…)"
    if not isinstance(error, OSError):
        return str(error)
    if isinstance(error, FileNotFoundError) and "/" not in command:
        return "PATH has no such command (give its full path: a host started from a menu may have a shorter PATH)"
    if isinstance(error, FileNotFoundError) and os.path.exists(command):  # noqa: PTH110 - pathlib takes long to import
        return "the interpreter named behind #! in its first line is missing (install it, or correct that line)"
    if isinstance(error, FileNotFoundError):
        return "there is no such file (give the path of the server's command)"
    if isinstance(error, PermissionError):
        if "/" in command and os.path.isdir(command):  # noqa: PTH112
            return "it is a folder (name the command in it)"
        return "this user may not execute it (chmod +x makes a file executable)"
    return error.strerror or str(error)
