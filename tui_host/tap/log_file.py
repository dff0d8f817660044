"""Opens and checks the file of `--log FILE` before anything passes: the path refers to the tap's descriptors and working directory."""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

BEGINS = b'{"tui_host":'
"""The first bytes of a log."""
_DATABASE = "tui-host.db"
_WORDS: Mapping[int, str] = {
    errno.ENOENT: "there is no such folder (make it first)",
    errno.ENOTDIR: "part of the path is not a folder (name a file in a folder)",
    errno.EISDIR: "it is a folder (name a file in it)",
    errno.ENXIO: "nobody reads from it (start the reader first)",
    errno.EACCES: "you may not write there (name a file of your own)",
    errno.EROFS: "it cannot be written to there (name a file in another place)",
    errno.ENOSPC: "the disk is full (make room, or name a file on another one)",
}


class NoLogError(Exception):
    """The file cannot be used as a log. The message says why and gives a remedy."""


def open_log(path: str) -> int:
    """Open a log to append to. A new file is readable only by this user.

    Raises:
        NoLogError: The file is not a log, or cannot be written.
    """
    if os.path.basename(path).startswith(_DATABASE):  # noqa: PTH119 - importing pathlib takes as long as all else
        raise NoLogError("it belongs to the database (name another file)")
    flags = os.O_RDWR if os.path.isfile(path) and os.access(path, os.R_OK) else os.O_WRONLY  # noqa: PTH113 - as above
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY, 0o600)
    except OSError as error:
        raise NoLogError(_WORDS.get(error.errno or 0, error.strerror or str(error))) from error
    if fault := _fault(descriptor, is_readable=flags == os.O_RDWR):
        os.close(descriptor)
        raise NoLogError(fault)
    return descriptor


def _fault(descriptor: int, *, is_readable: bool) -> str:
    """Return what is wrong with a file, with a remedy; empty if nothing is. Ends a line that a killed tap left unfinished."""
    status = os.fstat(descriptor)
    if stat.S_ISCHR(status.st_mode) and status.st_rdev == os.stat(os.devnull).st_rdev:  # noqa: PTH116 - as above
        return ""
    for number, words in ((1, "it is standard output, which is not the tap's"), (2, "it is standard error")):
        if os.path.samestat(status, os.fstat(number)):
            return f"{words} (name a file, or - for plain lines on standard error)"
    if not stat.S_ISREG(status.st_mode):
        is_stream = stat.S_ISFIFO(status.st_mode) or os.isatty(descriptor)
        return "" if is_stream else "it is a device (name a file)"
    if status.st_uid != os.geteuid():
        return "it belongs to another user (name a file of your own)"
    if is_readable and status.st_size:
        if not BEGINS.startswith(os.pread(descriptor, len(BEGINS), 0)):
            return "it has other content (name a new file, or a log to continue)"
        if os.pread(descriptor, 1, status.st_size - 1) != b"\n":
            os.write(descriptor, b"\n")
    return ""
