"""What is left of a mistake of ours: a file without local variables, readable by its owner alone, and one line that names it."""

from __future__ import annotations

import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from tui_host.settings.save import write_private

if TYPE_CHECKING:
    from collections.abc import Callable


def write_crash(error: BaseException, folder: Path, redact: Callable[[str], str]) -> str:
    """Write where it happened; returns the line that tells the person.

    Args:
        error: What was raised.
        folder: Where the file goes.
        redact: Takes secrets out of its text.
    """
    path = folder / time.strftime("crash-%Y%m%d-%H%M%S.log")
    text = redact("".join(traceback.format_exception(error)))
    try:
        write_private(path, text.encode(errors="backslashreplace"))
    except OSError as failed:
        return f"tui-host stopped by a mistake of its own ({type(error).__name__}); no log: {failed.strerror}"
    return f"tui-host stopped by a mistake of its own ({type(error).__name__}); see {path}"
