"""Reserves some disk space, since deleting needs room before it frees any."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

HELD = 4 << 20
"""Number of bytes to reserve, if available."""
LEAST = 256 << 10
"""Number of bytes to leave free, needed to open the database."""


class DiskReserve:
    """The reserved disk space beside a database. As a context, frees the space while the block deletes."""

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(database.name + ".ballast")

    def __enter__(self) -> None:
        self.give_up()

    def __exit__(self, *_: object) -> None:
        self.hold()

    def hold(self) -> None:
        """Reserve space, as much as is available."""
        with suppress(OSError):  # none there, or none to be had on this kind of disk: then there is none to give up
            held = self._path.stat().st_size if self._path.exists() else 0
            size = min(HELD, self._free() + held - LEAST)
            if size <= max(held, LEAST):
                return
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file, 0, size)
                else:
                    os.write(file, bytes(size))
            except OSError:
                self._path.unlink()
            finally:
                os.close(file)

    def give_up(self) -> bool:
        """Free the reserved space; returns whether there was any."""
        with suppress(OSError):
            self._path.unlink()
            return True
        return False

    def is_full(self) -> bool:
        """Return whether the disk is almost full."""
        with suppress(OSError):
            return self._free() < LEAST
        return False

    def _free(self) -> int:
        system = os.statvfs(self._path.parent)
        return system.f_bavail * system.f_frsize
