"""A program on a pseudo-terminal, with a clock: when it has painted what, and what it costs the machine (Linux's /proc)."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.system.terminal import ROOT, Family, environment_of

COLUMNS, LINES = 140, 45
_ESCAPES = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[^\[\]]")
_LONGEST = 64
_KEPT = 200_000


class OnPty:
    """One run of a program: `started` and `typed` are moments. Text is only freed of escapes: drawing it would take longer than it."""

    def __init__(self, command: Sequence[str], home: Path) -> None:
        self.painted = ""
        self._rest = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        environment = environment_of(home)
        self.started = self.typed = time.perf_counter()
        self._process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment, cwd=ROOT)
        os.close(slave)
        self._family = Family(self._process.pid)

    def type(self, keys: str) -> None:
        """Send what a terminal sends for these keys; only what is painted from now on counts."""
        self.painted = ""
        self.typed = time.perf_counter()
        os.write(self._master, keys.encode())

    def read(self, seconds: float) -> bool:
        """Take in what is there, waiting so long for it."""
        if not select.select([self._master], [], [], max(0.0, seconds))[0]:
            return False
        try:
            self._rest += os.read(self._master, 1 << 16)
        except OSError:  # Linux's word for the end of the other side
            return False
        whole = self._rest.rfind(b"\x1b", -_LONGEST)  # a sequence that is not whole yet waits for its end
        if whole < 0 or _ESCAPES.match(self._rest, whole):
            whole = len(self._rest)
        text = _ESCAPES.sub(b"", self._rest[:whole])
        del self._rest[:whole]
        self.painted = self.painted[-_KEPT:] + self._decoder.decode(text)
        return True

    def until(self, *texts: str, seconds: float = 60.0) -> float:
        """Read until all of these were painted; when that was."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            if self.read(0.2):
                now = time.perf_counter()
                if all(text in self.painted for text in texts):
                    return now
            elif self._process.poll() is not None:
                break
        raise TimeoutError(f"{texts} did not come; painted: {self.painted[-2000:]}")

    def watch(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.read(left)

    def settle(self, seconds: float = 0.3) -> None:
        while self.read(seconds):
            pass

    def cpu_seconds(self) -> float:
        threads = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9

    def memory_bytes(self) -> int:
        return _kernels_bytes(self._process.pid, "status", "VmRSS:")

    def tree_bytes(self) -> int:
        """Of the program with all its descendants: their own pages, and their share of those that others have too."""
        return sum(_kernels_bytes(pid, "smaps_rollup", "Pss:") for pid in (self._process.pid, *self._family.look()))

    def close(self) -> None:
        self._family.look()
        self._process.kill()
        self._process.wait()
        self._family.kill()
        os.close(self._master)


def _kernels_bytes(pid: int, file: str, name: str) -> int:
    lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) << 10


@contextmanager
def running(command: Sequence[str], home: Path) -> Generator[OnPty]:
    program = OnPty(command, home)
    try:
        yield program
    finally:
        program.close()


def app(folder: Path, config: str = "") -> Sequence[str]:
    """The command of our app with its data in this folder; with nothing configured the bundled servers are there."""
    file = folder / "config.toml"
    file.write_text(config)
    return (sys.executable, "-m", "tui_host", "--config", str(file), "--data-dir", str(folder / "data"))
