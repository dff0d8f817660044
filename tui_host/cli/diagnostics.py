"""Writes to standard error, which no other module does, and defines the exit codes."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from contextlib import suppress

from tui_host.capture.visible import visible
from tui_host.errors import SettingsError, TuiHostError

DONE = 0
FAILED = 1
WRONG = 2
REFUSED = 3
INTERRUPTED = 130

ENDED_BY: Mapping[signal.Signals, int] = {signal.SIGHUP: 129, signal.SIGINT: INTERRUPTED, signal.SIGTERM: 143}
"""Exit codes of the signals that end the program in order."""


def tell(*lines: str) -> None:
    """Write lines to standard error."""
    for words in lines:
        write(f"tui-host: {visible(words, newlines=False)}\n")


def write(text: str) -> None:
    """Write text to standard error unchanged; text from elsewhere must be made safe first. Never fails."""
    if sys.stderr is None:  # standard error was closed when the program started
        return
    with suppress(OSError):  # nobody reads standard error, so the failure cannot be reported
        sys.stderr.write(text)
        sys.stderr.flush()


def report(error: TuiHostError) -> int:
    """Write an error to standard error, one line per mistake, and return the exit code."""
    tell(str(error))
    if isinstance(error, SettingsError):
        tell(*map(str, error.more))
        return WRONG
    return FAILED
