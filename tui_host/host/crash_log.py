"""Writes a crash log without local variables, readable only by its owner, and tells the user the file's path."""

from __future__ import annotations

import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from tui_host.capture.visible import visible
from tui_host.errors import TuiHostError
from tui_host.settings.paths import ensure_private_dir
from tui_host.settings.save import write_private

if TYPE_CHECKING:
    from collections.abc import Callable


def write_crash(error: BaseException, folder: Path | None, redact: Callable[[str], str]) -> TuiHostError:
    """Write a crash log and return the error to show to the user. Never raises.

    Without a folder no file is written, and the error names the failing line of code instead.
    """
    fault = innermost(error)
    what = f"a bug in tui-host ({type(fault).__name__})"
    if folder is None:
        return TuiHostError(what, place_in(fault), "report it")
    path = folder / f"{time.strftime('crash-%Y%m%d-%H%M%S')}-{time.time_ns() % 10**6:06}.log"
    try:
        account = redact("".join(traceback.format_exception(error)))
    except Exception:  # noqa: BLE001 - the redactor itself may be what failed: the exceptions' messages are left out
        account = "".join([*traceback.format_tb(fault.__traceback__), type(fault).__name__])
    try:
        ensure_private_dir(folder)
        write_private(path, visible(account).encode(errors="backslashreplace"))
    except TuiHostError as failed:
        return TuiHostError(what, remedy=f"no log was written: {failed}")
    return TuiHostError(what, remedy=f"see {path}")


def innermost(error: BaseException) -> BaseException:
    """Return the actual error inside the nested exception groups that task groups raise."""
    parts: tuple[BaseException, ...] = getattr(error, "exceptions", ())  # only an exception group has this attribute
    return innermost(parts[0]) if parts else error


def place_in(error: BaseException) -> str:
    """Return the file and line of this program nearest to the raise, empty if the traceback has none."""
    package = Path(__file__).resolve().parent.parent
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if file.is_relative_to(package):
            return f"{file.relative_to(package.parent)}:{frame.lineno}"
    return ""
