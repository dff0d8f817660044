"""Asks the user a question on the terminal."""

from __future__ import annotations

import sys

from tui_host.cli import diagnostics


def ask_on_terminal(question: str) -> str | None:
    """Ask on standard error and return the line typed, empty at the end of the input; None if nobody can be asked."""
    import termios

    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        return None
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)  # keys typed before the question do not count as its answer
    diagnostics.write(question)
    return sys.stdin.readline().strip()
