"""Whether a database is held, as another process sees it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_LOOK = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
    except BlockingIOError:
        print("held")
"""


def is_held(database: Path) -> bool:
    """Whether somebody holds SQLite's shared lock on it; a process never sees its own. Source: SQLite, File Locking And Concurrency."""
    run = subprocess.run([sys.executable, "-c", _LOOK, database], capture_output=True, check=True)
    return run.stdout == b"held\n"
