"""The guard process: when the host is gone, for whatever reason, it ends the remaining process groups.

Also restores the terminal of a host killed while drawing. Runs as a file in a Python without site packages, for 10 MB and 50 ms,
and imports nothing of ours. Standard input has lines: `+PGID`, `-PGID`; `t+` and `t-` while the host draws and while it does
not; `bye` when the host ends in order.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import termios
import time

PATIENCE = 2.0
IGNORED = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)


def put_back(terminal: int, attributes: str, reset: bytes) -> None:
    """Restore a terminal's line discipline (JSON of `termios.tcgetattr`, with numbers for bytes) and its modes. May block."""
    try:
        termios.tcsetattr(terminal, termios.TCSANOW, json.loads(attributes))
        os.write(terminal, reset)
    except (OSError, termios.error):
        return  # the terminal has gone, and nobody is left to tell


def signal_groups(groups: set[int], number: int) -> set[int]:
    """Send a signal to each group; returns the groups that exist."""
    reached: set[int] = set()
    for group in groups:
        try:
            os.killpg(group, number)
        except OSError:
            continue
        reached.add(group)
    return reached


def end_groups(groups: set[int]) -> None:
    """Send SIGTERM to each group, and SIGKILL after two seconds."""
    groups = signal_groups(groups, signal.SIGTERM)
    end = time.monotonic() + PATIENCE
    while groups and time.monotonic() < end:
        time.sleep(0.05)
        groups = signal_groups(groups, 0)
    signal_groups(groups, signal.SIGKILL)


def main(words: list[str]) -> None:
    """Wait for the host's end, then restore the terminal (descriptor, attributes, reset in hexadecimal) and end what is left."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    is_drawing = False
    for line in sys.stdin:  # which ends with the host
        word = line.strip()
        if word[:1] == "+" and word[1:].isdigit():
            groups.add(int(word[1:]))
        elif word[:1] == "-" and word[1:].isdigit():
            groups.discard(int(word[1:]))
        else:
            is_drawing = word == "t+"
    # In a child that lives two seconds at most: a terminal that reads nothing must not keep servers alive.
    if is_drawing and words and not os.fork():
        signal.alarm(int(PATIENCE))
        put_back(int(words[0]), words[1], bytes.fromhex(words[2]))
        os._exit(0)
    end_groups(groups)


if __name__ == "__main__":
    main(sys.argv[1:])
