"""The guard's own program: when the host is gone, however it went, it ends the process groups that are left.

Run as a file by a Python without site packages, so that it costs 10 MB and 50 ms: it imports nothing of ours.
Lines on standard input: `+PGID`, `-PGID`. Source: threats.md, STD-07.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable

PATIENCE = 2.0


def read_groups(lines: Iterable[str]) -> set[int]:
    """The groups that are still there when the lines end, which is when the host has ended."""
    groups: set[int] = set()
    for line in lines:
        word = line.strip()
        if word[:1] == "+" and word[1:].isdigit():
            groups.add(int(word[1:]))
        elif word[:1] == "-" and word[1:].isdigit():
            groups.discard(int(word[1:]))
    return groups


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


def main() -> None:
    """Wait for the end of the host, then end what it left."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)
    groups = signal_groups(read_groups(sys.stdin), signal.SIGTERM)
    end = time.monotonic() + PATIENCE
    while groups and time.monotonic() < end:
        time.sleep(0.05)
        groups = signal_groups(groups, 0)
    signal_groups(groups, signal.SIGKILL)


if __name__ == "__main__":
    main()
