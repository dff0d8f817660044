"""Opens and checks the file of `--log FILE` before anything passes. Imported early.

The relay opens the file, since the path refers to its descriptors and working directory; the recorder inherits it.
"""

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
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        if os.path.basename(path).startswith(_DATABASE):  # noqa: PTH119 - pathlib takes as long to import as all else
            raise NoLogError("it belongs to the database (name another file)")
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise NoLogError(_WORDS.get(error.errno or 0, error.strerror or str(error))) from error
    try:
        _check(descriptor, path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check(descriptor: int, path: str) -> None:
    status = os.fstat(descriptor)
    for number, words in ((1, "it is standard output, which is not the tap's"), (2, "it is standard error")):
        if os.path.samestat(status, os.fstat(number)) and not _is_nowhere(status):
            raise NoLogError(f"{words} (name a file, or - for plain lines on standard error)")
    if stat.S_ISREG(status.st_mode):
        if status.st_uid != os.geteuid():
            raise NoLogError("it belongs to another user (name a file of your own)")
        _check_content(descriptor, path)
    elif not (stat.S_ISFIFO(status.st_mode) or os.isatty(descriptor) or _is_nowhere(status)):
        raise NoLogError("it is a device (name a file)")


def _check_content(descriptor: int, path: str) -> None:
    """Check that the file is empty or a log, and end a line that a killed tap left unfinished."""
    try:
        reading = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return  # the file can be written but not read, so its content is unknown
    try:
        size = os.fstat(reading).st_size
        begins, ends = os.pread(reading, len(BEGINS), 0), os.pread(reading, 1, max(size - 1, 0))
    finally:
        os.close(reading)
    if not BEGINS.startswith(begins[: len(BEGINS)]):
        raise NoLogError("it has other content (name a new file, or a log to continue)")
    if ends not in {b"", b"\n"}:
        os.write(descriptor, b"\n")


def _is_nowhere(found: os.stat_result) -> bool:
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == os.stat(os.devnull).st_rdev  # noqa: PTH116 - as above
