"""The terminal under the app: how it was found, and how it is put back from outside of Textual."""

from __future__ import annotations

import json
import os
import termios
import threading
from collections.abc import Sequence

from tui_host.guard.guard_client import Guard, Terminal
from tui_host.guard.watchdog import put_back

PATIENCE = 1.0
"""Seconds that a terminal may take to read what puts it back, before the program ends without that."""
RESET = b"\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l"
"""Undoes every mode that Textual's driver sets, in its order."""


def found_terminal() -> Terminal:
    """The terminal on which Textual is going to draw, as it is now."""
    attributes: Sequence[int | Sequence[int | bytes]] = termios.tcgetattr(2)
    numbers = [
        part if isinstance(part, int) else [key if isinstance(key, int) else key[0] for key in part]
        for part in attributes
    ]
    return Terminal(descriptor=os.dup(2), attributes=json.dumps(numbers), reset=RESET)


def restore(guard: Guard) -> None:
    """Put a guard's terminal back, as far as it takes anything in, from outside of the event loop and of Textual's writer."""
    terminal = guard.terminal
    if terminal is None:
        return
    words = (terminal.descriptor, terminal.attributes, terminal.reset)
    thread = threading.Thread(target=put_back, args=words, name="tui-host-reset", daemon=True)
    thread.start()
    thread.join(PATIENCE)
    given_back(guard)


def given_back(guard: Guard) -> None:
    """The terminal is as it was found, or another program's by now: nobody puts it back once more.

    A shell that asked for a keyboard protocol of its own would lose it by a second time.
    """
    guard.leave()
    guard.terminal = None
