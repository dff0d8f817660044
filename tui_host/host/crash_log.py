"""What is left of a mistake of ours: a file without local variables, readable by its owner alone, and one line that names it."""

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
    """Write where it happened; returns what the person is told. Never raises.

    Args:
        error: What was raised.
        folder: Where the file goes; None where nothing is to be kept, or nobody knows yet where: then its place is told.
        redact: Takes secrets out of its text.
    """
    fault = innermost(error)
    what = f"a mistake of tui-host's own ({type(fault).__name__})"
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
    """The mistake itself, out of the groups that task groups wrap around it."""
    parts: tuple[BaseException, ...] = getattr(error, "exceptions", ())  # only a group has them
    return innermost(parts[0]) if parts else error


def place_in(error: BaseException) -> str:
    """File and line of ours that are nearest to where it was raised, empty if there are none."""
    package = Path(__file__).resolve().parent.parent
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if file.is_relative_to(package):
            return f"{file.relative_to(package.parent)}:{frame.lineno}"
    return ""


def _account(error: BaseException, redact: Callable[[str], str]) -> str:
    """How it came about; without what was said if the secrets in that could not be taken out."""
    try:
        return redact("".join(traceback.format_exception(error)))
    except Exception:  # noqa: BLE001 - it may be the very mistake that is told here
        fault = innermost(error)
        return "".join([*traceback.format_tb(fault.__traceback__), type(fault).__name__])


def _free(path: Path) -> Path:
    """The path, or the next one of its kind that nothing has yet."""
    number = 1
    found = path
    while found.exists():
        number += 1
        found = path.with_stem(f"{path.stem}-{number}")
    return found
