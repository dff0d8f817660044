"""Owns standard error and the exit codes."""

from __future__ import annotations

import sys

from tui_host.capture.visible import visible
from tui_host.errors import SettingsError, TuiHostError

DONE = 0
FAILED = 1
WRONG = 2
REFUSED = 3
HANGUP, INTERRUPTED, TERMINATED = 129, 130, 143


def tell(words: str) -> None:
    """One line on standard error."""
    sys.stderr.write(f"tui-host: {visible(words, newlines=False)}\n")
    sys.stderr.flush()


def report(error: TuiHostError) -> int:
    """Tell an error, each of its mistakes in a line of its own; returns the exit code."""
    tell(str(error))
    if isinstance(error, SettingsError):
        for another in error.more:
            tell(str(another))
        return WRONG
    return FAILED
