"""Writes a crash log without local variables, readable by its owner alone, and names the file in a line."""

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
    """Write a crash log and return the error to show. Never raises.

    Args:
        error: The exception.
        folder: Where to write; None to write nothing and name the place in the code instead.
        redact: Removes secrets from the text.
    """
    fault = innermost(error)
    what = f"a bug in tui-host ({type(fault).__name__})"
    if folder is None:
        return TuiHostError(what, place_in(fault), "report it")
    path = _free(folder / time.strftime("crash-%Y%m%d-%H%M%S.log"))
    text = visible(_account(error, redact))
    try:
        ensure_private_dir(folder)
        write_private(path, text.encode(errors="backslashreplace"))
    except TuiHostError as failed:
        return TuiHostError(what, remedy=f"no log was written: {failed}")
    return TuiHostError(what, remedy=f"see {path}")


def innermost(error: BaseException) -> BaseException:
    """Return the actual error inside the exception groups of task groups."""
    parts: tuple[BaseException, ...] = getattr(error, "exceptions", ())  # only a group has them
    return innermost(parts[0]) if parts else error


def place_in(error: BaseException) -> str:
    """Return our file and line nearest to the raise, empty if there is none."""
    package = Path(__file__).resolve().parent.parent
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if file.is_relative_to(package):
            return f"{file.relative_to(package.parent)}:{frame.lineno}"
    return ""


def _account(error: BaseException, redact: Callable[[str], str]) -> str:
    """Return the traceback; without messages if secrets cannot be redacted."""
    try:
        return redact("".join(traceback.format_exception(error)))
    except Exception:  # noqa: BLE001 - the redactor itself may be what failed
        fault = innermost(error)
        return "".join([*traceback.format_tb(fault.__traceback__), type(fault).__name__])


def _free(path: Path) -> Path:
    """Return the path, or a numbered variant that does not exist yet."""
    number = 1
    free = path
    while free.exists():
        number += 1
        free = path.with_stem(f"{path.stem}-{number}")
    return free
