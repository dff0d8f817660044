"""Who is whose child, as `ps` tells it: on Linux and macOS."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Relative:
    """A process as it was seen.

    Attributes:
        pid: Its process id.
        started: When it started, so that a number used again is another process.
        command: Its command line.
    """

    pid: int
    started: str
    command: str


def family_of(pid: int) -> list[Relative]:
    """All descendants that live now."""
    listed = _all()
    found: list[Relative] = []
    parents = {pid}
    while parents:
        children = [one for parent, one in listed if parent in parents]
        found += children
        parents = {one.pid for one in children}
    return found


def still_there(relatives: list[Relative]) -> list[Relative]:
    """Those that live still."""
    living = {(one.pid, one.started) for _, one in _all()}
    return [one for one in relatives if (one.pid, one.started) in living]


def until(is_so: Callable[[], bool], what: str, seconds: float = 60) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, f"it never came: {what}"
        time.sleep(0.05)


def _all() -> list[tuple[int, Relative]]:
    command = ["/bin/ps", "-A", "-ww", "-o", "pid=,ppid=,stat=,lstart=,command="]
    listed = subprocess.run(command, capture_output=True, check=True).stdout.decode(errors="replace")
    found: list[tuple[int, Relative]] = []
    for line in listed.splitlines():
        pid, parent, state, *rest = line.split()
        if not state.startswith("Z"):
            found.append((int(parent), Relative(int(pid), " ".join(rest[:5]), " ".join(rest[5:]))))
    return found
