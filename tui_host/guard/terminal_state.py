"""Saves the terminal's state before the app draws, and restores the state without Textual."""

from __future__ import annotations

import json
import os
import termios
import threading

from tui_host.guard.guard_client import Guard, Terminal
from tui_host.guard.watchdog import put_back

PATIENCE = 1.0
"""Longest wait for a terminal to accept its reset, before the program ends anyway."""
RESET = b"\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l"
"""Undoes every mode set by Textual's driver, in order."""


def found_terminal() -> Terminal:
    """Return the terminal for Textual to draw on, with its present state."""
    # `ord` makes a number of each control character, which is a single byte.
    return Terminal(descriptor=os.dup(2), attributes=json.dumps(termios.tcgetattr(2), default=ord), reset=RESET)


def restore(guard: Guard) -> None:
    """Restore the guard's terminal if it accepts output. Does not use the event loop or Textual's writer."""
    terminal = guard.terminal
    if terminal is None:
        return
    words = (terminal.descriptor, terminal.attributes, terminal.reset)
    thread = threading.Thread(target=put_back, args=words, name="tui-host-reset", daemon=True)
    thread.start()
    thread.join(PATIENCE)
    given_back(guard)


def given_back(guard: Guard) -> None:
    """Note that the terminal is restored or belongs to another program, so that it is not reset a second time.

    A second reset would disable the keyboard protocol that the user's shell has enabled.
    """
    guard.leave()
    guard.terminal = None
