"""A temporary folder for the database of files that are opened only to look at them.

A process that is killed cannot clear up behind it: the next one does. No file is removed that is not of a name that only we give.
"""

from __future__ import annotations

import re
import shutil
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from os import geteuid
from pathlib import Path

from tui_host.capture.store.process_lock import Lock, is_any_live

PREFIX = "tui-host-open-"
_DATABASE = "tui-host.db"
_OURS = re.compile(re.escape(_DATABASE) + r"[\w.~-]*|crash-[\d-]+(?:~\d+)?\.log")


@contextmanager
def fleeting_folder() -> Generator[Path]:
    """Create a private folder, and remove it after the block.

    Raises:
        OSError: No folder can be created.
    """
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = Lock(folder / _DATABASE)  # says that the folder is in use, before there is a database
    try:
        yield folder
    finally:
        lock.release()
        shutil.rmtree(folder, ignore_errors=True)


def remove_left_behind() -> None:
    """Remove folders of this user whose process has ended. Blocks; never raises at a folder of somebody else."""
    with suppress(OSError):  # a place that cannot be listed: nothing of ours can be found there
        for folder in Path(tempfile.gettempdir()).glob(PREFIX + 8 * "?"):
            with suppress(OSError):  # another's, or gone by now
                if _is_left_behind(folder):
                    shutil.rmtree(folder)


def _is_left_behind(folder: Path) -> bool:
    status = folder.lstat()
    if status.st_uid != geteuid() or status.st_mode != stat.S_IFDIR | stat.S_IRWXU:
        return False
    files = list(folder.iterdir())
    is_ours = all(_OURS.fullmatch(file.name) and stat.S_ISREG(file.lstat().st_mode) for file in files)
    return bool(files) and is_ours and not is_any_live(folder / _DATABASE)
