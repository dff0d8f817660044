"""Owns standard error and the exit codes."""

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
"""The signals that end the program in order, with the exit code of each."""


def tell(words: str) -> None:
    """One line on standard error."""
    write(f"tui-host: {visible(words, newlines=False)}\n")


def write(text: str) -> None:
    """Text on standard error, as it is; what is foreign in it has been made visible before. Never fails."""
    if sys.stderr is None:  # the program was started with it closed
        return
    with suppress(OSError):  # nobody reads it: there is nowhere to say so
        sys.stderr.write(text)
        sys.stderr.flush()


def report(error: TuiHostError) -> int:
    """Tell an error, each of its mistakes in a line of its own; returns the exit code."""
    tell(str(error))
    if isinstance(error, SettingsError):
        for another in error.more:
            tell(str(another))
        return WRONG
    return FAILED
