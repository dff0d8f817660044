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

    from tui_host.host.host import Host


def write_crash(error: BaseException, folder: Path, redact: Callable[[str], str]) -> TuiHostError:
    """Write where it happened; returns what the person is told. Never raises.

    Args:
        error: What was raised.
        folder: Where the file goes.
        redact: Takes secrets out of its text.
    """
    what = f"a mistake of tui-host's own ({type(error).__name__})"
    path = _free(folder / time.strftime("crash-%Y%m%d-%H%M%S.log"))
    text = visible(redact("".join(traceback.format_exception(error))))
    try:
        ensure_private_dir(folder)
        write_private(path, text.encode(errors="backslashreplace"))
    except TuiHostError as failed:
        return TuiHostError(what, remedy=f"no log was written: {failed}")
    return TuiHostError(what, remedy=f"see {path}")


def _free(path: Path) -> Path:
    """The path, or the next one of its kind that nothing has yet."""
    number = 1
    found = path
    while found.exists():
        number += 1
        found = path.with_stem(f"{path.stem}-{number}")
    return found


def redactor_of(host: Host) -> Callable[[str], str]:
    """What takes this host's secrets out of a text; also before the host has opened."""
    if host.recorder is not None:
        return host.recorder.redactor.text
    from tui_host.capture.redact import Redactor
    from tui_host.settings.secrets import secrets_of

    return Redactor((secret.name, secret.reveal()) for secret in secrets_of(host.settings)).text
