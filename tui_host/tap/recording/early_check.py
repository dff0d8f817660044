"""Whether it looks as if what passes can be recorded, told in a moment: opening the database takes longer than a host should wait.

Where it does not look so, a tap waits at its end for what is known once the database was opened, or could not be.
"""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Mapping
from pathlib import Path

from tui_host.capture.store.migrations import APPLICATION_ID, NEWEST
from tui_host.settings.paths import DATABASE, data_dir

ROOM = 64 << 20
"""Bytes on the disk; with less, what a burst brings may not fit."""
_HEADER = 100
_MAGIC = b"SQLite format 3\0"


def are_good(typed: Path | None, environment: Mapping[str, str]) -> bool:
    """Whether nothing that can be seen from outside stands against it.

    To be asked before this process has opened the database alone: whoever closes a file, however it was opened, gives up all
    locks that the process has on it, and other processes would then write where SQLite reads. Source: SQLite, How To
    Corrupt An SQLite Database File, section 2.2.

    Args:
        typed: `--data-dir DIR`.
        environment: The process's.
    """
    try:
        path = data_dir(typed, environment) / DATABASE
        beside = (path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm", "-journal"))
        return (
            _may_write_in(path.parent)
            and (not os.path.lexists(path) or _is_ours(path))  # a link may lead to a place that is not there
            and all(each.is_file() for each in beside if os.path.lexists(each))
        )
    except Exception:  # noqa: BLE001 - whatever it is, who opens the database will tell it
        return False


def are_still_good(typed: Path | None, environment: Mapping[str, str]) -> bool:
    """Whether nothing stands against going on in a database that takes what it gets; may be asked at any time.

    Args:
        typed: As `are_good` has it.
        environment: The same.
    """
    try:
        return _may_write_in(data_dir(typed, environment))
    except Exception:  # noqa: BLE001 - who writes to the database will tell it
        return False


def _may_write_in(folder: Path) -> bool:
    """Whether there is a folder of this user's with some room, or one can be made."""
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    found, disk = nearest.stat(), os.statvfs(nearest)
    may_grow, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    is_safe = nearest != folder or (found.st_uid == os.geteuid() and not found.st_mode & stat.S_ISVTX)
    has_room = disk.f_bavail * disk.f_frsize >= ROOM and not 0 <= may_grow < ROOM  # less than 0 is no limit
    return is_safe and has_room and os.access(nearest, os.W_OK | os.X_OK)


def _is_ours(path: Path) -> bool:
    """Whether it is a database of ours, as far as its header says. Source: SQLite, Database File Format, section 1.3."""
    if not path.is_file() or not os.access(path, os.R_OK | os.W_OK):
        return False
    with path.open("rb") as file:
        header = file.read(_HEADER)
    version, application = (int.from_bytes(header[at : at + 4], "big") for at in (60, 68))
    # Both are 0 while the first who opened it is the only one: the header is then still elsewhere.
    return header.startswith(_MAGIC) and version <= NEWEST and application in {0, APPLICATION_ID}
