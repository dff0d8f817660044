"""Asks the user a question on the terminal."""

from __future__ import annotations

import sys

from tui_host.cli import diagnostics
from tui_host.errors import SettingsError


def ask_on_terminal(question: str, *, otherwise: SettingsError) -> str:
    """Ask on standard error and return the line typed; empty at the end of the input.

    Raises:
        SettingsError: `otherwise`: standard input or standard error is no terminal.
    """
    import termios

    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        raise otherwise
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)  # keys typed before the question do not count as its answer
    diagnostics.write(question)
    return sys.stdin.readline().strip()
