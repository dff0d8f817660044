"""A temporary folder for the database of files that are opened only to look at them.

A process that is killed cannot clear up behind it: the next one does. Whose owner still runs is told by a lock on the folder itself, which
the system lets go of with the process; and no file is removed that is not of a name that only we give.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "tui-host-open-"
_FOLDER = re.compile(re.escape(PREFIX) + r"\w{8}")
_OURS = re.compile(r"tui-host\.db[\w.~-]*|crash-[\d-]+(?:~\d+)?\.log")
_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def fleeting_folder() -> Generator[Path]:
    """Create a private folder, and remove it after the block.

    Raises:
        OSError: No folder can be created.
    """
    folder, held = _made()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def _made() -> tuple[Path, int]:
    """Make a locked folder. Before locking, another process may take the folder for a remnant, and remove the folder."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        with suppress(FileNotFoundError):
            held = os.open(folder, _FLAGS)
            with suppress(OSError):  # a disk without locks: then nobody there can tell that it is left behind, either
                fcntl.flock(held, fcntl.LOCK_EX)
            if folder.exists():
                return folder, held
            os.close(held)


def remove_left_behind() -> None:
    """Remove folders of this user whose process has ended. Blocks; never raises at a folder of somebody else."""
    place = Path(tempfile.gettempdir())
    with suppress(OSError):  # a place that cannot be listed: nothing of ours can be found there
        for folder in place.iterdir():
            if _FOLDER.fullmatch(folder.name):
                with suppress(OSError):  # another's, or gone by now
                    _remove(folder)


def _remove(folder: Path) -> None:
    held = os.open(folder, _FLAGS)
    try:
        status = os.fstat(held)
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) != stat.S_IRWXU:
            return
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        files = list(folder.iterdir())
        if all(_OURS.fullmatch(file.name) and stat.S_ISREG(file.lstat().st_mode) for file in files):
            for file in files:
                file.unlink()
            folder.rmdir()
    finally:
        os.close(held)
