"""The files beside the database: a lock of each process that writes, reserved disk space, and a mark of doubt.

A running process is recognised by its lock, which the system frees at its end. A number of a process says less: it is given again,
and means nothing in another container that shares the folder. Space is reserved, since deleting needs room before it frees any.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

HELD, LEAST = 4 << 20, 256 << 10
"""Number of bytes to reserve, if available; and to leave free, needed to open the database."""
LIVE = ".live-"


class Lock:
    """A lock that this process holds until `release` or its end, taken `alone`. What it owns is stored with the lock's token."""

    def __init__(self, database: Path) -> None:
        self.fault = ""  # why other processes cannot see that this one runs
        self.token = f"{os.getpid()}-{os.urandom(5).hex()}"
        for path in database.parent.glob(f"{database.name}{LIVE}*"):
            if not is_held(path):  # left behind
                path.unlink(missing_ok=True)
        self._path = database.with_name(f"{database.name}{LIVE}{self.token}")
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:  # some network file systems
            why = f"the data folder allows no locks ({error.strerror})"
            self.fault = f"{why}: open no session in two places at once"

    def release(self) -> None:
        with suppress(OSError):  # the folder has gone, or cannot be written: the next process removes what is left
            self._path.unlink()
        os.close(self._file)


def is_log_left(database: Path) -> bool:
    """Return whether the log is that of a process that was killed: none has the database open for writing."""
    log = database.with_name(database.name + "-wal")
    is_any_live = any(map(is_held, database.parent.glob(f"{database.name}{LIVE}*")))
    return not is_any_live and log.exists() and log.stat().st_size > 0


def is_held(path: Path) -> bool:
    """Return whether the process with the lock in a file is running."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: others may look at the same time
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


@contextmanager
def alone(database: Path) -> Generator[None]:
    """Keep all other processes out of the block, for one database; waits for its turn."""
    folder = os.open(database.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # some network file systems have none: told when the process takes its own
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


class DiskReserve:
    """The reserved disk space beside a database."""

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(database.name + ".ballast")

    @contextmanager
    def given_up(self) -> Generator[None]:
        """Free the space while the block deletes."""
        self.give_up()
        try:
            yield
        finally:
            self.hold()

    def hold(self) -> None:
        with suppress(OSError):  # none there, or none to be had on this kind of disk: then there is none to give up
            held = self._path.stat().st_size if self._path.exists() else 0
            size = min(HELD, shutil.disk_usage(self._path.parent).free + held - LEAST)
            if size <= max(held, LEAST):
                return
            self._path.touch(0o600)
            try:
                with self._path.open("r+b") as file:
                    if hasattr(os, "posix_fallocate"):
                        os.posix_fallocate(file.fileno(), 0, size)
                    else:
                        file.write(bytes(size))
            except OSError:
                self._path.unlink()

    def give_up(self) -> bool:
        """Free the reserved space; returns whether there was any."""
        with suppress(OSError):
            self._path.unlink()
            return True
        return False


def doubted(database: Path) -> Path:
    """Return the path of the file whose presence makes the next start check the database."""
    return database.with_name(database.name + ".check")


def doubt(database: Path) -> None:
    """Let the next start check the database."""
    with suppress(OSError):  # it cannot be used either way, and that is told
        doubted(database).touch(0o600)
