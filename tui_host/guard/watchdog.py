"""The guard's own program: when the host is gone, however it went, it ends the process groups that are left.

It also puts back the terminal on which a killed host was drawing. Run as a file by a Python without site packages, so that
it costs 10 MB and 50 ms: it imports nothing of ours. Lines on standard input: `+PGID`, `-PGID`; `t+` and `t-` while the host
draws on the terminal and while it does not; `bye` when the host ends in order. Source: threats.md, STD-07 and UIX-03.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import termios
import time
from collections.abc import Iterable

PATIENCE = 2.0
IGNORED = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)


def read_host(lines: Iterable[str]) -> tuple[set[int], bool]:
    """The groups that are still there when the lines end, which is when the host has ended; and whether it left its terminal."""
    groups: set[int] = set()
    is_drawing = False
    for line in lines:
        word = line.strip()
        if word[:1] == "+" and word[1:].isdigit():
            groups.add(int(word[1:]))
        elif word[:1] == "-" and word[1:].isdigit():
            groups.discard(int(word[1:]))
        else:
            is_drawing = word == "t+"
    return groups, is_drawing


def put_back(terminal: int, attributes: str, reset: bytes) -> None:
    """Give a terminal its line discipline, as JSON of `termios.tcgetattr` with numbers for bytes, and its modes. May block."""
    try:
        termios.tcsetattr(terminal, termios.TCSANOW, json.loads(attributes))
        os.write(terminal, reset)
    except (OSError, termios.error):
        return  # it has gone, and there is nobody to tell


def put_back_aside(terminal: int, attributes: str, reset: bytes) -> None:
    """The same in a child that lives two seconds at most: a terminal that reads nothing must not keep servers alive."""
    if os.fork():
        return
    signal.alarm(int(PATIENCE))
    put_back(terminal, attributes, reset)
    os._exit(0)


def signal_groups(groups: set[int], number: int) -> set[int]:
    """Send a signal to each group; those that could be reached."""
    reached: set[int] = set()
    for group in groups:
        try:
            os.killpg(group, number)
        except OSError:
            continue
        reached.add(group)
    return reached


def end_groups(groups: set[int]) -> None:
    """SIGTERM to each group, and after two seconds SIGKILL to those that are left."""
    groups = signal_groups(groups, signal.SIGTERM)
    end = time.monotonic() + PATIENCE
    while groups and time.monotonic() < end:
        time.sleep(0.05)
        groups = signal_groups(groups, 0)
    signal_groups(groups, signal.SIGKILL)


def main(words: list[str]) -> None:
    """Wait for the end of the host, then put back and end what it left.

    Args:
        words: Nothing, or a terminal's descriptor, its attributes, and what resets its modes as hexadecimal digits.
    """
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    groups, is_drawing = read_host(sys.stdin)
    if is_drawing and words:
        put_back_aside(int(words[0]), words[1], bytes.fromhex(words[2]))
    end_groups(groups)


if __name__ == "__main__":
    main(sys.argv[1:])
