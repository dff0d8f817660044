"""Whether the process that wrote something still runs."""

from __future__ import annotations

import os
from pathlib import Path


def process_start(pid: int) -> str:
    """What tells a process from a later one with the same number; empty where the system does not say (macOS) or it is gone.

    On Linux the machine's boot and the process's start in clock ticks since then.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    except OSError:
        return ""
    fields = stat.rpartition(b")")[2].split()  # the name before it may contain anything
    return f"{boot[:8]}-{fields[19].decode()}" if len(fields) > 19 else ""


def is_running(pid: int, started: str) -> bool:
    """Whether the process of this number and start is alive; by number alone where no start is known."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # another user's; it exists
    return not started or process_start(pid) in {"", started}
