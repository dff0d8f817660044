"""Opens a file with the program that the platform has for its kind. The platform difference stands here."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tui_host.errors import TuiHostError

OPENER = "open" if sys.platform == "darwin" else "xdg-open"


def open_file(path: Path) -> None:
    """Start the platform's opener, which outlives this program; raises `TuiHostError` where there is none. Blocks for milliseconds."""
    program = shutil.which(OPENER)
    remedy = f"open {path} yourself"
    if program is None:
        raise TuiHostError(f"this machine has no {OPENER}", remedy=remedy)
    try:
        subprocess.Popen(  # noqa: S603 - the platform's own program, and a file that the person has named
            [program, str(path.absolute())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise TuiHostError(f"{OPENER} cannot be started: {error.strerror}", remedy=remedy) from error
