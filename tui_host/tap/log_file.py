"""Opens and checks the file of `--log FILE` before anything passes: the path refers to the tap's descriptors and working directory."""

from __future__ import annotations

import os
import stat

BEGINS = b'{"tui_host":'
"""The first bytes of a log."""
_DATABASE = "tui-host.db"


class NoLogError(Exception):
    """The file cannot be used as a log. The message says why and gives a remedy."""


def open_log(path: str) -> int:
    """Open a log to append to, readable only by this user; returns the descriptor. -1 for none, and for standard error (`-`).

    Raises:
        NoLogError: The file is not a log, or cannot be written.
    """
    if path in {"", "-"}:
        return -1
    if os.path.basename(path).startswith(_DATABASE):  # noqa: PTH119 - importing pathlib takes as long as all else
        raise NoLogError("it belongs to the database (name another file)")
    access = os.O_RDWR if os.path.isfile(path) and os.access(path, os.R_OK) else os.O_WRONLY  # noqa: PTH113 - as above
    try:
        descriptor = os.open(path, access | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY, 0o600)
    except OSError as error:
        raise NoLogError(f"{error.strerror} (name a file that you may write, in a folder that exists)") from error
    if fault := _fault(descriptor, is_readable=access == os.O_RDWR):
        os.close(descriptor)
        raise NoLogError(f"{fault} (name a new file, or a log to continue; - prints plain lines on standard error)")
    return descriptor


def _fault(descriptor: int, *, is_readable: bool) -> str:
    """Return what is wrong with a file; empty if nothing is. Ends a line that a killed tap left unfinished."""
    status = os.fstat(descriptor)
    if stat.S_ISCHR(status.st_mode) and status.st_rdev == os.stat(os.devnull).st_rdev:  # noqa: PTH116 - as above
        return ""
    for number, words in ((1, "it is standard output, which is the server's"), (2, "it is standard error")):
        if os.path.samestat(status, os.fstat(number)):
            return words
    if not stat.S_ISREG(status.st_mode):
        return "" if stat.S_ISFIFO(status.st_mode) or os.isatty(descriptor) else "it is a device"
    if status.st_uid != os.geteuid():
        return "it belongs to another user"
    if is_readable and status.st_size:
        if os.pread(descriptor, len(BEGINS), 0) != BEGINS:
            return "it has other content"
        if os.pread(descriptor, 1, status.st_size - 1) != b"\n":
            os.write(descriptor, b"\n")
    return ""
