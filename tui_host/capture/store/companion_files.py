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
LIVE, _RESERVE = ".live-", ".ballast"
"""How the names of locks, and of the file that reserves space, go on behind the database's."""


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


def hold_room(database: Path) -> None:
    """Reserve disk space beside a database, if there is some to be had."""
    path = database.with_name(database.name + _RESERVE)
    with suppress(OSError):  # none there, or none to be had on this kind of disk: then there is none to give up
        held = path.stat().st_size if path.exists() else 0
        size = min(HELD, shutil.disk_usage(path.parent).free + held - LEAST)
        if size <= max(held, LEAST):
            return
        path.touch(0o600)
        try:
            with path.open("r+b") as file:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    file.write(bytes(size))
        except OSError:
            path.unlink()


def give_up_room(database: Path) -> bool:
    """Free the reserved space; returns whether there was any."""
    with suppress(OSError):
        database.with_name(database.name + _RESERVE).unlink()
        return True
    return False


@contextmanager
def room_given_up(database: Path) -> Generator[None]:
    """Free the reserved space while the block deletes."""
    give_up_room(database)
    try:
        yield
    finally:
        hold_room(database)


def doubted(database: Path) -> Path:
    """Return the path of the file whose presence makes the next start check the database."""
    return database.with_name(database.name + ".check")


def doubt(database: Path) -> None:
    """Let the next start check the database."""
    with suppress(OSError):  # it cannot be used either way, and that is told
        doubted(database).touch(0o600)
