"""A server's command, started by a stdio tap or run in the tap's place. Imported before the first byte flows."""

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
    """The environment from the host, without the LC_CTYPE that Python adds in the C locale."""
    variables = dict(os.environb)
    if variables.get(b"LC_CTYPE", b"").upper() in {b"C.UTF-8", b"C.UTF8", b"UTF-8"}:
        try:
            with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - pathlib takes as long to import as all else
                if not any(line.startswith(b"LC_CTYPE=") for line in file.read().split(b"\0")):
                    del variables[b"LC_CTYPE"]
        except OSError:
            return variables  # no such file on this system
    return variables


def cannot_start(command: str, error: OSError | ValueError, tell: Callable[[str], object]) -> NoReturn:
    """End as a shell would, and say why."""
    tell(f"{command!r} cannot be started: {_why(command, error)}")
    os._exit(NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE)


def become(command: tuple[str, ...], closed: Collection[int], tell: Callable[[str], object]) -> NoReturn:
    """Run the server in the tap's place, for a host that would otherwise have no server.

    Args:
        command: The server's.
        closed: Standard streams that the host left closed.
        tell: Takes a sentence for a person.
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
    """Why a command cannot be started, with a remedy."""
    if not command:
        return "the command is empty (tui-host tap stdio NAME -- COMMAND ARGUMENTS…)"
    if not isinstance(error, OSError):
        return str(error)
    if isinstance(error, FileNotFoundError) and "/" not in command:
        return "PATH has no such command (give its whole path: a host that a menu started may have a shorter PATH)"
    if isinstance(error, FileNotFoundError) and os.path.exists(command):  # noqa: PTH110 - pathlib takes long to import
        return "the interpreter that its first line names behind #! is missing"
    if isinstance(error, PermissionError):
        if "/" in command and os.path.isdir(command):  # noqa: PTH112
            return "it is a folder"
        return "it is no program, or none that this user may start (chmod +x makes a file one)"
    return error.strerror or str(error)
