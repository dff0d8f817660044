"""Hold some disk space back, because deleting needs room before freeing any, and keep the log short on a nearly full disk."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

HELD = 4 << 20
"""Bytes held back, where there is so much."""
LEAST = 256 << 10
"""Bytes that are left free, for what must be written to open the database; less is as good as nothing."""
SHORT = 64 << 20
"""Bytes free below which the log is kept short: what stands in it needs as much room again in the file."""
LOG_PAGES = 4000
"""Pages of the write-ahead log (16 MB) after which they come into the file itself: each time the disk is waited for twice."""
SHORT_LOG_PAGES = 256


class Room:
    """The disk space beside one database."""

    def __init__(self, database: Path) -> None:
        self._folder = database.parent
        self._path = database.with_name(database.name + ".ballast")

    def hold(self) -> None:
        """Hold space back, as much as there is."""
        with suppress(OSError):  # none there, or none to be had on this kind of disk: then there is none to give up
            held = self._path.stat().st_size if self._path.exists() else 0
            size = min(HELD, self._free() + held - LEAST)
            if size > max(held, LEAST):
                self._reserve(size)

    def give_up(self) -> bool:
        """Free the space held back; return whether there was any."""
        try:
            self._path.unlink()
        except OSError:
            return False
        return True

    @contextmanager
    def given_up(self) -> Generator[None]:
        """While something is deleted."""
        self.give_up()
        try:
            yield
        finally:
            self.hold()

    def is_full(self) -> bool:
        """Whether next to nothing is free."""
        try:
            return self._free() < LEAST
        except OSError:
            return False

    def log_pages(self) -> int:
        """How long the log may become."""
        try:
            return LOG_PAGES if self._free() >= SHORT else SHORT_LOG_PAGES
        except OSError:
            return LOG_PAGES

    def _free(self) -> int:
        system = os.statvfs(self._folder)
        return system.f_bavail * system.f_frsize

    def _reserve(self, size: int) -> None:
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file, 0, size)
            else:
                os.write(file, bytes(size))
        except OSError:
            self._path.unlink()
            raise
        finally:
            os.close(file)
